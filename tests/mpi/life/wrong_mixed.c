/* Wrong arguments of calls that move data, on all ranks alike, where some ranks have host memory and others device
 * memory: each rank gets the class of error that the MPI's own function gives there for host memory, in every form, and
 * the calls afterwards are made. Each call has a communicator of its own, on which right calls come first: ranks with
 * host memory take part from the second one on. Arguments: a call and a fault, alone. */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "persistent.h"
#include "real_mpi.h"

enum { RANKS = 8, N = 3000, RIGHT = 2 };
/* clang-format off */
#define CALLS_OF(X) X(Bcast) X(Gather) X(Gatherv) X(Scatter) X(Scatterv) X(Allgather) X(Allgatherv) X(Alltoall)        \
    X(Alltoallv) X(Alltoallw) X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv)  \
    X(Neighbor_alltoallw)
#define FAULTS_OF(X) X(none) X(open_type) X(no_type) X(count) X(root) X(no_memory) X(place) X(alias) X(own_block)
/* clang-format on */
#define ID(name) name,
enum call { CALLS_OF(ID) CALLS };
#define FAULT(name) fault_##name,
enum fault { FAULTS_OF(FAULT) FAULTS };
#define TEXT(name) #name,
static const char *const names[CALLS] = {CALLS_OF(TEXT)}, *const faults[FAULTS] = {FAULTS_OF(TEXT)};
enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
static const char *const forms[FORMS] = {"blocking", "nonblocking", "persistent"};

static MPI_Datatype open_type;
static struct kit_buffer host[2], device[2];

struct args {
    const void *send;
    void *receive;
    int n, root;
    MPI_Datatype type;
    MPI_Comm comm;
};

static int is_neighbour(enum call call)
{
    return call >= Neighbor_allgather;
}

