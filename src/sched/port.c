/* Streams, events and host memory of copies. */
#include "sched/port.h"

#include <stdlib.h>

#include "core/status.h"
#include "device/device.h"

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
    for (int i = 0; alive && port->stream && i < TUTTI_PORT_EVENTS; i++)
        tutti_device()->event.destroy(port->event[i]);
    if (alive && port->stream)
        tutti_device()->stream.destroy(port->stream);
    *port = (struct tutti_port){.stream = NULL};
}

int tutti_port_open(struct tutti_port *port, int gpu)
{
    const struct tutti_device *device = tutti_device();
    if (port->stream && port->gpu == gpu && port->life == tutti_gpu_life(gpu))
        return TUTTI_OK;
    tutti_port_close(port, 1);
    struct tutti_port made = {.gpu = gpu, .life = tutti_gpu_life(gpu)};
    int status = device->stream.create(gpu, &made.stream), events = 0;
    while (status == TUTTI_OK && events < TUTTI_PORT_EVENTS) {
        status = device->event.create(gpu, &made.event[events]);
        events += status == TUTTI_OK;
    }
    if (status == TUTTI_OK) {
        *port = made;
        return TUTTI_OK;
    }
    while (events > 0)
        device->event.destroy(made.event[--events]);
    if (made.stream)
        device->stream.destroy(made.stream);
    return status;
}
