#include "p2p/short_rts.h"

#include <stdatomic.h>
#include <string.h>

#include "team/node.h"

_Static_assert(TUTTI_RNDVS <= 256, "the number of a rendezvous is one byte");

/* A bijection whose every bit of output depends on every bit of input: the finalizer of MurmurHash3 (Appleby), with the
 * constants of D. Stafford's variant 13. */
static uint64_t rts_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The first 16 bytes of an RTS of node rank `from`; the rest is zero. Ranks that have made as many sends have equal
 * sequences and numbers, so the sender is part of what is ciphered. */
static void rts_cipher(const struct tutti_node *node, int from, uint64_t sequence, int number, unsigned char out[16])
{
    uint64_t key[2], word[2];
    tutti_node_key(node, key);
    const uint64_t sender = rts_mix((uint64_t)from + 1);
    word[0] = rts_mix(rts_mix(sequence ^ key[0]) + (key[1] ^ sender));
    word[1] = rts_mix(rts_mix(sequence ^ key[1]) + word[0]);
    memcpy(out, word, sizeof word);
    out[0] = (unsigned char)number;
}

void tutti_short_rts_write(struct tutti_p2p_worker *worker, const struct tutti_rndv *rndv, unsigned char *text)
{
    unsigned char first[16];
    const size_t bytes = tutti_short_rts_bytes(rndv->bytes), n = bytes < sizeof first ? bytes : sizeof first;
    rts_cipher(worker->node, worker->node->rank, atomic_load(&rndv->sequence),
               tutti_endpoint_number(worker->endpoint, rndv), first);
    memcpy(text, first, n);
    memset(text + n, 0, bytes - n);
}

/* 1 if `text` is the RTS of this rendezvous, which rank out->rank has with this one: out->sequence and out->bytes. The
 * sequence is read last: if the rendezvous is used again meanwhile, it differs. */
static int is_of(const struct tutti_node *node, const struct tutti_rndv *rndv, int tag, const unsigned char *text,
                 size_t bytes, struct tutti_rts_head *out)
{
    static const unsigned char zeros[64];
    unsigned char first[16];
    const uint32_t state = atomic_load_explicit(&rndv->state, memory_order_acquire);
    if (state == TUTTI_RNDV_FREE || state == TUTTI_RNDV_ATS || !rndv->short_rts || rndv->tag != tag ||
        atomic_load_explicit(&rndv->to, memory_order_relaxed) != (uint32_t)node->rank ||
        tutti_short_rts_bytes(out->bytes = __atomic_load_n(&rndv->bytes, __ATOMIC_RELAXED)) != bytes)
        return 0;
    out->sequence = atomic_load(&rndv->sequence);
    rts_cipher(node, out->rank, out->sequence, text[0], first);
    if (memcmp(text, first, bytes < sizeof first ? bytes : sizeof first) != 0)
        return 0;
    for (size_t at = sizeof first; at < bytes; at += sizeof zeros) {
        if (memcmp(text + at, zeros, bytes - at < sizeof zeros ? bytes - at : sizeof zeros) != 0)
            return 0;
    }
    return 1;
}

int tutti_short_rts_read(struct tutti_p2p_worker *worker, int tag, const unsigned char *text, size_t bytes,
                         struct tutti_rts_head *out)
{
    for (int peer = 0; peer < worker->node->size; peer++) {
        const struct tutti_rndv *rndv = tutti_endpoint_at(worker->endpoint, peer, text[0]);
        struct tutti_rts_head found = {.number = text[0], .rank = peer};
        if (!rndv || !is_of(worker->node, rndv, tag, text, bytes, &found))
            continue;
        *out = found;
        tutti_node_key(worker->node, out->key);
        return 1;
    }
    return 0;
}
