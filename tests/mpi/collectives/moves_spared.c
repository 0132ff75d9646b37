/* A communicator whose moves are to take no multiprocessor (the info key tutti_copy_engines): what it moves goes by
 * copy engines, blocking, nonblocking and persistent, also where rules name packets; types with gaps still arrive. A
 * duplicate has no hint, and the program may take the hint back. Needs TUTTI_STATS=1 and rules that name packets. */
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "persistent.h"

enum { MOST = 3000, RANKS_MOST = 4, ROUNDS = 60, INTS = RANKS_MOST * MOST };

static const char key[] = "tutti_copy_engines";
static const char *const calls[] = {"MPI_Bcast",      "MPI_Allgather", "MPI_Alltoall",      "MPI_Ibcast",
                                    "MPI_Iallgather", "MPI_Ialltoall", "MPI_Allgather_init"};
enum { CALLS = sizeof calls / sizeof *calls };
static struct kit_buffer in, out;
static int sent[INTS];

static uint64_t all_counted(const char *how)
{
    uint64_t sum = 0;
    for (int i = 0; i < CALLS; i++)
        sum += kit_counted(calls[i], how);
    return sum;
}

static int value(int round, int from, int to, int i)
{
    return round * 100003 + from * 1009 + to * 31 + i;
}

static MPI_Info hint(const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    return info;
}

static int told(MPI_Comm comm)
{
    MPI_Info info;
    char value[16] = "";
    int flag = 0;
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get(info, key, (int)sizeof value - 1, value, &flag);
    MPI_Info_free(&info);
    return flag && strcmp(value, "true") == 0;
}

/* kind: 0 broadcast, 1 allgather, 2 alltoall; gaps: of a type with gaps on this rank's receiving side. */
static void move(MPI_Comm comm, int round, int kind, int nonblocking, int count)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int root = round % kit_size;
    int error, guards, wrong = 0;
    for (int to = 0; to < kit_size; to++) {
        for (int i = 0; i < count; i++)
            sent[to * count + i] = value(round, kit_rank, kind == 2 ? to : 0, i);
    }
    const size_t bytes = (size_t)(kit_size * count) * sizeof(int);
    const void *from = kit_put(&in, (size_t)(round % 3) * 4, sent, bytes);
    void *to = kit_put(&out, (size_t)(round % 5) * 4, kind == 0 && kit_rank == root ? sent : NULL, bytes);
    if (kind == 0)
        error = nonblocking ? MPI_Ibcast(to, count, MPI_INT, root, comm, &request)
                            : MPI_Bcast(to, count, MPI_INT, root, comm);
    else if (kind == 1)
        error = nonblocking ? MPI_Iallgather(from, count, MPI_INT, to, count, MPI_INT, comm, &request)
                            : MPI_Allgather(from, count, MPI_INT, to, count, MPI_INT, comm);
    else
        error = nonblocking ? MPI_Ialltoall(from, count, MPI_INT, to, count, MPI_INT, comm, &request)
                            : MPI_Alltoall(from, count, MPI_INT, to, count, MPI_INT, comm);
    error |= MPI_Wait(&request, MPI_STATUS_IGNORE);
    const int *got = (const int *)(const void *)kit_get(&out, &guards);
    for (int r = 0; r < (kind == 0 ? 1 : kit_size); r++) {
        for (int i = 0; i < count; i++)
            wrong += got[r * count + i] != value(round, kind == 0 ? root : r, kind == 2 ? kit_rank : 0, i);
    }
    CHECK(error == MPI_SUCCESS && wrong == 0 && guards, "round %d, kind %d: class %d, %d wrong integers", round, kind,
          kit_class(error), wrong);
}

static void rounds(MPI_Comm comm)
{
    for (int round = 0; round < ROUNDS; round++)
        move(comm, round, round % 3, round / 3 % 2, 1 + (int)(random_mix(kit_seed + (uint64_t)(unsigned)round) % MOST));
}

/* Columns of a matrix: they arrive by a kernel. */
static void with_gaps(MPI_Comm comm)
{
    MPI_Datatype column;
    int wrong = 0;
    MPI_Type_vector(100, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < 100; i++)
        sent[i] = value(0, kit_rank, 0, i);
    const void *from = kit_put(&in, 0, sent, 100 * sizeof(int));
    int *to = kit_put(&out, 0, NULL, (size_t)kit_size * 199 * sizeof(int));
    MPI_Allgather(from, 100, MPI_INT, to, 1, column, comm);
    const int *got = (const int *)(const void *)kit_get(&out, NULL);
    for (int r = 0; r < kit_size; r++) {
        for (int i = 0; i < 100; i++)
            wrong += got[r * 199 + 2 * i] != value(0, r, 0, i);
    }
    CHECK(wrong == 0, "columns: %d wrong integers", wrong);
    MPI_Type_free(&column);
}

static void persistent(MPI_Comm comm)
{
    MPI_Request request;
    const int count = 500;
    if (!persistent_there())
        return;
    const void *from = kit_put(&in, 0, sent, (size_t)count * sizeof(int));
    void *to = kit_put(&out, 0, NULL, (size_t)(kit_size * count) * sizeof(int));
    const int error = MPI_Allgather_init(from, count, MPI_INT, to, count, MPI_INT, comm, MPI_INFO_NULL, &request);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    CHECK(error == MPI_SUCCESS, "a persistent call: class %d", kit_class(error));
}

int main(int argc, char **argv)
{
    MPI_Comm hinted, dup;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Info yes = hint("true"), no = hint("false");
    kit_open(&in, KIT_DEVICE, INTS * sizeof(int));
    kit_open(&out, KIT_DEVICE, INTS * sizeof(int));
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, yes, &hinted);
    CHECK(kit_plain || told(hinted), "%s is not told", key);
    rounds(hinted);
    persistent(hinted);
    with_gaps(hinted);
    CHECK(kit_plain || all_counted("copied by the copy engines") > ROUNDS / 2, "%d calls went by copy engines",
          (int)all_counted("copied by the copy engines"));
    CHECK(kit_plain || all_counted("packets") == 0, "%d calls took multiprocessors", (int)all_counted("packets"));
    MPI_Comm_dup(hinted, &dup);
    CHECK(kit_plain || !told(dup), "a duplicate has the hint");
    rounds(dup);
    CHECK(kit_plain || all_counted("packets") > 0, "the duplicate's calls do not go in packets");
    const uint64_t before = all_counted("packets");
    MPI_Comm_set_info(dup, yes);
    rounds(dup);
    CHECK(kit_plain || all_counted("packets") == before, "calls took multiprocessors after MPI_Comm_set_info");
    MPI_Comm_set_info(dup, no);
    CHECK(kit_plain || !told(dup), "the hint was taken back");
    rounds(dup);
    CHECK(kit_plain || all_counted("packets") > before, "the hint stays");
    MPI_Comm_free(&dup);
    MPI_Comm_free(&hinted);
    MPI_Info_free(&yes);
    MPI_Info_free(&no);
    kit_close(&in);
    kit_close(&out);
    return kit_end("moves_spared");
}
