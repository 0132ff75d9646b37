/* What a sequence is: the same on all ranks, from the seed and the sequence's number alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sequences.h"
#include "tutti/tutti.h"

enum { LIFE = 48, SHIFTS = 8 }; /* sequences that a communicator lives */

unsigned seq_dice(uint64_t *state, unsigned n)
{
    return (unsigned)((random_next(state) >> 20) % n);
}

int seq_place_of(const struct seq_shape *shape, int world)
{
    for (int q = 0; q < shape->size; q++) {
        if (shape->members[q] == world)
            return q;
    }
    return -1;
}

struct seq_shape seq_shape_of(int slot, uint64_t id)
{
    struct seq_shape shape = {.size = kit_size};
    uint64_t state = random_mix(id);
    unsigned how = slot == SEQ_WORLD ? 0 : seq_dice(&state, 5);
    for (int r = 0; r < kit_size; r++)
        shape.members[r] = how == 1 ? kit_size - 1 - r : r;
    if (how >= 2) { /* another order, and of some of them */
        for (int r = kit_size - 1; r > 0; r--) {
            int other = (int)seq_dice(&state, (unsigned)r + 1), kept = shape.members[r];
            shape.members[r] = shape.members[other];
            shape.members[other] = kept;
        }
        if (how == 4 && kit_size > 2)
            shape.size = 2 + (int)seq_dice(&state, (unsigned)kit_size - 2);
    }
    return shape;
}

size_t seq_result(const struct seq_call *call, int q, size_t *begin)
{
    *begin = 0;
    switch (call->kind) {
    case SEQ_REDUCE_SCATTER:
        for (int r = 0; r < q; r++)
            *begin += (size_t)call->counts[r];
        return (size_t)call->counts[q];
    case SEQ_REDUCE_SCATTER_BLOCK:
        *begin = (size_t)q * call->count;
        return call->count;
    case SEQ_REDUCE:
        return q == call->root ? call->count : 0;
    case SEQ_EXSCAN:
        return q ? call->count : 0;
    case SEQ_BARRIER:
        return 0;
    default:
        return call->count;
    }
}

/* ---- sizes ---- */

/* Guards, and room for a shift. */
static size_t room_of(size_t bytes)
{
    return (bytes + 320 + 255) / 256 * 256;
}

size_t seq_arena_bytes(size_t most)
{
    return 6 * most + SEQ_CALLS * 8192;
}

/* What the draws of a sequence share. */
struct drawing {
    struct seq *seq;
    uint64_t state;
    size_t most, last; /* bytes: of a call, of the call before */
    double least;      /* smaller calls are rare: its logarithm */
    int slot, forms;
    struct seq_shape shape[SEQ_SLOTS];
    int grouped[SEQ_SLOTS], renewed[SEQ_SLOTS];
};

static unsigned dice(struct drawing *d, unsigned n)
{
    return seq_dice(&d->state, n);
}

/* A nonblocking call of no elements is the MPI's. Sequences of memory with lives draw such calls, and others where
 * TUTTI_TEST_EMPTY=1. */
static int no_empty(enum seq_form form)
{
    return form == SEQ_STARTED && !seq_lives() && check_setting("TUTTI_TEST_EMPTY", 0) == 0;
}

/* As likely in each power of two; often beside one, or as long as the call before, or nearly. */
static size_t draw_bytes(struct drawing *d, enum seq_form form)
{
    size_t left = seq_arena_bytes(d->most) - d->seq->used - (size_t)(SEQ_CALLS - d->seq->calls) * 4096;
    size_t most = d->most < left / 2 ? d->most : left / 2, bytes;
    double log = log2((double)d->most), least = dice(d, 8) ? d->least : 0;
    if (d->last && dice(d, 3) == 0) {
        bytes = d->last;
        if (dice(d, 3) == 0)
            bytes = bytes + 16 * dice(d, 9) - (bytes > 64 ? 64 : 0);
        else if (dice(d, 4) == 0)
            bytes = bytes >> (1 + dice(d, 4));
    } else {
        bytes = (size_t)exp2(least + (log - least) * (double)dice(d, 100001) / 100000);
        if (dice(d, 3) == 0) {
            bytes = (size_t)1 << (unsigned)(log2((double)bytes + 1) + 0.5);
            if (dice(d, 2))
                bytes = bytes + 8 * dice(d, 33) - (bytes > 128 ? 128 : 0);
        }
    }
    d->last = bytes;
    if (dice(d, 64) == 0)
        bytes = 0;
    if (no_empty(form) && bytes < 16 * SEQ_RANKS)
        bytes = 16 * SEQ_RANKS;
    return bytes < most ? bytes : most;
}

