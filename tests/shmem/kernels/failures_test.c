/* A kernel that cannot do an operation: the host reports operation, place and reason with the PE's next call, and the
 * other PEs report them too. Kernels are the calling thread. */
#define TSHMEM_KERNELS
#include "tutti/device.h"

#include <stdio.h>

#include "core/status.h"
#include "shmem/kit.h"
#include "shmem/shmem.h"
#include "support/threads.h"
#include "team/kit.h"

enum { OUTSIDE, NO_PE, NO_CONTEXT, NO_TEAM, NO_ROOT, NO_OPERATION, STRIDE, LATE, LATE_SIGNAL, TWICE, WAYS };
static const struct {
    int status;
    const char *said, *other; /* of the PE itself, and of the other one */
} told[WAYS] = {
    [OUTSIDE] = {TUTTI_ERR_ARGUMENT, "tshmem_p to PE 1: 4 bytes at 0x",
                 "are not in its heap: tshmem_malloc gives such"},
    [NO_PE] = {TUTTI_ERR_ARGUMENT, "tshmem_get from PE 2: there is no PE 2, but 0 to 1", "there is no PE 2"},
    [NO_CONTEXT] = {TUTTI_ERR_ARGUMENT, "a call with a context for PE 1: 0x1234 is no context", "is no context"},
    [NO_TEAM] = {TUTTI_ERR_ARGUMENT, "tshmem_sync or tshmem_barrier of team 7: 7 is no team of this PE",
                 "7 is no team"},
    [NO_ROOT] = {TUTTI_ERR_ARGUMENT, "tshmem_broadcast of team 0: the root 3 is no PE of team 0", "the root 3"},
    [NO_OPERATION] = {TUTTI_ERR_ARGUMENT, "a reduction of team 0: kernels have no \"xor\" for elements of", "\"xor\""},
    [STRIDE] = {TUTTI_ERR_ARGUMENT, "tshmem_alltoall of team 0: a stride of -2 elements: it begins with 1", "of -2"},
    [LATE] = {TUTTI_ERR_TIMEOUT, "of team 0: it waited for PE 1 longer than TUTTI_TIMEOUT_SECONDS", "it waited for"},
    [LATE_SIGNAL] = {TUTTI_ERR_TIMEOUT, "tshmem_signal_wait_until: it waited for the word at 0x", "it waited for"},
    [TWICE] = {TUTTI_ERR_BROKEN, "another collective of team 0 was under way in a kernel of this PE", "under way"},
};

static void kernel(int way, uint64_t *words)
{
    float mine = 0;
    struct tutti_dev_meeting first;
    switch (way) {
    case OUTSIDE:
        tshmem_float_p(&mine, 1, 1);
        break;
    case NO_PE:
        tshmem_getmem(&mine, words, sizeof mine, 2);
        break;
    case NO_CONTEXT:
        tshmem_ctx_putmem((tshmem_ctx_t)(uintptr_t)0x1234, words, &mine, sizeof mine, 1);
        break;
    case NO_TEAM:
        tshmem_barrier(7);
        break;
    case NO_ROOT:
        tshmem_broadcastmem(0, words, words + 8, 8, 3);
        break;
    case NO_OPERATION:
        tutti_shmem_reduce(0, words, words + 8, 1, TSHMEM_ID_FLOAT, TSHMEM_OP_XOR);
        break;
    case STRIDE:
        tutti_shmem_alltoalls(0, words, words + 8, 1, -2, 1, 8);
        break;
    case LATE:
        tshmem_barrier(0);
        break;
    case LATE_SIGNAL:
        tshmem_signal_wait_until(words, TSHMEM_CMP_EQ, 9);
        break;
    default:
        CHECK(tutti_dev_enter(&first, TSHMEM_KERNEL_BARRIER, TUTTI_BY_THREAD, 0) == 0, "the first one is begun");
        tshmem_barrier(0);
    }
}

static int way_of(struct tutti_transport *transport, void *arg)
{
    const int way = *(const int *)arg, me = transport->rank;
    struct tutti_node *node = NULL;
    check_rank(me);
    CHECK(tutti_node_open(transport, &node) == 0 && tutti_shmem_open(transport, node, NULL) == 0, "open");
    uint64_t *words = tshmem_calloc(64, sizeof *words);
    CHECK(words && tshmem_error() == 0, "before");
    transport->ops->barrier(transport);
    for (int pe = 0; pe < 2; pe++) { /* PE 0 first; then PE 1 hears of it */
        if (me == pe) {
            kit_capture_begin();
            if (me == 0)
                kernel(way, words);
            const int kept = me == 0 ? tshmem_error() : 0;
            const void *none = tshmem_malloc(8);
            const int after = tshmem_error();
            char *said = kit_capture_end();
            CHECK(!none && after == TUTTI_ERR_BROKEN, "way %d: a call after it: %d", way, after);
            CHECK(me == 1 || kept == told[way].status, "way %d: the status is kept: %d", way, kept);
            CHECK(strstr(said, "in a kernel, block (0,0,0), thread (0,0,0) of PE 0: ") != NULL, "way %d: where: %s",
                  way, said);
            CHECK(strstr(said, me == 0 ? told[way].said : told[way].other) != NULL, "way %d: %s", way, said);
            free(said);
        }
        transport->ops->barrier(transport);
    }
    tutti_shmem_close();
    tutti_node_close(node);
    return check_failed() != 0;
}

int main(void)
{
    int failed = 0;
    for (int way = 0; way < WAYS; way++)
        failed |= tutti_forks_run(2, way_of, &way, NULL);
    printf("%s\n", failed ? "failed" : "passed");
    return failed;
}
