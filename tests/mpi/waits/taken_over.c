/* A wait makes its nonblocking collective itself while the library's thread sleeps. The threads of the library that
 * sleep on a condition are held there, on all ranks: then MPI_Wait ends, with the right data, only if it makes the
 * call. The function of libc that holds them is this program's: libraries find it first.
 *
 * As no thread of the library runs, the questions to the GPU's driver in the starting call are the call's own: it asks
 * none if Tutti has made the same call before. The wait asks then, since the memory may be another one. Needs
 * TUTTI_STATS=1. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "kit.h"
#include "persistent.h"

enum { INTS = 500, RANKS = 4, ROUNDS = 8, ROUNDS_A_ROOT = 4, REACHED_S = 10, NAP_US = 1000 };

static atomic_int asleep; /* threads of the library that sleep on a condition, or are held */
static atomic_int held;

static int is_of_library(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname && strstr(info.dli_fname, "libtutti");
}

__attribute__((visibility("default"))) int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    static int (*real)(pthread_cond_t *, pthread_mutex_t *);
    if (!real) { /* x86-64 has an older one of another form too */
        void *found = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
        *(void **)(void *)&real = found ? found : dlsym(RTLD_NEXT, "pthread_cond_wait");
    }
    if (!is_of_library(condition))
        return real(condition, lock);
    atomic_fetch_add(&asleep, 1);
    const int code = real(condition, lock);
    while (atomic_load(&held)) {
        pthread_mutex_unlock(lock);
        usleep(NAP_US);
        pthread_mutex_lock(lock);
    }
    atomic_fetch_sub(&asleep, 1);
    return code;
}

/* Lets the threads go if a wait stands still. */
static atomic_int waiting, let_go;

static void *watch(void *unused)
{
    (void)unused;
    for (uint64_t since = 0; atomic_load(&waiting) >= 0; usleep(NAP_US)) {
        since = !atomic_load(&waiting) ? 0 : since ? since : tutti_now_ns();
        if (since && tutti_now_ns() - since > (uint64_t)REACHED_S * 1000000000 && atomic_exchange(&held, 0))
            atomic_fetch_add(&let_go, 1);
    }
    return NULL;
}

static void hold(void)
{
    const uint64_t begun = tutti_now_ns();
    while (!atomic_load(&asleep) && tutti_now_ns() - begun < (uint64_t)REACHED_S * 1000000000)
        usleep(NAP_US);
    CHECK(atomic_load(&asleep) > 0, "no thread of the library sleeps");
    atomic_store(&held, 1);
}

enum call { BCAST, ALLGATHER, ALLTOALL, ALLREDUCE, REDUCE, PERSISTENT, CALLS };
static const char *const names[CALLS] = {"MPI_Ibcast",     "MPI_Iallgather", "MPI_Ialltoall",
                                         "MPI_Iallreduce", "MPI_Ireduce",    "a persistent MPI_Bcast"};
static struct kit_buffer out, in;
static MPI_Request persistent = MPI_REQUEST_NULL;
static int made;  /* Tutti has made the call before: it is this one, unless the root differs */
static int asked; /* by the starting call, since then: */
static int asked_before;

static int questions(void)
{
    return (int)kit_counted("GPU driver", "what memory is");
}

static int accelerated(enum call call)
{
    return call == PERSISTENT ? 0 : (int)kit_counted(names[call], "accelerated");
}

static int value(int from, int to, int i, int round)
{
    return from * 1000003 + to * 10007 + i * 31 + round;
}

static int root_of(int round)
{
    return round / ROUNDS_A_ROOT % kit_size;
}

