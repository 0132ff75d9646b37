/* Valid programs that once hung or were overtaken: what a rank waits for may need a rank that is inside another call.
 * In each case a nonblocking allreduce or allgather, the first call of its communicator, is open while rank 0 is in
 * some call that rank 1 makes only when that is over. Kinds: device memory on all ranks, or on all but rank 0 (then
 * the MPI makes the call, late, and nothing may overtake it). And messages without a receive, before one that a
 * rank waits for. An alarm ends a deadlock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deadlocks.h"
#include "kit.h"

enum { COUNT = 700, LONG = 1 << 20, LATE_US = 10000, RANKS_MOST = 8 };
static int moves; /* 1: an allgather is open in place of the allreduce */
static struct kit_buffer in, out, box;
static char *text;

/* ---- the calls that rank 0 is in ---- */

enum { TAG = 5 };

/* `first`: of rank 0, whose partner is late. */
static int receive_host(MPI_Comm comm, int first)
{
    memset(text, first ? 0 : 'm', LONG);
    int error = first ? MPI_Recv(text, LONG, MPI_CHAR, 1, TAG, comm, MPI_STATUS_IGNORE)
                      : MPI_Send(text, LONG, MPI_CHAR, 0, TAG, comm);
    return error == MPI_SUCCESS && text[0] == 'm' && text[LONG - 1] == 'm';
}

static int receive_device(MPI_Comm comm, int first)
{
    memset(text, first ? 0 : 'd', LONG);
    void *there = kit_put(&box, 0, text, LONG);
    int error = first ? MPI_Recv(there, LONG, MPI_CHAR, 1, TAG, comm, MPI_STATUS_IGNORE)
                      : MPI_Send(there, LONG, MPI_CHAR, 0, TAG, comm);
    const char *got = kit_get(&box, NULL);
    return error == MPI_SUCCESS && got[0] == 'd' && got[LONG - 1] == 'd';
}

static int send_synchronous(MPI_Comm comm, int first)
{
    char c = 's';
    int error =
        first ? MPI_Ssend(&c, 1, MPI_CHAR, 1, TAG, comm) : MPI_Recv(&c, 1, MPI_CHAR, 0, TAG, comm, MPI_STATUS_IGNORE);
    return error == MPI_SUCCESS && c == 's';
}

