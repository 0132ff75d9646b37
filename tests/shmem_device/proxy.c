/* What a proxy refuses, and what ends it: requests past the end of a heap, words that are not aligned, PEs out of
 * reach, a wire that fails, a process that has died. The abort word is set, waits leave long before their limit, and
 * nothing is stored. Then which transfers go by the ring: by size, and what the rules say of it (TUTTI_RULES, see
 * CMakeLists.txt). */
#include "shmem_device/pes_ring.h"

#include "tutti/device.h"

#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/status.h"
#include "support/check.h"

enum { PES = 2, LIMIT_MS = 60000 };

static struct pes pes;
static char source[8192];

static int is_dead(void *unused)
{
    (void)unused;
    return 4711;
}

static int fails(struct tutti_proxy *proxy, struct tutti_ring_request *operation, char *at)
{
    (void)proxy, (void)operation, (void)at;
    return TUTTI_ERR_DEVICE;
}

static int never(struct tutti_proxy *proxy, struct tutti_ring_request *operation, char *at)
{
    (void)proxy, (void)operation, (void)at;
    return TUTTI_RING_OPEN;
}

static int fails_later(struct tutti_proxy *proxy)
{
    return proxy->ring->consumed > 0 ? TUTTI_ERR_PEER : 0;
}

static int busy(struct tutti_proxy *proxy, struct tutti_ring_request *operation, char *at)
{
    (void)proxy, (void)operation, (void)at;
    return TUTTI_RING_BUSY;
}

static const struct tutti_path failing = {.name = "by a wire that fails", .begin = fails};
static const struct tutti_path late = {.name = "by a wire that fails later", .begin = never, .poll = fails_later};
static const struct tutti_path stuck = {.name = "by a wire that takes nothing", .begin = busy};
static const struct tutti_path lost = {.name = "by a wire that loses all", .begin = never};

enum {
    PAST_THE_END,
    GET_PAST_THE_END,
    BLOCKS_PAST_THE_END,
    BACKWARDS,
    SIGNAL_PAST_THE_END,
    NOT_ALIGNED,
    NO_WIRE,
    FAILING_WIRE,
    LATE_WIRE,
    DEAD,
    CASES
};

/* By PE 0. */
static void ask(int which)
{
    struct program_heap *const heap = pes.heap[0];
    char *const end = (char *)heap + sizeof *heap;
    switch (which) {
    case PAST_THE_END:
        tshmem_putmem(end - 64, source, 65, 1);
        break;
    case GET_PAST_THE_END:
        tshmem_getmem(source, end - 64, 65, 1);
        break;
    case BLOCKS_PAST_THE_END:
        tutti_shmem_put_blocks(end - 64, source, 2, 1, 1, 9, 4, 1);
        break;
    case BACKWARDS:
        tutti_shmem_put_blocks(end - 64, source, -2, 1, 1, 2, 4, 1);
        break;
    case SIGNAL_PAST_THE_END:
        tshmem_putmem_signal(heap->in, source, 64, (uint64_t *)(void *)(end - 4), 1, TSHMEM_SIGNAL_SET, 1);
        break;
    case NOT_ALIGNED:
        tutti_shmem_amo(TSHMEM_AMO_ADD, heap->in + 4, 8, 1, 0, 1);
        break;
    case DEAD:
        tshmem_signal_wait_until(&heap->signals[0][0], TSHMEM_CMP_EQ, 1);
        break;
    default:
        tshmem_putmem(heap->in, source, 64, 1);
    }
}

static int is_zero(const struct program_heap *heap)
{
    const char *const bytes = (const char *)heap;
    for (size_t i = 0; i < sizeof *heap; i++) {
        if (bytes[i] != 0)
            return 0;
    }
    return 1;
}

/* Proxies store it meanwhile. */
static uint32_t aborted_of(int pe)
{
    return __atomic_load_n(&pes.abort[pe], __ATOMIC_ACQUIRE);
}

static void refused(int which)
{
    const int far = which == NO_WIRE || which == FAILING_WIRE || which == LATE_WIRE;
    const uint64_t before = tutti_now_ns();
    pes_open(&pes, PES, LIMIT_MS);
    pes_state = &pes.state[0];
    pes_far = which == FAILING_WIRE ? &failing : which == LATE_WIRE ? &late : NULL;
    pes_dead = which == DEAD ? is_dead : NULL;
    pes_serve(&pes, far ? PES_RING_FAR : PES_RING_FORCED, 16, 2);
    ask(which);
    /* who has died is seen by every proxy */
    const uint32_t aborted = aborted_of(0), other = aborted_of(1);
    CHECK(aborted != 0 && (other == 0 || which == DEAD), "case %d: aborted %u %u", which, aborted, other);
    CHECK(tutti_now_ns() - before < LIMIT_MS / 4 * UINT64_C(1000000), "case %d: the limit was waited for", which);
    pes_serve_end(&pes, 0);
    CHECK(is_zero(pes.heap[1]), "case %d: something was stored", which);
    pes_close(&pes);
}

enum { GRIDS = 7, COLLECTIVES = GRIDS + TUTTI_GRID_STRATEGIES };

