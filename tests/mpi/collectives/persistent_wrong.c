/* Persistent collectives that move data, where they are the library's since the MPI lacks them: what wrong arguments
 * give, of which one error is raised, on the program's communicator; and that the program does not see communicators
 * that it has not made. */
#include "kit.h"
#include "persistent.h"

enum { RANKS = 8, INTS = 4000 };

static int raised;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    raised++;
}

static MPI_Request request;
static MPI_Comm world, none = MPI_COMM_NULL;
#define REFUSED(class, what, ...)                                                                                      \
    do {                                                                                                               \
        request = MPI_REQUEST_NULL;                                                                                    \
        raised = 0;                                                                                                    \
        int got = kit_class(__VA_ARGS__);                                                                              \
        CHECK(got == (class), "%s: error class %d, not %d", what, got, class);                                         \
        CHECK(raised == 1, "%s: %d errors were raised", what, raised);                                                 \
    } while (0)
#define END MPI_INFO_NULL, &request

static void wrong(enum kit_kind kind)
{
    static int few[RANKS] = {1, 1, 1, 1, 1, 1, 1, -1}, places[RANKS];
    struct kit_buffer out, in;
    MPI_Datatype open, types[RANKS];
    MPI_Errhandler errhandler;
    kit_open(&out, kind, INTS * sizeof(int));
    kit_open(&in, kind, INTS * sizeof(int));
    void *from = kit_put(&out, 0, NULL, INTS * sizeof(int)), *to = kit_put(&in, 0, NULL, INTS * sizeof(int));
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(world, errhandler);
    MPI_Type_vector(2, 1, 2, MPI_INT, &open);
    for (int r = 0; r < RANKS; r++)
        types[r] = r == kit_size - 1 ? open : MPI_INT;
    few[kit_size - 1] = -1;
    REFUSED(MPI_ERR_COUNT, "a count of -1", MPI_Bcast_init(to, -1, MPI_INT, 0, world, END));
    REFUSED(MPI_ERR_ROOT, "a root that is not there", MPI_Bcast_init(to, 1, MPI_INT, kit_size, world, END));
    REFUSED(MPI_ERR_TYPE, "no type", MPI_Allgather_init(from, 1, MPI_DATATYPE_NULL, to, 1, MPI_INT, world, END));
    REFUSED(MPI_ERR_TYPE, "a type that is not committed", MPI_Alltoall_init(from, 1, MPI_INT, to, 1, open, world, END));
    REFUSED(MPI_ERR_COUNT, "a count of -1 in a list",
            MPI_Allgatherv_init(from, 1, MPI_INT, to, few, places, MPI_INT, world, END));
    few[kit_size - 1] = 1;
    REFUSED(MPI_ERR_TYPE, "a type in a list that is not committed",
            MPI_Alltoallw_init(from, few, places, types, to, few, places, types, world, END));
    REFUSED(MPI_ERR_ARG, "in place at the receiving end",
            MPI_Allgather_init(from, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, world, END));
    REFUSED(MPI_ERR_TOPOLOGY, "no neighbours",
            MPI_Neighbor_allgather_init(from, 1, MPI_INT, to, 1, MPI_INT, world, END));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    REFUSED(MPI_ERR_COMM, "no communicator", MPI_Bcast_init(to, 1, MPI_INT, 0, none, END));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    /* What the MPI alone finds, at the start: as the request completes, on the program's communicator. */
    MPI_Comm ring;
    const int dims[1] = {kit_size}, yes[1] = {1};
    MPI_Cart_create(world, 1, dims, yes, 0, &ring);
    MPI_Comm_set_errhandler(ring, errhandler);
    CHECK(MPI_Neighbor_alltoall_init(from, 2, MPI_INT, to, 1, MPI_INT, ring, END) == MPI_SUCCESS, "two sizes");
    CHECK(MPI_Start(&request) == MPI_SUCCESS, "MPI_Start");
    const MPI_Request same = request;
    for (int start = 0; start < 2; start++) {
        if (start)
            CHECK(MPI_Start(&request) == MPI_SUCCESS, "MPI_Start once more");
        raised = 0;
        CHECK(kit_class(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE && raised == 1 && request == same,
              "two sizes: %d errors were raised", raised);
    }
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS, "MPI_Request_free after an error");
    CHECK(MPI_Alltoall_init(from, 2, MPI_INT, to, 1, MPI_INT, world, END) == MPI_SUCCESS, "two sizes among all");
    raised = 0;
    CHECK(MPI_Start(&request) == MPI_SUCCESS, "MPI_Start");
    CHECK(kit_class(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE && raised == 1,
          "two sizes among all: %d errors were raised", raised);
    MPI_Request_free(&request);
    MPI_Comm_free(&ring);
    MPI_Type_free(&open);
    MPI_Errhandler_free(&errhandler);
    MPI_Comm_free(&world);
    kit_close(&out);
    kit_close(&in);
}

/* The number of a new communicator: MPIs give the lowest one that is free, and have some thousands. */
static int free_number(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    const int number = (int)MPI_Comm_c2f(comm);
    MPI_Comm_free(&comm);
    return number;
}

/* Requests, one after the other: each gives its communicator back, started or not. */
static void many(enum kit_kind kind)
{
    enum { REQUESTS = 300 };
    struct kit_buffer buffer;
    int word = 7, code = MPI_SUCCESS;
    kit_open(&buffer, kind, sizeof word);
    void *at = kit_put(&buffer, 0, &word, sizeof word);
    const int before = free_number();
    for (int i = 0; i < REQUESTS && code == MPI_SUCCESS; i++) {
        code = MPI_Bcast_init(at, 1, MPI_INT, 0, MPI_COMM_SELF, END);
        if (code == MPI_SUCCESS && i % 10 == 0)
            code = MPI_Start(&request) | MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(code == MPI_SUCCESS && MPI_Request_free(&request) == MPI_SUCCESS, "request %d: error class %d", i,
              kit_class(code));
    }
    const int after = free_number();
    CHECK(after == before, "%d requests keep communicators: a new one has number %d, before them %d", REQUESTS, after,
          before);
    kit_close(&buffer);
}

/* ---- what the program may see ---- */

static int copies;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
    copies++;
    *flag = 0;
    return MPI_SUCCESS;
}

