/* Rows of blocks in MPI's order, neighbours merged: layouts that are described block by block are read into them.
 * Private to src/dtype. */
#ifndef TUTTI_DTYPE_RUNS_H
#define TUTTI_DTYPE_RUNS_H

#include "core/status.h"
#include "dtype/plan/tree.h"

struct tutti_block_runs {
    int64_t *offsets;  /* [n], tutti_arena_free: a list of all of them takes it over */
    uint64_t *lengths; /* the same; NULL: all are `each` long */
    uint64_t each;
    size_t n, room; /* n is less than room */
    int64_t at;     /* the last block, which may still grow; 0 bytes: no block yet */
    uint64_t length;
};

/* Room for `n` blocks. */
int tutti_block_runs_reserve(struct tutti_block_runs *runs, size_t n);
void tutti_block_runs_free(struct tutti_block_runs *runs);
/* What the first store of another length, or of one too many, needs. */
int tutti_block_runs_store_any(struct tutti_block_runs *runs, int64_t at, uint64_t length);

static inline int tutti_block_runs_store(struct tutti_block_runs *runs, int64_t at, uint64_t length)
{
    size_t n = runs->n;
    if (n + 1 >= runs->room || (!runs->lengths && length != runs->each))
        return tutti_block_runs_store_any(runs, at, length);
    runs->offsets[n] = at;
    if (runs->lengths)
        runs->lengths[n] = length;
    runs->n = n + 1;
    return TUTTI_OK;
}

/* A block of 1 byte and more, within the limits. */
static inline int tutti_block_runs_add(struct tutti_block_runs *runs, int64_t offset, uint64_t length)
{
    int status = TUTTI_OK;
    if (runs->length > 0) {
        if (runs->at + (int64_t)runs->length == offset) {
            runs->length += length;
            return TUTTI_OK;
        }
        status = tutti_block_runs_store(runs, runs->at, runs->length);
    }
    runs->at = offset;
    runs->length = length;
    return status;
}

/* All blocks of a place. */
int tutti_block_runs_add_place(struct tutti_block_runs *runs, struct tutti_tree_place place);
/* Loops and lists are found, as in a row of places; the runs can be freed alone afterwards. */
int tutti_block_runs_settle(struct tutti_workshop *shop, struct tutti_block_runs *runs, struct tutti_tree_place *out);
/* One list of all. */
int tutti_block_runs_list(struct tutti_workshop *shop, struct tutti_block_runs *runs, struct tutti_tree_place *out);

#endif
