/* Steps of the host in the order of a stream: the stream waits while the host does something for it. A kernel of one
 * thread puts a request into a ring and polls for its completion, so a step may be captured in a graph, and each launch
 * of the graph makes a new request. No thread of the program and no callback of the device takes part. */
#ifndef TUTTI_RING_HOST_STEP_H
#define TUTTI_RING_HOST_STEP_H

#include <stdatomic.h>
#include <stdint.h>

#include "kernels/shmem_args.h"

struct tutti_device;
struct tutti_stream;

/* One step. It stays as long as the stream, or a graph, may reach it. */
struct tutti_host_step {
    /* The stream has reached the step: begins the work. On the server's thread; never waits. tutti_host_step_end() ends
     * the work, at once or later. */
    void (*begin)(struct tutti_host_step *step);
    /* The stream continues. The server uses the step no more, until a stream reaches it again. NULL: nothing to do. */
    void (*over)(struct tutti_host_step *step);
    /* Private to host_step.c. */
    atomic_int ended;
    atomic_int known;         /* launches that the gate knows before they begin */
    uint32_t completion, tag; /* of its request */
    struct tutti_host_step *next;
};

struct tutti_host_steps;

/* Local. Those of a GPU have one server, with a thread of its own, from the first open() to the last close(). Loads the
 * kernel: not while kernels wait. crowded: there are more threads than cores. poll: called by
 * the server's thread again and again, so that steps end soon; never waits. A status. */
int tutti_host_steps_open(const struct tutti_device *device, int gpu, int crowded, void (*poll)(void),
                          struct tutti_host_steps **out);
/* Local. idle 0: kernels of steps may still be in a stream; they end, and their memory is lost. Takes NULL. */
void tutti_host_steps_close(struct tutti_host_steps *steps, int idle);
/* Copies that the kernel of a step makes, of few bytes: a kernel less in the stream, before the step and behind it,
 * which takes 1 to 2 us each. */
struct tutti_host_copies {
    struct tutti_shmem_runs runs;
    size_t before, after; /* bytes */
};
enum tutti_host_when { TUTTI_HOST_BEFORE, TUTTI_HOST_AFTER }; /* the host begins; it has ended the step */
/* Local. 1: that copy belongs to the step. 0: it is too long, or there are too many. copies: zero at first. */
int tutti_host_copies_add(struct tutti_host_copies *copies, enum tutti_host_when when, void *to, const void *from,
                          size_t bytes);
/* Local. Puts the step into the stream and returns. copies: NULL: none. A status. */
int tutti_host_step_enqueue(struct tutti_host_steps *steps, struct tutti_stream *stream, struct tutti_host_step *step,
                            const struct tutti_host_copies *copies);
/* The same, but the stream continues at once: begin() is called when the stream has reached the step, and the step is
 * never ended. Steps of a stream begin in their order. No copies after it. */
int tutti_host_step_post(struct tutti_host_steps *steps, struct tutti_stream *stream, struct tutti_host_step *step,
                         const struct tutti_host_copies *copies);
/* Local, any thread: what the step asked for is done, and everything that it has written is visible to the stream. */
void tutti_host_step_end(struct tutti_host_step *step);

#endif