static void draw_counts(struct drawing *d, struct seq_call *call)
{
    uint64_t weight[SEQ_RANKS], sum = 0;
    size_t all = call->total;
    unsigned how = dice(d, 4), one = dice(d, (unsigned)call->shape.size);
    for (int q = 0; q < call->shape.size; q++) {
        weight[q] = how == 0 ? 1 : how == 1 && q != (int)one ? dice(d, 2) : dice(d, 4) == 0 ? 0 : 1 + dice(d, 100);
        sum += weight[q];
    }
    call->total = 0;
    for (int q = 0; q < call->shape.size; q++) {
        call->counts[q] = sum ? (int)(all * weight[q] / sum) : 0;
        call->total += (size_t)call->counts[q];
    }
    if (call->total == 0 && no_empty(call->form))
        call->counts[one] = (int)(call->total = all);
}

/* ---- calls ---- */

/* Whether putting the call into a stream may have to wait: streams take some 1,000 launches, and what goes by ll, or in
 * lines, takes one for each few KiB where channels are small. (Half of an eighth of the channel, or of the quarter of
 * one, is shared by the ranks; half of that is data.) */
static int puts_many(const struct seq_call *call)
{
    const char *rules = getenv("TUTTI_RULES");
    size_t mib = (size_t)check_setting("TUTTI_CHANNEL_MB", 0), sum = call->total * call->handle->size;
    int cuda = strcmp(tutti_device_name(), "cuda") == 0;
    if (rules && strstr(rules, call->kind == SEQ_REDUCE ? "*@chain" : "*@pipeline"))
        cuda = 1; /* one launch for any size */
    else if (rules && *rules)
        cuda = 0;
    if (call->form != SEQ_ENQUEUED ||
        (cuda && call->kind != SEQ_SCAN && call->kind != SEQ_EXSCAN && !seq_moves(call->kind)))
        return 0;
    mib = mib == 0 || mib > 64 ? 64 : mib;
    return sum * (unsigned)call->times / ((mib << 20) / 4 / 64 / (unsigned)call->shape.size) > 16;
}

static const struct kit_pair *pair_of(int element, int op)
{
    for (int i = 0; i < kit_pair_count; i++) {
        if (kit_pairs[i].handle->element == element && kit_pairs[i].op == op)
            return &kit_pairs[i];
    }
    fprintf(stderr, "no type for %s\n", oracle_type_name(element));
    abort();
}

static void draw_type(struct drawing *d, struct seq_call *call, size_t bytes)
{
    static const int elements[] = {TUTTI_TYPE_I32, TUTTI_TYPE_U64, TUTTI_TYPE_F32, TUTTI_TYPE_F64, TUTTI_TYPE_U8};
    const struct kit_pair *pair = pair_of(elements[dice(d, 5)], TUTTI_OP_SUM);
    call->quick = bytes > 4096 || dice(d, 3) == 0 || seq_moves(call->kind) || seq_lives();
    if (!call->quick)
        pair = &kit_pairs[dice(d, (unsigned)kit_pair_count)];
    call->handle = pair->handle;
    call->op = pair->op;
    call->total = bytes / pair->handle->size;
    if (!call->quick && call->total > SEQ_SMALL)
        call->total = SEQ_SMALL - dice(d, 9);
}

/* A call of that form on that communicator; its number. */
static int draw_call(struct drawing *d, int slot, enum seq_form form, int group, int times)
{
    static const enum seq_kind kinds[] = {SEQ_ALLREDUCE,      SEQ_ALLREDUCE,      SEQ_ALLREDUCE,
                                          SEQ_REDUCE,         SEQ_REDUCE,         SEQ_REDUCE,
                                          SEQ_REDUCE_SCATTER, SEQ_REDUCE_SCATTER, SEQ_REDUCE_SCATTER_BLOCK,
                                          SEQ_SCAN,           SEQ_EXSCAN,         SEQ_BARRIER};
    struct seq *seq = d->seq;
    struct seq_call *call = &seq->call[seq->calls];
    *call = (struct seq_call){.slot = slot, .form = form, .group = group, .shape = d->shape[slot]};
    call->kind = kinds[dice(d, form == SEQ_STARTED ? 11 : 12)]; /* no MPI_Ibarrier: the MPI's own */
    if (form == SEQ_ENQUEUED && dice(d, 5) < 2)
        call->kind = (enum seq_kind)(SEQ_BCAST + dice(d, SEQ_ALLTOALLV - SEQ_BCAST + 1));
    call->seed = random_next(&d->state);
    draw_type(d, call, draw_bytes(d, form));
    call->in_place = call->kind != SEQ_BARRIER && dice(d, 5) < 2;
    call->root = (int)dice(d, (unsigned)call->shape.size);
    call->large = dice(d, 7) == 0;
    call->times = times ? times : form == SEQ_STARTED || dice(d, 8) ? 1 : 2 + (int)dice(d, SEQ_TIMES - 1);
    if (seq_moves(call->kind)) {
        draw_counts(d, call);
        seq_move_draw(call, call->in_place);
    } else if (call->kind == SEQ_REDUCE_SCATTER) {
        draw_counts(d, call);
        call->in_place &= call->times == 1 || !call->quick;
    } else if (call->kind == SEQ_REDUCE_SCATTER_BLOCK) {
        call->count = call->total / (unsigned)call->shape.size;
        call->total = call->count * (unsigned)call->shape.size;
        call->in_place &= call->times == 1 || !call->quick;
    } else if (call->kind == SEQ_BARRIER) {
        call->total = 0;
    } else {
        call->count = call->total;
    }
    size_t result = 0, begin;
    for (int q = 0; q < call->shape.size && !call->in_place; q++) {
        size_t n = seq_moves(call->kind) ? seq_move_elements(call, q, 1) : seq_result(call, q, &begin);
        result = n > result ? n : result;
    }
    call->many = puts_many(call);
    call->place[0] = seq->used;
    seq->used += room_of(call->total * call->handle->size);
    call->place[1] = seq->used;
    if (!call->in_place)
        seq->used += room_of(result * call->handle->size);
    return seq->calls++;
}

