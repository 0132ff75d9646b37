/* A PE that does not come, or keeps a lock: the others say which, give up after TUTTI_TIMEOUT_SECONDS, and all further
 * calls are errors. A PE that ends all: the others
 * end in their waits. A PE that dies: kernels that wait for it leave,
 * if there is a proxy, which notices it. */
#include <stdio.h>
#include <unistd.h>

#include "core/status.h"
#include "shmem/kit.h"
#include "shmem/shmem.h"
#include "support/threads.h"
#include "team/kit.h"
#include "tutti/device.h"

enum { BARRIER, WAIT, LOCK, WAYS };
static const char *const said_of[] = {"in tshmem_barrier_all for PE 1\n", "wait_until for all of 1 words",
                                      "in tshmem_set_lock for all of 1 words"};

static int stall(struct tutti_transport *transport, void *arg)
{
    const int way = *(const int *)arg;
    struct tutti_node *node = NULL;
    check_rank(transport->rank);
    CHECK(tutti_node_open(transport, &node) == 0 && tutti_shmem_open(transport, node, NULL) == 0, "open");
    int *word = tshmem_calloc(1, sizeof *word);
    long *lock = tshmem_calloc(1, sizeof *lock);
    if (way == LOCK && transport->rank == 1)
        tshmem_set_lock(lock); /* and keeps it */
    tshmem_barrier_all();
    if (transport->rank != 1) { /* PE 1 goes another way */
        kit_capture_begin();
        if (way == LOCK)
            tshmem_set_lock(lock);
        else if (way == WAIT)
            tshmem_int_wait_until(word, TSHMEM_CMP_EQ, 1);
        else
            tshmem_barrier_all();
        const int status = tshmem_error(), later = tshmem_sync(TSHMEM_TEAM_WORLD);
        char *said = kit_capture_end();
        CHECK(status == TUTTI_ERR_TIMEOUT || status == TUTTI_ERR_BROKEN, "status %d", status);
        CHECK(later == TUTTI_ERR_BROKEN, "a call after it: %d", later);
        CHECK(strstr(said, "is waiting for 1 s") != NULL, "the stall is not reported: %s", said);
        CHECK(strstr(said, said_of[way]) != NULL, "who is missing: %s", said);
        free(said);
    }
    transport->ops->barrier(transport);
    if (transport->rank == 1) {
        shmem_hush_begin();
        CHECK(tshmem_sync(TSHMEM_TEAM_WORLD) == TUTTI_ERR_BROKEN, "it is told, too");
        shmem_hush_end();
    }
    transport->ops->barrier(transport);
    tutti_shmem_close();
    tutti_node_close(node);
    return check_failed() != 0;
}

static int leave(struct tutti_transport *transport, void *arg)
{
    struct tutti_node *node = NULL;
    (void)arg;
    check_rank(transport->rank);
    CHECK(tutti_node_open(transport, &node) == 0 && tutti_shmem_open(transport, node, NULL) == 0, "open");
    if (transport->rank == 0) {
        usleep(50000);
        tshmem_global_exit(7);
    }
    tshmem_barrier_all();
    return 99; /* nobody comes here */
}

/* PE 1 is gone; PE 0 waits in a kernel for its signal, and hears of it, not of the limit, which is an hour. */
static int die(struct tutti_transport *transport, void *arg)
{
    struct tutti_node *node = NULL;
    (void)arg;
    check_rank(transport->rank);
    setenv("TUTTI_TIMEOUT_SECONDS", "3600", 1);
    CHECK(tutti_node_open(transport, &node) == 0 && tutti_shmem_open(transport, node, NULL) == 0, "open");
    uint64_t word = 0;
    if (transport->rank == 1)
        _exit(9);
    if (transport->rank == 0) {
        kit_capture_begin();
        tshmem_signal_wait_until_block(&word, TSHMEM_CMP_EQ, 1);
        const int later = tshmem_sync(TSHMEM_TEAM_WORLD);
        char *said = kit_capture_end();
        CHECK(tshmem_state_get()->abort && *tshmem_state_get()->abort != 0, "the wait was not left");
        CHECK(later == TUTTI_ERR_BROKEN, "a call after it: %d", later);
        free(said);
    }
    shmem_hush_begin();
    tutti_shmem_close();
    shmem_hush_end();
    return check_failed() != 0;
}

int main(void)
{
    int ended[3], failed = 0;
    tutti_forks_run(3, die, NULL, ended);
    failed |= ended[0] != 0 || ended[1] != 9 || ended[2] != 0;
    for (int way = BARRIER; way < WAYS; way++)
        failed |= tutti_forks_run(3, stall, &way, NULL);
    tutti_forks_run(3, leave, NULL, ended);
    failed |= ended[0] != 7 || ended[1] != 7 || ended[2] != 7;
    printf("%s: %d %d %d\n", failed ? "failed" : "passed", ended[0], ended[1], ended[2]);
    return failed;
}
