/* Nonblocking collectives in which some ranks have nothing to move, each followed by collectives that must find the
 * same tags on all ranks: MPI_Iallreduce, MPI_Comm_dup, and a sum on device memory, before which the library's own
 * agreement may use them. Blocks in place, of no elements or of elements of no bytes; broadcasts of elements of no
 * bytes; ranks with MPI_PROC_NULL; persistent requests; large counts where the library has them. An alarm ends a rank
 * that hangs. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

enum { SECONDS = 30, RANKS = 16, ROUNDS = 3, BUFFER = 8, EACH = 2 };
enum calls { V, W, V_INIT, W_INIT, V_LARGE, W_LARGE, CALLS };
enum who { PAIR, FAR_PAIR, OWN, EMPTY, NONE, WHO };
static const char *const call_names[CALLS] = {"MPI_Ialltoallv",     "MPI_Ialltoallw",   "MPI_Alltoallv_init",
                                              "MPI_Alltoallw_init", "MPI_Ialltoallv_c", "MPI_Ialltoallw_c"};
static const char *const who_names[WHO] = {"two neighbours have blocks", "the first and the last rank have blocks",
                                           "a rank has its own block", "other ranks have elements of no bytes",
                                           "no rank has blocks"};
static char stands[200] = "nothing yet";
static MPI_Datatype empty;
static struct kit_buffer device[2];

static void too_long(int signal)
{
    (void)signal;
    (void)!write(2, "FAILED: it hangs: ", 18);
    (void)!write(2, stands, strlen(stands));
    (void)!write(2, "\n", 1);
    _exit(3);
}

/* What must find the same tags everywhere. */
static void go_on(MPI_Comm comm, int inter)
{
    MPI_Request request;
    MPI_Comm copy;
    int one = 1, sum = 0, size, *got;
    inter ? MPI_Comm_remote_size(comm, &size) : MPI_Comm_size(comm, &size);
    int code = MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    code = code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
    CHECK(code == MPI_SUCCESS && sum == size, "%s: MPI_Iallreduce gives %d of %d, class %d", stands, sum, size,
          kit_class(code));
    if (!inter) {
        const void *const in = kit_put(&device[0], 0, &one, sizeof one);
        void *const out = kit_put(&device[1], 0, NULL, sizeof sum);
        code = MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm);
        got = (int *)(void *)kit_get(&device[1], NULL);
        CHECK(code == MPI_SUCCESS && *got == size, "%s: MPI_Allreduce gives %d of %d", stands, *got, size);
    }
    code = MPI_Comm_dup(comm, &copy);
    CHECK(code == MPI_SUCCESS, "%s: MPI_Comm_dup, class %d", stands, kit_class(code));
    MPI_Comm_free(&copy);
}

/* ---- in place ---- */

/* Element i of the block that rank `from` has for rank `to` in this round. */
static int value_of(int from, int to, int i, int round)
{
    return 100000 + round * 10000 + from * 100 + to * 10 + i;
}

struct lists {
    int counts[RANKS], displs[RANKS], bytes[RANKS];
    MPI_Count large_counts[RANKS];
    MPI_Aint large_displs[RANKS], large_bytes[RANKS];
    MPI_Datatype type, types[RANKS];
    int peer, peers_block; /* -1: no rank has elements for this one; whose block it is */
};

/* Two ranks exchange EACH elements, or one keeps its own; the others have none. */
static void lists_fill(struct lists *l, enum who who)
{
    const int first = 0, second = who == FAR_PAIR || who == EMPTY ? kit_size - 1 : 1;
    memset(l, 0, sizeof *l);
    l->type = MPI_INT;
    l->peer = -1;
    if (who == OWN)
        l->peer = kit_rank == first ? first : -1;
    else if (who != NONE && (kit_rank == first || kit_rank == second))
        l->peer = kit_rank == first ? second : first;
    if (who == EMPTY && l->peer < 0)
        l->type = empty;
    for (int r = 0; r < kit_size; r++) {
        l->counts[r] = r == l->peer ? EACH : l->type == empty ? 3 : 0;
        l->displs[r] = r == l->peer ? 1 : 0;
        l->bytes[r] = l->displs[r] * (int)sizeof(int);
        l->types[r] = l->type;
        l->large_counts[r] = l->counts[r];
        l->large_displs[r] = l->displs[r];
        l->large_bytes[r] = l->bytes[r];
    }
}

typedef int (*v_large)(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *, const MPI_Count *,
                       const MPI_Aint *, MPI_Datatype, MPI_Comm, MPI_Request *);
typedef int (*w_large)(const void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, void *,
                       const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, MPI_Comm, MPI_Request *);
typedef int (*v_init)(const void *, const int *, const int *, MPI_Datatype, void *, const int *, const int *,
                      MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *);
typedef int (*w_init)(const void *, const int *, const int *, const MPI_Datatype *, void *, const int *, const int *,
                      const MPI_Datatype *, MPI_Comm, MPI_Info, MPI_Request *);

