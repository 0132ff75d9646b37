/* The canonical form of a datatype: an ordered list of segments, the same for the same layout however it was described.
 * Plans are immutable, counted and shared by structure; safe from any thread. All numbers are bytes but counts of
 * blocks. Source of the form: the canonical types of Pearson et al., "TEMPI: An Interposed MPI Library with a Canonical
 * Representation of CUDA-aware Datatypes" (HPDC 2021), with explicit strides on the packed side, so that dimensions may
 * be walked in any order and MPI's order still holds. */
#ifndef TUTTI_DTYPE_PLAN_H
#define TUTTI_DTYPE_PLAN_H

#include "dtype/describe.h"

enum { TUTTI_PLAN_DIMS = 8 }; /* of one segment; deeper nests become more segments or lists */

struct tutti_dim {
    uint64_t count; /* at least 2 */
    int64_t stride; /* in the program's memory, may be negative or 0 */
    int64_t packed; /* in the packed message, may not be 0 */
};

/* `block` bytes that lie together on both sides, repeated over the dimensions (the first is the slowest in MPI's
 * order). With a list (entries > 0), an irregular dimension is between dim[list_at - 1] and dim[list_at]: the first
 * `list_at` dims are slower than the entries, the others are walked inside each entry.
 *
 *     memory = offset + offsets[e] + sum of i[k] * dim[k].stride
 *     packed = packed + e * pitch  + sum of i[k] * dim[k].packed     (equal entries: begins is NULL)
 *     packed = packed + begins[e]  + sum of i[k] * dim[k].packed     (block 0: entry e has begins[e + 1] - begins[e]
 *                                                                     bytes, and list_at == dims)
 *
 * In plans, packed strides are positive and each step is at least as long as what
 * is inside it: in that order the packed positions of a segment's blocks grow. Segments may interleave. */
struct tutti_segment {
    int64_t offset;  /* of the first byte, from the buffer's address */
    uint64_t packed; /* of the first byte in the packed element */
    uint64_t block;  /* 0: blocks of a list differ in length */
    uint32_t dims;
    uint32_t list_at; /* dims slower than the list; 0 without one */
    struct tutti_dim dim[TUTTI_PLAN_DIMS];
    uint64_t entries;       /* 0: no list */
    uint64_t pitch;         /* packed bytes from one entry to the next where begins is NULL */
    const int64_t *offsets; /* [entries], not sorted */
    const uint64_t *begins; /* [entries + 1], from 0 */
};

struct tutti_plan {
    uint64_t size;                /* bytes of one packed element */
    int64_t lower, extent;        /* as MPI_Type_get_extent says */
    int64_t true_lower, true_end; /* first and last + 1 byte touched by one element; both 0 if size is 0 */
    uint64_t hash;                /* of the structure: equal layouts have equal hashes in one process */
    uint32_t overlaps;            /* 1: an element may write a byte twice at unpack */
    uint32_t segments;
    const struct tutti_segment *segment;
    uint64_t id; /* never used again in this process: keys what devices keep of it */
};
/* 1 if `count` elements are one run of bytes, in the order of the message, from true_lower on. */
static inline int tutti_plan_is_run(const struct tutti_plan *plan, uint64_t count)
{
    const struct tutti_segment *const one = plan->segment;
    return plan->segments == 1 && one->dims == 0 && one->entries == 0 && one->block == plan->size &&
           (count == 1 || plan->extent == (int64_t)plan->size);
}

/* Local. Builds, or finds, the plan of one element; the caller has one reference more. Equal layouts (the same bytes in
 * the same order, lower bound and extent) have one plan, however they were described, where they are of 256 blocks at
 * most, loops around such a part, described block by block, structs of lists of 262144 blocks at most, or progressions
 * in any number of dimensions; other layouts may get several plans, one for each description. TUTTI_ERR_UNAVAILABLE
 * where a form exceeds a plan's limits (62 bits, 65536 segments, types 512 deep), TUTTI_ERR_ARGUMENT where an array's
 * numbers contradict each other, TUTTI_ERR_MEMORY; *out is unchanged. */
int tutti_plan_build(const struct tutti_description *what, const struct tutti_plan **out);
/* Local. The plan of a type of one byte, without another hold: it stays for the process. NULL without memory. */
const struct tutti_plan *tutti_plan_of_byte(void);
const struct tutti_plan *tutti_plan_hold(const struct tutti_plan *plan);
/* The last one frees it, and what devices keep of it. */
void tutti_plan_drop(const struct tutti_plan *plan);
/* Sets the function that frees what devices keep of a plan. It is called before a plan is freed, when the plan can no
 * longer be found. One function in a process, set once. */
void tutti_plan_at_free(void (*forget)(const struct tutti_plan *plan));

/* On host memory, by the calling thread: elements [first byte, first byte + bytes) of the packed message of `count`
 * elements. `memory` is the buffer as MPI was given it. */
void tutti_plan_pack_host(const struct tutti_plan *plan, uint64_t count, const void *memory, uint64_t first,
                          uint64_t bytes, void *packed);
void tutti_plan_unpack_host(const struct tutti_plan *plan, uint64_t count, void *memory, uint64_t first, uint64_t bytes,
                            const void *packed);

#endif
