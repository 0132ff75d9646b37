/* What both sides of the protocol share: tags, keys, lengths of fragments. */
#include "p2p/pipelined.h"

#include <stdlib.h>
#include <string.h>

#include "core/settings.h"
#include "p2p/pipelined_own.h"

enum { MOST_FRAGMENTS = 65536, WORD = 64 };

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
    tutti_fragments_free(pipelined->fragments, alive);
    pthread_mutex_destroy(&pipelined->lock);
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

/* A short message has shorter ones, so that there is something to do at the same time, a very long one longer ones. */
uint64_t tutti_pipelined_fragment(uint64_t bytes)
{
    const uint64_t usual = (uint64_t)tutti_settings()->message_chunk;
    const uint64_t least = (bytes + MOST_FRAGMENTS - 1) / MOST_FRAGMENTS;
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
    for (int i = 0; i < p->tags; i++) {
        const int at = p->next_tag;
        p->next_tag = (p->next_tag + 1) % p->tags;
        if (p->used[at / WORD] >> at % WORD & 1)
            continue;
        p->used[at / WORD] |= UINT64_C(1) << at % WORD;
        return p->first_tag + at;
    }
    return -1;
}

void tutti_pipelined_give_tag(struct tutti_pipelined *p, int tag)
{
    const int at = tag - p->first_tag;
    p->used[at / WORD] &= ~(UINT64_C(1) << at % WORD);
}
