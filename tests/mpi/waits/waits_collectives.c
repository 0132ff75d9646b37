/* Waits in collective calls, of windows and of files. */
#include "waits.h"

#include <stdio.h>
#include <stdlib.h>

#include "waits_own.h"

MPI_Comm waits_comm;
MPI_Win waits_windows = MPI_WIN_NULL;
int waits_word;
char *waits_memory;
static int *window_memory, other, turn;
static struct kit_buffer device[2];

void *waits_device(int which)
{
    return kit_put(&device[which], 0, NULL, WAITS_DEVICE);
}

void waits_send_word(int peer)
{
    const int value = 7;
    MPI_Send(&value, 1, MPI_INT, peer, WAITS_WORD, waits_comm);
}

void waits_recv_word(int peer)
{
    MPI_Recv(&waits_word, 1, MPI_INT, peer, WAITS_WORD, waits_comm, MPI_STATUS_IGNORE);
}

static void barrier(int peer)
{
    (void)peer;
    MPI_Barrier(waits_comm);
}

static void ibarrier(int peer)
{
    MPI_Request request;
    (void)peer;
    MPI_Ibarrier(waits_comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void ibarrier_tested(int peer)
{
    MPI_Request request;
    (void)peer;
    MPI_Ibarrier(waits_comm, &request);
    for (int flag = 0; !flag;)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void bcast_from_peer(int peer)
{
    MPI_Bcast(waits_memory, WAITS_FEW, MPI_BYTE, peer, waits_comm);
}

static void bcast_from_me(int peer)
{
    MPI_Bcast(waits_memory, WAITS_FEW, MPI_BYTE, 1 - peer, waits_comm);
}

static void allreduce(int peer)
{
    int sum;
    (void)peer;
    MPI_Allreduce(&waits_word, &sum, 1, MPI_INT, MPI_SUM, waits_comm);
}

static void allreduce_device(int peer)
{
    (void)peer;
    MPI_Allreduce(waits_device(0), waits_device(1), WAITS_DEVICE / (int)sizeof(int), MPI_INT, MPI_SUM, waits_comm);
}

static void iallreduce_device(int peer)
{
    MPI_Request request;
    (void)peer;
    MPI_Iallreduce(waits_device(0), waits_device(1), WAITS_DEVICE / (int)sizeof(int), MPI_INT, MPI_SUM, waits_comm,
                   &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void alltoall(int peer)
{
    (void)peer;
    MPI_Alltoall(waits_memory, WAITS_FEW, MPI_BYTE, waits_memory + WAITS_LONG / 2, WAITS_FEW, MPI_BYTE, waits_comm);
}

static void alltoall_device(int peer)
{
    (void)peer;
    MPI_Alltoall(waits_device(0), WAITS_DEVICE / 2, MPI_BYTE, waits_device(1), WAITS_DEVICE / 2, MPI_BYTE, waits_comm);
}

static void scan(int peer)
{
    int sum;
    (void)peer;
    MPI_Scan(&waits_word, &sum, 1, MPI_INT, MPI_SUM, waits_comm);
    barrier(peer);
}

static void dup_comm(int peer)
{
    MPI_Comm made;
    (void)peer;
    MPI_Comm_dup(waits_comm, &made);
    MPI_Comm_free(&made);
}

static void idup(int peer)
{
    MPI_Comm made;
    MPI_Request request;
    (void)peer;
    MPI_Comm_idup(waits_comm, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&made);
}

static void split(int peer)
{
    MPI_Comm made;
    (void)peer;
    MPI_Comm_split(waits_comm, 0, 0, &made);
    MPI_Comm_free(&made);
}

static void split_type(int peer)
{
    MPI_Comm made;
    (void)peer;
    MPI_Comm_split_type(waits_comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    MPI_Comm_free(&made);
}

static void create_group(int peer)
{
    MPI_Comm made;
    MPI_Group group;
    (void)peer;
    MPI_Comm_group(waits_comm, &group);
    MPI_Comm_create_group(waits_comm, group, 3, &made);
    MPI_Group_free(&group);
    MPI_Comm_free(&made);
}

static void cart(int peer)
{
    MPI_Comm made;
    const int dims[1] = {2}, periods[1] = {1};
    (void)peer;
    MPI_Cart_create(waits_comm, 1, dims, periods, 0, &made);
    MPI_Comm_free(&made);
}

#ifdef OPEN_MPI
static void intercomm(int peer)
{
    MPI_Comm inter, merged;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, waits_comm, peer, 5, &inter);
    MPI_Intercomm_merge(inter, peer, &merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
}
#endif

/* ---- windows and files ---- */

static void window_made(int peer)
{
    MPI_Win made;
    (void)peer;
    if (waits_windows == MPI_WIN_NULL)
        return;
    MPI_Win_create(window_memory, sizeof(int), sizeof(int), MPI_INFO_NULL, waits_comm, &made);
    MPI_Win_free(&made);
}

static void fence(int peer)
{
    (void)peer;
    if (waits_windows == MPI_WIN_NULL)
        return;
    MPI_Win_fence(0, waits_windows);
    MPI_Win_fence(0, waits_windows);
}

static void exposes(int peer)
{
    MPI_Group all, group;
    if (waits_windows == MPI_WIN_NULL)
        return;
    MPI_Comm_group(waits_comm, &all);
    MPI_Group_incl(all, 1, &peer, &group);
    MPI_Win_post(group, 0, waits_windows);
    MPI_Win_wait(waits_windows);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
}

static void accesses(int peer)
{
    MPI_Group all, group;
    if (waits_windows == MPI_WIN_NULL)
        return;
    MPI_Comm_group(waits_comm, &all);
    MPI_Group_incl(all, 1, &peer, &group);
    MPI_Win_start(group, 0, waits_windows);
    MPI_Put(&waits_word, 1, MPI_INT, peer, 0, 1, MPI_INT, waits_windows);
    MPI_Win_complete(waits_windows);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
}

/* The other rank has the lock. */
static void lock(int peer)
{
    waits_recv_word(peer);
    if (waits_windows == MPI_WIN_NULL)
        return;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - peer, 0, waits_windows);
    MPI_Win_unlock(1 - peer, waits_windows);
}

static void lock_first(int peer)
{
    if (waits_windows != MPI_WIN_NULL)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, waits_windows);
    waits_send_word(peer);
}

static void unlock(int peer)
{
    if (waits_windows != MPI_WIN_NULL)
        MPI_Win_unlock(peer, waits_windows);
}

/* MPICH makes no progress in the calls of windows alone. */
static void word_polled(int peer)
{
    if (waits_windows == MPI_WIN_NULL)
        return;
    int got = 0, wanted;
    MPI_Recv(&wanted, 1, MPI_INT, peer, WAITS_WORD, waits_comm, MPI_STATUS_IGNORE);
    while (got != wanted) {
        MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, waits_windows);
        MPI_Get(&got, 1, MPI_INT, peer, 1, 1, MPI_INT, waits_windows);
        MPI_Win_unlock(peer, waits_windows);
        MPI_Iprobe(peer, WAITS_NEVER, waits_comm, &other, MPI_STATUS_IGNORE);
    }
}

static int put_value;
static void say_value(int peer)
{
    put_value++;
    const int value = put_value * 2 + peer;
    if (waits_windows != MPI_WIN_NULL)
        MPI_Send(&value, 1, MPI_INT, peer, WAITS_WORD, waits_comm);
}

static void put_value_now(int peer)
{
    const int value = put_value * 2 + peer;
    if (waits_windows == MPI_WIN_NULL)
        return;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - peer, 0, waits_windows);
    MPI_Put(&value, 1, MPI_INT, 1 - peer, 1, 1, MPI_INT, waits_windows);
    MPI_Win_unlock(1 - peer, waits_windows);
}

static void file(int peer)
{
    char path[64];
    MPI_File made;
    MPI_Comm_rank(waits_comm, &other);
    snprintf(path, sizeof path, "/tmp/tutti-waits-%d-%d", (int)(kit_seed % 1000000), turn++);
    (void)peer;
    if (MPI_File_open(waits_comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &made) != MPI_SUCCESS)
        return;
    MPI_File_write_at_all(made, (MPI_Offset)other * WAITS_FEW, waits_memory, WAITS_FEW, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&made);
}

/* clang-format off */
const struct waits_row waits_collectives[] = {
    {"MPI_Barrier", barrier, barrier, NULL, 0},
    {"MPI_Ibarrier", ibarrier, ibarrier, NULL, 0},
    {"MPI_Ibarrier and MPI_Test", ibarrier_tested, ibarrier, NULL, 0},
    {"MPI_Bcast from the sender", bcast_from_peer, bcast_from_me, NULL, 0},
    {"MPI_Allreduce", allreduce, allreduce, NULL, 0},
    {"MPI_Allreduce of device memory", allreduce_device, allreduce_device, NULL, 0},
    {"MPI_Iallreduce of device memory", iallreduce_device, iallreduce_device, NULL, 0},
    {"MPI_Alltoall", alltoall, alltoall, NULL, 0},
    {"MPI_Alltoall of device memory", alltoall_device, alltoall_device, NULL, 0},
    {"MPI_Scan", scan, scan, NULL, 0},
    {"MPI_Comm_dup", dup_comm, dup_comm, NULL, 0},
    {"MPI_Comm_idup", idup, idup, NULL, 0},
    {"MPI_Comm_split", split, split, NULL, 0},
    {"MPI_Comm_split_type", split_type, split_type, NULL, 0},
    {"MPI_Comm_create_group", create_group, create_group, NULL, 0},
    {"MPI_Cart_create", cart, cart, NULL, 0},
#ifdef OPEN_MPI /* MPICH advances nothing else there */
    {"MPI_Intercomm_create", intercomm, intercomm, NULL, 0},
#endif
    {"MPI_Win_create", window_made, window_made, NULL, 0},
    {"MPI_Win_fence", fence, fence, NULL, 1},
    {"MPI_Win_wait", exposes, accesses, NULL, 1},
    {"MPI_Win_start", accesses, exposes, NULL, 1},
    {"MPI_Win_lock", lock, unlock, lock_first, 1},
    {"MPI_Get of a word", word_polled, put_value_now, say_value, 1},
    {"MPI_File_write_at_all", file, file, NULL, 0},
};
/* clang-format on */
const int waits_collective_count = sizeof waits_collectives / sizeof waits_collectives[0];

void waits_open(int with_windows)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &waits_comm);
    waits_memory = calloc(1, WAITS_LONG);
    window_memory = calloc(16, sizeof(int));
    for (int i = 0; i < 2; i++)
        kit_open(&device[i], KIT_DEVICE, WAITS_DEVICE);
    if (!waits_memory || !window_memory)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (with_windows && kit_makes_windows())
        MPI_Win_create(window_memory, 16 * sizeof(int), sizeof(int), MPI_INFO_NULL, waits_comm, &waits_windows);
}

void waits_close(void)
{
    if (waits_windows != MPI_WIN_NULL)
        MPI_Win_free(&waits_windows);
    for (int i = 0; i < 2; i++)
        kit_close(&device[i]);
    free(window_memory);
    free(waits_memory);
    MPI_Comm_free(&waits_comm);
}