/* The call, started; what it must give lies in want[]. */
static MPI_Request start(enum call call, int round, int want[], int *count)
{
    static int data[INTS * RANKS];
    MPI_Request request = MPI_REQUEST_NULL;
    const int root = root_of(round), bcast = call == BCAST || call == PERSISTENT;
    for (int to = 0; to < kit_size; to++) {
        for (int i = 0; i < INTS; i++)
            data[to * INTS + i] = value(kit_rank, call == ALLTOALL ? to : 0, i, round);
    }
    *count = bcast || call == REDUCE || call == ALLREDUCE ? INTS : INTS * kit_size;
    for (int at = 0; at < *count; at++) {
        const int from = at / INTS, i = at % INTS;
        want[at] = bcast ? value(root, 0, i, round) : value(from, call == ALLTOALL ? kit_rank : 0, i, round);
        for (int r = 1; r < kit_size && (call == REDUCE || call == ALLREDUCE); r++)
            want[at] += value(r, 0, i, round);
    }
    void *const send = kit_put(&out, 0, data, sizeof(int) * (size_t)(INTS * kit_size));
    void *const receive = kit_put(&in, 0, bcast ? data : NULL, sizeof(int) * (size_t)*count);
    asked_before = questions();
    switch (call) {
    case BCAST:
        MPI_Ibcast(receive, INTS, MPI_INT, root, MPI_COMM_WORLD, &request);
        break;
    case ALLGATHER:
        MPI_Iallgather(send, INTS, MPI_INT, receive, INTS, MPI_INT, MPI_COMM_WORLD, &request);
        break;
    case ALLTOALL:
        MPI_Ialltoall(send, INTS, MPI_INT, receive, INTS, MPI_INT, MPI_COMM_WORLD, &request);
        break;
    case ALLREDUCE:
        MPI_Iallreduce(send, receive, INTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        break;
    case REDUCE:
        MPI_Ireduce(send, receive, INTS, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &request);
        break;
    default:
        MPI_Bcast_init(receive, INTS, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        persistent = request;
        MPI_Start(&request);
    }
    asked = questions() - asked_before;
    *count = call == REDUCE && kit_rank != root ? 0 : *count;
    return request;
}

/* 0: a wait of some rank has not made its call. */
static int one(enum call call, int round, int is_held)
{
    static int want[INTS * RANKS];
    const int before = accelerated(call), again = made && round > 0 && root_of(round) == root_of(round - 1);
    int count;
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_held)
        hold();
    MPI_Request request = start(call, round, want, &count);
    CHECK(!is_held || !again || asked == 0, "%s: %d questions of the starting call", names[call], asked);
    atomic_store(&waiting, is_held);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "%s ends with an error", names[call]);
    atomic_store(&waiting, 0);
    CHECK(!again || questions() > asked_before, "%s: nothing has asked what the memory is now", names[call]);
    made = accelerated(call) > before;
    CHECK(memcmp(kit_get(&in, NULL), want, sizeof(int) * (size_t)count) == 0, "%s: wrong data", names[call]);
    int stood = atomic_load(&let_go);
    CHECK(!stood, "the wait for %s does not make the call", names[call]);
    MPI_Allreduce(MPI_IN_PLACE, &stood, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD); /* no rank waits any more */
    atomic_store(&held, 0);
    if (persistent != MPI_REQUEST_NULL)
        MPI_Request_free(&persistent);
    return !stood;
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size > RANKS)
        kit_skip("taken_over", "needs the library in front, and at most four ranks");
    pthread_t watcher;
    CHECK(pthread_create(&watcher, NULL, watch, NULL) == 0, "a thread");
    kit_open(&out, KIT_DEVICE, sizeof(int) * INTS * RANKS);
    kit_open(&in, KIT_DEVICE, sizeof(int) * INTS * RANKS);
    const int calls = persistent_there() && PERSISTENT_SUPPLIED ? CALLS : PERSISTENT;
    for (int call = 0, fine = 1; call < calls && fine; call++) {
        for (int round = 0; round < ROUNDS && fine; round++)
            fine = one((enum call)call, round, round > 0); /* the first one opens the communicator and loads kernels */
    }
    atomic_store(&waiting, -1);
    pthread_join(watcher, NULL);
    kit_close(&out);
    kit_close(&in);
    return kit_end("taken_over");
}
