/* Communicators of the MPI make teams: drawn at random, in any order of ranks, several at once and one out of the
 * other; what is refused, on all processes alike. TUTTI_TEST_ROUNDS, TUTTI_TEST_SEED. */
#include <mpi.h>
#include <stdio.h>

#include "shmem/kit.h"

static int me, pes;
static long *box; /* symmetric: [0] brought, [1] the result */

/* Members are the communicator's ranks; they add up their numbers. */
static void use(MPI_Comm comm, tshmem_team_t team)
{
    int rank, size;
    long sum = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int world[TSHMEM_PES_MAX];
    MPI_Allgather(&me, 1, MPI_INT, world, 1, MPI_INT, comm);
    CHECK(tshmem_team_my_pe(team) == rank && tshmem_team_n_pes(team) == size, "PE %d of %d, not %d of %d",
          tshmem_team_my_pe(team), tshmem_team_n_pes(team), rank, size);
    for (int i = 0; i < size; i++) {
        CHECK(tshmem_team_translate_pe(team, i, TSHMEM_TEAM_WORLD) == world[i], "member %d", i);
        sum += world[i] + 1;
    }
    SET(&box[0], (long)me + 1);
    CHECK(tshmem_long_sum_reduce(team, box + 1, box, 1) == 0 && SEE(&box[1]) == sum, "the sum: %ld, not %ld",
          SEE(&box[1]), sum);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_MAX, comm); /* and the communicator goes on */
    CHECK(tshmem_team_sync(team) == 0, "sync");
}

static void drawn(MPI_Comm parent, int depth, uint64_t round)
{
    const uint64_t d = shmem_draw(round, (uint64_t)depth, (uint64_t)me);
    const int color = d % 5 == 0 ? MPI_UNDEFINED : (int)(d % 2);
    tshmem_team_config_t config = {.num_contexts = 3};
    tshmem_team_t team = 99, again = 99;
    MPI_Comm comm;
    MPI_Comm_split(parent, color, (int)(d / 16 % 8), &comm);
    if (comm == MPI_COMM_NULL)
        return;
    CHECK(tshmem_team_from_comm(comm, &config, TSHMEM_TEAM_NUM_CONTEXTS, &team) == 0, "a team");
    config.num_contexts = 0;
    CHECK(tshmem_team_get_config(team, TSHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 3,
          "its config");
    CHECK(tshmem_team_from_comm(comm, NULL, 0, &again) == 0 && again != team, "a second one of the same");
    use(comm, team);
    if (depth > 0)
        drawn(comm, depth - 1, round);
    use(comm, again);
    tshmem_team_t part = TSHMEM_TEAM_INVALID; /* a team as any other: it can be split */
    const int size = tshmem_team_n_pes(team);
    CHECK(tshmem_team_split_strided(team, size - 1, -1, size, NULL, 0, &part) == 0, "split");
    CHECK(tshmem_team_my_pe(part) == size - 1 - tshmem_team_my_pe(team), "in reverse");
    tshmem_team_destroy(team);
    tshmem_team_destroy(part);
    use(comm, again);
    tshmem_team_destroy(again);
    MPI_Comm_free(&comm);
}

static void refused(void)
{
    tshmem_team_t team = 99;
    tshmem_team_config_t config = {.num_contexts = me == 0 ? TSHMEM_CONTEXTS_MAX : 0};
    shmem_hush_begin();
    CHECK(tshmem_team_from_comm(MPI_COMM_NULL, NULL, 0, &team) < 0 && team == TSHMEM_TEAM_INVALID, "no communicator");
    team = 99;
    CHECK(tshmem_team_from_comm(MPI_COMM_WORLD, &config, TSHMEM_TEAM_NUM_CONTEXTS, &team) < 0 &&
              team == TSHMEM_TEAM_INVALID,
          "one wants too many contexts");
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 5, &inter);
    CHECK(tshmem_team_from_comm(inter, NULL, 0, &team) < 0 && team == TSHMEM_TEAM_INVALID, "an intercommunicator");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    CHECK(tshmem_team_from_comm(MPI_COMM_WORLD, NULL, 0, &team) == 0, "the next one is made");
    tshmem_team_t many[TSHMEM_TEAMS_MAX];
    int made = 0;
    while (made < TSHMEM_TEAMS_MAX && tshmem_team_from_comm(MPI_COMM_WORLD, NULL, 0, &many[made]) == 0)
        made++;
    CHECK(made == TSHMEM_TEAMS_MAX - 4, "%d more teams", made);
    while (made > 0)
        tshmem_team_destroy(many[--made]);
    shmem_hush_end();
    use(MPI_COMM_WORLD, team);
    tshmem_team_destroy(team);
    tshmem_error();
}

/* The address space is that of some ranks: the others are no PEs. */
static void some(int rank)
{
    MPI_Comm part;
    tshmem_team_t team = 99;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &part);
    shmem_hush_begin();
    if (rank != 0)
        CHECK(tshmem_init_comm(part) == 0, "an address space without rank 0");
    CHECK(tshmem_team_from_comm(MPI_COMM_WORLD, NULL, 0, &team) < 0 && team == TSHMEM_TEAM_INVALID, "rank 0 is no PE");
    shmem_hush_end();
    if (rank != 0) {
        tshmem_error();
        CHECK(tshmem_team_from_comm(part, NULL, 0, &team) == 0 && tshmem_sync(team) == 0, "but these are");
        CHECK(tshmem_finalize() == 0, "finalize");
    }
    MPI_Comm_free(&part);
}

int main(void)
{
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 20);
    MPI_Init(NULL, NULL);
    if (!CHECK(tshmem_init() == 0, "tshmem_init"))
        return 1;
    me = tshmem_my_pe();
    pes = tshmem_n_pes();
    check_rank(me);
    if (me == 0)
        printf("seed %llu\n", (unsigned long long)check_seed());
    box = tshmem_calloc(2, sizeof *box);
    for (uint64_t round = 0; round < (uint64_t)rounds; round++)
        drawn(MPI_COMM_WORLD, 2, check_seed() + round);
    refused();
    tshmem_free(box);
    CHECK(tshmem_error() == 0 && tshmem_finalize() == 0, "finalize");
    some(me);
    long mine[2] = {check_failed(), check_done()}, all[2];
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0)
        printf("%ld checks, %ld failed\n", all[1], all[0]);
    MPI_Finalize();
    return all[0] != 0 || all[1] == 0;
}
