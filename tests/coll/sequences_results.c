/* Buffers of the sequences' calls, and what must be in them at the end. */
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "sequences.h"
#include "support/random.h"
#include "tutti/tutti.h"

enum { LEFT = 0x5e, SOON = 64 };

/* ---- buffers ---- */

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t seq_room_most(void)
{
    return round_up(seq_shared.most + 16 * SEQ_RANKS + 2 * SEQ_GUARD + SEQ_SHIFT);
}

size_t seq_host_most(void)
{
    return SEQ_CALLS * 2 * seq_room_most();
}

static size_t bytes_of(const struct seq_call *c)
{
    return c->call.count * tutti_type_size(c->what.type);
}

struct tutti_result seq_result_of(const struct seq_call *c, int rank, int size)
{
    struct tutti_call call = c->call;
    call.counts = c->counts;
    return tutti_result_of(&call, rank, size);
}

static struct seq_room room_for(struct seq_rank *me, size_t bytes, char *device)
{
    static const size_t shifts[] = {0, 0, 0, 1, 2, 4, 8, SEQ_SHIFT};
    struct seq_room room = {.start = SEQ_GUARD + shifts[random_next(&me->dice) % 8]};
    room.bytes = round_up(room.start + bytes + SEQ_GUARD);
    room.device = device + seq_room_most() - room.bytes;
    return room;
}

static void place_call(struct seq_rank *me, const struct seq_call *c, struct seq_place *p, int rank, int size, int slot)
{
    const struct tutti_result result = seq_result_of(c, rank, size);
    p->in_place = c->in_place == 1 || (c->in_place == 2 && random_next(&me->dice) % 2);
    if (c->call.collective == TUTTI_COLLECTIVE_REDUCE && rank != c->call.root)
        p->in_place = 0;
    p->in = room_for(me, bytes_of(c), me->device[0][slot]);
    p->out = p->in;
    if (!p->in_place)
        p->out = room_for(me, result.count * tutti_type_size(c->what.type), me->device[1][slot]);
}

void seq_put(struct seq_rank *me, const struct sequence *s, int i)
{
    const struct seq_place *p = &me->place[i];
    const unsigned char *from = me->before[me->turn];
    if (tutti_copy(p->in.device, from + p->in.at, p->in.bytes) != TUTTI_OK ||
        (!p->in_place && tutti_copy(p->out.device, from + p->out.at, p->out.bytes) != TUTTI_OK))
        seq_fault(me, s, i, "copy in");
}

void seq_fetch(struct seq_rank *me, const struct sequence *s, int i)
{
    const struct seq_place *p = &me->place[i];
    if (tutti_copy(me->got + p->in.at, p->in.device, p->in.bytes) != TUTTI_OK ||
        (!p->in_place && tutti_copy(me->got + p->out.at, p->out.device, p->out.bytes) != TUTTI_OK))
        seq_fault(me, s, i, "copy out");
}

/* What a channel that is given again, or has another layout now, could take for a packet of a launch to come. */
static void fill_with_flags(struct seq_rank *me, const struct seq_call *c, unsigned char *to)
{
    const uint64_t seen = me->epoch[random_next(&me->dice) % SEQ_EPOCHS];
    for (size_t at = 0; at + 8 <= bytes_of(c); at += 8) {
        const uint64_t pick = random_next(&me->dice), epoch = seen + (pick >> 8) % SOON;
        const uint64_t half = (uint64_t)((uint32_t)epoch | 0x80000000u) << 32 | (uint32_t)(pick >> 32);
        const uint64_t words[] = {epoch, half, UINT64_C(1) << 63 | epoch << 20 | (pick >> 16) % 4, epoch << 24 | 1};
        memcpy(to + at, &words[pick % 4], 8);
    }
}

/* Places, and what they hold before the calls. */
void seq_fill(struct seq_rank *me, const struct sequence *s)
{
    unsigned char *before = me->before[me->turn];
    size_t at = 0;
    for (int i = 0; i < s->calls; i++) {
        const struct seq_call *c = &s->call[i];
        struct seq_place *p = &me->place[i];
        const int rank = c->how == SEQ_ANEW ? -1 : seq_member(me, s, c->team);
        if (rank < 0)
            continue;
        if (c->repeats >= 0)
            *p = me->place[c->repeats];
        else
            place_call(me, c, p, rank, seq_group_of(s, c->team)->size, i);
        p->done = 0;
        p->in.at = at;
        at += p->in.bytes;
        p->out.at = p->in_place ? p->in.at : at;
        at += p->in_place ? 0 : p->out.bytes;
        memset(before + p->in.at, LEFT, at - p->in.at);
        oracle_fill(before + p->in.at + p->in.start, &c->what, rank, 0, c->call.count);
        if (c->flags)
            fill_with_flags(me, c, before + p->in.at + p->in.start);
        seq_shared.filled[me->turn][me->world][i] = before + p->in.at + p->in.start;
        if (c->repeats < 0)
            seq_put(me, s, i);
    }
}

