/* Calls in the order of a stream of the program: the host puts them into the stream and does not wait. */
#ifndef TUTTI_SHMEM_STREAM_STREAM_H
#define TUTTI_SHMEM_STREAM_STREAM_H

#include "kernels/shmem_args.h"
#include "shmem/copy_queue.h"
#include "shmem/local/way.h"
#include "shmem/meet.h"

struct tutti_shmem_streamed {
    const char *name;
    struct tutti_stream *stream;
    int one;                     /* of the team: it has far members */
    enum tutti_stream_kind kind; /* the address space whose rules apply */
    struct tutti_shmem_args args;
};

/* The device's handle of the program's stream; NULL, after an error message, if it is not a stream of this PE's GPU,
 * or the address space is not up or has ended. */
struct tutti_stream *tutti_shmem_stream_wrap(struct tutti_shmem *space, void *handle, const char *name);
/* The status of a call without a stream. */
int tutti_shmem_stream_refused(struct tutti_shmem *space);
/* Ends a call. Work in the stream stays there. Returns the status, after an error message if it is not the address
 * space's own. */
int tutti_shmem_stream_leave(struct tutti_shmem *space, struct tutti_stream *stream, int status, const char *name);

/* A call of kernels: begin, some launches, end. begin: a status; fills in the arguments that all kernels have. */
int tutti_shmem_stream_begin(struct tutti_shmem *space, struct tutti_shmem_streamed *call, const char *name,
                             tshmem_team_t team, void *stream);
/* 1 if a collective of `bytes` bytes a PE takes one block: always with far members. */
int tutti_shmem_stream_small(struct tutti_shmem *space, const struct tutti_shmem_streamed *call, size_t bytes);
/* Blocks for so many bytes: two or more. */
unsigned tutti_shmem_stream_blocks(size_t bytes);
/* One launch. bytes: the amount that its threads share. */
int tutti_shmem_stream_launch(struct tutti_shmem *space, struct tutti_shmem_streamed *call, enum tutti_shmem_what what,
                              size_t bytes, unsigned blocks);
/* whole 0: if status is an error, some launches of a collective may be missing, and the address space ends. */
int tutti_shmem_stream_end(struct tutti_shmem *space, struct tutti_shmem_streamed *call, int status, int whole);
/* One kernel that concerns this PE alone. */
int tutti_shmem_stream_one(struct tutti_shmem *space, struct tutti_shmem_streamed *call, enum tutti_shmem_what what,
                           size_t bytes, const char *name, void *stream);
/* 1 if kernels of this PE's GPU may load and store that memory. */
int tutti_shmem_stream_reaches(struct tutti_shmem *space, const void *address);
/* 0, after an error message about `what`, if they may not. */
int tutti_shmem_stream_takes(struct tutti_shmem *space, const void *address, const char *what, const char *name);

/* ask.c: PEs of other nodes, by the ring. reaches_far: 0, after an error message, if there is no way. `asked`: the
 * request without the PE; wait: the stream waits until it is complete. */
int tutti_shmem_stream_reaches_far(struct tutti_shmem *space, const char *name);
int tutti_shmem_stream_ask(struct tutti_shmem *space, const struct tutti_shmem_asked *asked, int pe, int wait,
                           const char *name, void *stream);
/* The offset of `address` in the heaps. */
static inline uint64_t tutti_shmem_stream_offset(struct tutti_shmem *space, const void *address)
{
    return (uint64_t)((uintptr_t)address - (uintptr_t)space->state.heap);
}

#endif