/* Not all headers have the calls that the library supplies. */
static int make(enum calls call, void *buffer, const struct lists *l, MPI_Comm comm, MPI_Request *request)
{
    union {
        void *call;
        v_large v_large;
        w_large w_large;
        v_init v_init;
        w_init w_init;
    } found = {.call = dlsym(RTLD_DEFAULT, call_names[call])};
    switch (call) {
    case V:
        return MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, buffer, l->counts, l->displs, l->type, comm,
                              request);
    case W:
        return MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, buffer, l->counts, l->bytes, l->types, comm, request);
    case V_INIT:
        return found.v_init(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, buffer, l->counts, l->displs, l->type, comm,
                            MPI_INFO_NULL, request);
    case W_INIT:
        return found.w_init(MPI_IN_PLACE, NULL, NULL, NULL, buffer, l->counts, l->bytes, l->types, comm, MPI_INFO_NULL,
                            request);
    case V_LARGE:
        return found.v_large(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, buffer, l->large_counts, l->large_displs,
                             l->type, comm, request);
    default:
        return found.w_large(MPI_IN_PLACE, NULL, NULL, NULL, buffer, l->large_counts, l->large_bytes, l->types, comm,
                             request);
    }
}

static void fill(int *buffer, const struct lists *l, int round)
{
    for (int i = 0; i < BUFFER; i++)
        buffer[i] = -i;
    for (int i = 0; i < EACH && l->peer >= 0; i++)
        buffer[1 + i] = value_of(kit_rank, l->peer, i, round);
}

static void check_buffer(const int *buffer, const struct lists *l, int round)
{
    for (int i = 0; i < BUFFER; i++) {
        const int moved = l->peer >= 0 && i >= 1 && i < 1 + EACH;
        const int want = moved ? value_of(l->peer, kit_rank, i - 1, round) : -i;
        CHECK(buffer[i] == want, "%s: element %d is %d, not %d", stands, i, buffer[i], want);
    }
}

static void in_place(enum calls call, enum who who, int round)
{
    struct lists l;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm;
    int buffer[BUFFER];
    const int persistent = call == V_INIT || call == W_INIT;
    snprintf(stands, sizeof stands, "%s in place, %s", call_names[call], who_names[who]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    lists_fill(&l, who);
    fill(buffer, &l, round);
    /* In one round a rank without elements has no memory either. */
    void *const given = l.peer < 0 && round == 1 ? NULL : buffer;
    int code = make(call, given, &l, comm, &request);
    for (int start = 0; start <= persistent && code == MPI_SUCCESS; start++) {
        if (persistent) {
            fill(buffer, &l, round + start);
            code = MPI_Start(&request);
        }
        if (code == MPI_SUCCESS)
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_buffer(buffer, &l, round + start);
    }
    CHECK(code == MPI_SUCCESS, "%s: error class %d", stands, kit_class(code));
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    go_on(comm, 0);
    MPI_Comm_free(&comm);
}

/* ---- others ---- */

static void bcast_of_no_bytes(int who)
{
    MPI_Comm comm;
    MPI_Request request;
    snprintf(stands, sizeof stands, "MPI_Ibcast of 0 elements, on rank %d of elements of no bytes", who);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int code = MPI_Ibcast(NULL, kit_rank == who ? 5 : 0, kit_rank == who ? empty : MPI_INT, 0, comm, &request);
    code = code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
    CHECK(code == MPI_SUCCESS, "%s: error class %d", stands, kit_class(code));
    go_on(comm, 0);
    MPI_Comm_free(&comm);
}

/* The root's group sends, or receives the sum; its other ranks have MPI_PROC_NULL and count 0. */
static void between_groups(int reduces, int count)
{
    MPI_Comm half, comm;
    MPI_Request request;
    const int odd = kit_rank % 2, root = odd ? 0 : kit_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    int value = kit_rank == 0 ? 7 : 1, sum = -1;
    snprintf(stands, sizeof stands, "%s of %d elements between two groups", reduces ? "MPI_Ireduce" : "MPI_Ibcast",
             count);
    MPI_Comm_split(MPI_COMM_WORLD, odd, kit_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - odd, 7, &comm);
    const int given = root == MPI_PROC_NULL ? 0 : count;
    int code = reduces ? MPI_Ireduce(&value, &sum, given, MPI_INT, MPI_SUM, root, comm, &request)
                       : MPI_Ibcast(&value, given, MPI_INT, root, comm, &request);
    code = code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
    CHECK(code == MPI_SUCCESS, "%s: error class %d", stands, kit_class(code));
    const int sent = kit_rank == 0 ? 7 : 1;
    CHECK(value == (odd && !reduces && count ? 7 : sent), "%s: the value is %d", stands, value);
    CHECK(sum == (kit_rank == 0 && reduces && count ? kit_size / 2 : -1), "%s: the sum is %d", stands, sum);
    go_on(comm, 1);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    signal(SIGALRM, too_long);
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size > RANKS || kit_size < 2)
        kit_skip("nothing_to_move", "2 to 16 ranks are needed");
    for (int b = 0; b < 2; b++)
        kit_open(&device[b], KIT_DEVICE, sizeof(int));
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    for (int round = 0; round < ROUNDS; round++) {
        for (int call = 0; call < CALLS; call++) {
            const int missing =
                !dlsym(RTLD_DEFAULT, call_names[call]); /* the library has it, without it some MPIs not */
            for (int who = 0; who < WHO && !missing; who++) {
                alarm(SECONDS);
                in_place((enum calls)call, (enum who)who, round);
            }
        }
        alarm(SECONDS);
        bcast_of_no_bytes(0);
        bcast_of_no_bytes(kit_size - 1);
        between_groups(0, 1);
        between_groups(0, 0);
        between_groups(1, 1);
        between_groups(1, 0);
    }
    alarm(SECONDS);
    MPI_Type_free(&empty);
    for (int b = 0; b < 2; b++)
        kit_close(&device[b]);
    return kit_end("nothing_to_move");
}
