/* The sender's side of lanes: letters and scratch. */
#include "team/lane_own.h"

#include "team/map.h"
#include "team/socket.h"

enum { ALIGN = 256 };

void tutti_lane_put_back(struct tutti_lane *lane, struct tutti_letter *letter)
{
    int i = tutti_lane_number(lane, letter);
    tutti_letter_set(letter, TUTTI_LETTER_FREE);
    lane->piece[i].bytes = 0;
    lane->used[i / 64] &= ~(UINT64_C(1) << i % 64);
    lane->held[i / 64] &= ~(UINT64_C(1) << i % 64);
    atomic_fetch_sub(&lane->letters, 1);
}

int tutti_lane_send_descriptor(struct tutti_lane *lane, int peer, const struct tutti_export *what)
{
    struct tutti_note note = {.slot = (uint32_t)TUTTI_NOTE_LANE};
    return tutti_share_send(lane->node, lane->device, peer, &note, what) && !note.refused;
}

/* The lock is held. Number of a letter that is free, taken; -1: there is none. */
static int take(struct tutti_lane *lane)
{
    for (int w = 0; w < TUTTI_LETTERS / 64; w++) {
        if (~lane->used[w] == 0)
            continue;
        int i = __builtin_ctzll(~lane->used[w]);
        lane->used[w] |= UINT64_C(1) << i;
        lane->held[w] |= UINT64_C(1) << i;
        atomic_fetch_add(&lane->letters, 1);
        return w * 64 + i;
    }
    return -1;
}

struct tutti_letter *tutti_lane_letter(struct tutti_lane *lane, int peer)
{
    pthread_mutex_lock(&lane->lock);
    int number = take(lane);
    uint64_t sequence = ++lane->sequence;
    pthread_mutex_unlock(&lane->lock);
    if (number < 0)
        return NULL;
    struct tutti_letter *letter = &tutti_lane_mine(lane)->letter[number];
    letter->to = (uint32_t)peer;
    letter->layout_bytes = 0;
    letter->share.shared = 0;
    atomic_store(&letter->sequence, sequence);
    return letter;
}

int tutti_lane_clashes(struct tutti_lane *lane, int peer, int tag, uint64_t scope, uint64_t bytes)
{
    int clashes = 0;
    pthread_mutex_lock(&lane->lock);
    for (int w = 0; w < TUTTI_LETTERS / 64; w++) {
        for (uint64_t left = lane->used[w]; left; left &= left - 1) {
            const struct tutti_letter *letter = &tutti_lane_mine(lane)->letter[w * 64 + __builtin_ctzll(left)];
            clashes |= letter->to == (uint32_t)peer && letter->tag == tag && letter->scope != scope &&
                       letter->bytes != bytes && !tutti_letter_is(letter, TUTTI_LETTER_DONE);
        }
    }
    pthread_mutex_unlock(&lane->lock);
    return clashes;
}

int tutti_lane_number(const struct tutti_lane *lane, const struct tutti_letter *letter)
{
    return (int)(letter - tutti_lane_mine(lane)->letter);
}

void tutti_lane_let_go(struct tutti_lane *lane, const struct tutti_letter *letter)
{
    int i = tutti_lane_number(lane, letter);
    pthread_mutex_lock(&lane->lock);
    lane->held[i / 64] &= ~(UINT64_C(1) << i % 64);
    pthread_mutex_unlock(&lane->lock);
}

void tutti_lane_withdraw(struct tutti_lane *lane, struct tutti_letter *letter)
{
    pthread_mutex_lock(&lane->lock);
    tutti_lane_put_back(lane, letter);
    pthread_mutex_unlock(&lane->lock);
}

/* First place that is long enough; the pieces are few. */
static int find_room(const struct tutti_lane *lane, uint64_t bytes, uint64_t *out)
{
    uint64_t at = 0;
    for (;;) {
        uint64_t next = UINT64_MAX, past = 0;
        for (int i = 0; i < TUTTI_LETTERS; i++) {
            const struct tutti_lane_piece *piece = &lane->piece[i];
            if (piece->bytes == 0 || piece->at + piece->bytes <= at)
                continue;
            if (piece->at < next) {
                next = piece->at;
                past = piece->at + piece->bytes;
            }
        }
        if (next == UINT64_MAX || next >= at + bytes) {
            *out = at;
            return at + bytes <= lane->bytes;
        }
        at = past;
        if (at + bytes > lane->bytes)
            return 0;
    }
}

void *tutti_lane_scratch(struct tutti_lane *lane, struct tutti_letter *letter, size_t bytes)
{
    uint64_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN, at;
    if (room > lane->bytes || !lane->scratch)
        return NULL;
    pthread_mutex_lock(&lane->lock);
    int found = find_room(lane, room, &at);
    if (found) {
        lane->piece[tutti_lane_number(lane, letter)] = (struct tutti_lane_piece){at, room};
        letter->at = at;
    }
    pthread_mutex_unlock(&lane->lock);
    return found ? lane->scratch + at : NULL;
}

int tutti_lane_share(struct tutti_lane *lane, struct tutti_letter *letter, const void *pointer,
                     struct tutti_lane_memo *memo)
{
    const int peer = (int)letter->to;
    if (tutti_lane_is_own(lane, peer)) {
        letter->share = (struct tutti_share){.shared = 1, .offset = (uint64_t)(uintptr_t)pointer};
        return 1;
    }
    if (memo && memo->of) {
        letter->share = memo->share;
        letter->share.offset += (uint64_t)((const char *)pointer - (const char *)memo->of);
    } else {
        tutti_share_fill(lane->node, lane->device, pointer, &letter->share);
        if (memo)
            *memo = (struct tutti_lane_memo){.of = pointer, .share = letter->share};
    }
    if (!letter->share.shared)
        return 0;
    for (int i = 0; i < TUTTI_LANE_KNOWN; i++) {
        if (atomic_load_explicit(&tutti_lane_theirs(lane, peer)->known[lane->node->rank][i], memory_order_acquire) ==
            letter->share.what.id)
            return 1;
    }
    if (letter->share.what.needs_fd && !tutti_lane_send_descriptor(lane, peer, &letter->share.what))
        letter->share.shared = 0;
    return 0;
}
