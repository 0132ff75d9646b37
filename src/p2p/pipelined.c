/* Shared by both sides of the protocol: tags, keys, lengths of fragments. */
#include "p2p/pipelined.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "core/settings.h"
#include "core/status.h"
#include "p2p/pipelined_own.h"

enum { WORD = 64 };

/* A sender uses a tag again when its last message has been received, so a later RTS with it is newer. */
struct tutti_last_rts {
    uint64_t of; /* rank << 32 | tag */
    uint64_t sequence;
    UT_hash_handle hh;
};

struct tutti_pipelined *tutti_pipelined_new(struct tutti_transport *transport, const uint64_t key[2], int tag, int tags,
                                            struct tutti_step *step)
{
    struct tutti_pipelined *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->transport = transport;
    p->step = step;
    memcpy(p->key, key, sizeof p->key);
    p->first_tag = tag;
    p->tags = tags;
    p->used = calloc((size_t)(tags + WORD - 1) / WORD, sizeof *p->used);
    p->fragments = tutti_fragments_new();
    pthread_mutex_init(&p->lock, NULL);
    pthread_mutex_init(&p->fetching, NULL);
    tutti_progress_add(step);
    if (p->used && p->fragments)
        return p;
    tutti_pipelined_free(p, 0);
    return NULL;
}

void tutti_pipelined_free(struct tutti_pipelined *pipelined, int alive)
{
    if (!pipelined)
        return;
    tutti_outgoing_spare(pipelined);
    struct tutti_last_rts *last, *next;
    HASH_ITER(hh, pipelined->last_rts, last, next)
    {
        HASH_DEL(pipelined->last_rts, last);
        free(last);
    }
    tutti_fragments_free(pipelined->fragments, alive);
    pthread_mutex_destroy(&pipelined->lock);
    pthread_mutex_destroy(&pipelined->fetching);
    free(pipelined->used);
    free(pipelined);
}

void tutti_pipelined_key(struct tutti_pipelined *pipelined, const uint64_t key[2])
{
    memcpy(pipelined->key, key, sizeof pipelined->key);
}

int tutti_pipelined_knows(const struct tutti_pipelined *pipelined, const struct tutti_pipelined_rts *rts)
{
    return memcmp(rts->key, pipelined->key, sizeof rts->key) == 0;
}

/* A short message has shorter fragments, so that packing and sending overlap; a very long one has longer ones. */
uint64_t tutti_pipelined_fragment(uint64_t bytes)
{
    const uint64_t usual = (uint64_t)tutti_settings()->message_chunk;
    const uint64_t least = (bytes + TUTTI_FRAGMENTS_MOST - 1) / TUTTI_FRAGMENTS_MOST;
    uint64_t fragment = usual;
    if (bytes < 4 * usual)
        fragment = bytes / 4 > usual / 4 ? bytes / 4 : usual / 4;
    if (fragment < least)
        fragment = least;
    fragment = (fragment + 1023) / 1024 * 1024;
    if (fragment > TUTTI_TRANSFER_MOST)
        return 0;
    return fragment < bytes ? fragment : bytes;
}

int tutti_pipelined_take_tag(struct tutti_pipelined *p)
{
    for (int w = 0; w * WORD < p->tags; w++) {
        if (~p->used[w] == 0)
            continue;
        const int at = w * WORD + __builtin_ctzll(~p->used[w]);
        if (at >= p->tags)
            return -1;
        p->used[w] |= UINT64_C(1) << at % WORD;
        return p->first_tag + at;
    }
    return -1;
}

void tutti_pipelined_give_tag(struct tutti_pipelined *p, int tag)
{
    const int at = tag - p->first_tag;
    p->used[at / WORD] &= ~(UINT64_C(1) << at % WORD);
}

/* The lock is held. NULL without memory. */
static struct tutti_last_rts *last_rts_of(struct tutti_pipelined *p, uint64_t of)
{
    struct tutti_last_rts *last;
    HASH_FIND(hh, p->last_rts, &of, sizeof of, last);
    if (last || !(last = calloc(1, sizeof *last)))
        return last;
    last->of = of;
    HASH_ADD(hh, p->last_rts, of, sizeof last->of, last);
    return last;
}

int tutti_pipelined_note_rts(struct tutti_pipelined *p, const struct tutti_pipelined_rts *rts)
{
    pthread_mutex_lock(&p->lock);
    struct tutti_last_rts *last = last_rts_of(p, (uint64_t)(uint32_t)rts->rank << 32 | (uint32_t)rts->tag);
    const int status = !last ? TUTTI_ERR_MEMORY : rts->sequence <= last->sequence ? TUTTI_ERR_MISMATCH : TUTTI_OK;
    if (status == TUTTI_OK)
        last->sequence = rts->sequence;
    pthread_mutex_unlock(&p->lock);
    return status;
}
