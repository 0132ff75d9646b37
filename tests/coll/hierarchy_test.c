/* Hierarchies of communicators over several nodes, machines of the transport and virtual nodes: facts, the node's team,
 * the transports, several that are built at a time in different orders, ranks that cannot, and ends before the end. */
#include "coll/hierarchy.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../team/kit.h"
#include "core/settings.h"
#include "core/status.h"
#include "progress/engine.h"
#include "support/messages.h"
#include "support/random.h"

enum { MOST = 8, COMMS = 4, CONTEXTS = 20 };

/* A communicator of the test: some ranks of the world in some order. */
struct comm {
    struct tutti_transport *transport;
    int world_ranks[MOST];
    struct tutti_hierarchy_opening *opening;
    struct tutti_hierarchy *hierarchy;
    int ended;
};

struct world {
    struct tutti_transport *transport;
    struct tutti_node *node;
    struct tutti_contexts *contexts;
    int each; /* ranks of a machine */
};

static int node_number(const struct world *w, int world_rank)
{
    const int machine = world_rank / w->each, split = (int)tutti_settings()->node_ranks;
    return machine * MOST + (split > 0 ? world_rank % w->each / split : 0);
}

static void draw_comm(const struct world *w, struct comm *comm, uint64_t seed)
{
    const int color = random_mix(seed + (uint64_t)w->transport->rank) % 4 > 0;
    *comm = (struct comm){.transport = tutti_threads_split_by(
                              w->transport, color, (int)(random_mix(seed ^ (uint64_t)w->transport->rank) % 1000))};
    CHECK(comm->transport->ops->allgather(comm->transport, &w->transport->rank, comm->world_ranks, sizeof(int)) ==
              TUTTI_OK,
          "allgather");
}

static void poll_all(struct comm *comm, int comms)
{
    for (int left = 1; left > 0;) {
        left = 0;
        for (int c = 0; c < comms; c++) {
            if (comm[c].ended)
                continue;
            const int answer = tutti_hierarchy_poll(comm[c].opening, &comm[c].hierarchy);
            CHECK(answer >= 0, "status %d", answer);
            comm[c].ended = answer != 0;
            left += answer == 0;
        }
        sched_yield(); /* there are more ranks than cores */
    }
}

static void judge_facts(const struct world *w, const struct comm *comm)
{
    const struct tutti_hierarchy *h = comm->hierarchy;
    const struct tutti_transport *t = comm->transport;
    int nodes = 0, size = 0, wrong = 0;
    for (int r = 0; r < t->size; r++) {
        int first = 0;
        while (node_number(w, comm->world_ranks[first]) != node_number(w, comm->world_ranks[r]))
            first++;
        if (first == r)
            wrong += h->leader[nodes++] != r;
        wrong += h->leader[h->node_of[r]] != first;
        if (h->node_of[r] == h->node) {
            wrong += h->member[size] != r || (r == t->rank) != (h->rank == size);
            size++;
        }
    }
    CHECK(wrong == 0 && nodes == h->nodes && size == h->size && h->node == h->node_of[t->rank],
          "rank %d: %d wrong, %d nodes of %d, %d ranks of %d", t->rank, wrong, h->nodes, nodes, h->size, size);
    for (int n = 0; n < nodes; n++) { /* the rank with this rank's number on each node */
        int before = 0, peer = -1;
        for (int r = 0; r < t->size && peer < 0; r++) {
            if (h->node_of[r] == n && before++ == h->rank)
                peer = r;
        }
        wrong += h->peer[n] != peer;
    }
    CHECK(wrong == 0 && h->least <= size && h->most >= size, "rank %d: %d peers are wrong", t->rank, wrong);
}

/* The team meets, and each transport carries collectives and messages. */
static void judge_parts(const struct comm *comm, uint64_t seed)
{
    const struct tutti_hierarchy *h = comm->hierarchy;
    CHECK(h->team->whole && h->team->size == h->size && h->team->rank == h->rank && h->team->nonblocking,
          "the team: %s", h->team->why);
    for (int i = 0; i < 3; i++)
        CHECK(kit_meet(h->team, (uint64_t)i + 1) == TUTTI_OK, "the team does not meet");
    collectives_run(h->here, seed, 3);
    if (h->size > 1)
        messages_run_tagged(h->here, seed, 1);
    CHECK(h->ranks->rank == comm->transport->rank && h->ranks->size == comm->transport->size, "all ranks");
    collectives_run(h->ranks, seed, 1);
    if (h->ranks->size > 1 && seed % 4 == 0)
        messages_run_tagged(h->ranks, seed, 1);
}

