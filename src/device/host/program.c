/* The program's own calls on simulated GPUs. */
#include "device/host/program.h"

#include "core/status.h"
#include "device/host/asked.h"
#include "device/host/gpus.h"
#include "device/host/host.h"
#include "device/host/imports.h"

/* The calling thread's GPU, chosen as a real runtime does at the first call that needs one. */
static int thread_is_tutti(void)
{
    if (tutti_host_chosen() < 0)
        tutti_host_choose(0);
    else
        tutti_host_choose(tutti_host_chosen()); /* the context may have been reset in another thread */
    return tutti_host_chosen();
}

int tutti_host_program_count(void)
{
    tutti_host_initialise();
    return tutti_host_gpus();
}

int tutti_host_program_set(int gpu)
{
    if (gpu < 0 || gpu >= tutti_host_gpus())
        return TUTTI_ERR_ARGUMENT;
    tutti_host_choose(gpu);
    return TUTTI_OK;
}

int tutti_host_program_alloc(size_t bytes, void **device)
{
    return tutti_host_allocate(tutti_host_separate() ? thread_is_tutti() : 0, bytes, TUTTI_HOST_PROGRAMS, device);
}

int tutti_host_program_free(void *device)
{
    tutti_host_asked_await("a free of the program");
    const int status = tutti_host_region_unmap(device, 1);
    return status != TUTTI_OK && tutti_host_was_reset() ? TUTTI_OK : status;
}

int tutti_host_program_copy(void *to, const void *from, size_t bytes)
{
    return tutti_host_copy_now(to, from, bytes);
}

/* Unmaps all memory of the GPU. */
static void regions_drop(int gpu)
{
    struct tutti_host_region region;
    while (tutti_host_region_of(gpu, &region)) {
        if (region.own == TUTTI_HOST_RANGE) {
            tutti_host_range_close(gpu, region.base);
        } else {
            tutti_host_import_end(region.base);
            tutti_host_region_unmap(region.base, region.own);
        }
    }
}

int tutti_host_program_reset(void)
{
    const int gpu = tutti_host_chosen();
    if (!tutti_host_separate() || gpu < 0)
        return TUTTI_ERR_ARGUMENT;
    tutti_host_streams_drain(gpu);
    tutti_host_end_life(gpu);
    regions_drop(gpu);
    return TUTTI_OK;
}
