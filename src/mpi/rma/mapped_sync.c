/* Epochs of mapped windows, by words in memory that the ranks share. An operation is done before the word that ends its
 * epoch is written; a rank that reads the word sees what the operation has stored. */
#include <stdlib.h>

#include "mpi/rma/mapped.h"
#include "progress/engine.h"

enum { EXCLUSIVE = 1 << 30 };

static int mapped_sync_wait(int (*done)(void *with), void *with, const char *what)
{
    const int is_done = done(with);
    if (is_done)
        return is_done < 0 ? is_done : TUTTI_OK;
    return tutti_progress_wait(&(const struct tutti_wait){.done = done, .with = with, .what = what, .watched = 1});
}

/* ---- fences ---- */

/* Fences of this window that the rank of the slot has arrived at. */
static uint32_t mapped_sync_fences(const struct tutti_mapped_slot *slot)
{
    return atomic_load_explicit(&slot->line.fences, memory_order_acquire) - slot->fences;
}

static int mapped_sync_all_fenced(void *with)
{
    const struct tutti_mapped *mapped = with;
    const uint32_t mine = mapped_sync_fences(mapped->slot);
    for (int r = 0; r < mapped->n; r++) {
        if ((int32_t)(mapped_sync_fences(mapped->peer[r].slot) - mine) < 0)
            return 0;
    }
    return 1;
}

int tutti_mapped_arrive(struct tutti_mapped *mapped, int assert)
{
    const int status = tutti_mapped_flush(mapped);
    atomic_fetch_add(&mapped->slot->line.fences, 1);
    mapped->fenced = !(assert &MPI_MODE_NOSUCCEED);
    return status;
}

/* A rank of whose memory no other rank reaches anything lets the MPI's fence decide, if there is one. */
int tutti_mapped_meet_all(struct tutti_mapped *mapped, int all)
{
    const struct tutti_mapped_line *own = &mapped->slot->line;
    if (mapped->beside && !all && !mapped->peer[mapped->rank].direct &&
        atomic_load_explicit(&own->shown, memory_order_relaxed) == 0)
        return TUTTI_OK;
    return mapped_sync_wait(mapped_sync_all_fenced, mapped, "MPI_Win_fence");
}

/* ---- locks ---- */

struct locking {
    _Atomic uint32_t *lock;
    int exclusive;
};

/* No rank that shares a lock waits for one that wants it alone: so none can wait for a rank that waits for it. */
static int mapped_sync_is_locked(void *with)
{
    const struct locking *l = with;
    uint32_t is = atomic_load_explicit(l->lock, memory_order_relaxed);
    if (l->exclusive ? is != 0 : (is & EXCLUSIVE) != 0)
        return 0;
    return atomic_compare_exchange_strong(l->lock, &is, l->exclusive ? (uint32_t)EXCLUSIVE : is + 1);
}

int tutti_mapped_lock(struct tutti_mapped *mapped, int target, int exclusive, int assert)
{
    struct tutti_mapped_peer *peer = &mapped->peer[target];
    struct locking l = {.lock = &mapped->peer[target].line->lock, .exclusive = exclusive};
    int status = TUTTI_OK;
    if (peer->locked)
        return TUTTI_ERR_ARGUMENT;
    if (!(assert &MPI_MODE_NOCHECK))
        status = mapped_sync_wait(mapped_sync_is_locked, &l, "MPI_Win_lock");
    if (status == TUTTI_OK)
        peer->locked = assert &MPI_MODE_NOCHECK ? TUTTI_LOCK_UNCHECKED
                       : exclusive              ? TUTTI_LOCK_EXCLUSIVE
                                                : TUTTI_LOCK_SHARED;
    return status;
}

static void mapped_sync_lock_leave(struct tutti_mapped *mapped, int target)
{
    struct tutti_mapped_peer *peer = &mapped->peer[target];
    _Atomic uint32_t *lock = &mapped->peer[target].line->lock;
    if (peer->locked == TUTTI_LOCK_EXCLUSIVE)
        atomic_store(lock, 0);
    else if (peer->locked == TUTTI_LOCK_SHARED)
        atomic_fetch_sub(lock, 1);
    peer->locked = TUTTI_LOCK_NOT;
}