/* Several communicators at a time, begun in an order of this rank's own. */
static void run_round(const struct world *w, uint64_t seed)
{
    struct comm comm[COMMS];
    int order[COMMS] = {0, 1, 2, 3};
    uint64_t mine = seed + (uint64_t)w->transport->rank * 77;
    for (int c = 0; c < COMMS; c++)
        draw_comm(w, &comm[c], random_mix(seed + (uint64_t)c));
    for (int c = COMMS - 1; c > 0; c--) {
        const int other = (int)(random_next(&mine) % (uint64_t)(c + 1)), at = order[c];
        order[c] = order[other];
        order[other] = at;
    }
    for (int c = 0; c < COMMS; c++)
        CHECK(tutti_hierarchy_begin(w->node, w->contexts, comm[order[c]].transport, comm[order[c]].world_ranks,
                                    &comm[order[c]].opening) == TUTTI_OK,
              "begin");
    poll_all(comm, COMMS);
    for (int c = 0; c < COMMS && check_failed() == 0; c++) {
        if (!CHECK(comm[c].hierarchy != NULL, "no hierarchy"))
            continue;
        judge_facts(w, &comm[c]);
        judge_parts(&comm[c], random_mix(seed + (uint64_t)c));
    }
    for (int c = 0; c < COMMS; c++) {
        tutti_hierarchy_free(comm[c].hierarchy);
        tutti_threads_free(comm[c].transport);
    }
}

/* Where one rank has no context left none has a hierarchy; then all have one. One may be given up. */
static void one_cannot(const struct world *w, uint64_t seed)
{
    struct comm comm;
    int taken[CONTEXTS + 1], n = 0;
    draw_comm(w, &comm, seed);
    for (int tries = 0; tries < 2; tries++) {
        if (tries == 0 && comm.transport->rank == comm.transport->size / 2) {
            while ((taken[n] = tutti_context_take(w->contexts)) >= 0)
                n++;
        }
        comm.ended = 0;
        CHECK(tutti_hierarchy_begin(w->node, w->contexts, comm.transport, comm.world_ranks, &comm.opening) == TUTTI_OK,
              "begin");
        poll_all(&comm, 1);
        CHECK((comm.hierarchy != NULL) == (tries == 1), "try %d", tries);
        while (n > 0)
            tutti_context_give(w->contexts, taken[--n]);
    }
    tutti_hierarchy_free(comm.hierarchy);
    /* Given up before it has ended. */
    CHECK(tutti_hierarchy_begin(w->node, w->contexts, comm.transport, comm.world_ranks, &comm.opening) == TUTTI_OK,
          "begin");
    CHECK(comm.transport->ops->barrier(comm.transport) == TUTTI_OK, "barrier");
    tutti_hierarchy_abandon(comm.opening);
    tutti_threads_free(comm.transport);
}

static int rank_main(struct tutti_transport *t, void *arg)
{
    struct world w = {.transport = t, .each = *(const int *)arg};
    CHECK(tutti_node_open(t, &w.node) == TUTTI_OK, "node");
    w.contexts = tutti_contexts_new(t, CONTEXTS);
    for (int round = 0; round < (int)check_many("TUTTI_TEST_ROUNDS", 6) && check_failed() == 0; round++) {
        run_round(&w, random_mix(check_seed() + (uint64_t)round));
        one_cannot(&w, random_mix(check_seed() ^ (uint64_t)round));
    }
    int free_contexts = 0;
    while (tutti_context_take(w.contexts) >= 0)
        free_contexts++;
    CHECK(free_contexts == CONTEXTS, "%d contexts are free", free_contexts);
    t->ops->barrier(t);
    tutti_node_close(w.node);
    tutti_contexts_free(w.contexts);
    return 0;
}

int main(void)
{
    const int sizes[][2] = {{1, 1}, {2, 1}, {4, 2}, {5, 2}, {7, 3}, {8, 4}, {6, 8}};
    for (int i = 0; i < (int)(sizeof sizes / sizeof sizes[0]) && check_failed() == 0; i++) {
        int each = sizes[i][1];
        tutti_threads_machines(each);
        tutti_threads_run(sizes[i][0], rank_main, &each);
    }
    printf("hierarchies: %ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() > 0 || tutti_progress_busy();
}
