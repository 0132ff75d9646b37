/* Before MPICH and Intel MPI: ranks that wait leave the core to others, as a setting makes those of Open MPI do.
 * MPICH 4.0 over UCX has no setting for it, and with more ranks than cores each call would take milliseconds
 * of spinning. Nor is it enough to yield: a rank that waits then takes more of the processor than the one that
 * computes. A thread that yields again and again with next to nothing in between sleeps a little instead. So does one
 * whose yield has let others run for long: on a loaded machine each further yield would take as long, 16 of them half a
 * second, while one that has slept gets the core back as soon as it wakes. */
#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    IDLE_MOST = 10,         /* rounds of UCX without anything done before a yield */
    YIELDS_MOST = 16,       /* of one wait, before it sleeps */
    YIELD_LONG_NS = 500000, /* others have had the core */
    SLEEPS = 256,           /* waits that sleep at once after such a yield */
    NOTHING_NS = 10000,     /* between two yields of one wait */
    NAP_LEAST_NS = 20000,   /* to which the system adds 50 us */
    NAP_MOST_NS = 200000
};

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* In place of the C library's. */
int sched_yield(void)
{
    static __thread uint64_t last;
    static __thread unsigned yields, sleeps;
    static __thread long nap;
    if (now_ns() - last > NOTHING_NS) {
        yields = sleeps > 0 ? YIELDS_MOST : 0;
        sleeps -= sleeps > 0;
        nap = NAP_LEAST_NS;
    }
    if (yields < YIELDS_MOST) {
        const uint64_t begun = now_ns();
        yields++;
        syscall(SYS_sched_yield);
        if (now_ns() - begun > YIELD_LONG_NS) {
            yields = YIELDS_MOST;
            sleeps = SLEEPS;
        }
    } else {
        nanosleep(&(const struct timespec){.tv_nsec = nap}, NULL);
        nap = nap * 2 < NAP_MOST_NS ? nap * 2 : NAP_MOST_NS;
    }
    last = now_ns();
    return 0;
}

static unsigned (*find(void))(void *)
{
    void *found = dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (!found) { /* the MPI came with a shared object that keeps its names to itself */
        void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
        found = library ? dlsym(library, "ucp_worker_progress") : NULL;
    }
    if (!found)
        abort();
    return (unsigned (*)(void *))found;
}

unsigned ucp_worker_progress(void *worker);
unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*volatile real)(void *);
    static __thread int idle;
    if (!real)
        real = find();
    const unsigned done = real(worker);
    idle = done ? 0 : idle + 1;
    if (idle >= IDLE_MOST) {
        idle = IDLE_MOST;
        sched_yield();
    }
    return done;
}
