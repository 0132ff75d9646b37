/* What goes wrong in a stream: a signal that never comes, a PE that never comes, two collectives of one team at once.
 * Each ends the address space within the limit, is reported, and kept. By kernels that meet, and through a channel. */
#include <stdio.h>

#include "core/status.h"
#include "shmem/kit.h"
#include "shmem/local/way.h"
#include "shmem/shmem.h"
#include "support/threads.h"
#include "team/kit.h"

enum { SIGNAL, ANY, MISSING, TWICE, LARGE, WAYS };
static const struct {
    int status;
    const char *said;
} told[2][WAYS] = {
    {{TUTTI_ERR_TIMEOUT, "tshmem_signal_wait_until_on_stream: in a kernel of PE"},
     {TUTTI_ERR_TIMEOUT, "a wait or test in a stream: in a kernel of PE"},
     {TUTTI_ERR_BROKEN, "tshmem_sync_on_stream or tshmem_barrier_on_stream: PE"},
     {TUTTI_ERR_BROKEN, "another collective of the team was under way in another stream"},
     {TUTTI_ERR_BROKEN, "tshmem_fcollect_on_stream"}},
    {{TUTTI_ERR_TIMEOUT, "tshmem_signal_wait_until_on_stream: in a kernel of PE"},
     {TUTTI_ERR_TIMEOUT, "a wait or test in a stream: in a kernel of PE"},
     {TUTTI_ERR_TIMEOUT, "a collective in a stream: in a kernel of PE"},
     {TUTTI_ERR_BROKEN, "a collective in a stream: another collective of the team was under way in another"},
     {TUTTI_ERR_TIMEOUT, "a collective in a stream: in a kernel of PE"}}};

static int way_of(struct tutti_transport *transport, void *arg)
{
    const int way = *(const int *)arg;
    const int channel = tutti_shmem_stream_channels();
    struct tutti_node *node = NULL;
    void *stream = NULL, *other = NULL;
    check_rank(transport->rank);
    CHECK(tutti_node_open(transport, &node) == 0 && tutti_shmem_open(transport, node, NULL) == 0, "open");
    uint64_t *words = tshmem_calloc(1 << 16, sizeof *words);
    CHECK(words && tutti_stream_create(&stream) == 0 && tutti_stream_create(&other) == 0, "streams");
    CHECK(tshmem_barrier_all_on_stream(stream) == 0 && tutti_stream_sync(stream) == 0 && tshmem_error() == 0, "before");
    transport->ops->barrier(transport);
    /* PE 1 does nothing. One PE alone waits for a signal: of two, the later is told that the other gave up. */
    if (transport->rank == 0 || (transport->rank == 2 && way > ANY)) {
        int status = 0;
        kit_capture_begin();
        if (way == SIGNAL)
            status = tshmem_signal_wait_until_on_stream(words, TSHMEM_CMP_EQ, 9, stream);
        else if (way == ANY)
            status = tshmem_uint64_wait_until_any_on_stream(words + 100, words, 99, NULL, TSHMEM_CMP_NE, 0, stream);
        else if (way == LARGE)
            status = tshmem_uint64_fcollect_on_stream(TSHMEM_TEAM_WORLD, words + 16384, words, 16384, stream);
        else
            status = tshmem_sync_on_stream(TSHMEM_TEAM_WORLD, stream);
        if (way == TWICE)
            status |= tshmem_sync_on_stream(TSHMEM_TEAM_WORLD, other);
        const int done = tutti_stream_sync(stream) | tutti_stream_sync(other);
        const int kept = tshmem_error(), again = tshmem_error();
        const int later = tshmem_barrier_all_on_stream(stream), host = tshmem_sync(TSHMEM_TEAM_WORLD);
        char *said = kit_capture_end();
        CHECK(status == 0 && done == 0, "the call is put into the stream: %d, %d", status, done);
        CHECK(kept == told[channel][way].status, "%s is kept: %d", tutti_status_text(told[channel][way].status), kept);
        CHECK(again == 0, "once: %d", again);
        CHECK(later == TUTTI_ERR_BROKEN && host == TUTTI_ERR_BROKEN, "calls after it: %d, %d", later, host);
        CHECK(strstr(said, told[channel][way].said) != NULL, "what is said: %s", said);
        free(said);
    }
    transport->ops->barrier(transport);
    tutti_stream_destroy(other);
    tutti_stream_destroy(stream);
    tutti_shmem_close();
    tutti_node_close(node);
    return check_failed() != 0;
}

int main(void)
{
    int failed = 0;
    for (int way = 0; way < WAYS; way++)
        failed |= tutti_forks_run(way == TWICE ? 2 : 3, way_of, &way, NULL);
    printf("%s\n", failed ? "failed" : "passed");
    return failed;
}
