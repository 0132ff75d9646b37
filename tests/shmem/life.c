/* Beginning and end over an MPI, by the argument: what is right, and what must be refused on all ranks without a hang.
 * usage: life plain|left|after|refused|unequal|kinds */
#include <mpi.h>
#include <stdio.h>

#include "shmem/kit.h"

/* Every kind of call where the address space is not up: an error, and nothing else. */
static void down(void)
{
    int word = 4, got = 5;
    tshmem_team_t team = 9;
    shmem_hush_begin();
    tshmem_error();
    CHECK(tshmem_my_pe() == -1 && tshmem_n_pes() == 0 && tshmem_state_get() == NULL, "nobody");
    tshmem_int_put(&word, &got, 1, 0);
    CHECK(tshmem_error() < 0 && word == 4, "put");
    tshmem_int_get(&got, &word, 1, 0);
    CHECK(tshmem_error() < 0 && got == 5, "get");
    CHECK(tshmem_int_atomic_fetch_add(&word, 1, 0) == 0 && tshmem_error() < 0 && word == 4, "atomic");
    tshmem_int_wait_until(&word, TSHMEM_CMP_EQ, 5);
    CHECK(tshmem_error() < 0, "wait");
    CHECK(tshmem_malloc(10) == NULL && tshmem_error() < 0, "malloc");
    tshmem_free(&word);
    CHECK(tshmem_error() < 0, "free");
    CHECK(tshmem_realloc(&word, 10) == NULL && tshmem_error() < 0, "realloc");
    tshmem_barrier_all();
    CHECK(tshmem_error() < 0, "barrier");
    CHECK(tshmem_int_sum_reduce(TSHMEM_TEAM_WORLD, &word, &word, 1) < 0, "reduce");
    CHECK(tshmem_int_broadcast(TSHMEM_TEAM_WORLD, &word, &word, 1, 0) < 0, "broadcast");
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team) < 0 && team == -1, "split");
    CHECK(tshmem_team_my_pe(0) == -1 && tshmem_ptr(&word, 0) == NULL && !tshmem_pe_accessible(0), "questions");
    CHECK(tshmem_finalize() < 0, "finalize");
    tshmem_fence();
    tshmem_quiet();
    tshmem_error();
    shmem_hush_end();
}

static int binds, unbinds;
static int bind(const struct tshmem_state *state)
{
    binds += state != NULL;
    unbinds += state == NULL;
    CHECK(!state || (state->bytes == sizeof *state && state->pes == tshmem_n_pes()), "the state");
    return 0;
}

/* tshmem_init calls MPI_Init, and the last tshmem_finalize MPI_Finalize. */
static void plain(void)
{
    int there = 0, major, minor;
    char name[TSHMEM_MAX_NAME_LEN];
    down();
    CHECK(tshmem_register_module(bind) == 0 && binds == 0, "registered before");
    CHECK(tshmem_init() == 0, "tshmem_init");
    CHECK(binds == 1, "bound");
    CHECK(tshmem_register_module(bind) == 0 && binds == 2, "registered while it is up");
    MPI_Initialized(&there);
    CHECK(there, "MPI_Init was called");
    CHECK(tshmem_init() == 0 && tshmem_finalize() == 0 && tshmem_n_pes() > 1, "twice");
    tshmem_info_get_version(&major, &minor);
    tshmem_info_get_name(name);
    CHECK(major == 1 && minor == 5 && strcmp(name, "Tutti") == 0, "version");
    int *sum = tshmem_calloc(2, sizeof *sum);
    SET(sum, 1);
    CHECK(tshmem_int_sum_reduce(TSHMEM_TEAM_WORLD, sum + 1, sum, 1) == 0 && SEE(sum + 1) == tshmem_n_pes(), "sum");
    MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* the heap is memory for the MPI, too */
    CHECK(SEE(sum) == tshmem_n_pes(), "MPI_Allreduce in the heap");
    CHECK(tshmem_finalize() == 0 && unbinds == 2, "finalize");
    MPI_Finalized(&there);
    CHECK(there, "MPI_Finalize was called");
    shmem_hush_begin();
    CHECK(tshmem_init() < 0, "never again");
    shmem_hush_end();
    down();
}

/* The program leaves the address space to MPI_Finalize. */
static void left(void)
{
    MPI_Init(NULL, NULL);
    CHECK(tshmem_init() == 0, "tshmem_init");
    int *word = tshmem_calloc(1, sizeof *word);
    tshmem_int_atomic_inc(word, 0);
    MPI_Finalize();
    down();
}

static void after(void)
{
    MPI_Init(NULL, NULL);
    MPI_Finalize();
    shmem_hush_begin();
    CHECK(tshmem_init() < 0, "after MPI_Finalize");
    shmem_hush_end();
    down();
}

/* Something is not as it must be: every rank is told, and the MPI goes on. */
static void refused(void)
{
    int one = 1;
    MPI_Init(NULL, NULL);
    shmem_hush_begin();
    CHECK(tshmem_init() < 0, "tshmem_init");
    CHECK(tshmem_init_comm(MPI_COMM_WORLD) < 0, "tshmem_init_comm");
    CHECK(shmem_hush_end() >= 2, "each says why");
    down();
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(one > 1, "the MPI goes on");
    MPI_Finalize();
}

/* The rank, before there is an MPI. */
static int is_first(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    return rank && strcmp(rank, "0") == 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "plain") == 0) {
        plain();
    } else if (strcmp(what, "left") == 0) {
        left();
    } else if (strcmp(what, "after") == 0) {
        after();
    } else if (strcmp(what, "unequal") == 0) {
        setenv("TUTTI_SHMEM_HEAP_MB", is_first() ? "8" : "16", 1);
        refused();
    } else if (strcmp(what, "kinds") == 0) {
        setenv("TUTTI_SHMEM_HEAP", is_first() ? "host" : "device", 1);
        refused();
    } else {
        refused();
    }
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0 || check_done() == 0;
}
