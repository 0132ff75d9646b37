/* Layouts while a plan is made of them: a tree of loops, sequences and lists over blocks of bytes. A tree is immutable,
 * starts at byte 0 of memory (its first byte in MPI's order), and lives until its workshop is closed. Equal shapes at
 * different places are the same tree, so that progressions of them can be seen. Private to src/dtype. */
#ifndef TUTTI_DTYPE_TREE_H
#define TUTTI_DTYPE_TREE_H

#include "dtype/describe.h"

#include <stdbool.h>

/* All displacements and sizes stay within this, so that differences of two never overflow. */
#define TUTTI_TREE_LIMIT ((INT64_C(1) << 62) - 1)

__extension__ typedef __int128 tutti_wide;
static inline bool tutti_fits(tutti_wide value)
{
    return value >= -TUTTI_TREE_LIMIT && value <= TUTTI_TREE_LIMIT;
}

enum {
    TUTTI_TREE_FLAT = 256, /* blocks: a layout of so few is always looked at block by block */
    TUTTI_TREE_PARTS = 16, /* of a sequence; where there were more, lists are tried */
    TUTTI_TREE_LONG = 64,
    TUTTI_TREE_MOST = 4096,      /* parts where nothing else is left */
    TUTTI_TREE_DEPTH = 512,      /* of descriptions */
    TUTTI_TREE_SMALL_CACHE = 256 /* a power of two */
};

enum tutti_tree_kind {
    TUTTI_TREE_LOOP, /* `count` times `child`, `stride` bytes apart */
    TUTTI_TREE_SEQ,  /* parts[n] one after the other */
    TUTTI_TREE_LIST, /* `child` at each of offsets[n] */
    TUTTI_TREE_MIXED /* blocks of differing lengths at offsets[n]; begins[n + 1] in the packed form */
};

/* A tree somewhere; tree NULL: a block of `length` bytes. Nothing at all: a block of 0 bytes. */
struct tutti_tree_place {
    int64_t offset;
    uint64_t length;
    struct tutti_tree *tree;
};

struct tutti_tree {
    enum tutti_tree_kind kind;
    bool flat;     /* 1: what the tree's blocks, looked at one by one, are made into */
    bool has_list; /* a list is somewhere inside */
    uint64_t size; /* packed bytes */
    uint64_t runs; /* blocks, at most */
    int64_t low;   /* lowest byte, and highest + 1, relative to the first one */
    int64_t high;
    int64_t end; /* past the last byte in MPI's order */
    uint64_t hash;
    uint64_t count; /* LOOP */
    int64_t stride;
    struct tutti_tree_place child; /* LOOP, LIST: at offset 0 */
    size_t n;
    struct tutti_tree_place *parts;
    int64_t *offsets; /* tutti_arena_free; a plan may take them over: `taken` */
    uint64_t *begins;
    uint64_t numbers; /* hash of both */
    bool apart;       /* the list's entries are known not to overlap */
    bool taken;
    struct tutti_tree *next_list;
};

/* Memory of one build, freed at once. */
struct tutti_workshop {
    struct tutti_workshop_chunk *chunks;
    struct tutti_tree *loops[TUTTI_TREE_SMALL_CACHE]; /* made before, by what they are made of */
    size_t loops_made;
    struct tutti_tree *lists;
    const char *why;     /* static: what is beyond plans, on TUTTI_ERR_UNAVAILABLE */
    size_t used;         /* of `first` */
    uint64_t first[512]; /* most types need no more */
};
void tutti_workshop_open(struct tutti_workshop *shop);
void tutti_workshop_close(struct tutti_workshop *shop);
void *tutti_workshop_take(struct tutti_workshop *shop, size_t n, size_t size);
int tutti_workshop_refuse(struct tutti_workshop *shop, const char *why);

/* A growing row of places; freed with tutti_row_free. */
struct tutti_row {
    struct tutti_tree_place *at;
    size_t n, room;
};
void tutti_row_free(struct tutti_row *row);
/* Room for `n` places in all. */
int tutti_row_reserve(struct tutti_row *row, size_t n);
/* Appends, merged with the last one if it continues that. */
int tutti_row_push(struct tutti_workshop *shop, struct tutti_row *row, struct tutti_tree_place place);
/* Appends the place's blocks one by one. */
int tutti_row_push_runs(struct tutti_workshop *shop, struct tutti_row *row, struct tutti_tree_place place);

