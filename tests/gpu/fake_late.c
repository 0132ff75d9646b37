/* The pretended driver's copies that are under way when the call has returned: out of a GPU, in the legacy stream,
 * where the test asks for it (fake->late). The words arrive from the last to the first. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"

#include "fake_state.h"

static struct {
    pthread_t thread;
    int runs;
    char *to, *data;
    size_t bytes;
    unsigned us;
} late;

/* A sleep of few us lasts far longer. */
static void late_pass(unsigned us)
{
    const uint64_t until = tutti_now_ns() + us * UINT64_C(1000);
    if (us >= 100)
        usleep(us);
    while (tutti_now_ns() < until) {
    }
}

static void *late_run(void *nothing)
{
    const size_t words = late.bytes / 4, half = words / 2 * 4;
    late_pass(late.us);
    memcpy(late.to + words * 4, late.data + words * 4, late.bytes % 4);
    for (size_t at = words * 4; at > 0; at -= 4) {
        uint32_t word;
        memcpy(&word, late.data + at - 4, sizeof word);
        __atomic_store_n((uint32_t *)(void *)(late.to + at - 4), word, __ATOMIC_RELAXED);
        if (at - 4 == half)
            late_pass(late.us);
    }
    return nothing;
}

void fake_late_end(void)
{
    if (!late.runs)
        return;
    pthread_join(late.thread, NULL);
    free(late.data);
    late.runs = 0;
}

int fake_late_copy(void *to, const void *from, size_t bytes)
{
    fake_late_end();
    if (bytes >= sizeof fake_state.before)
        memcpy(&fake_state.before, to, sizeof fake_state.before);
    if (!fake_state.late)
        return 0;
    late.data = malloc(bytes);
    memcpy(late.data, from, bytes);
    late.to = to;
    late.bytes = bytes;
    late.us = fake_state.late;
    late.runs = pthread_create(&late.thread, NULL, late_run, NULL) == 0;
    return late.runs;
}
