#include "p2p/turns.h"

#include "core/clock.h"
#include "core/counters.h"
#include "core/lives.h"
#include "core/status.h"
#include "team/deferred_free.h"

/* Two ranks on one H200 that take turns fetch a message through pinned memory in 12 to 18 us up to 16 KiB, 20 at 64
 * KiB, 51 at 1 MiB and 163 at 4 MiB; 16 of 4 KiB in 98, 64 in 350. A kernel takes 148 at least, and 300 to 600 where
 * both have work. */
enum {
    WAITED_NS = 60000,  /* a kernel has waited for its turn if it took longer, without its bytes */
    KERNEL_BYTES = 256, /* that a kernel moves in a ns within a GPU, at least */
    COPIES_NS = 12000,  /* what copies through pinned memory take, beside each message and the bytes */
    COPY_NS = 5500,
    COPIED_BYTES = 26, /* a ns, there and back */
    TURN_NS = 150000,  /* that a kernel waits, before one was timed */
    FIRST_NS = 250000, /* of copies, before a kernel is tried again; twice as many each time */
    MOST_WAITS = 64    /* until the copies before it take so many times as long as it waited */
};

static struct {
    _Atomic uint64_t waited; /* ns that kernels wait, the last ones most; 0: the last kernel did not wait */
    /* ns of copies until a kernel is tried, now and the next time. next 0: there was none. */
    _Atomic uint64_t left, next;
} turns[TUTTI_LIVES_GPUS + 1]; /* the last one is of memory that belongs to no GPU in particular */

static int turns_row(int gpu)
{
    return gpu < 0 || gpu >= TUTTI_LIVES_GPUS ? TUTTI_LIVES_GPUS : gpu;
}

int tutti_turns_with(const struct tutti_p2p_worker *worker, int peer, int gpu)
{
    if (!tutti_endpoint_takes_turns(worker->endpoint, peer, gpu))
        return 0;
    tutti_gpu_share(gpu, 1);
    return 1;
}

int tutti_turns_pass(int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    const int row = turns_row(gpu);
    if (atomic_load_explicit(&turns[row].next, memory_order_relaxed) == 0) {
        atomic_store_explicit(&turns[row].next, FIRST_NS, memory_order_relaxed);
        atomic_store_explicit(&turns[row].left, FIRST_NS, memory_order_relaxed);
        atomic_store_explicit(&turns[row].waited, TURN_NS, memory_order_relaxed);
    }
    const uint64_t waited = atomic_load_explicit(&turns[row].waited, memory_order_relaxed);
    const uint64_t left = atomic_load_explicit(&turns[row].left, memory_order_relaxed);
    uint64_t ns = COPIES_NS;
    if (waited == 0 || left == 0)
        return 0;
    for (unsigned i = 0; i < n; i++)
        ns += COPY_NS + jobs[i].bytes / COPIED_BYTES;
    if (ns > waited)
        return 0;
    atomic_store_explicit(&turns[row].left, left > ns ? left - ns : 0, memory_order_relaxed);
    return 1;
}

int tutti_turns_copy(const struct tutti_p2p_worker *worker, int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    int status = TUTTI_ERR_UNAVAILABLE;
    if (tutti_turns_pass(gpu, jobs, n))
        status = tutti_pack_through(gpu, jobs, n, tutti_deferred_free_may_load(worker->node));
    for (unsigned i = 0; i < n && status == TUTTI_OK; i++)
        tutti_count("copies of messages", TUTTI_OUTCOME_LAUNCHED,
                    "through pinned memory, as ranks share a GPU without MPS");
    return status;
}

void tutti_turn_begin(struct tutti_turn *turn, int are, int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < n && are; i++)
        bytes += jobs[i].bytes;
    *turn =
        (struct tutti_turn){.since = are ? tutti_now_ns() : 0, .moves = bytes / KERNEL_BYTES, .row = turns_row(gpu)};
}

void tutti_turn_end(const struct tutti_turn *turn)
{
    if (turn->since == 0)
        return;
    const uint64_t took = tutti_now_ns() - turn->since, waited = took > turn->moves ? took - turn->moves : 0;
    const uint64_t next = atomic_load_explicit(&turns[turn->row].next, memory_order_relaxed);
    const uint64_t before = atomic_load_explicit(&turns[turn->row].waited, memory_order_relaxed);
    const int waits = waited > WAITED_NS;
    uint64_t now = waits ? next : next / 2;
    now = now < FIRST_NS ? FIRST_NS : now;
    atomic_store_explicit(&turns[turn->row].left, waits ? now : 0, memory_order_relaxed);
    atomic_store_explicit(&turns[turn->row].next, waits && now < MOST_WAITS * waited ? 2 * now : now,
                          memory_order_relaxed);
    atomic_store_explicit(&turns[turn->row].waited,
                          !waits   ? 0
                          : before ? (before + waited) / 2
                                   : waited,
                          memory_order_relaxed);
}
