/* Calls in the order of a stream of the program: put into it, and nothing waited for. */
#ifndef TUTTI_SHMEM_STREAM_STREAM_H
#define TUTTI_SHMEM_STREAM_STREAM_H

#include "kernels/shmem_args.h"
#include "shmem/lane.h"
#include "shmem/local/way.h"
#include "shmem/meet.h"

struct tutti_shmem_streamed {
    const char *name;
    struct tutti_stream *stream;
    int one;                     /* of the team: it has far members */
    enum tutti_stream_kind kind; /* whose rules hold */
    struct tutti_shmem_args args;
};

/* The program's stream as the device knows it; NULL, and it is said why, where it is none of this PE's GPU, or the
 * address space is not up or has ended. */
struct tutti_stream *tutti_shmem_stream_wrap(struct tutti_shmem *space, void *handle, const char *name);
/* The status of a call for which there was none. */
int tutti_shmem_stream_refused(struct tutti_shmem *space);
/* What was put into the stream stays there. The status, which is said where it is none of the address space's own. */
int tutti_shmem_stream_leave(struct tutti_shmem *space, struct tutti_stream *stream, int status, const char *name);

/* A call of kernels: begin, some launches, end. begin: a status; it fills what all kernels are given. */
int tutti_shmem_stream_begin(struct tutti_shmem *space, struct tutti_shmem_streamed *call, const char *name,
                             tshmem_team_t team, void *stream);
/* 1 where a collective of `bytes` bytes a PE is one block's: with far members always. */
int tutti_shmem_stream_small(struct tutti_shmem *space, const struct tutti_shmem_streamed *call, size_t bytes);
/* Blocks that move or combine so many bytes: two or more. */
unsigned tutti_shmem_stream_blocks(size_t bytes);
/* One launch. bytes: that its threads share. */
int tutti_shmem_stream_launch(struct tutti_shmem *space, struct tutti_shmem_streamed *call, enum tutti_shmem_what what,
                              size_t bytes, unsigned blocks);
/* whole: 0: some launches of a collective may be missing, where status says so; then the address space ends. */
int tutti_shmem_stream_end(struct tutti_shmem *space, struct tutti_shmem_streamed *call, int status, int whole);
/* One kernel of this PE alone. */
int tutti_shmem_stream_one(struct tutti_shmem *space, struct tutti_shmem_streamed *call, enum tutti_shmem_what what,
                           size_t bytes, const char *name, void *stream);
/* 1 where kernels of this PE's GPU load and store that memory, as long as it is theirs. */
int tutti_shmem_stream_reaches(struct tutti_shmem *space, const void *address);
/* 0 where they do not, and it is said of `what`. */
int tutti_shmem_stream_takes(struct tutti_shmem *space, const void *address, const char *what, const char *name);

/* ask.c: PEs of other nodes, by the ring. reaches_far: 0, and it is said why, where there is no way. `asked`: all but
 * the PE; wait: the stream goes on when it is done. */
int tutti_shmem_stream_reaches_far(struct tutti_shmem *space, const char *name);
int tutti_shmem_stream_ask(struct tutti_shmem *space, const struct tutti_shmem_asked *asked, int pe, int wait,
                           const char *name, void *stream);
/* Offset of what lies at `address` in the heaps. */
static inline uint64_t tutti_shmem_stream_offset(struct tutti_shmem *space, const void *address)
{
    return (uint64_t)((uintptr_t)address - (uintptr_t)space->state.heap);
}

#endif