/* ---- results ---- */

static int is_scan(const struct seq_call *c)
{
    return c->call.collective == TUTTI_COLLECTIVE_SCAN || c->call.collective == TUTTI_COLLECTIVE_EXSCAN;
}

/* `count` elements from `begin` on, of ranks 0 to depth - 1 together. */
static void reduce(const struct seq_rank *me, const struct sequence *s, int i, int depth, size_t begin, size_t count,
                   unsigned char *to)
{
    const struct seq_call *c = &s->call[i];
    const struct seq_group *g = seq_group_of(s, c->team);
    const void *in[SEQ_RANKS];
    for (int r = 0; r < depth; r++)
        in[r] = seq_shared.filled[me->turn][g->world[r]][i] + begin * tutti_type_size(c->what.type);
    if (count > 0 && depth > 0)
        oracle_reduce(to, &c->what, depth, in, count);
}

/* This rank's part of the work on what all contributions give. */
void seq_reduce_part(const struct seq_rank *me, const struct sequence *s)
{
    for (int i = 0; i < s->calls; i++) {
        const struct seq_call *c = &s->call[i];
        const int rank = c->how == SEQ_ANEW || is_scan(c) ? -1 : seq_member(me, s, c->team);
        if (rank < 0)
            continue;
        const size_t size = (size_t)seq_group_of(s, c->team)->size, begin = c->call.count * (size_t)rank / size;
        reduce(me, s, i, (int)size, begin, c->call.count * ((size_t)rank + 1) / size - begin,
               seq_shared.reduced[me->turn][i] + begin * tutti_type_size(c->what.type));
    }
}

static void differ(const struct seq_rank *me, const struct sequence *s, int i, const unsigned char *got,
                   const unsigned char *wanted, size_t count)
{
    const int type = s->call[i].what.type;
    const size_t size = tutti_type_size(type);
    char text[256], is[64] = "", should[64] = "";
    size_t at = 0, wrong = 0;
    if (memcmp(got, wanted, count * size) == 0)
        return;
    for (size_t e = count; e-- > 0;) {
        if (memcmp(got + e * size, wanted + e * size, size) != 0) {
            at = e;
            wrong++;
        }
    }
    oracle_text(is, sizeof is, type, got + at * size);
    oracle_text(should, sizeof should, type, wanted + at * size);
    snprintf(text, sizeof text, "%zu of %zu elements are wrong, the first is number %zu: %s, not %s", wrong, count, at,
             is, should);
    seq_fault(me, s, i, text);
}

/* What is not the result is as it was. */
static void untouched(const struct seq_rank *me, const struct sequence *s, int i, size_t at, size_t bytes,
                      const char *what)
{
    const unsigned char *got = me->got + at, *wanted = me->before[me->turn] + at;
    char text[128];
    size_t b = 0;
    if (memcmp(got, wanted, bytes) == 0)
        return;
    while (got[b] == wanted[b])
        b++;
    snprintf(text, sizeof text, "%s: byte %zu of %zu is %02x, not %02x", what, b, bytes, got[b], wanted[b]);
    seq_fault(me, s, i, text);
}

void seq_compare(struct seq_rank *me, const struct sequence *s)
{
    for (int i = 0; i < s->calls; i++) {
        const struct seq_call *c = &s->call[i];
        const struct seq_place *p = &me->place[i];
        const int rank = c->how == SEQ_ANEW ? -1 : seq_member(me, s, c->team);
        if (rank < 0 || !p->done)
            continue;
        const int team_size = seq_group_of(s, c->team)->size;
        const size_t size = tutti_type_size(c->what.type);
        const struct tutti_result result = seq_result_of(c, rank, team_size);
        const unsigned char *wanted = seq_shared.reduced[me->turn][i] + result.begin * size;
        if (is_scan(c)) {
            reduce(me, s, i, tutti_result_depth(&c->call, rank, team_size), 0, result.count, me->expected);
            wanted = me->expected;
        }
        differ(me, s, i, me->got + p->out.at + p->out.start, wanted, result.count);
        const size_t end = p->out.start + result.count * size;
        untouched(me, s, i, p->out.at, p->out.start, "before the result");
        untouched(me, s, i, p->out.at + end, p->out.bytes - end, "behind the result");
        if (!p->in_place)
            untouched(me, s, i, p->in.at, p->in.bytes, "contribution");
    }
}
