/* Hardware queues of the simulated GPUs (TUTTI_HOST_QUEUES, TUTTI_HOST_COPY_QUEUES). Each GPU has so many for kernels,
 * and so many for copies, in each process. A new stream gets the next queue of either kind, in turn. Work of a queue is
 * done one by one in the order of submission: a kernel that waits for a peer, or a copy that waits for earlier work of
 * its stream, keeps back later work of all streams of the queue. That is stricter than a GPU, which may run kernels of
 * two streams of a queue at once. */
#ifndef TUTTI_DEVICE_HOST_QUEUES_H
#define TUTTI_DEVICE_HOST_QUEUES_H

#include <stdint.h>

enum tutti_host_queue_kind { TUTTI_HOST_QUEUE_KERNELS, TUTTI_HOST_QUEUE_COPIES, TUTTI_HOST_QUEUE_KINDS };

struct tutti_host_queue;

/* The place of a piece of work in a queue; queue NULL: queues of its kind are not counted. */
struct tutti_host_turn {
    struct tutti_host_queue *queue;
    uint64_t number;
};

/* 1 if queues of some kind are counted. */
int tutti_host_queues(void);
/* The number by which a new stream of the GPU is spread over the queues; gpu -1: of no GPU in particular. */
unsigned tutti_host_queue_next(int gpu);
/* The last place in the queue of a stream of that number. */
struct tutti_host_turn tutti_host_turn_take(int gpu, enum tutti_host_queue_kind kind, unsigned stream);
/* Waits until all work before this place has passed. */
void tutti_host_turn_await(const struct tutti_host_turn *turn);
/* The work at this place is done. */
void tutti_host_turn_pass(const struct tutti_host_turn *turn);

#endif
