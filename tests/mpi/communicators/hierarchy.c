/* The hierarchy of MPI communicators over virtual nodes: src/mpi/comm/hierarchy.c by itself, with a table of real calls
 * that is this program's. Ranks begin those of several communicators in different orders. */
#include "coll/hierarchy.h"

#include <stdio.h>
#include <stdlib.h>

#include "mpi/comm/comms.h"
#include "progress/engine.h"
#include "support/check.h"
#include "support/messages.h"

#include "alone_transport.h"

struct tutti_door tutti_door;
__thread int tutti_inside __attribute__((tls_model("initial-exec")));

enum { COMMS = 3, CONTEXTS = 16, MOST = 8 };

static int is_made(void *with)
{
    struct tutti_comm *comm = with;
    return tutti_comm_hierarchy(comm) != NULL || !comm->hierarchy_opening;
}

static void await_made(struct tutti_comm *comm)
{
    CHECK(tutti_progress_wait(&(const struct tutti_wait){.done = is_made, .with = comm, .seconds = 30}) == TUTTI_OK,
          "it is not made");
}

static void judge(struct tutti_comm *comm, unsigned long long seed)
{
    const struct tutti_hierarchy *h = tutti_comm_hierarchy(comm);
    const struct tutti_arrival mine = {
        .collective = TUTTI_COLLECTIVE_ALLREDUCE, .kind = TUTTI_ARRIVAL_DEVICE, .count = 5};
    const struct tutti_arrival *all[TUTTI_MAX_RANKS];
    int64_t word[2];
    if (!CHECK(h != NULL, "no hierarchy"))
        return;
    CHECK(h->team->whole && h->team->size == h->size && h->member[h->rank] == comm->transport.base.rank, "the team");
    tutti_team_arrive(h->team, &mine);
    CHECK(tutti_team_await(h->team, all) == TUTTI_OK, "the team does not meet");
    word[0] = h->rank;
    word[1] = -h->rank;
    CHECK(h->here->ops->allreduce(h->here, word, 2, TUTTI_COMBINE_MAX) == TUTTI_OK && word[0] == h->size - 1 &&
              word[1] == 0,
          "ranks here");
    word[0] = comm->transport.base.rank;
    word[1] = -comm->transport.base.rank;
    CHECK(h->ranks->ops->allreduce(h->ranks, word, 2, TUTTI_COMBINE_MAX) == TUTTI_OK &&
              word[0] == comm->transport.base.size - 1 && word[1] == 0,
          "all ranks");
    collectives_run(h->ranks, seed, 3);
}

int main(int argc, char **argv)
{
    struct tutti_mpi_transport world, own;
    struct tutti_comm comm[COMMS] = {{0}};
    MPI_Comm dup;
    unsigned long long seed = check_seed();
    MPI_Init(&argc, &argv);
    alone_transport_calls();
    tutti_next.MPI_Comm_test_inter = MPI_Comm_test_inter;
    tutti_next.MPI_Comm_group = MPI_Comm_group;
    tutti_next.MPI_Comm_remote_group = MPI_Comm_remote_group;
    tutti_next.MPI_Group_size = MPI_Group_size;
    tutti_next.MPI_Group_free = MPI_Group_free;
    tutti_next.MPI_Group_translate_ranks = MPI_Group_translate_ranks;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    alone_transport(&world, MPI_COMM_WORLD);
    alone_transport(&own, dup);
    check_rank(world.base.rank);
    CHECK(tutti_node_open(&world.base, &tutti_door.node) == TUTTI_OK, "node");
    tutti_comm_contexts = tutti_contexts_new(&own.base, CONTEXTS);
    for (int round = 0; round < 10; round++) {
        for (int c = 0; c < COMMS; c++) {
            comm[c] = (struct tutti_comm){0};
            MPI_Comm_split(MPI_COMM_WORLD, 0, c == 1 ? -world.base.rank : world.base.rank, &comm[c].handle);
            alone_transport(&comm[c].transport, comm[c].handle);
        }
        for (int c = 0; c < COMMS; c++) { /* nonblocking calls on several communicators may come in any order */
            struct tutti_comm *begun = &comm[(c + round * world.base.rank) % COMMS];
            CHECK(tutti_comm_hierarchy(begun) == NULL, "a hierarchy that was not begun");
            tutti_comm_hierarchy_begin(begun);
            tutti_comm_hierarchy_begin(begun);
        }
        for (int c = 0; c < COMMS - 1; c++) {
            await_made(&comm[c]);
            judge(&comm[c], seed + (unsigned)c);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int c = 0; c < COMMS; c++) { /* the last one may not have been made */
            tutti_comm_hierarchy_end(&comm[c]);
            MPI_Comm_free(&comm[c].handle);
        }
    }
    int free_contexts = 0;
    while (tutti_context_take(tutti_comm_contexts) >= 0)
        free_contexts++;
    CHECK(free_contexts == CONTEXTS, "%d contexts are free", free_contexts);
    MPI_Barrier(MPI_COMM_WORLD);
    tutti_node_close(tutti_door.node);
    tutti_contexts_free(tutti_comm_contexts);
    if (world.base.rank == 0)
        printf("hierarchy: %ld checks, %ld failed\n", check_done(), check_failed());
    MPI_Comm_free(&dup);
    MPI_Finalize();
    return check_failed() > 0;
}
