#include "shmem_device/pes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Thread_local const struct tshmem_state *pes_state;

void pes_open(struct pes *pes, int count, uint64_t limit_ms)
{
    memset(pes, 0, sizeof *pes);
    pes->count = count;
    for (int pe = 0; pe < count; pe++) {
        pes->heap[pe] = aligned_alloc(4096, (sizeof(struct program_heap) + 4095) / 4096 * 4096);
        memset(pes->heap[pe], 0, sizeof(struct program_heap));
    }
    for (int pe = 0; pe < count; pe++) {
        struct tshmem_state *const state = &pes->state[pe];
        *state = (struct tshmem_state){.bytes = sizeof *state,
                                       .version = TSHMEM_STATE_VERSION,
                                       .me = pe,
                                       .pes = count,
                                       .heap = (char *)pes->heap[pe],
                                       .heap_bytes = sizeof(struct program_heap),
                                       .area_bytes = sizeof pes->heap[pe]->areas[0],
                                       .team = pes->team[pe],
                                       .abort = &pes->abort[pe],
                                       .limit_ns = limit_ms * 1000000,
                                       .context = pes->context[pe],
                                       .failure = &pes->failure[pe]};
        program_contexts(pes->context[pe], count, pe);
        for (int p = 0; p < count; p++)
            state->peer[p] = (char *)pes->heap[p];
        for (int t = 0; t < PROGRAM_TEAMS; t++)
            program_team(&pes->team[pe][t], count, t, pe);
    }
}

void pes_close(struct pes *pes)
{
    for (int pe = 0; pe < pes->count; pe++)
        free(pes->heap[pe]);
}

struct pe_thread {
    struct pes *pes;
    int pe;
    void (*body)(int pe, void *context);
    void *context;
};

static void *run(void *argument)
{
    const struct pe_thread *const thread = argument;
    pes_state = &thread->pes->state[thread->pe];
    thread->body(thread->pe, thread->context);
    return NULL;
}

void pes_run(struct pes *pes, void (*body)(int pe, void *context), void *context)
{
    pthread_t threads[PROGRAM_PES];
    struct pe_thread of[PROGRAM_PES];
    for (int pe = 0; pe < pes->count; pe++) {
        of[pe] = (struct pe_thread){pes, pe, body, context};
        if (pthread_create(&threads[pe], NULL, run, &of[pe]) != 0)
            abort();
    }
    for (int pe = 0; pe < pes->count; pe++)
        pthread_join(threads[pe], NULL);
}
