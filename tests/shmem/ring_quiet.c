/* What a kernel has asked by the ring is complete, not just read by the proxy, when a host call that completes it
 * returns: quiet, the barrier, and the calls that give places of the heap away, each of which is a barrier. Here a
 * kernel is the calling thread. The path to near PEs, which does everything at once, is replaced by one that keeps
 * requests open; they are let go when the call has looked whether they are complete. So the order of events is always
 * the same. */
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shmem/kit.h"
#include "shmem/meet.h"
#include "shmem/proxy/proxy.h"
#include "shmem/space.h"
#include "tutti/device.h"

enum { BYTES = 3000, MOST = 16, SECONDS = 20 };

static atomic_int holding, in_quiet, looks, early;

/* ---- the path that keeps requests open; on the poller's thread ---- */

static struct held {
    struct tutti_ring_request *operation;
    char *at;
} held[MOST];
static int held_count;

static void *core(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol) {
        fprintf(stderr, "the core's own %s was not found\n", name);
        abort();
    }
    return symbol;
}

static int begin(struct tutti_proxy *proxy, struct tutti_ring_request *operation, char *at)
{
    const struct tutti_path *path = core("tutti_near_host");
    if (!atomic_load(&holding) || held_count == MOST)
        return path->begin(proxy, operation, at);
    held[held_count++] = (struct held){operation, at};
    return TUTTI_RING_OPEN;
}

static int poll(struct tutti_proxy *proxy)
{
    const struct tutti_path *path = core("tutti_near_host");
    const int ended = held_count;
    if (atomic_load(&holding))
        return 0;
    for (int i = 0; i < ended; i++) {
        CHECK(path->begin(proxy, held[i].operation, held[i].at) == TUTTI_RING_DONE, "a request is done at once");
        tutti_ring_done(proxy->ring, held[i].operation);
    }
    held_count = 0;
    return ended;
}

/* In place of the core's. */
const struct tutti_path tutti_near_host = {.name = "of a PE of this node, held", .begin = begin, .poll = poll};

/* ---- the calls of the core that wait for it ---- */

void tutti_shmem_proxy_quiet(struct tutti_shmem *space)
{
    void (*quiet)(struct tutti_shmem * space);
    *(void **)(void *)&quiet = core("tutti_shmem_proxy_quiet");
    atomic_store(&in_quiet, 1);
    quiet(space);
    atomic_store(&in_quiet, 0);
}

int tutti_shmem_await(struct tutti_shmem *space, int (*done)(struct tutti_shmem *space, void *with),
                      void (*where)(struct tutti_shmem *space, void *with, char *text, size_t size), void *with)
{
    int (*await)(struct tutti_shmem *, int (*)(struct tutti_shmem *, void *),
                 void (*)(struct tutti_shmem *, void *, char *, size_t), void *);
    *(void **)(void *)&await = core("tutti_shmem_await");
    if (atomic_load(&in_quiet) && atomic_load(&holding)) {
        char text[256] = "";
        where(space, with, text, sizeof text);
        CHECK(strstr(text, "CUDA_DEVICE_MAX_CONNECTIONS=8") && strstr(text, "docs/streams.md)"),
              "a long wait does not say what may help: %s", text);
        atomic_fetch_add(&looks, 1);
        atomic_fetch_add(&early, done(space, with) != 0);
        atomic_store(&holding, 0);
    }
    return await(space, done, where, with);
}

/* ---- what is tested ---- */

static char *object, *data, *zeros;
static int next, from;

/* Until the proxy has read all requests. */
static void await_proxy(void)
{
    const struct tshmem_ring_state *ring = &tshmem_state_get()->ring;
    const time_t end = time(NULL) + SECONDS;
    while ((int64_t)(__atomic_load_n(&ring->progress->consumed, __ATOMIC_ACQUIRE) -
                     __atomic_load_n(&ring->own->next, __ATOMIC_ACQUIRE)) < 0 &&
           time(NULL) < end)
        sched_yield();
    CHECK(time(NULL) < end, "the proxy reads requests");
}

static void take(void)
{
    object = tshmem_calloc(BYTES, 1);
    if (!CHECK(object != NULL, "%d bytes", BYTES))
        exit(1);
}

/* A kernel has put `data` to the next PE, and the proxy has read that. */
static void ask(uint64_t key)
{
    shmem_fill(data, BYTES, shmem_draw(key, (uint64_t)tshmem_my_pe(), 1));
    atomic_store(&looks, 0);
    atomic_store(&early, 0);
    atomic_store(&holding, 1);
    tshmem_putmem_nbi_block(object, data, BYTES, next);
    await_proxy();
    CHECK(__atomic_load_n(&tshmem_state_get()->ring.progress->completed, __ATOMIC_ACQUIRE) !=
              __atomic_load_n(&tshmem_state_get()->ring.own->next, __ATOMIC_ACQUIRE),
          "the request is open");
}

static void has_waited(const char *call)
{
    CHECK(atomic_load(&looks) > 0, "%s does not wait for what kernels have asked", call);
    CHECK(atomic_load(&early) == 0, "%s goes on when the proxy has read what kernels have asked, but not done it",
          call);
    atomic_store(&holding, 0);
}

static void has_come(const char *call, const void *at, uint64_t key)
{
    char want[BYTES + 8];
    shmem_fill(want, BYTES, shmem_draw(key, (uint64_t)from, 1));
    CHECK(shmem_holds(at, want, BYTES), "%s: what a kernel has put has not come", call);
}

static void completes(void)
{
    uint64_t key = 0;
    take();
    ask(++key);
    tshmem_quiet();
    has_waited("tshmem_quiet");
    tshmem_sync_all();
    has_come("tshmem_quiet", object, key);
    tshmem_sync_all();
    ask(++key);
    tshmem_barrier_all();
    has_waited("tshmem_barrier_all");
    has_come("tshmem_barrier_all", object, key);
    tshmem_sync_all();
    ask(++key);
    char *other = tshmem_malloc(8);
    has_waited("tshmem_malloc");
    has_come("tshmem_malloc", object, key);
    tshmem_sync_all();
    ask(++key);
    tshmem_free(other);
    has_waited("tshmem_free");
    has_come("tshmem_free", object, key);
    tshmem_sync_all();
    ask(++key);
    object = tshmem_realloc(object, 2 * (size_t)BYTES);
    has_waited("tshmem_realloc");
    has_come("tshmem_realloc", object, key);
    tshmem_free(object);
}

/* What is on its way to an object when that is freed does not come to the next one in its place. */
static void freed(void)
{
    take();
    const char *const place = object;
    ask(1000);
    tshmem_free(object);
    has_waited("tshmem_free");
    take();
    tshmem_barrier_all();
    CHECK(object == place, "another place");
    CHECK(shmem_holds(object, zeros, BYTES), "put into an object that was freed");
    tshmem_free(object);
}

void shmem_test(void)
{
    const int pes = tshmem_n_pes();
    next = (tshmem_my_pe() + 1) % pes;
    from = (tshmem_my_pe() + pes - 1) % pes;
    data = malloc(BYTES + 8);
    zeros = calloc(BYTES, 1);
    completes();
    freed();
    free(data);
    free(zeros);
}