/* plain: by the MPI's own function. */
static int make(enum call call, enum form form, int plain, const struct args *a, MPI_Request *request)
{
    static int counts[RANKS], displs[RANKS];
    static MPI_Aint far[RANKS];
    static MPI_Datatype types[RANKS];
    for (int r = 0; r < RANKS; r++) {
        counts[r] = a->n;
        displs[r] = far[r] = r * N;
        far[r] *= (MPI_Aint)sizeof(int);
        types[r] = a->type;
    }
    static int bytes[RANKS];
    for (int r = 0; r < RANKS; r++)
        bytes[r] = (int)far[r];
#define EVEN   a->send, a->n, a->type, a->receive, a->n, a->type
#define MANY   a->send, a->n, a->type, a->receive, counts, displs, a->type
#define LISTED a->send, counts, displs, a->type, a->receive, counts, displs, a->type
#define MAKE(blocking, nonblocking, persistent, ...)                                                                   \
    do {                                                                                                               \
        __typeof__(&MPI_##blocking) now = MPI_##blocking;                                                              \
        __typeof__(&MPI_##nonblocking) later = MPI_##nonblocking;                                                      \
        if (plain) {                                                                                                   \
            *(void **)&now = real_mpi_function("PMPI_" #blocking);                                                     \
            *(void **)&later = real_mpi_function("PMPI_" #nonblocking);                                                \
        }                                                                                                              \
        return form == BLOCKING      ? now(__VA_ARGS__, a->comm)                                                       \
               : form == NONBLOCKING ? later(__VA_ARGS__, a->comm, request)                                            \
                                     : MPI_##persistent(__VA_ARGS__, a->comm, MPI_INFO_NULL, request);                 \
    } while (0)
    switch (call) {
    case Bcast:
        MAKE(Bcast, Ibcast, Bcast_init, a->receive, a->n, a->type, a->root);
    case Gather:
        MAKE(Gather, Igather, Gather_init, EVEN, a->root);
    case Gatherv:
        MAKE(Gatherv, Igatherv, Gatherv_init, MANY, a->root);
    case Scatter:
        MAKE(Scatter, Iscatter, Scatter_init, EVEN, a->root);
    case Scatterv:
        MAKE(Scatterv, Iscatterv, Scatterv_init, a->send, counts, displs, a->type, a->receive, a->n, a->type, a->root);
    case Allgather:
        MAKE(Allgather, Iallgather, Allgather_init, EVEN);
    case Allgatherv:
        MAKE(Allgatherv, Iallgatherv, Allgatherv_init, MANY);
    case Alltoall:
        MAKE(Alltoall, Ialltoall, Alltoall_init, EVEN);
    case Alltoallv:
        MAKE(Alltoallv, Ialltoallv, Alltoallv_init, LISTED);
    case Alltoallw:
        MAKE(Alltoallw, Ialltoallw, Alltoallw_init, a->send, counts, bytes, types, a->receive, counts, bytes, types);
    case Neighbor_allgather:
        MAKE(Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, EVEN);
    case Neighbor_allgatherv:
        MAKE(Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init, MANY);
    case Neighbor_alltoall:
        MAKE(Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, EVEN);
    case Neighbor_alltoallv:
        MAKE(Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init, LISTED);
    default:
        MAKE(Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init, a->send, counts, far, types, a->receive,
             counts, far, types);
    }
}

/* ---- communicators ---- */

static MPI_Comm comm_of(enum call call)
{
    MPI_Comm out;
    const int next = (kit_rank + 1) % kit_size, before = (kit_rank + kit_size - 1) % kit_size, weight = 1;
    if (is_neighbour(call))
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &weight, 1, &next, &weight, MPI_INFO_NULL, 0, &out);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &out);
    MPI_Comm_set_errhandler(out, MPI_ERRORS_RETURN);
    return out;
}

/* ---- faults ---- */

/* 1 if the fault makes the call wrong on every rank in a way that each MPI looks at before it sends anything. */
static int is_wrong(enum call call, enum fault fault)
{
    const int rooted = call <= Scatterv, gathers = call == Gather || call == Gatherv,
              scatters = call == Scatter || call == Scatterv;
    if (fault == fault_root)
        return rooted;
#ifdef OPEN_MPI
    if (fault == fault_open_type && (scatters || is_neighbour(call))) /* crashes by itself, or takes it */
        return 0;
    if (fault == fault_no_memory || fault == fault_alias || fault == fault_own_block)
        return 0;
#endif
    if (fault == fault_place)
        return is_neighbour(call) ? 0 : call == Bcast || gathers || scatters ? 0 : 1;
    if (fault == fault_alias)
        return call >= Alltoall && call <= Alltoallw;
    if (fault == fault_own_block)
        return call == Allgather || call == Allgatherv;
    if (fault == fault_no_memory)
        return !is_neighbour(call);
    return fault != fault_none;
}

static struct args args_of(enum fault fault, void *send, void *receive, MPI_Comm comm)
{
    struct args a = {send, receive, N, 0, MPI_INT, comm};
    switch (fault) {
    case fault_open_type:
        a.type = open_type;
        a.n = N / 4;
        break;
    case fault_no_type:
        a.type = MPI_DATATYPE_NULL;
        break;
    case fault_count:
        a.n = -3;
        break;
    case fault_root:
        a.root = kit_size;
        break;
    case fault_no_memory:
        a.send = a.receive = NULL;
        break;
    case fault_place:
        a.receive = MPI_IN_PLACE;
        break;
    case fault_alias:
        a.send = receive;
        break;
    case fault_own_block:
        a.send = (int *)receive + (size_t)kit_rank * N;
        break;
    default:
        break;
    }
    return a;
}

/* ---- one case ---- */

/* Where this rank has its buffers. 0: the ranks send from device memory, and every second one receives into host
 * memory; 1: every second one has both in host memory. */
static void choose(int mixed, void **send, void **receive)
{
    struct kit_buffer *const in = kit_rank % 2 ? device : host, *const out = mixed ? in : device;
    *send = out[0].base + KIT_GUARD;
    *receive = in[1].base + KIT_GUARD;
}

static int ended(int code, MPI_Request *request, int starts)
{
    if (code == MPI_SUCCESS && starts && *request != MPI_REQUEST_NULL)
        code = MPI_Start(request);
    if (code == MPI_SUCCESS && *request != MPI_REQUEST_NULL)
        code = MPI_Wait(request, MPI_STATUS_IGNORE);
    if (starts && *request != MPI_REQUEST_NULL)
        MPI_Request_free(request);
    return kit_class(code);
}

/* What the MPI alone gives on host memory; -1: some rank finds no error. */
static int wanted(enum call call, enum form form, enum fault fault)
{
    MPI_Comm comm = comm_of(call);
    MPI_Request request = MPI_REQUEST_NULL;
    const struct args a = args_of(fault, host[0].base + KIT_GUARD, host[1].base + KIT_GUARD, comm);
    const int class = kit_class(make(call, form == PERSISTENT ? NONBLOCKING : form, 1, &a, &request));
    int least = class != MPI_SUCCESS;
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (least)
        MPI_Comm_free(&comm);
    return least ? class : -1;
}

static int errors;

static void one(enum call call, enum form form, enum fault fault, int mixed)
{
    void *send, *receive;
    const int want = wanted(call, form, fault);
    if (want < 0)
        return;
    choose(mixed, &send, &receive);
    MPI_Comm comm = comm_of(call);
    const struct args right = args_of(fault_none, send, receive, comm), wrong = args_of(fault, send, receive, comm);
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < RIGHT; i++) {
        const int class = ended(make(call, form, 0, &right, &request), &request, form == PERSISTENT);
        CHECK(class == MPI_SUCCESS, "%s %s: class %d", forms[form], names[call], class);
    }
    const int got = kit_class(make(call, form, 0, &wrong, &request));
    CHECK(got == want, "%s %s, fault %s, memory %d: error class %d, the MPI's own is %d", forms[form], names[call],
          faults[fault], mixed, got, want);
    errors++;
    for (int i = 0; i < (got == want); i++) {
        const int class = ended(make(call, form, 0, &right, &request), &request, form == PERSISTENT);
        CHECK(class == MPI_SUCCESS, "%s %s afterwards: class %d", forms[form], names[call], class);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    const size_t room = sizeof(int) * RANKS * N;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || !kit_errors_returned() || kit_size > RANKS)
        kit_skip("wrong_mixed", "needs the library in front, and an MPI that returns its errors");
    for (int i = 0; i < 2; i++) {
        kit_open(&host[i], KIT_HOST, room);
        kit_open(&device[i], KIT_DEVICE, room);
        kit_put(&host[i], 0, NULL, room);
        kit_put(&device[i], 0, NULL, room);
    }
    MPI_Type_vector(2, 1, 2, MPI_INT, &open_type);
    MPI_Bcast(device[0].base + KIT_GUARD, N, MPI_INT, 0, MPI_COMM_WORLD);
    for (int call = 0; call < CALLS; call++) {
        for (int form = 0; form < FORMS; form++) {
            if (form == PERSISTENT && !persistent_there())
                continue;
            /* Persistent calls that are the library's look at buffers when they are started. */
            const int end = form == PERSISTENT && PERSISTENT_SUPPLIED ? fault_no_memory : FAULTS;
            for (int fault = 1; fault < end; fault++) {
                if (argc > 2 && (strcmp(argv[1], names[call]) != 0 || strcmp(argv[2], faults[fault]) != 0))
                    continue;
                if (is_wrong((enum call)call, (enum fault)fault))
                    one((enum call)call, (enum form)form, (enum fault)fault, (call + form + fault) % 2);
            }
        }
    }
    CHECK(argc > 2 || errors > 60, "only %d errors", errors);
    MPI_Type_free(&open_type);
    for (int i = 0; i < 2; i++) {
        kit_close(&host[i]);
        kit_close(&device[i]);
    }
    return kit_end("wrong_mixed");
}
