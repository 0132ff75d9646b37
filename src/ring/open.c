/* Making a server: the ring's memory, which kernels reach, the kernels' counters, in memory of their GPU, and the
 * poller. */
#include <stdlib.h>

#include "core/status.h"
#include "device/device.h"
#include "progress/poller.h"
#include "ring/server.h"

enum { ALIGNMENT = 1 << 16 }; /* of what devices register */

static int allocate_counters(struct tutti_ring_server *server, struct tutti_stream *stream)
{
    const struct tutti_device *const device = server->device;
    void *made = NULL;
    server->on_gpu = device && !device->simulates;
    if (!server->on_gpu) {
        server->counters = calloc(1, sizeof *server->counters);
        return server->counters ? TUTTI_OK : TUTTI_ERR_MEMORY;
    }
    int status = device->memory.alloc(server->gpu, sizeof *server->counters, &made);
    server->counters = made;
    if (status == TUTTI_OK) /* the first request is number 0: all are zero */
        status = device->stream.fill(stream, made, 0, sizeof *server->counters);
    return status == TUTTI_OK ? device->stream.sync(stream) : status;
}

int tutti_ring_server_open(struct tutti_ring_server *server, const struct tutti_device *device, int gpu,
                           struct tutti_stream *stream, uint64_t slots)
{
    const size_t bytes = (tutti_ring_bytes(slots) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    int status = TUTTI_OK;
    *server = (struct tutti_ring_server){.owner = server->owner, .device = device, .gpu = gpu};
    if (posix_memalign(&server->memory, ALIGNMENT, bytes) != 0) {
        server->memory = NULL;
        return TUTTI_ERR_MEMORY;
    }
    server->seen = server->memory;
    tutti_ring_init(&server->ring, server->memory, slots, 0);
    if (device) {
        status = device->memory.map_host(gpu, server->memory, bytes, &server->seen);
        server->registered = status == TUTTI_OK;
    }
    return status == TUTTI_OK ? allocate_counters(server, stream) : status;
}

void tutti_ring_server_close(struct tutti_ring_server *server)
{
    if (server->on_gpu && server->counters)
        server->device->memory.free(server->counters);
    else
        free(server->counters);
    if (server->registered)
        server->device->memory.unmap_host(server->gpu, server->memory);
    free(server->memory);
    *server = (struct tutti_ring_server){0};
}

struct tutti_ring_kernel_view tutti_ring_server_view(const struct tutti_ring_server *server)
{
    return tutti_ring_kernel_view(&server->ring, server->seen, server->counters);
}

ptrdiff_t tutti_ring_server_shift(const struct tutti_ring_server *server)
{
    return (char *)server->seen - (char *)server->memory;
}

/* ---- the poller ---- */

int tutti_ring_server_start(struct tutti_ring_server *server, int crowded)
{
    server->poller = tutti_poller_start(tutti_ring_server_poll, server, crowded);
    return server->poller ? TUTTI_OK : TUTTI_ERR_SYSTEM;
}

void tutti_ring_server_stop(struct tutti_ring_server *server)
{
    tutti_poller_end(server->poller);
    server->poller = NULL;
}
