/* Failures while kernels of calls in stream order wait for peers.
 *
 *   stream_failure kill     the last rank kills itself while the others' calls wait for it
 *   stream_failure graph    the same, and the calls are replays of a graph (CUDA)
 *   stream_failure launch   the last rank's launch fails; the others' do not
 *   stream_failure queue    the last rank kills itself while matched receives of the others' queues wait for it
 *   stream_failure stopped  the last rank is stopped for three seconds: every result is right
 *
 * All but the last are for stream_failure.sh, which reads the messages.
 *
 * What must come after a failure: within KERNELS_SECONDS the kernels leave; then every kind of call on the
 * communicator, freeing its stream and freeing it return an error, through the error handler; nothing takes longer than
 * ALL_SECONDS in all. Each rank that continues prints "survivor R told" if all of this has happened, and otherwise
 * what is missing. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "queue.h"
#include "tutti/tutti.h"

enum { COUNT = 3000, CALLS = 8, KERNELS_SECONDS = 30, ALL_SECONDS = 40, VICTIM_MS = 300 };
static MPI_Comm comm = MPI_COMM_NULL;
static MPIX_Stream mpix;
static void *stream;
static int *in, *out; /* device */
static int missing;   /* things that have not come */

static double seconds(void)
{
    return (double)tutti_now_ns() * 1e-9;
}

/* ---- nothing hangs ---- */

static _Atomic(const char *) stage = "the start";
static _Atomic(double) stage_ends;

static void enter(const char *what, double ends)
{
    atomic_store(&stage_ends, ends);
    atomic_store(&stage, what);
}

static void *watch(void *unused)
{
    for (;;) {
        usleep(20000);
        double ends = atomic_load(&stage_ends);
        if (ends > 0 && seconds() > ends) {
            fprintf(stderr, "survivor %d is stuck in %s\n", kit_rank, atomic_load(&stage));
            kill(getpid(), SIGKILL); /* nothing may keep it */
        }
    }
    return unused;
}

/* ---- calls ---- */

static int sum_of(int i)
{
    return kit_size * (kit_size + 1) / 2 * i;
}

static int enqueue(void)
{
    return MPIX_Allreduce_enqueue(in, out, COUNT, MPI_INT, MPI_SUM, comm);
}

static void right(const char *when)
{
    static int got[COUNT];
    int wrong = 0;
    CHECK(tutti_stream_sync(stream) == 0 && tutti_copy(got, out, sizeof got) == 0, "%s: the stream", when);
    for (int i = 0; i < COUNT; i++)
        wrong += got[i] != sum_of(i);
    CHECK(wrong == 0, "%s: %d wrong", when, wrong);
}

static atomic_int handled;

static void handler(MPI_Comm *which, int *error, ...)
{
    (void)which;
    (void)error;
    atomic_fetch_add(&handled, 1);
}

static void open_all(void)
{
    static int mine[COUNT], zeros[COUNT];
    void *memory[2] = {NULL, NULL};
    for (int i = 0; i < COUNT; i++)
        mine[i] = (kit_rank + 1) * i;
    CHECK(tutti_stream_create(&stream) == 0, "a stream");
    for (int i = 0; i < 2; i++)
        CHECK(tutti_alloc(sizeof mine, &memory[i]) == 0, "memory");
    in = memory[0];
    out = memory[1];
    CHECK(tutti_copy(in, mine, sizeof mine) == 0 && tutti_copy(out, zeros, sizeof zeros) == 0, "contents");
    CHECK(queue_name_stream(NULL, stream, &mpix) == MPI_SUCCESS, "naming a stream");
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &comm) == MPI_SUCCESS, "a communicator");
    MPI_Comm_set_name(comm, "failing");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < CALLS; i++)
        CHECK(enqueue() == MPI_SUCCESS, "a call before");
    right("before");
}

/* Odd ranks count what comes to their error handler, even ones have errors returned. */
static void handle_errors(void)
{
    MPI_Errhandler own;
    if (kit_rank % 2 == 0)
        return;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(comm, own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own); /* of calls without an object; before MPI 4 that of the world */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Errhandler_free(&own);
}

static void must_fail(const char *what, int error, int before)
{
    if (error == MPI_SUCCESS) {
        fprintf(stderr, "survivor %d: %s is no error\n", kit_rank, what);
        missing++;
    } else if (kit_rank % 2 && atomic_load(&handled) == before) {
        fprintf(stderr, "survivor %d: %s did not come to the error handler\n", kit_rank, what);
        missing++;
    }
}

#define MUST_FAIL(what, call)                                                                                          \
    do {                                                                                                               \
        int before_ = atomic_load(&handled);                                                                           \
        enter(what, ends);                                                                                             \
        must_fail(what, call, before_);                                                                                \
    } while (0)

static int nonblocking(void)
{
    MPI_Request request;
    int error = MPI_Iallreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm, &request);
    return error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
}

