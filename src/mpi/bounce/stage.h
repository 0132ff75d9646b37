/* Staging: a call's device buffer is replaced by pinned host memory, of which the typed bytes are copied in before the
 * real call or out after it: an image of the buffer, or, where the caller allows it and the type has gaps, its elements
 * packed by a kernel. Bytes in the gaps of a derived type are never written in device memory. */
#ifndef TUTTI_MPI_STAGE_H
#define TUTTI_MPI_STAGE_H

#include "mpi/bounce/overrun.h"
#include "mpi/bounce/scratch.h"
#include "mpi/real/handles.h"

/* PACKED: the MPI gets the type `given`, not the program's. LATER: the contents are copied by tutti_stage_in(), not
 * at once. */
/* LAZY: the message is likely to be a short one in place of the real one: host memory that is not pinned, and costs
 * nothing until it is touched. HOST: the MPI gets host memory even if it takes device memory in other calls. KERNEL: a
 * kernel copies the elements also where they are many, if they lie in one run in memory of one GPU. STAYS: the program
 * keeps the buffer until the stage is closed, so that its place is looked up once. PAIR: of a blocking call that copies
 * few bytes in and then out: one launch may do both (dtype/pack.h: TUTTI_PACK_FIRST). BRIEF: the stage is closed before
 * the call returns. LEFT: the caller brings the contents. PART: the address is that of a part of the program's buffer,
 * and no handle: a displacement from MPI_BOTTOM may give the value of MPI_IN_PLACE. */
enum {
    TUTTI_STAGE_IN = 1,
    TUTTI_STAGE_OUT = 2,
    TUTTI_STAGE_PACKED = 4,
    TUTTI_STAGE_LATER = 8,
    TUTTI_STAGE_LAZY = 16,
    TUTTI_STAGE_HOST = 32,
    TUTTI_STAGE_KERNEL = 64,
    TUTTI_STAGE_STAYS = 128,
    TUTTI_STAGE_PAIR = 256,
    TUTTI_STAGE_BRIEF = 512,
    TUTTI_STAGE_LEFT = 1024,
    TUTTI_STAGE_PART = 2048
};

struct tutti_stage {
    void *host;                   /* what the MPI is given in place of the buffer */
    MPI_Datatype given;           /* and of what type its elements are */
    int staged;                   /* 0: the buffer itself */
    int refused;                  /* 1: the buffer is on a device, and not staged: the MPI refuses the call */
    int packed;                   /* `memory` holds packed elements, of `given` */
    int prefix;                   /* a message of n bytes fills the first n bytes, or packed bytes */
    int solid;                    /* no gaps */
    int lazy;                     /* `memory` is not pinned, and not used where an RTS arrives */
    int ordinary;                 /* `memory` is not pinned: one of the first stages of the process */
    int image;                    /* of a type that is not predefined: `memory` may not be pinned */
    int way;                      /* TUTTI_STAGE_IN | TUTTI_STAGE_OUT ... */
    char *user;                   /* lowest byte in device memory */
    char *memory;                 /* lowest byte in host memory, or in device scratch (of packed elements) */
    struct tutti_scratch scratch; /* where `memory` lies otherwise */
    size_t bytes;                 /* of the image, or of the packed elements */
    MPI_Count count;              /* elements */
    MPI_Count extent, first;      /* distance of elements; of the first from `user` */
    MPI_Count origin;             /* of the program's address from `user` */
    size_t true_extent;           /* of one element */
    size_t size;                  /* of one element, packed */
    MPI_Datatype type;
    int own_type;                  /* `type` is held: the program may free it during the call */
    const struct tutti_plan *plan; /* held; NULL: none is known, or none is needed */
    struct tutti_places places;    /* of the buffer, if there is a plan, or if it has no gaps (places.id not 0) */
};

/* How the elements were staged, for the counters; NULL: by copies. */
static inline const char *tutti_stage_how(const struct tutti_stage *stage)
{
    if (stage->scratch.on_device)
        return "packed in device memory";
    return stage->packed && tutti_places_reached(&stage->places) ? "packed by a kernel" : NULL;
}
/* Bytes of the elements, for the counters; 0 if the stage is the program's buffer. */
static inline uint64_t tutti_stage_bytes(const struct tutti_stage *stage)
{
    return stage->staged ? (uint64_t)stage->count * stage->size : 0;
}

/* 1 if the elements of an image are brought in or out by a kernel, over the gaps between them. */
static inline int tutti_stage_by_kernel(const struct tutti_stage *stage)
{
    return stage->plan && !stage->packed && !stage->solid && tutti_places_reached(&stage->places);
}

/* 1 if elements of a derived type lie in device memory though the address that they are counted from does not:
 * absolute addresses (MPI_BOTTOM), and displacements that lead there. An MPI that takes device memory itself is spared
 * types with gaps there, which it copies block by block or not at all: 1 for all of those. */
int tutti_elements_on_device(const void *buffer, MPI_Datatype type);
/* 0 if the MPI refuses the type: derived, and not committed. */
int tutti_type_is_fine(MPI_Datatype type);
/* What a call has found out about its buffer, so that nothing below asks the device for it again. */
struct tutti_there {
    int staged;                 /* 1: the buffer must be staged */
    struct tutti_memory memory; /* of the buffer's address; HOST where no device is active */
};
/* The answer for elements of this type, whose address lies in there->memory. */
static inline int tutti_needs_staging_of(const void *buffer, MPI_Datatype type, struct tutti_there *there)
{
    if (unlikely(tutti_type_find(type) == NULL))
        there->staged = (there->staged || tutti_elements_on_device(buffer, type)) && tutti_type_is_fine(type);
    return there->staged;
}
/* What the MPI refuses goes to it as it is. Returns there->staged. */
static inline int tutti_needs_staging_at(const void *buffer, MPI_Datatype type, struct tutti_there *there)
{
    there->staged = 0;
    there->memory.kind = TUTTI_MEMORY_HOST;
    if (likely(!tutti_device_active(tutti_door.device)))
        return 0;
    there->staged = tutti_must_stage_at(buffer, &there->memory);
    return tutti_needs_staging_of(buffer, type, there);
}
/* The same of the buffer of a message to or from this rank. The MPI does not touch the buffer if that is MPI_PROC_NULL:
 * the device is not asked, since codes on grids make most of their calls so at the borders. */
