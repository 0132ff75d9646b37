/* Streams, events and host memory of copies. */
#include "sched/port.h"

#include <stdlib.h>

#include "core/status.h"
#include "device/stream_sets.h"

int tutti_host_memory_take(struct tutti_host_memory *host, size_t bytes)
{
    if (host->bytes >= bytes && host->memory)
        return TUTTI_OK;
    tutti_host_memory_give(host);
    const struct tutti_device *device = tutti_device();
    if (tutti_device_active(device))
        host->bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes);
    host->memory = host->bounce ? host->bounce->memory : malloc(bytes + 1);
    host->bytes = host->memory ? bytes : 0;
    return host->memory ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

void tutti_host_memory_give(struct tutti_host_memory *host)
{
    if (host->bounce)
        tutti_bounce_give(host->bounce);
    else
        free(host->memory);
    *host = (struct tutti_host_memory){.memory = NULL};
}

void tutti_port_close(struct tutti_port *port, int alive)
{
    if (alive)
        tutti_streams_end(&port->stream, 1, port->event, TUTTI_PORT_EVENTS);
    *port = (struct tutti_port){.stream = NULL};
}

int tutti_port_open(struct tutti_port *port, int gpu)
{
    if (port->stream && port->gpu == gpu && port->life == tutti_gpu_life(gpu))
        return TUTTI_OK;
    tutti_port_close(port, 1);
    port->gpu = gpu;
    port->life = tutti_gpu_life(gpu);
    return tutti_streams_make(gpu, &port->stream, 1, port->event, TUTTI_PORT_EVENTS);
}