static void add(struct drawing *d, enum seq_what what, int slot, int number, uint64_t id)
{
    d->seq->unit[d->seq->units++] = (struct seq_unit){what, slot, number, id};
}

static void draw_single(struct drawing *d)
{
    if (dice(d, 3) == 0)
        d->slot = (int)dice(d, SEQ_SLOTS);
    enum seq_form form = SEQ_BLOCKING;
    unsigned how = dice(d, 8);
    if (d->slot < seq_streams() && how >= (d->forms == 0 ? 0 : d->forms == 1 ? 2u : 4u))
        form = SEQ_ENQUEUED;
    else if (how % 2)
        form = SEQ_STARTED;
    add(d, SEQ_CALL, d->slot, draw_call(d, d->slot, form, -1, 0), 0);
}

/* Returns how many launches of a new group are to come. */
static int draw_group(struct drawing *d, int calls)
{
    int times = 1 + (int)dice(d, SEQ_TIMES), slot = (int)dice(d, (unsigned)seq_streams());
    struct seq_group *group = &d->seq->group[d->seq->groups];
    if (d->seq->groups == SEQ_GROUPS || d->renewed[slot])
        return 0;
    *group = (struct seq_group){.slot = slot, .first = d->seq->calls, .calls = calls, .mode = (int)dice(d, 3)};
    for (int i = 0; i < calls; i++)
        draw_call(d, slot, SEQ_ENQUEUED, d->seq->groups, times);
    d->grouped[slot] = 1;
    d->slot = slot;
    d->seq->groups++;
    return times;
}

static void draw_renew(struct drawing *d)
{
    int slot = (int)dice(d, SEQ_WORLD);
    if (d->grouped[slot])
        return;
    uint64_t id = random_next(&d->state);
    d->shape[slot] = seq_shape_of(slot, id);
    d->renewed[slot] = 1;
    add(d, SEQ_RENEW, slot, 0, id);
}

void seq_draw(struct seq *seq, uint64_t number, uint64_t round, size_t most)
{
    struct drawing d = {.seq = seq, .most = most, .state = random_mix(kit_seed ^ random_mix(number + 1))};
    int launches = 0, wanted = 3 + (int)dice(&d, 10);
    seq->number = number;
    seq->used = 0;
    seq->calls = seq->groups = seq->units = 0;
    for (int slot = 0; slot < SEQ_SLOTS; slot++) {
        seq->id[slot] =
            random_mix(kit_seed + random_mix((number + (unsigned)slot * 11) / LIFE * SEQ_SLOTS + (unsigned)slot));
        d.shape[slot] = seq_shape_of(slot, seq->id[slot]);
    }
    unsigned sizes = dice(&d, 4);
    if (sizes == 0 && d.most > 65536) /* all small */
        d.most = 65536;
    else if (sizes == 1 && d.most > 4096) /* most of them large */
        d.least = log2((double)d.most) - 6;
    seq->slow = (int)dice(&d, (unsigned)kit_size + 1) - 1;
    d.forms = (int)dice(&d, 3);
    d.slot = (int)dice(&d, SEQ_SLOTS);
    while (seq->units < wanted && seq->calls < 13) {
        unsigned how = dice(&d, 32);
        if (launches > 0 && dice(&d, 2)) {
            add(&d, SEQ_LAUNCH, seq->group[seq->groups - 1].slot, seq->groups - 1, 0);
            launches--;
        } else if (how > 26 && seq_lives()) {
            add(&d, SEQ_MEMORY, 0, 0, 0);
        } else if (how == 0) {
            add(&d, SEQ_SYNC, (int)dice(&d, (unsigned)seq_streams()), 0, 0);
        } else if (how == 1) {
            draw_renew(&d);
        } else if (how < 6 && launches == 0) {
            launches = draw_group(&d, 2 + (int)dice(&d, 3));
        } else {
            draw_single(&d);
        }
    }
    for (; launches > 0; launches--)
        add(&d, SEQ_LAUNCH, seq->group[seq->groups - 1].slot, seq->groups - 1, 0);
    for (int i = 0; i < seq->calls; i++) /* draws are the same in every round, contents are not */
        seq->call[i].seed = random_mix(seq->call[i].seed + round);
}