static int probe_it(MPI_Comm comm, int first)
{
    MPI_Status status;
    int bytes = 0;
    if (!first)
        return MPI_Send(text, 77, MPI_CHAR, 0, TAG, comm) == MPI_SUCCESS;
    int error = MPI_Probe(MPI_ANY_SOURCE, TAG, comm, &status);
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    return error == MPI_SUCCESS && bytes == 77 && status.MPI_SOURCE == 1 &&
           MPI_Recv(text, LONG, MPI_CHAR, 1, TAG, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

static int probe_and_take(MPI_Comm comm, int first)
{
    MPI_Message message;
    MPI_Status status;
    int bytes = 0;
    if (!first)
        return MPI_Send(text, 78, MPI_CHAR, 0, TAG, comm) == MPI_SUCCESS;
    int error = MPI_Mprobe(1, MPI_ANY_TAG, comm, &message, &status);
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    return error == MPI_SUCCESS && bytes == 78 && status.MPI_TAG == TAG &&
           MPI_Mrecv(text, LONG, MPI_CHAR, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

static int exchange(MPI_Comm comm, int first)
{
    int mine = 10 + first, theirs = -1, peer = first ? 1 : 0;
    int error = MPI_Sendrecv(&mine, 1, MPI_INT, peer, TAG, &theirs, 1, MPI_INT, peer, TAG, comm, MPI_STATUS_IGNORE);
    return error == MPI_SUCCESS && theirs == 11 - first;
}

static int replace(MPI_Comm comm, int first)
{
    int value[2] = {20 + first, 30 + first}, peer = first ? 1 : 0;
    MPI_Status status;
    int error = MPI_Sendrecv_replace(value, 2, MPI_INT, peer, TAG, peer, TAG, comm, &status), n = 0;
    MPI_Get_count(&status, MPI_INT, &n);
    return error == MPI_SUCCESS && value[0] == 21 - first && value[1] == 31 - first && n == 2;
}

static int barrier(MPI_Comm comm, int first)
{
    (void)first;
    return MPI_Barrier(comm) == MPI_SUCCESS;
}

static int broadcast(MPI_Comm comm, int first)
{
    int value = first ? -1 : 4711;
    return MPI_Bcast(&value, 1, MPI_INT, 1, comm) == MPI_SUCCESS && value == 4711;
}

static int reduce_host(MPI_Comm comm, int first)
{
    int one = 1, sum = 0, size;
    (void)first;
    MPI_Comm_size(comm, &size);
    return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size;
}

static int reduce_device(MPI_Comm comm, int first)
{
    int one[3] = {1, 2, 3}, size;
    (void)first;
    MPI_Comm_size(comm, &size);
    void *there = kit_put(&box, 0, one, sizeof one);
    int error = MPI_Allreduce(MPI_IN_PLACE, there, 3, MPI_INT, MPI_SUM, comm);
    memcpy(one, kit_get(&box, NULL), sizeof one);
    return error == MPI_SUCCESS && one[0] == size && one[2] == 3 * size;
}

static int duplicate(MPI_Comm comm, int first)
{
    MPI_Comm made = MPI_COMM_NULL;
    (void)first;
    return MPI_Comm_dup(comm, &made) == MPI_SUCCESS && reduce_host(made, first) && MPI_Comm_free(&made) == MPI_SUCCESS;
}

static int split(MPI_Comm comm, int first)
{
    MPI_Comm made = MPI_COMM_NULL;
    return MPI_Comm_split(comm, 0, kit_rank, &made) == MPI_SUCCESS && reduce_device(made, first) &&
           MPI_Comm_free(&made) == MPI_SUCCESS;
}

static int gather_device(MPI_Comm comm, int first)
{
    int mine[2] = {kit_rank, -kit_rank}, all[16] = {0}, size;
    (void)first;
    MPI_Comm_size(comm, &size);
    void *there = kit_put(&box, 0, all, sizeof all);
    int error = MPI_Gather(mine, 2, MPI_INT, there, 2, MPI_INT, 0, comm);
    memcpy(all, kit_get(&box, NULL), sizeof all);
    int fine = error == MPI_SUCCESS;
    for (int r = 0; kit_rank == 0 && r < size && r < 8; r++)
        fine &= all[2 * r] == r && all[2 * r + 1] == -r;
    return fine;
}

/* The message is above what an MPI sends at once, so that it stays in the buffer until its receiver asks for it. */
static int detach(MPI_Comm comm, int first)
{
    void *back;
    int bytes;
    memset(text, first ? 'b' : 0, LONG);
    if (!first)
        return MPI_Recv(text, LONG, MPI_CHAR, 0, TAG, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS && text[LONG - 1] == 'b';
    const int room = LONG + MPI_BSEND_OVERHEAD;
    void *attached = malloc((size_t)room);
    int error = MPI_Buffer_attach(attached, room);
    error |= MPI_Bsend(text, LONG, MPI_CHAR, 1, TAG, comm);
    error |= MPI_Buffer_detach(&back, &bytes);
    free(attached);
    return error == MPI_SUCCESS && back == attached && bytes == room;
}

static MPI_Comm grid; /* of all ranks in a row */

static int part_of_grid(MPI_Comm comm, int first)
{
    const int remain = 1;
    MPI_Comm made = MPI_COMM_NULL;
    (void)comm;
    return MPI_Cart_sub(grid, &remain, &made) == MPI_SUCCESS && reduce_host(made, first) &&
           MPI_Comm_free(&made) == MPI_SUCCESS;
}

static const struct still_case cases[] = {
    {"MPI_Recv of host memory", receive_host, 0, 0, 0},
    {"MPI_Recv of device memory", receive_device, 0, 0, 0},
    {"MPI_Ssend", send_synchronous, 0, 0, 0},
    {"MPI_Probe", probe_it, 0, 0, 0},
    {"MPI_Mprobe", probe_and_take, 0, 0, 0},
    {"MPI_Sendrecv", exchange, 0, 0, 0},
    {"MPI_Sendrecv_replace", replace, 0, 0, 0},
    {"MPI_Barrier", barrier, 1, 0, 0},
    {"MPI_Bcast", broadcast, 1, 0, 0},
    {"MPI_Allreduce of host memory", reduce_host, 1, 0, 0},
    {"MPI_Allreduce of device memory", reduce_device, 1, 0, 0},
    {"MPI_Allreduce of no elements", still_reduce_nothing, 1, 0, 0},
    {"MPI_Reduce_scatter of no elements", still_scatter_nothing, 1, 0, 0},
    {"MPI_Allreduce by an operator of the program", still_reduce_by_own, 1, 0, 0},
    {"MPI_Comm_dup", duplicate, 1, 0, 0},
    {"MPI_Comm_split", split, 1, 0, 0},
    {"MPI_Gather", gather_device, 1, 0, 0},
    {"MPI_Buffer_detach", detach, 0, 0, 0},
    {"MPI_Cart_sub", part_of_grid, 1, 0, 0},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- */

/* Where rank 0's call is: on the allreduce's communicator, on another one of the same ranks, or on one of all ranks
 * while the allreduce is of the first two alone (a node of their own where there are several). */
enum place { SAME, OTHER, LARGER, PLACES };

/* What the ranks low..low + ranks - 1 give; returns its bytes. */
static size_t results(int *want, int low, int ranks, int mixed)
{
    const int parts = moves ? ranks : 1;
    for (int r = 0; r < parts; r++) {
        for (int i = 0; i < COUNT; i++)
            want[r * COUNT + i] =
                moves ? low + r + 3 * i + mixed : ranks * low + ranks * (ranks - 1) / 2 + ranks * (3 * i + mixed);
    }
    return (size_t)parts * COUNT * sizeof *want;
}

static void run_case(const struct still_case *it, int mixed, enum place place)
{
    static const char *const names[PLACES] = {"", " on another communicator", " on a larger communicator"};
    MPI_Comm comm, beside;
    MPI_Request request;
    int mine[COUNT];
    static int want[RANKS_MOST * COUNT], got[RANKS_MOST * COUNT];
    char name[160];
    const int other = place != SAME, low = place == LARGER && kit_rank > 1 ? kit_rank : 0;
    const int ranks = place != LARGER ? kit_size : kit_rank > 1 ? 1 : 2;
    snprintf(name, sizeof name, "%s%s, %s memory", it->name, names[place], mixed ? "mixed" : "device");
    still_begin(name);
    if (place == LARGER)
        MPI_Comm_split(MPI_COMM_WORLD, low, kit_rank, &comm);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &beside);
    if (it->all && other) /* the ranks must have met on it before */
        CHECK(reduce_host(beside, 0), "the first call beside %s", name);
    for (int i = 0; i < COUNT; i++)
        mine[i] = kit_rank + 3 * i + mixed;
    const size_t bytes = results(want, low, ranks, mixed);
    const int host = mixed && kit_rank == 0;
    void *from = host ? mine : kit_put(&in, 0, mine, sizeof mine), *to = host ? got : kit_put(&out, 0, NULL, bytes);
    if (kit_rank == 1) /* rank 0 is in its call before the others have met on the communicator */
        usleep(LATE_US);
    int error = moves ? MPI_Iallgather(from, COUNT, MPI_INT, to, COUNT, MPI_INT, comm, &request)
                      : MPI_Iallreduce(from, to, COUNT, MPI_INT, MPI_SUM, comm, &request);
    CHECK(error == MPI_SUCCESS, "starting beside %s: class %d", name, kit_class(error));
    MPI_Comm where = other ? beside : comm;
    if (kit_rank == 0)
        CHECK(it->call(where, 1), "%s of rank 0", name);
    error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(error == MPI_SUCCESS, "the wait beside %s: class %d", name, kit_class(error));
    if (kit_rank == 1 || (kit_rank > 1 && it->all))
        CHECK(it->call(where, 0), "%s of rank %d", name, kit_rank);
    if (!host)
        memcpy(got, kit_get(&out, NULL), bytes);
    CHECK(memcmp(got, want, bytes) == 0, "the result beside %s", name);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&beside);
    alarm(0);
}

/* The info is freed before the call may have started. */
static int idup(MPI_Comm comm, int round, MPI_Comm *made, MPI_Request *request)
{
#if defined(MPI_SESSION_NULL) || MPI_VERSION >= 4
    if (round % 4 < 2) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "tutti_test", "yes");
        const int error = MPI_Comm_idup_with_info(comm, info, made, request);
        MPI_Info_free(&info);
        return error;
    }
#endif
    (void)round;
    return MPI_Comm_idup(comm, made, request);
}

/* Nonblocking calls that are started behind a nonblocking allreduce that the MPI makes late on some ranks: none may
 * overtake it on any. All are waited for in an order drawn at random. */
enum { STARTED = 7 };
static void order(int round)
{
    MPI_Comm comm, made = MPI_COMM_NULL;
    MPI_Request request[STARTED + 1];
    MPI_Status status[STARTED + 1];
    int one[2] = {kit_rank, 1}, sum[2] = {0, 0}, value = kit_rank == 0 ? 1000 + round : -1, all[8], sums[2] = {0, 0};
    int behind[2] = {0, 0};
    still_begin("nonblocking calls behind one that the MPI makes late");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (round % 2) /* not the first one of its communicator */
        CHECK(reduce_host(comm, 0), "the first call of round %d", round);
    const int host = (kit_rank + round) % 2 == 0;
    void *from = host ? one : kit_put(&in, 0, one, sizeof one), *to = host ? sum : kit_put(&out, 0, NULL, sizeof sum);
    const int mine[2] = {kit_rank * 7 + round, -kit_rank}, late[2] = {5, kit_rank};
    void *there = kit_put(&box, 0, NULL, sizeof mine * 8);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    int error = MPI_Iallreduce(from, to, 2, MPI_INT, MPI_SUM, comm, &request[0]);
    error |= MPI_Ibcast(&value, 1, MPI_INT, 0, comm, &request[1]);
    error |= MPI_Ibarrier(comm, &request[2]);
    error |= MPI_Iallgather(mine, 1, pair, there, 2, MPI_INT, comm, &request[3]);
    error |= MPI_Iallgather(&kit_rank, 1, MPI_INT, all, 1, MPI_INT, comm, &request[4]);
    error |= MPI_Iallreduce(late, sums, 2, MPI_INT, MPI_SUM, comm, &request[5]);
    error |= idup(comm, round, &made, &request[6]);
    /* While it is open, Open MPI starts collectives of its own, at a different moment on each rank. */
    for (int i = (kit_rank * 37 + round * 11) % 50; i > 0; i--) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    error |= MPI_Iallreduce(late, behind, 2, MPI_INT, MPI_SUM, comm, &request[7]);
    MPI_Type_free(&pair);
    CHECK(error == MPI_SUCCESS, "starting in round %d", round);
    if (round % 3 == 1)
        CHECK(reduce_host(comm, 0) && broadcast(comm, kit_rank != 1), "blocking calls between, round %d", round);
    for (int left = STARTED + 1; left > 0; left--) {
        int which;
        error = round % 3 == 2 && left == STARTED + 1 ? MPI_Waitall(STARTED + 1, request, status)
                                                      : MPI_Waitany(STARTED + 1, request, &which, MPI_STATUS_IGNORE);
        CHECK(error == MPI_SUCCESS, "a wait of round %d: class %d", round, kit_class(error));
    }
    if (!host)
        memcpy(sum, kit_get(&out, NULL), sizeof sum);
    const int *got = (const int *)(const void *)kit_get(&box, NULL);
    CHECK(sum[0] == kit_size * (kit_size - 1) / 2 && sum[1] == kit_size, "the sum of round %d", round);
    CHECK(sums[0] == 5 * kit_size, "the later sum of round %d", round);
    CHECK(behind[0] == 5 * kit_size, "the sum behind the duplicate of round %d", round);
    CHECK(value == 1000 + round, "the broadcast of round %d: %d", round, value);
    for (int r = 0; r < kit_size; r++)
        CHECK(got[2 * r] == r * 7 + round && got[2 * r + 1] == -r && all[r] == r, "rank %d's part of round %d", r,
              round);
    CHECK(reduce_device(made, 0), "the duplicate of round %d", round);
    MPI_Comm_free(&made);
    MPI_Comm_free(&comm);
    alarm(0);
}

/* A message that nobody has asked for hides those behind it from who looks for any message. */
static void unexpected(int round)
{
    int small = round, got = -1, one[2] = {1, 2};
    MPI_Request request = MPI_REQUEST_NULL;
    still_begin("an allreduce behind a message without a receive");
    memset(text, 'a' + round, LONG);
    if (kit_rank == 0)
        MPI_Irecv(text, LONG, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == 1) {
        CHECK(MPI_Send(&small, 1, MPI_INT, 0, 1, MPI_COMM_WORLD) == MPI_SUCCESS, "the small message");
        CHECK(MPI_Send(text, LONG, MPI_CHAR, 0, 2, MPI_COMM_WORLD) == MPI_SUCCESS, "the long message");
    }
    void *there = kit_put(&box, 0, one, sizeof one);
    CHECK(MPI_Allreduce(MPI_IN_PLACE, there, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS, "the allreduce");
    memcpy(one, kit_get(&box, NULL), sizeof one);
    CHECK(one[0] == kit_size && one[1] == 2 * kit_size, "the sum behind unexpected messages");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (kit_rank == 0) {
        MPI_Recv(&got, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got == round && text[0] == 'a' + round && text[LONG - 1] == 'a' + round, "the messages of round %d",
              round);
    }
    alarm(0);
}

static void run_cases(const struct still_case *list, int count, int pairs)
{
    for (int i = 0; i < count; i++) {
        if (list[i].pair && !pairs)
            continue;
        for (int mixed = 0; mixed < 2 - list[i].device; mixed++) {
            for (int place = 0; place < PLACES; place++)
                run_case(&list[i], mixed, (enum place)place);
        }
    }
}

static int has_argument(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], word) == 0)
            return 1;
    }
    return 0;
}

