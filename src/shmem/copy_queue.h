/* Streams in which the host works on memory of its GPU. They wait for no other stream, so a kernel of the program
 * that runs forever does not block them. A copy queue is such a stream with a line of pinned memory; one operation
 * uses it at a time. Nonblocking operations have a stream of their own. */
#ifndef TUTTI_SHMEM_COPY_QUEUE_H
#define TUTTI_SHMEM_COPY_QUEUE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/types.h"
#include "device/device.h"
#include "kernels/args.h"
#include "tutti/shmem.h"

struct tutti_shmem;

enum { TUTTI_SHMEM_QUEUES = 4, TUTTI_SHMEM_ROOM = 4096 };

/* Host memory that kernels also access. */
struct tutti_shmem_line {
    _Alignas(128) uint64_t was; /* old value of an atomic */
    uint32_t done;              /* launch number of that atomic */
    _Alignas(128) char room[TUTTI_SHMEM_ROOM];
};

struct tutti_shmem_queue {
    atomic_int busy;
    struct tutti_stream *stream;
    struct tutti_shmem_line *line, *seen; /* seen: as kernels address it */
    uint32_t launch_number;               /* launch number of the last atomic */
    unsigned looks;
};

/* The stream of a context for nonblocking operations. It is kept once it is made. */
struct tutti_shmem_nbi {
    struct tutti_stream *stream;
    _Atomic uint64_t issued,
        settled; /* operations put into the stream, counted afterwards; those known to be complete */
};

struct tutti_shmem_gpu {
    const struct tutti_device *device;
    int gpu;
    struct tutti_shmem_queue queue[TUTTI_SHMEM_QUEUES];
    struct tutti_shmem_line *lines; /* of all queues */
    struct tutti_shmem_nbi nbi[TSHMEM_CONTEXTS_MAX];
    struct tutti_stream *agent; /* operations for far PEs, in order */
    void *control;              /* the control page, where it is registered */
    ptrdiff_t agent_shift;      /* translates addresses of message buffers from the host's to the kernels' */
    void *parts;                /* memory for parts of far heaps, allocated once */
    atomic_int parts_busy;
    void *heap; /* this PE's allocation; NULL: it is a range */
    struct {
        struct tutti_export what;
        void *base;  /* NULL: not mapped */
        char *range; /* ranges of heaps that grow, also of this PE; NULL: none */
    } * peer;        /* [PEs] */
};

/* Local; a status, after an error message. close: frees what open has made, also after a failed open. */
int tutti_shmem_queues_open(struct tutti_shmem *space, struct tutti_shmem_gpu *gpu);
void tutti_shmem_queues_close(struct tutti_shmem_gpu *gpu);
/* Loads the kernels of all atomics, of reductions and of calls in streams. Afterwards nothing is loaded while
 * kernels of the program run: a load may wait for such a kernel, which may wait for work behind the load. */
int tutti_shmem_queues_prepare(struct tutti_shmem_gpu *gpu);
/* Waits for a free queue; NULL, after an error message, if the address space ends before. try: NULL if no queue is
 * free now. */
struct tutti_shmem_queue *tutti_shmem_queue_take(struct tutti_shmem *space);
struct tutti_shmem_queue *tutti_shmem_queue_try(struct tutti_shmem *space);
void tutti_shmem_queue_give(struct tutti_shmem_queue *queue);
/* wait: waits for what was put into the queue; `status`: whether that succeeded. end: gives the queue back. After a
 * failure the queue is lost and the address space ends. */
int tutti_shmem_queue_wait(struct tutti_shmem *space, struct tutti_shmem_queue *queue, int status);
int tutti_shmem_queue_end(struct tutti_shmem *space, struct tutti_shmem_queue *queue, int status);
/* 1: all is complete, 0: not yet, negative: failed. Never waits. */
int tutti_shmem_queue_query(struct tutti_shmem *space, struct tutti_shmem_queue *queue);
/* Puts an atomic into a stream; for a queue: with the queue's word and launch number. */
int tutti_shmem_queue_amo(struct tutti_shmem *space, struct tutti_stream *stream, struct tutti_shmem_queue *queue,
                          int operation, void *at, size_t bytes, uint64_t value, uint64_t compare);
/* The same; the caller fills in all of args but `what`. */
int tutti_shmem_amo_launch(struct tutti_shmem *space, struct tutti_stream *stream, int operation, size_t bytes,
                           struct tutti_amo_args *args);
/* Waits for it, and gives the queue back as above. Returns the old value of the word. */
uint64_t tutti_shmem_queue_fetch(struct tutti_shmem *space, struct tutti_shmem_queue *queue, int status);
/* started: an operation was put into the stream of that context. wait: waits for all of them. */
int tutti_shmem_nbi_started(struct tutti_shmem *space, int context, int status);
int tutti_shmem_nbi_end(struct tutti_shmem *space, int context);
/* Reports that an operation of the device has failed, and ends the address space. */
int tutti_shmem_queue_fail(struct tutti_shmem *space, int status);

#endif
