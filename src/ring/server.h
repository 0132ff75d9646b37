/* Serves a ring: users register their operations, and a thread of its own, the *poller*, begins requests and advances
 * those that are open. One server serves one ring, of the kernels of one GPU; several rooms may be users of it. */
#ifndef TUTTI_RING_SERVER_H
#define TUTTI_RING_SERVER_H

#include "ring/ring.h"

struct tutti_device;
struct tutti_poller;
struct tutti_stream;

enum { TUTTI_RING_USERS = 4 };

/* A user of the ring. All of its functions run on the poller's thread, and never wait. */
struct tutti_ring_user {
    unsigned first, count; /* numbers of its operations: [first, first + count) */
    const struct tutti_ring_operation *operations;
    /* Advances open requests. Returns how many ended; a negative status, after an error message, ends the ring. NULL:
     * every request is complete when its begin() returns. */
    int (*poll)(void *user);
    void *user; /* of poll() and of the operations' begin() */
};

/* What the server needs of its owner. */
struct tutti_ring_owner {
    const char *name; /* whose kernels make the requests, in messages: "PE 3" */
    uint32_t *abort;  /* kernels leave their waits when it is not 0; the server stores 1 when the ring ends */
    /* The id of a process that has died and that kernels may wait for; 0: none has. NULL: that is not known. */
    int (*dead)(void *owner);
    /* The ring has ended with that status, after an error message. NULL: nothing is to be done. */
    void (*ended)(void *owner, int status);
    void *owner;
};

struct tutti_ring_server {
    struct tutti_ring ring;
    struct tutti_ring_owner owner;
    struct tutti_ring_user user[TUTTI_RING_USERS];
    int users;
    unsigned looks; /* idle rounds, which are counted to look for dead processes */
    struct tutti_poller *poller;
    /* tutti_ring_server_open() */
    const struct tutti_device *device; /* NULL: kernels are threads of the host */
    int gpu, registered, on_gpu;       /* registered: the memory, with the device; on_gpu: the counters */
    void *memory, *seen;               /* of the ring, here and as kernels address it */
    struct tutti_ring_counters *counters;
};

/* Local. Makes the ring's memory, with `slots` slots, a power of two. device: of the kernels, and `stream` one of its
 * streams; NULL: kernels are threads of the host. close: after the poller has been stopped; also after a failed open.
 */
int tutti_ring_server_open(struct tutti_ring_server *server, const struct tutti_device *device, int gpu,
                           struct tutti_stream *stream, uint64_t slots);
void tutti_ring_server_close(struct tutti_ring_server *server);
/* Local. Before the poller starts. TUTTI_ERR_ARGUMENT: as tutti_ring_register(), or there are too many users. */
int tutti_ring_server_register(struct tutti_ring_server *server, const struct tutti_ring_user *user);
/* Local. Starts and stops the poller. crowded: there are more threads than cores. Stopping a stopped one does nothing.
 */
int tutti_ring_server_start(struct tutti_ring_server *server, int crowded);
void tutti_ring_server_stop(struct tutti_ring_server *server);
/* The ring as kernels address it. */
struct tutti_ring_kernel_view tutti_ring_server_view(const struct tutti_ring_server *server);
/* How far what kernels see lies from what the host has of the ring's memory, in bytes. */
ptrdiff_t tutti_ring_server_shift(const struct tutti_ring_server *server);

/* One round of the poller: returns how many requests were begun or ended. A negative status: something failed, the
 * abort word is set, and no further round does anything. with: the server. */
int tutti_ring_server_poll(void *with);

#endif