/* What a rank that goes on must see, from `event` on. */
static void aftermath(double event)
{
    double ends = event + ALL_SECONDS;
    enter("kernels that wait for the rank that failed", event + KERNELS_SECONDS);
    (void)tutti_stream_sync(stream); /* the stream itself may be fine */
    fprintf(stderr, "survivor %d: kernels left after %.1f s\n", kit_rank, seconds() - event);
    MUST_FAIL("a call in stream order", enqueue());
    MUST_FAIL("a barrier in stream order", MPIX_Barrier_enqueue(comm));
    MUST_FAIL("a blocking call", MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm));
    MUST_FAIL("a nonblocking call", nonblocking());
    enter("the stream, after calls that were refused", ends);
    (void)tutti_stream_sync(stream);
    MUST_FAIL("MPIX_Stream_free", MPIX_Stream_free(&mpix));
    MUST_FAIL("MPI_Comm_free", MPI_Comm_free(&comm));
    enter("the end", ends);
    if (missing == 0)
        fprintf(stderr, "survivor %d told\n", kit_rank);
}

static int is_victim(void)
{
    return kit_rank == kit_size - 1;
}

static void victim_dies(void)
{
    usleep(VICTIM_MS * 1000);
    fprintf(stderr, "fails: rank %d\n", kit_rank);
    kill(getpid(), SIGKILL);
}

/* ---- the modes ---- */

static void killed(void)
{
    handle_errors();
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_victim())
        victim_dies();
    double event = seconds() + VICTIM_MS * 1e-3;
    enter("putting calls into the stream", event + KERNELS_SECONDS);
    for (int i = 0; i < CALLS; i++)
        (void)enqueue(); /* the later ones may be refused already */
    aftermath(event);
    _exit(missing != 0);
}

/* Each rank that goes on has matched a receive from the last rank, and starts it after that rank has died. */
static void queue_killed(void)
{
    MPIX_Queue queue;
    MPIX_Request receive[2];
    handle_errors();
    if (kit_rank % 2 == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    CHECK(MPIX_Queue_init(&queue, MPIX_QUEUE_GPU_MEM_OPS, &stream) == MPI_SUCCESS, "a queue");
    for (int r = 0; r < kit_size - 1; r++) {
        const int sends = is_victim();
        if (!sends && r != kit_rank)
            continue;
        CHECK((sends ? MPIX_Send_init(in, COUNT, MPI_INT, r, 0, MPI_COMM_WORLD, MPI_INFO_NULL, receive)
                     : MPIX_Recv_init(out, COUNT, MPI_INT, kit_size - 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, receive)) ==
                      MPI_SUCCESS &&
                  MPIX_Match(receive, MPI_STATUS_IGNORE) == MPI_SUCCESS,
              "a match");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_victim())
        victim_dies();
    double event = seconds() + VICTIM_MS * 1e-3, ends = event + ALL_SECONDS;
    enter("putting a start into the stream", event + KERNELS_SECONDS);
    CHECK(MPIX_Enqueue_startall(queue, 1, receive) == MPI_SUCCESS && MPIX_Enqueue_waitall(queue) == MPI_SUCCESS,
          "a start before the other rank dies");
    enter("a stream that waits for the rank that died", event + KERNELS_SECONDS);
    (void)tutti_stream_sync(stream);
    fprintf(stderr, "survivor %d: kernels left after %.1f s\n", kit_rank, seconds() - event);
    MUST_FAIL("MPIX_Queue_wait", MPIX_Queue_wait(queue));
    MUST_FAIL("MPIX_Enqueue_startall", MPIX_Enqueue_startall(queue, 1, receive));
    enter("the end", ends);
    if (missing == 0)
        fprintf(stderr, "survivor %d told\n", kit_rank);
    _exit(missing != 0);
}

/* As cuda.h has them. */
static struct {
    int (*BeginCapture)(void *stream, int mode);
    int (*EndCapture)(void *stream, void **graph);
    int (*Instantiate)(void **exec, void *graph, unsigned long long flags);
    int (*Launch)(void *exec, void *stream);
    int (*StreamSynchronize)(void *stream);
} cu;
enum { THREAD = 1 };

static int find_driver(void)
{
    void *driver = strcmp(tutti_device_name(), "cuda") == 0 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    int all = driver != NULL;
#define FIND(field, name) all = all && (*(void **)(void *)&cu.field = dlsym(driver, name)) != NULL
    FIND(BeginCapture, "cuStreamBeginCapture_v2");
    FIND(EndCapture, "cuStreamEndCapture");
    FIND(Instantiate, "cuGraphInstantiateWithFlags");
    FIND(Launch, "cuGraphLaunch");
    FIND(StreamSynchronize, "cuStreamSynchronize");
#undef FIND
    return all;
}

static void graph(void)
{
    void *captured = NULL, *exec = NULL;
    if (!find_driver())
        kit_skip("stream_failure", "needs a CUDA GPU");
    int failed = cu.BeginCapture(stream, THREAD);
    for (int i = 0; i < CALLS; i++)
        CHECK(enqueue() == MPI_SUCCESS, "a call that is captured");
    failed = failed ? failed : cu.EndCapture(stream, &captured);
    failed = failed ? failed : cu.Instantiate(&exec, captured, 0);
    CHECK(failed == 0, "a graph: CUDA error %d", failed);
    for (int i = 0; i < CALLS && !failed; i++)
        failed = cu.Launch(exec, stream);
    CHECK(failed == 0, "replays: CUDA error %d", failed);
    right("replayed");
    handle_errors();
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_victim())
        victim_dies();
    double event = seconds() + VICTIM_MS * 1e-3;
    enter("launching graphs", event + KERNELS_SECONDS);
    for (int i = 0; i < CALLS; i++)
        (void)cu.Launch(exec, stream);
    aftermath(event);
    _exit(missing != 0);
}

