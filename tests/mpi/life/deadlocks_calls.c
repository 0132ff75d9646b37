/* Windows, files, and communicators out of groups: an MPI makes them all by itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deadlocks.h"
#include "kit.h"

enum { TAG = 6 };
static MPI_Win win;
static int *shared; /* by the window, an integer a rank */
static MPI_Comm part;
static MPI_Group everybody, other;
static char path[160];
static MPI_File open_file;
static char path_of_open[176];

/* Windows that the MPI makes here, asked past the library: some builds of Open MPI 4.1 have no one-sided component for
 * memory of the program's own. */
static int over_memory, dynamic, puts_arrive;

static int asked(const char *name, int error, MPI_Win *made)
{
    int fine = error == MPI_SUCCESS && PMPI_Win_free(made) == MPI_SUCCESS;
    if (!fine && kit_rank == 0)
        printf("deadlocks: %s is left out: the MPI answers with class %d\n", name, kit_class(error));
    return fine;
}

static void ask_for_windows(void)
{
    static int mine[2];
    MPI_Win made;
    int error = PMPI_Win_create(mine, sizeof mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    over_memory = asked("MPI_Win_create", error, &made);
    error = PMPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    dynamic = asked("MPI_Win_create_dynamic", error, &made);
}

static int fences(MPI_Comm comm, int first)
{
    const int next = (kit_rank + 1) % kit_size, value = 100 + kit_rank, before = (kit_rank + kit_size - 1) % kit_size;
    (void)comm, (void)first;
    shared[kit_rank] = 0;
    int error = MPI_Win_fence(0, win);
    error |= MPI_Put(&value, 1, MPI_INT, next, kit_rank, 1, MPI_INT, win);
    error |= MPI_Win_fence(0, win);
    return error == MPI_SUCCESS && (!puts_arrive || shared[before] == 100 + before);
}

/* The puts of Debian's MPICH 4.0 do not arrive inside a node. Then the calls must end, and no more. */
static void ask_for_puts(void)
{
    puts_arrive = 1;
    const int mine = fences(MPI_COMM_WORLD, 0);
    MPI_Allreduce(&mine, &puts_arrive, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!puts_arrive && kit_rank == 0)
        printf("the MPI's own MPI_Put does not arrive\n");
}

void still_calls_open(void)
{
    ask_for_windows();
    int pid = (int)getpid(), partner = kit_rank == 0 ? 1 : 0;
    MPI_Group world;
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/tutti-deadlocks.%d", folder && folder[0] ? folder : "/tmp", pid);
    MPI_Win_allocate((MPI_Aint)kit_size * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &shared,
                     &win);
    snprintf(path_of_open, sizeof path_of_open, "%s.open", path);
    MPI_File_open(MPI_COMM_WORLD, path_of_open, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &open_file);
    MPI_Comm_split(MPI_COMM_WORLD, kit_rank == 0, kit_rank, &part);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &partner, &other);
    everybody = world;
    ask_for_puts();
}

void still_calls_close(void)
{
    MPI_Win_free(&win);
    MPI_File_close(&open_file);
    MPI_Comm_free(&part);
    MPI_Group_free(&everybody);
    MPI_Group_free(&other);
}

static int works(MPI_Comm *comm)
{
    int one = 1, sum = 0, size;
    MPI_Comm_size(*comm, &size);
    return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *comm) == MPI_SUCCESS && sum == size &&
           MPI_Comm_free(comm) == MPI_SUCCESS;
}

static int with_info(MPI_Comm comm, int first)
{
    MPI_Comm made = MPI_COMM_NULL;
    (void)first;
    return MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &made) == MPI_SUCCESS && works(&made);
}

/* Calls of fault-tolerant programs, where the MPI has them and they work: in Open MPI 5. */
#ifdef OPEN_MPI
int MPIX_Comm_agree(MPI_Comm comm, int *flag) __attribute__((weak));
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm) __attribute__((weak));

static int agreed(MPI_Comm comm, int first)
{
    int flag = first ? 3 : 6;
    return !MPIX_Comm_agree || (MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 2);
}

static int shrunk(MPI_Comm comm, int first)
{
    MPI_Comm made = MPI_COMM_NULL;
    (void)first;
    return !MPIX_Comm_shrink || (MPIX_Comm_shrink(comm, &made) == MPI_SUCCESS && works(&made));
}
#endif

/* MPICH 4.0 crashes on a communicator whose group was never asked for, without Tutti too. */
static int of_group(MPI_Comm comm, int first)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group own;
    (void)first;
    MPI_Comm_group(comm, &own);
    MPI_Group_free(&own);
    return MPI_Comm_create_group(comm, everybody, TAG, &made) == MPI_SUCCESS && works(&made);
}

static int between_groups(MPI_Comm comm, int first)
{
    MPI_Comm inter = MPI_COMM_NULL, made = MPI_COMM_NULL;
    return MPI_Intercomm_create(part, 0, comm, first ? 1 : 0, TAG, &inter) == MPI_SUCCESS &&
           MPI_Intercomm_merge(inter, !first, &made) == MPI_SUCCESS && works(&made) &&
           MPI_Comm_free(&inter) == MPI_SUCCESS;
}