/* Arguments: "calls": those that name no communicator of all who come to them; "no-pairs": without those that wait in
 * pairs inside; "moves": an allgather is open. */
int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size < 2)
        kit_skip("deadlocks", "needs two ranks");
    still_watch();
    const int calls = has_argument(argc, argv, "calls");
    moves = has_argument(argc, argv, "moves");
    if (kit_size > RANKS_MOST)
        kit_skip("deadlocks", "has room for eight ranks");
    text = malloc(LONG);
    kit_open(&in, KIT_DEVICE, COUNT * sizeof(int));
    kit_open(&out, KIT_DEVICE, RANKS_MOST * COUNT * sizeof(int));
    kit_open(&box, KIT_DEVICE, LONG);
    if (calls) {
        still_calls_open();
        run_cases(still_calls, still_call_count, !has_argument(argc, argv, "no-pairs"));
        still_calls_close();
    } else {
        for (int round = 0; round < 3; round++)
            unexpected(round);
        for (int round = 0; round < 12; round++)
            order(round);
        const int periodic = 0;
        MPI_Cart_create(MPI_COMM_WORLD, 1, &kit_size, &periodic, 0, &grid);
        CHECK(reduce_host(grid, 0), "the first call of the grid");
        run_cases(cases, CASES, 1);
        MPI_Comm_free(&grid);
    }
    kit_close(&in);
    kit_close(&out);
    kit_close(&box);
    free(text);
    return kit_end("deadlocks");
}
