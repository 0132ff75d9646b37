/* Launches of the kernel of the global address space: their addresses, as the kernel reaches them. */
#include "core/status.h"
#include "device/host/work.h"
#include "device/host/work_reach.h"

/* Those that are there. */
static int reach_runs(int gpu, struct tutti_shmem_runs *runs)
{
    int status = TUTTI_OK;
    for (uint32_t i = 0; i < TUTTI_SHMEM_RUNS && status == TUTTI_OK; i++) {
        struct tutti_shmem_run *const run = &runs->run[i];
        void *from = NULL;
        if (i >= runs->before && i < TUTTI_SHMEM_RUNS - runs->after)
            continue;
        status = tutti_work_reach(gpu, "source of a step's copy", run->from, run->bytes, &from);
        run->from = from;
        if (status == TUTTI_OK)
            status = tutti_work_reach(gpu, "destination of a step's copy", run->to, run->bytes, &run->to);
    }
    return status;
}

/* Addresses of the PE's own heap move with the heap. The launching side knows the heap's size. The control page is host
 * memory. */
int tutti_work_shmem(struct tutti_work *work, int gpu, const struct tutti_shmem_args *args)
{
    struct tutti_shmem_args *made = &work->shmem;
    const uintptr_t heap = (uintptr_t)args->state.heap;
    void *at;
    int status = TUTTI_OK;
    work->kind = TUTTI_WORK_SHMEM;
    work->blocks = args->blocks;
    *made = *args;
    for (int pe = 0; pe < args->state.pes && status == TUTTI_OK; pe++) {
        status =
            tutti_work_reach(gpu, "heap of a PE", args->state.peer[pe], args->state.area + args->state.area_bytes, &at);
        made->state.peer[pe] = at;
    }
    made->state.heap = made->state.peer[args->state.me];
    made->dest = made->state.heap + ((uintptr_t)args->dest - heap);
    made->source = made->state.heap + ((uintptr_t)args->source - heap);
    for (int i = 0; i < TUTTI_SHMEM_OWNS && status == TUTTI_OK; i++)
        status = tutti_work_reach(gpu, "own memory of a call in a stream", args->own[i].at, args->own[i].bytes,
                                  &made->own[i].at);
    return status == TUTTI_OK ? reach_runs(gpu, &made->runs) : status;
}