/* A call whose launch fails on this rank, whatever its arguments look like. Host device: it reads behind the memory
 * that is its contribution, which kernels do not. CUDA: its stream is in a capture that has become invalid. */
static int enqueue_badly(void)
{
    enum { FAR = 1 << 24 };
    void *captured = NULL;
    if (strcmp(tutti_device_name(), "cuda") != 0)
        return MPIX_Allreduce_enqueue(in, out, FAR, MPI_INT, MPI_SUM, comm);
    if (!find_driver() || cu.BeginCapture(stream, THREAD) != 0)
        return MPI_SUCCESS;
    (void)cu.StreamSynchronize(stream); /* which no capture survives */
    int error = enqueue();
    CHECK(cu.EndCapture(stream, &captured) != 0, "the capture is still valid");
    return error;
}

static void launch(void)
{
    handle_errors();
    MPI_Barrier(MPI_COMM_WORLD);
    double event = seconds() + (is_victim() ? 0 : VICTIM_MS * 1e-3);
    if (is_victim()) {
        double ends = event + ALL_SECONDS;
        usleep(VICTIM_MS * 1000);
        fprintf(stderr, "fails: rank %d\n", kit_rank);
        MUST_FAIL("a call whose launch fails", enqueue_badly());
    } else {
        enter("putting calls into the stream", event + KERNELS_SECONDS);
        for (int i = 0; i < CALLS; i++)
            (void)enqueue();
    }
    aftermath(event);
    CHECK(missing == 0, "%d things have not come", missing);
    MPI_Barrier(MPI_COMM_WORLD); /* which knows nothing of all this */
    enter("", 0);
}

static int doorbell[2];

/* Of the last rank: stops and continues its parent, once it is told to. Made before the MPI and the GPU are used. */
static pid_t make_helper(void)
{
    char word = 0;
    pid_t parent = getpid(), helper;
    if (pipe(doorbell) != 0 || (helper = fork()) < 0)
        abort();
    if (helper > 0)
        return helper;
    close(doorbell[1]);
    while (read(doorbell[0], &word, 1) < 0 && errno == EINTR)
        ;
    if (word) { /* otherwise the parent has ended */
        usleep(VICTIM_MS * 1000);
        kill(parent, SIGSTOP);
        usleep(3000000);
        kill(parent, SIGCONT);
    }
    _exit(0);
}

static void stopped(pid_t helper)
{
    int on = 1;
    close(doorbell[0]);
    if (is_victim() && write(doorbell[1], "!", 1) != 1)
        abort();
    double start = seconds();
    for (long batch = 0; on; batch++) {
        for (int i = 0; i < CALLS; i++) {
            int error = enqueue();
            CHECK(error == MPI_SUCCESS, "a call around a stop: class %d", kit_class(error));
        }
        if (batch % 4 == 0)
            right("around a stop");
        on = check_failed() == 0 && seconds() - start < 4.5;
        MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    right("at the end");
    close(doorbell[1]);
    waitpid(helper, NULL, 0);
    CHECK(MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS, "a blocking call afterwards");
    CHECK(MPIX_Stream_free(&mpix) == MPI_SUCCESS && MPI_Comm_free(&comm) == MPI_SUCCESS, "freeing afterwards");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "launch";
    pthread_t thread;
    pid_t helper = strcmp(mode, "stopped") == 0 ? make_helper() : 0;
    alarm(60);
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || !queue_possible() || kit_size < 2)
        kit_skip("stream_failure", "needs a device with streams and two ranks");
    pthread_create(&thread, NULL, watch, NULL);
    open_all();
    if (strcmp(mode, "kill") == 0)
        killed();
    else if (strcmp(mode, "queue") == 0)
        queue_killed();
    else if (strcmp(mode, "graph") == 0)
        graph();
    else if (strcmp(mode, "launch") == 0)
        launch();
    else
        stopped(helper);
    return kit_end("stream_failure");
}
