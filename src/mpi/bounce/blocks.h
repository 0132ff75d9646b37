/* Staging of buffers that are several blocks: what a collective sends to or receives from each rank. The blocks lie
 * packed behind each other in one piece of pinned or device memory, moved by one launch. The MPI gets types without
 * gaps. */
#ifndef TUTTI_MPI_BLOCKS_H
#define TUTTI_MPI_BLOCKS_H

#include "mpi/bounce/buffer.h"
#include "mpi/bounce/stage.h"

/* A buffer of a call on this rank. */
struct tutti_side {
    struct tutti_buffer given;
    int n;                       /* blocks; 0: this rank has no such buffer */
    int way;                     /* TUTTI_STAGE_IN | TUTTI_STAGE_OUT */
    const int *peers;            /* [n], or NULL: of MPI_PROC_NULL nothing comes, and its block stays as it is */
    int only;                    /* the one block that goes in, besides `way`; -1: none */
    struct tutti_stream *stream; /* copies go into it, and nothing waits for them; NULL: they are done on return */
    int gpu;                     /* of the stream */
    int apart;                   /* 1: staged wherever the blocks are */
    int stays;                   /* 1: the program keeps the buffer until the blocks are closed */
    int as_bytes; /* the MPI gets MPI_BYTE, for equal counts `times` bytes for each element; not if there are types */
};

struct tutti_block {
    char *at;
    MPI_Count count;
    MPI_Datatype type;
    const struct tutti_plan *plan; /* held, or NULL */
    int own_type;                  /* `type` is held: the program may free it during the call */
    int solid;
    int idle;                  /* nothing comes or goes */
    size_t size, place, bytes; /* of an element; in the packed memory */
};

/* What the MPI is given instead. */
struct tutti_blocks {
    const void *buffer;
    const void *counts;
    const void *displs;
    MPI_Datatype type;
    const MPI_Datatype *types;
    int times; /* counts are to be multiplied by this */
    int staged, by_kernel, way, n, only;
    struct tutti_stream *stream;
    int gpu;
    char *memory; /* of `scratch` */
    struct tutti_scratch scratch;
    size_t bytes;
    struct tutti_memory lies; /* what the first block lies in, if it stays until the blocks are closed; HOST: unknown */
    struct tutti_block *block, one; /* one: memory of a single block */
    void *own_counts, *own_displs;
    MPI_Datatype *own_types;
};

/* Local. Stages if any block is in device memory, otherwise returns the program's arguments. A status of Tutti;
 * tutti_blocks_close() in any case. */
int tutti_blocks_open(struct tutti_blocks *blocks, const struct tutti_side *side);
/* What goes in once more, for another start of a persistent call. */
int tutti_blocks_in(struct tutti_blocks *blocks);
/* After the real call: what was received goes to the program's memory. */
int tutti_blocks_out(struct tutti_blocks *blocks);
void tutti_blocks_close(struct tutti_blocks *blocks);

/* Local. Elements of any memory to or from their packed form in host memory, by the MPI's own packing: for types
 * without a plan. size: of an element. A status of Tutti. */
int tutti_packed_by_mpi(enum tutti_direction direction, char *at, MPI_Count count, MPI_Datatype type, size_t size,
                        char *packed);

/* Both buffers of a collective. */
struct tutti_exchange {
    const char *name;
    MPI_Comm comm;
    int stays;                /* 1: the program keeps the buffers until the call has completed */
    enum tutti_reason reason; /* why it is staged */
    struct tutti_blocks in, out;
};
/* Counts a call that was staged, or one start of it. */
void tutti_exchange_count(const struct tutti_exchange *exchange);

#endif