static inline int tutti_needs_staging_for(int peer, const void *buffer, MPI_Datatype type, struct tutti_there *there)
{
    if (likely(peer != MPI_PROC_NULL))
        return tutti_needs_staging_at(buffer, type, there);
    there->memory.kind = TUTTI_MEMORY_HOST;
    return there->staged = 0;
}
/* 1 if `buffer` must be staged. */
static inline int tutti_needs_staging(const void *buffer, MPI_Datatype type)
{
    struct tutti_there there;
    return tutti_needs_staging_at(buffer, type, &there);
}

/* The same of a part of the buffer, whose address is no handle (TUTTI_STAGE_PART). */
int tutti_part_needs_staging(const void *part, MPI_Datatype type, struct tutti_there *there);

/* The same of a call for which the MPI must get host memory in any case. */
int tutti_needs_host(const void *buffer, MPI_Datatype type, struct tutti_there *there);

/* Prepares a buffer of `count` elements: leaves host buffers, MPI_IN_PLACE, empty ones and what the MPI will refuse as
 * they are; otherwise takes host memory and, for TUTTI_STAGE_IN, copies the contents. Returns a status of Tutti. */
int tutti_stage_open(struct tutti_stage *stage, const void *buffer, MPI_Count count, MPI_Datatype type, int way);
/* The same for a caller that has asked whether the buffer must be staged. */
int tutti_stage_open_at(struct tutti_stage *stage, const void *buffer, MPI_Count count, MPI_Datatype type, int way,
                        const struct tutti_there *there);
/* Copies the contents, once more too. */
int tutti_stage_in(struct tutti_stage *stage);
/* The same where it is known what the buffer's memory is now. */
int tutti_stage_in_from(struct tutti_stage *stage, const struct tutti_memory *memory);
/* After the real call: copies the received data to device memory; `bytes` of the message, or -1 for all. */
int tutti_stage_out(struct tutti_stage *stage, MPI_Count bytes);
/* The same for `n` stages, TUTTI_TOGETHER at most, with one wait for all that lie in runs of bytes on one GPU: done[i]
 * is 1 for those. The others, and all after a failure, are left to tutti_stage_out(). */
enum { TUTTI_TOGETHER = 64 };
void tutti_stages_out(struct tutti_stage *const stages[], const MPI_Count bytes[], unsigned n, unsigned char done[]);
/* Bytes of the stage that a message of `bytes` bytes fills (-1: all). */
size_t tutti_stage_filled(const struct tutti_stage *stage, MPI_Count bytes);
/* 1 if what the stage stands for lies in one run in memory of one GPU, *gpu. */
int tutti_stage_is_run(const struct tutti_stage *stage, int *gpu);
/* TUTTI_PACK_KEEP, where a launch may be kept ready and streams may be made now; otherwise 0. */
unsigned tutti_stage_keeps(void);
/* 1 if the stage can be copied in a stream of *gpu: its elements are packed, or lie in one run. Then the two calls
 * below begin the copy that tutti_stage_in() and tutti_stage_out() make; it is complete when the stream has reached it.
 * Statuses of Tutti. */
int tutti_stage_streams(const struct tutti_stage *stage, int *gpu);
int tutti_stage_begin_in(struct tutti_stage *stage, struct tutti_stream *stream, int gpu);
int tutti_stage_begin_out(struct tutti_stage *stage, struct tutti_stream *stream, int gpu, MPI_Count bytes);
/* Of a stage whose bytes lie in one run in memory of one GPU (places.gpu): `bytes` of them between `user` and `host`,
 * which is pinned, by a kernel, in less time than a copy takes if they are few. TUTTI_ERR_UNAVAILABLE, not reported,
 * where that is not possible. A launch is kept ready for few bytes, or for a caller that has asked for a kernel. */
int tutti_stage_copy_few(const struct tutti_stage *stage, char *user, char *host, size_t bytes, int out);
/* Local. 1 if a kernel is to make this copy, rather than the driver (dtype/pack.h: tutti_few_by_kernel()). out: into
 * memory of the GPU. */
int tutti_copies_few(int gpu, size_t bytes, enum tutti_few use, int out);
/* Local. Copies between memory of `gpu`, as memory.classify() has just found it, and pinned memory: by whichever of the
 * two takes less time. out: into memory of the GPU. */
int tutti_copy_known(int gpu, char *user, char *host, size_t bytes, int out);
/* From now on the first `count` elements alone are copied out. */
void tutti_stage_shorten(struct tutti_stage *stage, MPI_Count count);
/* 1 if stages of few bytes expect RTSs. */
int tutti_stage_expects_rts(void);
/* A message of so many bytes has arrived whole in a lazy stage: the next stages do not expect RTSs. */
void tutti_stage_came_whole(size_t bytes);
/* An RTS has arrived in place of a message of so many bytes: the next lazy stages expect RTSs too. */
void tutti_stage_expect_rts(size_t bytes);
/* Gives the host memory back. */
void tutti_stage_close(struct tutti_stage *stage);

/* Bytes of a received message, or -1 if the MPI does not say. */
MPI_Count tutti_received(const MPI_Status *status);

#endif