static inline uint64_t tutti_membership_size(struct tutti_tree_place place)
{
    return place.tree ? place.tree->size : place.length;
}
static inline uint64_t tutti_membership_runs(struct tutti_tree_place place)
{
    return place.tree ? place.tree->runs : (place.length > 0);
}
static inline int64_t tutti_membership_low(struct tutti_tree_place place)
{
    return place.tree ? place.tree->low : 0;
}
static inline int64_t tutti_membership_high(struct tutti_tree_place place)
{
    return place.tree ? place.tree->high : (int64_t)place.length;
}
static inline int64_t tutti_membership_end(struct tutti_tree_place place)
{
    return place.tree ? place.tree->end : (int64_t)place.length;
}
static inline bool tutti_membership_flat(struct tutti_tree_place place)
{
    return !place.tree || place.tree->flat;
}
bool tutti_tree_same(const struct tutti_tree *a, const struct tutti_tree *b);
/* Equal but for where they are. */
static inline bool tutti_membership_same(struct tutti_tree_place a, struct tutti_tree_place b)
{
    return a.tree == b.tree ? a.length == b.length : a.tree && b.tree && tutti_tree_same(a.tree, b.tree);
}
/* Moves it by `by` bytes. */
int tutti_membership_move(struct tutti_workshop *shop, struct tutti_tree_place *place, int64_t by);
/* `count` times the place, folded where inner and outer strides go together. */
int tutti_membership_loop(struct tutti_workshop *shop, uint64_t count, int64_t stride, struct tutti_tree_place child,
                          struct tutti_tree_place *out);
/* The places of a row, which overwrites, one after the other: loops and lists are found. */
int tutti_membership_settle(struct tutti_workshop *shop, struct tutti_row *row, struct tutti_tree_place *out);
/* A layout of few blocks is looked at block by block, so that it comes out the same however it was described. */
int tutti_membership_normal(struct tutti_workshop *shop, struct tutti_tree_place *place);
/* 1 if one element may write a byte twice. */
int tutti_membership_overlaps(struct tutti_tree_place place);

/* progress.c: the length of the shortest beginning of a row of n that, repeated at equal distances, makes all of it.
 * `repeats` says whether the first `part` of the first `whole`, which make all of the row, make those; both divide n.
 */
size_t tutti_progress_period(size_t n, bool (*repeats)(const void *of, size_t whole, size_t part), const void *of);
/* A row of places, as tutti_membership_settle(). */
int tutti_progress_settle(struct tutti_workshop *shop, const struct tutti_tree_place *t, size_t n,
                          struct tutti_tree_place *out);
/* Replaces stretches that repeat (at least `least` times) by loops; `into` may be `t`. *n becomes the new number. */
int tutti_progress_group(struct tutti_workshop *shop, const struct tutti_tree_place *t, size_t *n, size_t least,
                         struct tutti_tree_place *into);

/* lists.c: a sequence of too many parts. A progression of at least TUTTI_TREE_LONG is a part beside a list; shorter
 * ones are listed. */
int tutti_membership_lists(struct tutti_workshop *shop, const struct tutti_tree_place *t, size_t n,
                           struct tutti_tree_place *out);
int tutti_membership_seq(struct tutti_workshop *shop, const struct tutti_tree_place *t, size_t n,
                         struct tutti_tree_place *out);

/* build.c: the layout of one element and its bounds, as MPI has them. */
struct tutti_made {
    struct tutti_tree_place place;
    int64_t lower, upper;
    bool any;                        /* the type map is not empty */
    bool lower_marked, upper_marked; /* by resized, subarray, darray: markers count before all else in a struct */
};
int tutti_build(struct tutti_workshop *shop, const struct tutti_description *what, struct tutti_made *out);
int tutti_made_bounds(struct tutti_workshop *shop, struct tutti_made *made, tutti_wide lower, tutti_wide upper);
static inline int64_t tutti_made_extent(const struct tutti_made *made)
{
    return made->upper - made->lower;
}
/* arrays.c: *made is the element, and becomes the array. */
int tutti_build_array(struct tutti_workshop *shop, const struct tutti_description *what, struct tutti_made *made);

static inline uint64_t tutti_hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

#endif
