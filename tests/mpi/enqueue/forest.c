/* A library that moves the values of a distributed graph along its edges, as such libraries use the calls in stream
 * order: many communicators on one stream, the default one; an info object that is freed at once; tags from MPI_TAG_UB
 * downwards; requests that are MPI_REQUEST_NULL where no message goes; sends that are waited for before the receives
 * that they cross; a wait for no request at all; and a stream that is freed before its communicators.
 *
 *   forest [default|own]   the stream: the default one, or one of the program
 *
 * Each communicator has a forest. `star`: rank 0 has all roots. Otherwise each rank has roots and leaves of every other
 * rank. A broadcast copies roots to leaves, a reduction copies leaves into a second set of roots. Nothing is waited for
 * on the host before all communicators are freed. TUTTI_TEST_FORESTS: how many (6); TUTTI_TEST_ROUNDS (3). */
#include "forest.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "tutti/tutti.h"

enum { RANKS = 8, LONG = 1300000 /* more than a ring takes */ };

#define FINE(call)                                                                                                     \
    do {                                                                                                               \
        int error_ = (call);                                                                                           \
        CHECK(error_ == 0, "%s: %d (class %d)", #call, error_, error_ > 0 ? kit_class(error_) : 0);                    \
    } while (0)

struct forest {
    MPI_Comm comm;
    MPIX_Stream mpix;
    MPI_Datatype unit; /* two doubles, or one */
    int tag, star, count, doubles;
    int peers, peer[RANKS], roots, leaves; /* peers of which this rank has roots, or to which it has leaves */
    double *root, *leaf, *back;            /* device */
    MPI_Request request[2 * RANKS];        /* of roots, then of leaves */
};

static double value(int owner, int to, int i, int forest)
{
    return owner * 1e6 + to * 1e5 + forest * 1e4 + i % 9973 + 0.5;
}

static double *device_memory(size_t doubles)
{
    void *memory = NULL;
    if (tutti_alloc(doubles * sizeof(double) + 8, &memory) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

static void name_stream(void *stream, MPIX_Stream *mpix)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "tutti_stream");
    FINE(MPIX_Info_set_hex(info, "value", &stream, sizeof stream));
    FINE(MPIX_Stream_create(info, mpix));
    MPI_Info_free(&info);
}

static void forest_open(struct forest *f, int number, void *stream, int tag)
{
    static const int sizes[] = {1, 7, 4096, 70000, LONG / 8};
    *f = (struct forest){.tag = tag, .star = number % 3 == 2, .doubles = 1 + number % 2, .mpix = MPIX_STREAM_NULL};
    f->count = number == 1 ? LONG / f->doubles : sizes[number % 5];
    for (int r = 0; r < kit_size; r++) {
        if (r != kit_rank && (!f->star || r == 0 || kit_rank == 0))
            f->peer[f->peers++] = r;
    }
    f->roots = f->star && kit_rank != 0 ? 0 : f->peers;
    f->leaves = f->star && kit_rank == 0 ? 0 : f->peers;
    for (int i = 0; i < 2 * RANKS; i++)
        f->request[i] = MPI_REQUEST_NULL;
    if (f->doubles > 1) {
        FINE(MPI_Type_contiguous(f->doubles, MPI_DOUBLE, &f->unit));
        FINE(MPI_Type_commit(&f->unit));
    } else {
        f->unit = MPI_DOUBLE;
    }
    name_stream(stream, &f->mpix);
    FINE(MPIX_Stream_comm_create(MPI_COMM_WORLD, f->mpix, &f->comm));
    const int each = f->count * f->doubles;
    double *host = malloc(((size_t)f->peers * (size_t)each + 1) * sizeof *host);
    f->root = device_memory((size_t)f->peers * (size_t)each);
    f->leaf = device_memory((size_t)f->peers * (size_t)each);
    f->back = device_memory((size_t)f->peers * (size_t)each);
    for (int p = 0; p < f->roots; p++) {
        for (int i = 0; i < each; i++)
            host[p * each + i] = value(kit_rank, f->peer[p], i, number);
    }
    FINE(tutti_copy(f->root, host, (size_t)f->roots * (size_t)each * sizeof *host));
    free(host);
}

static void forest_bcast(struct forest *f)
{
    const int each = f->count * f->doubles;
    for (int p = 0; p < f->roots; p++)
        FINE(MPIX_Isend_enqueue(f->root + p * each, f->count, f->unit, f->peer[p], f->tag, f->comm, &f->request[p]));
    for (int p = 0; p < f->leaves; p++)
        FINE(MPIX_Irecv_enqueue(f->leaf + p * each, f->count, f->unit, f->peer[p], f->tag, f->comm,
                                &f->request[RANKS + p]));
}

static void forest_reduce(struct forest *f)
{
    const int each = f->count * f->doubles;
    for (int p = 0; p < f->roots; p++)
        FINE(MPIX_Irecv_enqueue(f->back + p * each, f->count, f->unit, f->peer[p], f->tag, f->comm, &f->request[p]));
    for (int p = 0; p < f->leaves; p++)
        FINE(MPIX_Isend_enqueue(f->leaf + p * each, f->count, f->unit, f->peer[p], f->tag, f->comm,
                                &f->request[RANKS + p]));
}

/* Waits for all entries in one forest of two: those without a message are MPI_REQUEST_NULL. */
static void forest_wait(struct forest *f, int all)
{
    FINE(MPIX_Waitall_enqueue(all ? RANKS : f->roots, f->roots || all ? f->request : NULL, MPI_STATUSES_IGNORE));
    FINE(MPIX_Waitall_enqueue(all ? RANKS : f->leaves, f->leaves || all ? f->request + RANKS : NULL,
                              MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2 * RANKS; i++)
        CHECK(f->request[i] == MPI_REQUEST_NULL, "request %d is not null after its wait", i);
}

/* A rank without messages has nothing to wait for, and may wait all the same. */
static void forest_round(struct forest *forests, int n, int round)
{
    for (int i = 0; i < n; i++) {
        forest_bcast(&forests[i]);
        if (i % 2 == 0) /* else together with the next one's */
            forest_wait(&forests[i], i % 4 == 0);
    }
    for (int i = 1; i < n; i += 2)
        forest_wait(&forests[i], 0);
    for (int i = 0; i < n; i++) {
        forest_reduce(&forests[i]);
        forest_wait(&forests[i], (i + round) % 2);
    }
}

static void forest_close(struct forest *f, int number)
{
    FINE(MPIX_Stream_free(&f->mpix));
    CHECK(f->mpix == MPIX_STREAM_NULL, "a stream that was freed");
    FINE(MPI_Comm_free(&f->comm)); /* waits for the stream */
    const int each = f->count * f->doubles;
    const size_t bytes = (size_t)f->peers * (size_t)each * sizeof(double);
    double *got = malloc(bytes + 1);
    FINE(tutti_copy(got, f->leaf, bytes));
    for (int p = 0; p < f->leaves; p++) {
        int wrong = 0;
        for (int i = 0; i < each; i++)
            wrong += got[p * each + i] != value(f->peer[p], kit_rank, i, number);
        CHECK(wrong == 0, "forest %d: %d leaves of %d from rank %d are wrong", number, wrong, each, f->peer[p]);
    }
    FINE(tutti_copy(got, f->back, bytes));
    for (int p = 0; p < f->roots; p++) {
        int wrong = 0;
        for (int i = 0; i < each; i++)
            wrong += got[p * each + i] != value(kit_rank, f->peer[p], i, number);
        CHECK(wrong == 0, "forest %d: %d roots of %d back from rank %d are wrong", number, wrong, each, f->peer[p]);
    }
    free(got);
    FINE(tutti_free(f->root));
    FINE(tutti_free(f->leaf));
    FINE(tutti_free(f->back));
    if (f->doubles > 1)
        FINE(MPI_Type_free(&f->unit));
}

/* A reduction in the same stream, as a solver puts it between two of the above. */
static void add_up(struct forest *f)
{
    double one = 1, sum = 0, *in = device_memory(1), *out = device_memory(1);
    FINE(tutti_copy(in, &one, sizeof one));
    FINE(MPIX_Allreduce_enqueue(in, out, 1, MPI_DOUBLE, MPI_SUM, f->comm));
    FINE(MPI_Allreduce(MPI_IN_PLACE, in, 1, MPI_DOUBLE, MPI_SUM, f->comm)); /* waits for the stream */
    FINE(tutti_copy(&sum, out, sizeof sum));
    CHECK(sum == kit_size, "in the stream: a sum of %g", sum);
    FINE(tutti_copy(&sum, in, sizeof sum));
    CHECK(sum == kit_size, "not in the stream: a sum of %g", sum);
    FINE(tutti_free(in));
    FINE(tutti_free(out));
}

/* The other forms: a number goes around, blocking and not, and each rank adds its own contribution to it in the stream.
 */
static void go_around(struct forest *f)
{
    const int next = (kit_rank + 1) % kit_size, before = (kit_rank + kit_size - 1) % kit_size;
    double number = kit_rank, got[3] = {0}, *at = device_memory(4);
    MPI_Request request[2];
    MPI_Status status;
    FINE(tutti_copy(at, &number, sizeof number));
    FINE(MPIX_Isend_enqueue_c(at, 1, MPI_DOUBLE, next, 0, f->comm, &request[0]));
    FINE(MPIX_Irecv_enqueue_c(at + 1, 1, MPI_DOUBLE, before, 0, f->comm, &request[1]));
    FINE(MPIX_Wait_enqueue(&request[0], MPI_STATUS_IGNORE));
    FINE(MPIX_Wait_enqueue(&request[1], &status));
    FINE(MPIX_Allreduce_enqueue_c(at + 1, at + 2, 1, MPI_DOUBLE, MPI_SUM, f->comm));
    if (kit_rank == 0)
        FINE(MPIX_Send_enqueue(at + 2, 1, MPI_DOUBLE, next, 1, f->comm));
    if (kit_rank > 0)
        FINE(MPIX_Recv_enqueue_c(at + 3, 1, MPI_DOUBLE, before, 1, f->comm, MPI_STATUS_IGNORE));
    if (kit_rank > 0)
        FINE(MPIX_Send_enqueue_c(at + 3, 1, MPI_DOUBLE, next, 1, f->comm));
    if (kit_rank == 0)
        FINE(MPIX_Recv_enqueue(at + 3, 1, MPI_DOUBLE, before, 1, f->comm, MPI_STATUS_IGNORE));
    FINE(MPI_Allreduce(MPI_IN_PLACE, at, 1, MPI_DOUBLE, MPI_SUM, f->comm)); /* waits for the stream */
    FINE(tutti_copy(got, at + 1, sizeof got));
    const double sum = kit_size * (kit_size - 1) / 2.0;
    CHECK(got[0] == before && got[1] == sum && got[2] == sum, "around: %g, %g, %g", got[0], got[1], got[2]);
    CHECK(status.MPI_SOURCE == before && status.MPI_TAG == 0, "a status of %d with tag %d", status.MPI_SOURCE,
          status.MPI_TAG);
    FINE(tutti_free(at));
}

static int possible(void)
{
    void *stream = NULL;
#ifdef FOREST_PLAIN
    if (!MPIX_Stream_create || !MPIX_Isend_enqueue || !MPIX_Info_set_hex)
        return 0;
#endif
    if (kit_plain || kit_size < 2 || kit_size > RANKS || tutti_stream_create(&stream) != 0)
        return 0;
    return tutti_stream_destroy(stream) == 0;
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (!possible())
        kit_skip("forest", "needs 2 to 8 ranks, a device with streams, and an MPI whose header declares these calls");
    const int n = (int)check_many("TUTTI_TEST_FORESTS", 6), rounds = (int)check_many("TUTTI_TEST_ROUNDS", 3);
    void *stream = NULL;
    int *highest = NULL, found = 0;
    if (argc > 1 && strcmp(argv[1], "own") == 0)
        FINE(tutti_stream_create(&stream));
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&highest, &found);
    struct forest *forests = calloc((size_t)n, sizeof *forests);
    for (int i = 0; i < n; i++)
        forest_open(&forests[i], i, stream, (found ? *highest : 32767) - i);
    for (int round = 0; round < rounds; round++)
        forest_round(forests, n, round);
    add_up(&forests[n / 2]);
    go_around(&forests[n - 1]);
    forest_round(forests, n, rounds);
    for (int i = 0; i < n; i++)
        forest_close(&forests[i], i);
    free(forests);
    FINE(tutti_stream_destroy(stream));
    return kit_end("forest");
}
