/* Memory that cannot be had: on one rank the n-th allocation fails, once, for each n in turn, from opening the node to
 * freeing the team. Every call must end on all ranks, with the right sum where it says that it has succeeded, and on
 * all ranks alike. usage: alloc_test RULES (TUTTI_TEST_FROM, TUTTI_TEST_TO: which n) */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll/coll.h"
#include "coll/sums.h"
#include "core/status.h"
#include "support/check.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum { RANKS = 3, VICTIM = 1, CALLS = 3, COUNT = 3000, MOST = 2000, WORKERS = 4 };

/* Allocations of the victim's thread while it is in a call of Tutti; the failing one. */
static _Thread_local int counting;
static long made, failing;

static int fails(void)
{
    if (!counting || ++made != failing)
        return 0;
    errno = ENOMEM;
    return 1;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t size);

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t size)
{
    return fails() ? NULL : __libc_realloc(at, size);
}

/* What each rank has seen, in memory that all share. */
static struct seen {
    long made;
    int node, team, whole, status[CALLS], taken[CALLS], wrong[CALLS];
} * seen;
static atomic_long *done; /* allocations that have failed so far, of all workers */

static void reduce(struct tutti_team *team, struct seen *mine, int call)
{
    int *in = NULL, *out = NULL, host[COUNT];
    const char *why = "?";
    enum tutti_reduce_outcome taken = TUTTI_REDUCE_DECLINED;
    for (int i = 0; i < COUNT; i++)
        host[i] = i * (call + 1) + team->rank;
    CHECK(tutti_alloc(sizeof host, (void **)&in) == 0 && tutti_alloc(sizeof host, (void **)&out) == 0 &&
              tutti_copy(in, host, sizeof host) == 0,
          "device memory");
    const struct tutti_call asked = sum_call(TUTTI_COLLECTIVE_ALLREDUCE, in, out, COUNT);
    counting = team->rank == VICTIM;
    mine->status[call] = tutti_reduce_run(team, &asked, &taken, &why);
    counting = 0;
    mine->taken[call] = taken == TUTTI_REDUCE_DONE;
    if (mine->status[call] == TUTTI_OK && taken == TUTTI_REDUCE_DONE) {
        tutti_copy(host, out, sizeof host);
        for (int i = 0; i < COUNT; i++)
            mine->wrong[call] += host[i] != RANKS * i * (call + 1) + RANKS * (RANKS - 1) / 2;
    }
    tutti_free(in);
    tutti_free(out);
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    struct seen *mine = &seen[transport->rank];
    struct tutti_node *node = NULL;
    struct tutti_team *team = NULL;
    (void)unused;
    counting = transport->rank == VICTIM;
    mine->node = tutti_node_open(transport, &node);
    if (mine->node == TUTTI_OK)
        mine->team = tutti_team_create(node, transport, &team);
    counting = 0;
    mine->whole = team && team->whole;
    for (int call = 0; call < CALLS && mine->whole; call++)
        reduce(team, mine, call);
    counting = transport->rank == VICTIM;
    tutti_team_free(team);
    tutti_node_close(node);
    counting = 0;
    mine->made = made;
    return check_failed() != 0;
}

/* One run; 0 if fewer than n allocations are made. */
static int with_failure(long n)
{
    int ended[RANKS];
    memset(seen, 0, RANKS * sizeof *seen);
    failing = n;
    tutti_forks_run(RANKS, rank_main, NULL, ended);
    for (int r = 0; r < RANKS; r++) {
        const struct seen *first = &seen[0], *its = &seen[r];
        CHECK(ended[r] == 0, "allocation %ld: rank %d ended with %d", n, r, ended[r]);
        CHECK(its->node == first->node || (its->node != TUTTI_OK && first->node != TUTTI_OK),
              "allocation %ld: the node is there on some ranks only", n);
        CHECK(its->whole == first->whole, "allocation %ld: the team is whole on some ranks only", n);
        for (int call = 0; call < CALLS; call++) {
            CHECK((its->status[call] == TUTTI_OK) == (first->status[call] == TUTTI_OK),
                  "allocation %ld, call %d: rank %d says %s, rank 0 %s", n, call, r,
                  tutti_status_text(its->status[call]), tutti_status_text(first->status[call]));
            CHECK(its->status[call] != TUTTI_OK || its->taken[call] == first->taken[call],
                  "allocation %ld, call %d: some ranks give it to the MPI", n, call);
            CHECK(its->wrong[call] == 0, "allocation %ld, call %d: rank %d has %d wrong elements", n, call, r,
                  its->wrong[call]);
        }
    }
    return seen[VICTIM].made >= n;
}

/* Every WORKERS-th allocation from n on; most of the time ranks wait for one that has given up. */
static int work(long n, long last)
{
    seen = mmap(NULL, RANKS * sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(seen != MAP_FAILED, "shared memory"))
        return 1;
    while (n <= last && check_failed() < 20 && with_failure(n)) {
        atomic_fetch_add(done, 1);
        n += WORKERS;
    }
    return check_failed() != 0;
}

int main(int argc, char **argv)
{
    const long first = check_setting("TUTTI_TEST_FROM", 1), last = check_setting("TUTTI_TEST_TO", MOST);
    setenv("TUTTI_RULES", argc > 1 ? argv[1] : "", 1);
    seen = mmap(NULL, RANKS * sizeof *seen + sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    done = (atomic_long *)(void *)(seen + RANKS);
    CHECK(seen != MAP_FAILED && !with_failure(1000000) && seen[0].whole && seen[0].taken[0], "without a failure");
    const long all = seen[VICTIM].made;
    CHECK(all > 10, "%ld allocations are too few", all);
    fflush(NULL);
    for (long w = 0; w < WORKERS; w++) {
        const pid_t worker = fork();
        CHECK(worker >= 0, "fork");
        if (worker == 0)
            _exit(work(first + w, last));
    }
    for (int status; wait(&status) > 0;)
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "one of the workers");
    printf("%ld allocations failed one by one, of %ld\n", atomic_load(done), all);
    CHECK(first > 1 || last < all || atomic_load(done) >= all, "some were left out");
    return check_failed() != 0;
}