static int collective(int which)
{
    struct program_heap *const heap = pes.heap[0];
    const struct tutti_grid_work work = {heap->in, sizeof heap->in};
    switch (which) {
    case 0:
        return tshmem_barrier(0);
    case 1:
        return tshmem_broadcastmem(0, heap->out, heap->in, 9000, 0);
    case 2:
        return tshmem_collectmem(0, heap->out, heap->in, 100);
    case 3:
        return tshmem_fcollectmem(0, heap->out, heap->in, 100);
    case 4:
        return tutti_shmem_alltoalls(0, heap->out, heap->in, 2, 3, 10, 4);
    case 5:
        return tutti_shmem_reduce(0, heap->out, heap->in, 2000, TSHMEM_ID_FLOAT, TSHMEM_OP_SUM);
    case 6:
        return tutti_shmem_scan(0, heap->out, heap->in, 20, TSHMEM_ID_FLOAT, 0);
    default:
        return tutti_grid_allreduce(0, TUTTI_GRID_GLOBAL, heap->out, heap->source, 300, TSHMEM_ID_FLOAT, TSHMEM_OP_SUM,
                                    which - GRIDS, &work);
    }
}

/* Collectives with a member of another node: the wire fails, at once or later, takes nothing (the ring runs full), or
 * loses what it takes, or the member's process has died: an error each, and no wait goes on. */
static void collectives(void)
{
    static const struct tutti_path *const wires[] = {&failing, &late, &stuck, &lost, &lost};
    uint64_t seed = 0;
    int node[2] = {0, 0};
    while (node[0] == node[1])
        program_nodes(node, PES, ++seed);
    for (int i = 0; i < 4 * COLLECTIVES + 1; i++) { /* of a process that has died: one, it takes a while to see */
        const uint64_t before = tutti_now_ns();
        const int how = i / COLLECTIVES, full = how == 2;
        pes_open(&pes, PES, how == 2 || how == 3 ? 30 : LIMIT_MS);
        pes_state = &pes.state[0];
        pes_far = wires[how];
        pes_dead = how == 4 ? is_dead : NULL;
        pes_serve(&pes, PES_RING_NODES, 16, seed);
        for (int k = 0; k < 20 && full; k++)
            tshmem_uint64_p(&pes.heap[0]->counters[0], 1, 1);
        CHECK(collective(i % COLLECTIVES) < 0 && aborted_of(0) != 0, "%s: collective %d is no error", wires[how]->name,
              i % COLLECTIVES);
        CHECK(tutti_now_ns() - before < LIMIT_MS / 4 * UINT64_C(1000000), "%s: the limit was waited for",
              wires[how]->name);
        pes_serve_end(&pes, 0);
        pes_close(&pes);
    }
}

/* From the threshold on, and not before, a transfer is a request. */
static void cutovers(void)
{
    static const size_t cut[] = {1, 17, 100, 4096, 0};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        pes_open(&pes, PES, LIMIT_MS);
        pes_state = &pes.state[0];
        pes_serve(&pes, PES_RING_CUT, 64, 1);
        struct program_heap *const heap = pes.heap[0];
        uint64_t *const next = &pes_server[0].ring.counters->next;
        for (int get = 0; get < 2; get++) {
            for (int g = 0; g < TSHMEM_GROUPS; g++) {
                pes.state[0].ring.cutover[TSHMEM_CUT_PUT][g] = get || g != TSHMEM_GROUP_1 ? 3 : cut[i];
                pes.state[0].ring.cutover[TSHMEM_CUT_GET][g] = get && g == TSHMEM_GROUP_1 ? cut[i] : 3;
            }
            for (size_t n = cut[i] < 2 ? 0 : cut[i] - 2; n < cut[i] + 2; n++) {
                const uint64_t before = *next;
                if (get)
                    tshmem_getmem(source, heap->in, n, 1);
                else
                    tshmem_putmem(heap->in, source, n, 1);
                CHECK((*next != before) == (cut[i] && n >= cut[i]), "%zu bytes with a threshold of %zu", n, cut[i]);
            }
        }
        const uint64_t before = *next;
        tshmem_uint64_p(&heap->counters[0], 5, 1);
        tshmem_uint64_atomic_add(&heap->counters[0], 6, 1);
        CHECK(*next == before && pes.heap[1]->counters[0] == 11, "elements and atomics are the kernels' own");
        tshmem_quiet();
        pes_serve_end(&pes, 1);
        pes_close(&pes);
    }
    static const uint64_t want[TSHMEM_CUTS][TSHMEM_GROUPS] = {{4096, 0, 0, 0}, {0, 0, 1, 3000}};
    uint64_t got[TSHMEM_CUTS][TSHMEM_GROUPS];
    CHECK(tutti_cutovers(got) == 1 && memcmp(got, want, sizeof got) == 0,
          "the rules give %llu %llu %llu %llu, %llu "
          "%llu %llu %llu",
          (unsigned long long)got[0][0], (unsigned long long)got[0][1], (unsigned long long)got[0][2],
          (unsigned long long)got[0][3], (unsigned long long)got[1][0], (unsigned long long)got[1][1],
          (unsigned long long)got[1][2], (unsigned long long)got[1][3]);
}

int main(void)
{
    for (int which = 0; which < CASES; which++)
        refused(which);
    collectives();
    pes_dead = NULL;
    cutovers();
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
