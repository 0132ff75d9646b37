/* Runs a test with 1 and 4 forked processes (with 2 and 3 under MPIs) as PEs, or as many as the arguments say. */
#include <stdio.h>

#include "progress/engine.h"
#include "shmem/copy_queue.h"
#include "shmem/here.h"
#include "shmem/kit.h"
#include "shmem/shmem.h"
#include "support/threads.h"
#include "team/team.h"

int shmem_rank_of(int pe)
{
    return pe;
}

int shmem_open_operations(tshmem_ctx_t ctx)
{
    const int number = (int)((uintptr_t)ctx & 0xff) - 1;
    if (!tutti_shmem_process.gpu)
        return 0;
    const struct tutti_shmem_nbi *later = &tutti_shmem_process.gpu->nbi[number];
    return (int)(atomic_load(&later->issued) - atomic_load(&later->settled));
}

static struct tutti_node *node_here;

/* As the door does for waits of programs: a PE that has crashed ends those of the others. */
static int dead_process(void)
{
    return node_here ? tutti_node_dead(node_here) : 0;
}

static int rank_main(struct tutti_transport *transport, void *arg)
{
    struct tutti_node *node = NULL;
    (void)arg;
    check_rank(transport->rank);
    if (!CHECK(tutti_node_open(transport, &node) == 0, "node"))
        return 1;
    node_here = node;
    tutti_progress_watch(dead_process);
    if (CHECK(tutti_shmem_open(transport, node, NULL) == 0, "the address space opens")) {
        CHECK(tshmem_my_pe() == transport->rank && tshmem_n_pes() == transport->size, "PE %d of %d", tshmem_my_pe(),
              tshmem_n_pes());
        void *filled = shmem_fill_heap();
        shmem_test();
        tshmem_free(filled);
        CHECK(tshmem_error() == 0, "an error is left over");
        CHECK(tshmem_finalize() == 0, "finalize");
        CHECK(tshmem_my_pe() == -1 && tshmem_n_pes() == 0, "nothing is left of it");
    }
    node_here = NULL;
    tutti_node_close(node);
    CHECK(check_done() > 0, "nothing was checked");
    return check_failed() != 0;
}

int main(int argc, char **argv)
{
    static const int standard[] = {1, 4};
    int failed = 0;
    for (int i = 0; argc < 2 && i < 2; i++)
        failed |= tutti_forks_run(standard[i], rank_main, NULL, NULL);
    for (int i = 1; i < argc; i++)
        failed |= tutti_forks_run(atoi(argv[i]), rank_main, NULL, NULL);
    printf("%s\n", failed ? "failed" : "passed");
    return failed != 0;
}
