/* What copies between a GPU and host memory need in a schedule (struct tutti_copy_task): a stream with events, and host
 * memory. All calls are local, and by one thread at a time. */
#ifndef TUTTI_SCHED_PORT_H
#define TUTTI_SCHED_PORT_H

#include <stddef.h>

#include "bounce/bounce.h"

struct tutti_stream;
struct tutti_event;

enum { TUTTI_PORT_EVENTS = 4 }; /* copies of a port under way at a time */

/* Zeros: closed. */
struct tutti_port {
    int gpu;
    unsigned life;
    struct tutti_stream *stream;
    struct tutti_event *event[TUTTI_PORT_EVENTS];
};
/* Opens the port on this GPU, if it is not open there. A status; on failure it is closed. */
int tutti_port_open(struct tutti_port *port, int gpu);
/* alive: the device may be called. Takes closed ones. */
void tutti_port_close(struct tutti_port *port, int alive);

/* Host memory, pinned if a device is active and has some left. Zeros: none. */
struct tutti_host_memory {
    struct tutti_bounce *bounce; /* NULL: `memory` is malloc's */
    char *memory;
    size_t bytes;
};
/* At least `bytes`, with undefined contents, also where it held some; a status. */
int tutti_host_memory_take(struct tutti_host_memory *host, size_t bytes);
/* Takes empty ones. */
void tutti_host_memory_give(struct tutti_host_memory *host);

#endif