static int windows(MPI_Comm comm, int first)
{
    int *base, mine[2] = {kit_rank, 0};
    MPI_Win made, over, loose;
    (void)first;
    return MPI_Win_allocate(64, 1, MPI_INFO_NULL, comm, &base, &made) == MPI_SUCCESS &&
           (!over_memory || MPI_Win_create(mine, sizeof mine, 1, MPI_INFO_NULL, comm, &over) == MPI_SUCCESS) &&
           (!dynamic || MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &loose) == MPI_SUCCESS) &&
           MPI_Win_free(&made) == MPI_SUCCESS && (!over_memory || MPI_Win_free(&over) == MPI_SUCCESS) &&
           (!dynamic || MPI_Win_free(&loose) == MPI_SUCCESS);
}

/* Rank 0 begins when rank 1 has said that it may. */
static int exposed(MPI_Comm comm, int first)
{
    const int value = 77;
    (void)comm;
    if (first)
        return MPI_Win_start(other, 0, win) == MPI_SUCCESS &&
               MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win) == MPI_SUCCESS &&
               MPI_Win_complete(win) == MPI_SUCCESS;
    shared[0] = 0;
    return MPI_Win_post(other, 0, win) == MPI_SUCCESS && MPI_Win_wait(win) == MPI_SUCCESS &&
           (!puts_arrive || shared[0] == 77);
}

/* Rank 1 brings nothing of this on but by its wait. */
static int locked(MPI_Comm comm, int first)
{
    int value = 88, got = 0;
    (void)comm;
    if (!first)
        return 1;
    return MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win) == MPI_SUCCESS &&
           MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win) == MPI_SUCCESS && MPI_Win_flush(1, win) == MPI_SUCCESS &&
           MPI_Get(&got, 1, MPI_INT, 1, 0, 1, MPI_INT, win) == MPI_SUCCESS && MPI_Win_unlock(1, win) == MPI_SUCCESS &&
           got == 88;
}

static int files(MPI_Comm comm, int first)
{
    int mine = kit_rank + 1, got = 0;
    MPI_File file;
    const MPI_Offset at = (MPI_Offset)kit_rank * (MPI_Offset)sizeof mine;
    (void)first;
    int error =
        MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    if (error != MPI_SUCCESS)
        return 0;
    error = MPI_File_write_at_all(file, at, &mine, 1, MPI_INT, MPI_STATUS_IGNORE);
    error |= MPI_File_sync(file);
    error |= MPI_File_set_view(file, at, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    error |= MPI_File_read_all(file, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
    error |= MPI_File_close(&file);
    return error == MPI_SUCCESS && got == mine;
}

static int shared_pointer(MPI_Comm comm, int first)
{
    (void)comm, (void)first;
    return MPI_File_seek_shared(open_file, 16, MPI_SEEK_SET) == MPI_SUCCESS;
}

static int atomic_mode(MPI_Comm comm, int first)
{
    (void)comm, (void)first;
    return MPI_File_set_atomicity(open_file, 0) == MPI_SUCCESS;
}

static int hints(MPI_Comm comm, int first)
{
    MPI_Info info;
    (void)comm, (void)first;
    MPI_Info_create(&info);
    int error = MPI_Win_set_info(win, info);
    error |= MPI_File_set_info(open_file, info);
    MPI_Info_free(&info);
    return error == MPI_SUCCESS;
}

/* Rank 0 calls nothing but MPI_Win_test until rank 1 has come. */
static int tested(MPI_Comm comm, int first)
{
    const int value = 99;
    int done = 0, error = MPI_SUCCESS;
    (void)comm;
    if (!first)
        return MPI_Win_start(other, 0, win) == MPI_SUCCESS &&
               MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win) == MPI_SUCCESS &&
               MPI_Win_complete(win) == MPI_SUCCESS;
    shared[0] = 0;
    error = MPI_Win_post(other, 0, win);
    while (!done && error == MPI_SUCCESS)
        error = MPI_Win_test(win, &done);
    return error == MPI_SUCCESS && (!puts_arrive || shared[0] == 99);
}

const struct still_case still_calls[] = {
    {"MPI_Comm_dup_with_info", with_info, 1, 0, 0},
    {"MPI_Comm_create_group", of_group, 1, 0, 0},
    {"MPI_Intercomm_create", between_groups, 1, 1, 0},
#ifdef OPEN_MPI
    {"MPIX_Comm_agree", agreed, 1, 0, 0},
    {"MPIX_Comm_shrink", shrunk, 1, 0, 0},
#endif
    {"MPI_Win_create", windows, 1, 0, 0},
    {"MPI_Win_fence", fences, 1, 0, 0},
    {"MPI_Win_start", exposed, 0, 1, 0},
    {"MPI_Win_lock", locked, 0, 0, 0},
    {"MPI_Win_test", tested, 0, 0, 1},
    {"MPI_Win_set_info", hints, 1, 0, 0},
    {"MPI_File_open", files, 1, 0, 0},
    {"MPI_File_seek_shared", shared_pointer, 1, 0, 0},
    {"MPI_File_set_atomicity", atomic_mode, 1, 0, 0},
};
const int still_call_count = sizeof still_calls / sizeof still_calls[0];
