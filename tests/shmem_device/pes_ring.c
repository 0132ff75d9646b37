#include "shmem_device/pes_ring.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/random.h"

struct pes_server pes_server[PROGRAM_PES];
extern const struct tutti_shmem_kind tutti_shmem_host; /* kind.h has the host's calls, this test the kernels' */

/* ---- what is done late: by the wire in any order, near by in its order, on which programs rely ---- */

static int begin(struct tutti_proxy *proxy, struct tutti_ring_request *operation, char *at)
{
    struct pes_server *const server = proxy->far_with;
    CHECK(!at == !proxy->state->peer[operation->pe], "where it lies");
    if (server->waiting == (int)(sizeof server->later / sizeof *server->later))
        return TUTTI_RING_BUSY;
    server->later[server->waiting++] = operation;
    return TUTTI_RING_OPEN;
}

static int end(struct tutti_proxy *proxy, int any_order)
{
    struct pes_server *const server = proxy->far_with;
    int ended = 0;
    if (random_next(&server->random) % 8 != 0)
        return 0;
    while (server->waiting > 0 && random_next(&server->random) % 4 != 0) {
        const int i = any_order ? (int)(random_next(&server->random) % (uint64_t)server->waiting) : 0;
        struct tutti_ring_request *const o = server->later[i];
        const int get = o->operation == TSHMEM_RING_GET || o->operation == TSHMEM_RING_GET_VALUE ||
                        o->operation == TSHMEM_RING_GET_BLOCKS;
        server->waiting--;
        memmove(&server->later[i], &server->later[i + 1], (size_t)(server->waiting - i) * sizeof o);
        CHECK(tutti_near_host.begin(&server->near, o, server->mapped.peer[o->pe] + (get ? o->source : o->dest)) ==
                  TUTTI_RING_DONE,
              "what is done late");
        tutti_ring_done(proxy->ring, o);
        ended++;
    }
    return ended;
}

static int poll_wire(struct tutti_proxy *proxy)
{
    return end(proxy, 1);
}

static int poll_late(struct tutti_proxy *proxy)
{
    return end(proxy, 0);
}

static const struct tutti_path wire = {.name = "by the wire", .begin = begin, .poll = poll_wire};
static const struct tutti_path late = {.name = "near by", .begin = begin, .poll = poll_late};

const struct tutti_path *pes_far = &wire;
int (*pes_dead)(void *);

/* ---- */

static void cut(struct tshmem_ring_state *ring, enum pes_ring_how how, uint64_t *random)
{
    ring->elements = how == PES_RING_FORCED;
    ring->atomics = how != PES_RING_CUT;
    for (int i = 0; i < TSHMEM_CUTS * TSHMEM_GROUPS; i++)
        ring->cutover[i / TSHMEM_GROUPS][i % TSHMEM_GROUPS] = how == PES_RING_FORCED ? 1
                                                              : how == PES_RING_CUT  ? random_next(random) % 600
                                                                                     : 0;
}

void pes_serve(struct pes *pes, enum pes_ring_how how, uint64_t slots, uint64_t seed)
{
    uint64_t random = random_mix(seed);
    int node[PROGRAM_PES];
    program_nodes(node, pes->count, seed);
    for (int pe = 0; pe < pes->count && how != PES_RING_NONE; pe++) {
        struct pes_server *const server = &pes_server[pe];
        struct tshmem_state *const state = &pes->state[pe];
        memset(server, 0, sizeof *server);
        server->random = random_mix(seed + (uint64_t)pe);
        server->mapped = *state;
        for (int p = 0; p < pes->count && how == PES_RING_FAR; p++)
            state->peer[p] = NULL;
        if (how == PES_RING_NODES)
            program_apart(state, state->team, node);
        server->host = *state;
        server->near = (struct tutti_proxy){.state = &server->mapped, .kind = &tutti_shmem_host};
        server->proxy = (struct tutti_proxy){.state = &server->host,
                                             .near = seed % 2 && how == PES_RING_FORCED ? &late : &tutti_near_host,
                                             .far = how >= PES_RING_NODES ? pes_far : NULL,
                                             .far_with = server,
                                             .kind = &tutti_shmem_host};
        server->ring.owner = (struct tutti_ring_owner){.name = "a PE", .abort = state->abort, .dead = pes_dead};
        CHECK(tutti_ring_server_open(&server->ring, NULL, -1, NULL, slots) == 0, "a ring");
        CHECK(tutti_proxy_open(&server->proxy, &server->ring) == 0, "the proxy");
        const struct tutti_ring_kernel_view view = tutti_ring_server_view(&server->ring);
        tutti_proxy_publish(&view, &state->ring);
        cut(&state->ring, how, &random);
        CHECK(tutti_ring_server_start(&server->ring, 1) == 0, "no thread");
    }
}

void pes_serve_end(struct pes *pes, int whole)
{
    for (int pe = 0; pe < pes->count && pes_server[pe].ring.poller; pe++) {
        struct pes_server *const server = &pes_server[pe];
        tutti_ring_server_stop(&server->ring);
        CHECK(!whole || (server->waiting == 0 && server->ring.ring.consumed == server->ring.counters->next),
              "PE %d: something is left in the ring", pe);
        tutti_proxy_close(&server->proxy);
        tutti_ring_server_close(&server->ring);
    }
}