/* Attributes of the program's communicator are copied to none. */
static void attributes(void)
{
    int key, token = kit_rank;
    MPI_Comm ring;
    const int dims[1] = {kit_size}, yes[1] = {1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, yes, 0, &ring);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(ring, key, &token);
    int out = kit_rank, in[2] = {-1, -1};
    MPI_Neighbor_allgather_init(&out, 1, MPI_INT, in, 1, MPI_INT, ring, END);
    MPI_Request bcast;
    MPI_Bcast_init(&token, 1, MPI_INT, 0, ring, MPI_INFO_NULL, &bcast);
    MPI_Comm_free(&ring); /* the requests go on */
    MPI_Start(&request);
    MPI_Start(&bcast);
    MPI_Wait(&bcast, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(token == 0 && in[0] == (kit_rank + kit_size - 1) % kit_size && in[1] == (kit_rank + 1) % kit_size,
          "of a communicator that was freed: %d, %d, %d", token, in[0], in[1]);
    CHECK(copies == 0, "%d attributes were copied", copies);
    MPI_Request_free(&request);
    MPI_Request_free(&bcast);
    MPI_Comm_free_keyval(&key);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (!persistent_there() || !PERSISTENT_SUPPLIED || kit_size > RANKS)
        kit_skip("persistent_wrong",
                 "the MPI has the calls itself, or the library is not in front; at most eight ranks");
    wrong(KIT_HOST);
    wrong(KIT_DEVICE);
    attributes();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    many(KIT_HOST);
    many(KIT_DEVICE);
    return kit_end("persistent_wrong");
}