int tutti_mapped_unlock(struct tutti_mapped *mapped, int target)
{
    if (!mapped->peer[target].locked || mapped->locked_all)
        return TUTTI_ERR_ARGUMENT;
    mapped_sync_lock_leave(mapped, target);
    return TUTTI_OK;
}

/* The own window, whose memory the program may use, is locked at once, others before their first operation. Where the
 * MPI has locks beside, all are taken before those: a rank that waits for a word holds no lock of the MPI. */
int tutti_mapped_lock_all(struct tutti_mapped *mapped, int assert)
{
    for (int r = 0; r < mapped->n; r++) {
        if (mapped->peer[r].locked)
            return TUTTI_ERR_ARGUMENT;
    }
    if (mapped->locked_all)
        return TUTTI_ERR_ARGUMENT;
    int status = TUTTI_OK;
    for (int r = 0; r < mapped->n && status == TUTTI_OK; r++) {
        if (mapped->beside || r == mapped->rank)
            status = tutti_mapped_lock(mapped, r, 0, assert);
    }
    mapped->locked_all = 1 + assert;
    if (status != TUTTI_OK)
        (void)tutti_mapped_unlock_all(mapped);
    return status;
}

int tutti_mapped_unlock_all(struct tutti_mapped *mapped)
{
    if (!mapped->locked_all)
        return TUTTI_ERR_ARGUMENT;
    for (int r = 0; r < mapped->n; r++)
        mapped_sync_lock_leave(mapped, r);
    mapped->locked_all = 0;
    return TUTTI_OK;
}

/* ---- post, start, complete, wait ---- */

enum mapped_words { POSTS, COMPLETES };
/* Of rank `of` for rank `with`. */
static _Atomic uint32_t *mapped_sync_word_of(const struct tutti_mapped *mapped, enum mapped_words which, int of,
                                             int with)
{
    return &mapped->peer[of].slot->words[(unsigned)which * mapped->pairs + (unsigned)with];
}

/* The ranks of a group, as ranks of the window; NULL without memory, or where one is not in it. */
static int *mapped_sync_group_ranks(const struct tutti_mapped *mapped, MPI_Group group, int *n)
{
    *n = 0;
    if (tutti_next.MPI_Group_size(group, n) != MPI_SUCCESS)
        return NULL;
    int *ranks = malloc((size_t)(*n + 1) * 2 * sizeof *ranks), *in = ranks + *n + 1, fine = ranks != NULL;
    for (int i = 0; fine && i < *n; i++)
        in[i] = i;
    fine = fine && tutti_next.MPI_Group_translate_ranks(group, *n, in, mapped->group, ranks) == MPI_SUCCESS;
    for (int i = 0; fine && i < *n; i++)
        fine = ranks[i] >= 0 && ranks[i] < mapped->n;
    if (fine)
        return ranks;
    free(ranks);
    return NULL;
}

int tutti_mapped_post(struct tutti_mapped *mapped, MPI_Group group)
{
    int n, *ranks = mapped_sync_group_ranks(mapped, group, &n);
    if (!ranks)
        return TUTTI_ERR_ARGUMENT;
    for (int i = 0; i < n; i++) {
        mapped->peer[ranks[i]].posted = 1;
        atomic_fetch_add(mapped_sync_word_of(mapped, POSTS, mapped->rank, ranks[i]), 1);
    }
    free(ranks);
    return TUTTI_OK;
}

int tutti_mapped_start(struct tutti_mapped *mapped, MPI_Group group)
{
    int n, *ranks = mapped_sync_group_ranks(mapped, group, &n);
    if (!ranks)
        return TUTTI_ERR_ARGUMENT;
    for (int i = 0; i < n; i++)
        mapped->peer[ranks[i]].started = 1;
    free(ranks);
    return TUTTI_OK;
}

struct posting {
    const _Atomic uint32_t *word;
    uint32_t seen;
};

static int mapped_sync_is_further(void *with)
{
    const struct posting *p = with;
    return (int32_t)(atomic_load_explicit(p->word, memory_order_acquire) - p->seen) > 0;
}

