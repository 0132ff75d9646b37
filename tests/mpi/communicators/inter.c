/* Collectives with a root on an intercommunicator: the ranks beside the root, which pass MPI_PROC_NULL, keep what their
 * buffers hold, and the others get what the root sends, or the root what they send, in device memory as in host memory.
 */
#include <stdio.h>
#include <string.h>

#include "kit.h"

enum call { BCAST, GATHER, GATHERV, SCATTER, SCATTERV, REDUCE, CALLS };
static const char *const names[CALLS] = {"bcast", "gather", "gatherv", "scatter", "scatterv", "reduce"};
enum { COUNT = 900, MOST = 4 };

static MPI_Comm inter;
static int root_group, remote, local; /* 1: the root's group; ranks of the other one and of this one */

static int value(int rank, int block, int i)
{
    return 1 + rank * 7919 + block * 104729 + i;
}

static int run(enum call call, int nonblocking, void *send, void *receive, int root)
{
    int counts[MOST], displs[MOST], code;
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < MOST; i++)
        counts[i] = COUNT, displs[i] = i * COUNT;
#define CALL(blocking, other, ...)                                                                                     \
    code = nonblocking ? MPI_I##other(__VA_ARGS__, root, inter, &request) : MPI_##blocking(__VA_ARGS__, root, inter);  \
    break
    switch (call) {
    case BCAST:
        CALL(Bcast, bcast, root == MPI_ROOT ? send : receive, COUNT, MPI_INT);
    case GATHER:
        CALL(Gather, gather, send, COUNT, MPI_INT, receive, COUNT, MPI_INT);
    case GATHERV:
        CALL(Gatherv, gatherv, send, COUNT, MPI_INT, receive, counts, displs, MPI_INT);
    case SCATTER:
        CALL(Scatter, scatter, send, COUNT, MPI_INT, receive, COUNT, MPI_INT);
    case SCATTERV:
        CALL(Scatterv, scatterv, send, counts, displs, MPI_INT, receive, COUNT, MPI_INT);
    default:
        CALL(Reduce, reduce, send, receive, COUNT, MPI_INT, MPI_SUM);
    }
    return nonblocking && code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

/* Integer i of the receive buffer; -1: it stays. */
static int expected(enum call call, int root, int i)
{
    int block = i / COUNT, rank, at = i % COUNT, sum = 0;
    MPI_Comm_rank(inter, &rank);
    if (root == MPI_PROC_NULL)
        return -1;
    if (call == BCAST)
        return root != MPI_ROOT && block == 0 ? value(0, 0, at) : -1;
    if (call == SCATTER || call == SCATTERV)
        return root != MPI_ROOT && block == 0 ? value(0, rank, at) : -1;
    if (root != MPI_ROOT)
        return -1;
    if (call != REDUCE)
        return block < remote ? value(block, 0, at) : -1;
    for (int r = 0; r < remote; r++)
        sum += value(r, 0, at);
    return block == 0 ? sum : -1;
}

/* Device memory goes through the host, and the statistics name the reason: the intercommunicator, or, of a small
 * nonblocking call on MPI_COMM_SELF, the rules of the simulated device; a GPU copies it. Rank 0 is the root of the
 * others, which pass MPI_PROC_NULL or send. */
static void reasons(void)
{
    static const char *const blocking[CALLS] = {"MPI_Bcast",   "MPI_Gather",   "MPI_Gatherv",
                                                "MPI_Scatter", "MPI_Scatterv", "MPI_Reduce"};
    static const char *const other[CALLS] = {"MPI_Ibcast",   "MPI_Igather",   "MPI_Igatherv",
                                             "MPI_Iscatter", "MPI_Iscatterv", "MPI_Ireduce"};
    struct kit_buffer in, out;
    kit_open(&in, KIT_DEVICE, sizeof(int));
    kit_open(&out, KIT_DEVICE, sizeof(int));
    int one = kit_rank;
    void *send = kit_put(&in, 0, &one, sizeof one), *receive = kit_put(&out, 0, NULL, sizeof one);
    MPI_Request request;
    MPI_Iallgather(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_SELF, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(kit_plain || kit_counted("MPI_Iallgather", "staged|default rules choose staging") +
                               kit_counted("MPI_Iallgather", "copied on this rank") ==
                           1,
          "MPI_Iallgather: not one call on one rank");
    kit_close(&in);
    kit_close(&out);
    for (int call = 0; call < CALLS && (!root_group || kit_rank == 0); call++) {
        CHECK(kit_plain || kit_counted(blocking[call], "staged|intercommunicator") > 0, "%s: no intercommunicator",
              blocking[call]);
        CHECK(kit_plain || kit_counted(other[call], "staged|intercommunicator") > 0, "%s: no intercommunicator",
              other[call]);
        CHECK(kit_counted(blocking[call], "another reason") + kit_counted(other[call], "another reason") == 0,
              "%s: another reason", blocking[call]);
    }
}

static void try(enum call call, int nonblocking, enum kit_kind kind)
{
    static int sent[MOST * COUNT], before[MOST * COUNT], got[MOST * COUNT];
    struct kit_buffer in, out;
    int rank, guards, i = 0;
    MPI_Comm_rank(inter, &rank);
    int root = !root_group ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    for (int k = 0; k < MOST * COUNT; k++)
        sent[k] = value(rank, k / COUNT, k % COUNT), before[k] = -100 - k;
    kit_open(&in, kind, sizeof sent);
    kit_open(&out, kind, sizeof before);
    void *send = kit_put(&in, 0, sent, sizeof sent), *receive = kit_put(&out, 0, before, sizeof before);
    int code = run(call, nonblocking, send, receive, root);
    const char *who = root == MPI_ROOT ? "the root" : root == MPI_PROC_NULL ? "beside the root" : "the other group";
    CHECK(code == MPI_SUCCESS, "%s%s, %s: error class %d", nonblocking ? "i" : "", names[call], who, kit_class(code));
    memcpy(got, kit_get(&out, &guards), sizeof got);
    int want = 0;
    for (; i < MOST * COUNT; i++) {
        want = expected(call, root, i);
        want = want == -1 ? before[i] : want;
        if (got[i] != want)
            break;
    }
    CHECK(i == MOST * COUNT && guards, "%s%s of %s memory, %s: integer %d is %d, not %d", nonblocking ? "i" : "",
          names[call], kind == KIT_DEVICE ? "device" : "host", who, i, i < MOST * COUNT ? got[i] : 0, want);
    kit_close(&in);
    kit_close(&out);
}

int main(int argc, char **argv)
{
    MPI_Comm half;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    root_group = kit_rank < 2;
    MPI_Comm_split(MPI_COMM_WORLD, root_group, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, root_group ? 2 : 0, 1, &inter);
    MPI_Comm_size(inter, &local);
    MPI_Comm_remote_size(inter, &remote);
    for (int call = 0; call < CALLS; call++) {
        for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
            try((enum call)call, nonblocking, KIT_DEVICE);
            try((enum call)call, nonblocking, kit_rank % 2 ? KIT_HOST : KIT_DEVICE);
        }
    }
    reasons();
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return kit_end("inter");
}