static int mapped_sync_wait_posted(struct tutti_mapped *mapped, int target)
{
    struct tutti_mapped_peer *peer = &mapped->peer[target];
    struct posting p = {.word = mapped_sync_word_of(mapped, POSTS, target, mapped->rank), .seen = peer->posts};
    const int status = mapped_sync_wait(mapped_sync_is_further, &p, "MPI_Win_post of a target");
    if (status == TUTTI_OK) {
        peer->posts++;
        peer->started = 2;
    }
    return status;
}

int tutti_mapped_complete(struct tutti_mapped *mapped)
{
    int status = tutti_mapped_flush(mapped);
    for (int r = 0; r < mapped->n; r++) {
        struct tutti_mapped_peer *peer = &mapped->peer[r];
        const int waited = peer->started == 1 ? mapped_sync_wait_posted(mapped, r) : TUTTI_OK;
        status = status == TUTTI_OK ? waited : status;
        if (peer->started)
            atomic_fetch_add(mapped_sync_word_of(mapped, COMPLETES, mapped->rank, r), 1);
        peer->started = 0;
    }
    return status;
}

/* 1 if all origins that this rank has posted for have completed. */
static int mapped_sync_are_complete(void *with)
{
    struct tutti_mapped *mapped = with;
    int open = 0;
    for (int r = 0; r < mapped->n; r++) {
        struct tutti_mapped_peer *peer = &mapped->peer[r];
        struct posting p = {.word = mapped_sync_word_of(mapped, COMPLETES, r, mapped->rank), .seen = peer->completes};
        if (peer->posted && mapped_sync_is_further(&p)) {
            peer->completes++;
            peer->posted = 0;
        }
        open |= peer->posted;
    }
    return !open;
}

int tutti_mapped_wait(struct tutti_mapped *mapped)
{
    return mapped_sync_wait(mapped_sync_are_complete, mapped, "MPI_Win_complete of an origin");
}

int tutti_mapped_test(struct tutti_mapped *mapped, int *flag)
{
    *flag = mapped_sync_are_complete(mapped);
    if (!*flag)
        tutti_progress_poll();
    return TUTTI_OK;
}

/* ---- operations ---- */

struct arriving {
    const struct tutti_mapped_slot *target, *own;
};

static int mapped_sync_has_arrived(void *with)
{
    const struct arriving *a = with;
    return (int32_t)(mapped_sync_fences(a->target) - mapped_sync_fences(a->own)) >= 0;
}

/* The MPI's fence may end before the target has begun its own. */
static int mapped_sync_wait_fenced(struct tutti_mapped *mapped, int target)
{
    struct arriving a = {.target = mapped->peer[target].slot, .own = mapped->slot};
    return mapped_sync_has_arrived(&a) ? TUTTI_OK
                                       : mapped_sync_wait(mapped_sync_has_arrived, &a, "MPI_Win_fence of a target");
}

int tutti_mapped_enter(struct tutti_mapped *mapped, int target)
{
    const struct tutti_mapped_peer *peer = &mapped->peer[target];
    if (peer->started)
        return peer->started == 1 ? mapped_sync_wait_posted(mapped, target) : TUTTI_OK;
    if (peer->locked)
        return TUTTI_OK;
    if (mapped->locked_all)
        return tutti_mapped_lock(mapped, target, 0, mapped->locked_all - 1);
    return mapped->fenced ? mapped_sync_wait_fenced(mapped, target) : TUTTI_ERR_ARGUMENT;
}

struct updating {
    _Atomic uint32_t *updater;
    uint32_t mine;
};

static int mapped_sync_is_updater(void *with)
{
    const struct updating *u = with;
    uint32_t none = 0;
    return atomic_compare_exchange_strong(u->updater, &none, u->mine);
}

/* Where the holder of the word dies, it is unknown which elements it has updated. The word stays its own, so that each
 * later update of the target is an error (TUTTI_ERR_PEER). */
int tutti_mapped_update_begin(struct tutti_mapped *mapped, int target)
{
    struct updating u = {.updater = &mapped->peer[target].line->updater, .mine = (uint32_t)mapped->rank + 1};
    return mapped_sync_is_updater(&u) ? TUTTI_OK
                                      : mapped_sync_wait(mapped_sync_is_updater, &u, "an update of another rank");
}

void tutti_mapped_update_end(struct tutti_mapped *mapped, int target)
{
    atomic_store(&mapped->peer[target].line->updater, 0);
}
