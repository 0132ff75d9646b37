/* Windows and operations of the model: what is valid, and what it leaves in memory. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

const char *const model_call_names[] = {
#define X(name) "MPI_" #name,
    MODEL_CALLS(X)
#undef X
};

int model_dice(struct model *m, int n)
{
    return (int)(random_next(&m->state) % (uint64_t)n);
}

int model_rarely(struct model *m, int n)
{
    return model_dice(m, n) == 0;
}

struct model_action *model_add(struct model *m, int rank, enum model_what what, int a, int b)
{
    static struct model_action none;
    if (m->actions == MODEL_ACTIONS)
        abort(); /* a mistake of the drawer, which counts what it adds */
    struct model_action *action = m->actions < MODEL_ACTIONS ? &m->action[m->actions++] : &none;
    *action = (struct model_action){.rank = rank, .what = what, .a = a, .b = b};
    return action;
}

/* ---- windows ---- */

static void region_draw(struct model *m, struct model_region *region, enum every_kind kind, size_t bytes, uint64_t seed)
{
    *region = (struct model_region){.kind = kind, .bytes = bytes};
    region->data = malloc(bytes + 8);
    region->claim = calloc(bytes + 1, sizeof *region->claim);
    if (!region->data || !region->claim)
        abort();
    random_bytes(region->data, random_mix(m->seed * 31 + m->number) + seed, bytes);
}

static void window_draw(struct model *m, int w, int flavours)
{
    static const int units[] = {1, 1, 2, 4, 8, 3, 12};
    struct model_window *window = &m->window[w];
    const size_t most = m->big ? 500000 : 600;
    const int mixed = model_dice(m, 4); /* 0: one kind of memory on all ranks */
    const enum every_kind all = model_rarely(m, 3) ? EVERY_HOST : EVERY_DEVICE;
    memset(window, 0, sizeof *window);
    do
        window->flavour = (enum model_flavour)model_dice(m, MODEL_FLAVOURS);
    while (!(flavours >> window->flavour & 1));
    window->reversed = model_rarely(m, 3);
    window->since = 1;
    for (int r = 0; r < m->ranks; r++) {
        const int dynamic = window->flavour == MODEL_DYNAMIC;
        window->unit[r] = dynamic ? 1 : units[model_dice(m, sizeof units / sizeof *units)];
        window->regions[r] = dynamic ? model_dice(m, MODEL_REGIONS + 1) : 1;
        for (int k = 0; k < window->regions[r]; k++) {
            const enum every_kind kind = window->flavour != MODEL_CREATE && !dynamic ? EVERY_HOST
                                         : mixed ? (enum every_kind)model_dice(m, EVERY_KINDS)
                                                 : all;
            size_t bytes = !dynamic && model_rarely(m, 6) && flavours != MODEL_ALONE
                               ? 0
                               : most / 2 + (size_t)model_dice(m, (int)most);
            if (!dynamic && window->flavour != MODEL_CREATE) /* the memory of the next rank begins behind it */
                bytes = bytes / 16 * 16;
            region_draw(m, &window->region[r][k], kind, bytes, (uint64_t)(w * 100000 + r * 1000 + k) * 1000003);
        }
    }
}

void model_draw(struct model *m, uint64_t seed, uint64_t number, int ranks, int me, int flavours)
{
    memset(m, 0, offsetof(struct model, window));
    m->seed = seed;
    m->number = number;
    m->ranks = ranks;
    m->me = me;
    m->state = random_mix(seed * 1000003 + number * 17 + 3);
    m->big = model_rarely(m, 40);
    m->arena_bytes = m->big ? 3 << 20 : 32 << 10;
    m->most = m->big ? 150000 : 400;
    m->windows = m->big ? 1 : 1 + model_dice(m, MODEL_WINDOWS);
    m->now = 1;
    m->step = 0;
    for (int r = 0; r < ranks; r++) {
        for (int k = 0; k < EVERY_KINDS; k++) {
            m->arena[r][k] = malloc(m->arena_bytes);
            if (!m->arena[r][k])
                abort();
        }
    }
    for (int k = 0; k < EVERY_KINDS; k++)
        m->first[k] = malloc(m->arena_bytes);
    for (int w = 0; w < m->windows; w++)
        window_draw(m, w, flavours);
}

static void actions_close(struct model *m)
{
    for (int i = 0; i < m->actions; i++)
        free(m->action[i].bytes);
    m->actions = 0;
}

void model_close(struct model *m)
{
    actions_close(m);
    for (int r = 0; r < m->ranks; r++) {
        for (int k = 0; k < EVERY_KINDS; k++)
            free(m->arena[r][k]);
    }
    for (int k = 0; k < EVERY_KINDS; k++)
        free(m->first[k]);
    for (int w = 0; w < m->windows; w++) {
        for (int r = 0; r < m->ranks; r++) {
            for (int k = 0; k < m->window[w].regions[r]; k++) {
                free(m->window[w].region[r][k].data);
                free(m->window[w].region[r][k].claim);
            }
        }
    }
}

static int op_gets(enum model_call call)
{
    return call == MODEL_Get || call == MODEL_Rget;
}

void model_window_synchronised(struct model *m, int window)
{
    m->window[window].since = ++m->now;
    for (int r = 0; r < m->ranks; r++)
        model_completed(m, window, r, MODEL_NONE, 1);
}

void model_completed(struct model *m, int window, int origin, int target, int far)
{
    for (int r = 0; r < m->ranks; r++) {
        if (far && (target == MODEL_NONE || target == r))
            m->window[window].flushed[origin][r] = m->now + 1;
    }
    for (int i = 0; i < m->ops; i++) {
        struct model_op *op = &m->op[i];
        const int late = !far && model_gets_later() && op_gets(op->call);
        if (op->window == window && op->origin == origin && (target == MODEL_NONE || op->target == target))
            op->complete |= !late;
    }
    m->now++;
}

void model_step_begin(struct model *m)
{
    actions_close(m);
    m->ops = m->listed = 0;
    m->step++;
    for (int r = 0; r < m->ranks; r++) {
        for (int k = 0; k < EVERY_KINDS; k++) {
            random_bytes(m->arena[r][k],
                         random_mix(m->seed + m->number * 77 + (uint64_t)m->step) + (uint64_t)(r * 8 + k) * 100000007,
                         m->arena_bytes);
            m->used[r][k] = 0;
            if (r == m->me)
                memcpy(m->first[k], m->arena[r][k], m->arena_bytes);
        }
    }
}

/* ---- claims ---- */

static int op_fetches(enum model_call call)
{
    return call == MODEL_Get_accumulate || call == MODEL_Rget_accumulate || call == MODEL_Fetch_and_op ||
           call == MODEL_Compare_and_swap;
}

static int op_puts(enum model_call call)
{
    return call == MODEL_Put || call == MODEL_Rput;
}

enum { MIXED = 255 }; /* operators: the claim is of its origin alone */

/* The operator by which the claim of an operation is shared with other ranks. */
static uint8_t shared_operator(const struct model_op *op)
{
    const int alone = op_fetches(op->call) || op->op == MODEL_REPLACE || !model_exact(op->element, op->op);
    return alone ? MIXED : (uint8_t)op->op;
}

static int byte_allows(const struct model_window *window, const struct model_claim *claim, const struct model_op *op)
{
    if (claim->when < window->since || claim->touch == MODEL_FREE)
        return 1;
    if (op->store)
        return 0;
    if (claim->by == op->origin && claim->when < window->flushed[op->origin][op->target])
        return 1;
    if (claim->alone && claim->by != op->origin)
        return 0;
    if (op_gets(op->call))
        return claim->touch == MODEL_READ;
    if (op_puts(op->call) || claim->touch != MODEL_SUMMED || claim->element != op->element)
        return 0;
    return claim->by == op->origin || (shared_operator(op) != MIXED && claim->op == shared_operator(op));
}

static void byte_claim(const struct model *m, const struct model_window *window, struct model_claim *claim,
                       const struct model_op *op)
{
    const int old = claim->when < window->since || claim->touch == MODEL_FREE;
    const struct model_claim before = *claim;
    *claim = (struct model_claim){.when = m->now,
                                  .touch = op_gets(op->call)   ? MODEL_READ
                                           : op_puts(op->call) ? MODEL_WRITTEN
                                                               : MODEL_SUMMED,
                                  .element = (uint8_t)op->element,
                                  .op = shared_operator(op),
                                  .by = (int8_t)(op->store ? MODEL_NONE : op->origin)};
    if (old)
        return;
    if (before.by != op->origin)
        claim->by = MODEL_NONE;
    if (before.op != claim->op)
        claim->op = MIXED;
    /* Another rank's operation may come before the earlier one of this rank. */
    claim->alone = before.alone || before.touch != claim->touch || before.element != claim->element;
}

static struct model_region *region_of(struct model *m, const struct model_op *op)
{
    return &m->window[op->window].region[op->target][op->region];
}

static int op_is_valid(struct model *m, const struct model_op *op)
{
    const struct model_window *window = &m->window[op->window];
    const struct model_region *region = region_of(m, op);
    const size_t size = model_sizes[op->element];
    for (int i = 0; i < op->to.n; i++) {
        const size_t at = op->at + (size_t)model_layout_at(&op->to, i);
        for (size_t b = 0; b < size; b++) {
            if (!byte_allows(window, &region->claim[at + b], op))
                return 0;
        }
    }
    return 1;
}

/* ---- what an operation does ---- */

static char *element_in(struct model *m, const struct model_op *op, int which, int i)
{
    const struct model_buffer *b = &op->buffer[which];
    return m->arena[op->origin][b->kind] + b->at + model_layout_at(&b->layout, i);
}

/* 1: no element's result is open. */
static int op_is_determined(struct model *m, const struct model_op *op)
{
    const struct model_region *region = region_of(m, op);
    char value[16];
    if (op_puts(op->call) || op_gets(op->call) || model_exact(op->element, op->op))
        return 1;
    for (int i = 0; i < op->to.n; i++) {
        memcpy(value, region->data + op->at + model_layout_at(&op->to, i), model_sizes[op->element]);
        if (!model_combine(op->element, op->op, element_in(m, op, MODEL_ORIGIN, i), value))
            return 0;
    }
    return 1;
}

static void op_apply(struct model *m, const struct model_op *op)
{
    struct model_region *region = region_of(m, op);
    const struct model_window *window = &m->window[op->window];
    const size_t size = model_sizes[op->element];
    for (int i = 0; i < op->to.n; i++) {
        const size_t at = op->at + (size_t)model_layout_at(&op->to, i);
        char *to = region->data + at;
        if (op->buffer[MODEL_RESULT].used)
            memcpy(element_in(m, op, MODEL_RESULT, i), to, size);
        if (op->call == MODEL_Compare_and_swap) {
            if (memcmp(to, element_in(m, op, MODEL_COMPARE, i), size) == 0)
                memcpy(to, element_in(m, op, MODEL_ORIGIN, i), size);
        } else if (!op_gets(op->call) && op->op != MODEL_NO_OP) {
            model_combine(op->element, op->op, element_in(m, op, MODEL_ORIGIN, i), to);
        }
        for (size_t b = 0; b < size; b++)
            byte_claim(m, window, &region->claim[at + b], op);
    }
}

/* ---- the draw ---- */

static int buffer_draw(struct model *m, struct model_op *op, int which, int plain)
{
    struct model_buffer *b = &op->buffer[which];
    const size_t size = model_sizes[op->element];
    b->used = 1;
    b->kind = (enum every_kind)model_dice(m, EVERY_KINDS);
    model_layout_draw(&b->layout, &m->state, op->element, op->to.n, plain, !op_puts(op->call) && !op_gets(op->call));
    b->begin = m->used[op->origin][b->kind] + (size_t)model_dice(m, 9);
    size_t at = b->begin + (size_t)(b->layout.low < 0 ? -b->layout.low : 0);
    at = (at + size - 1) / size * size;
    b->at = at;
    b->end = at + (size_t)(b->layout.high > 0 ? b->layout.high : 0);
    if (b->end + 16 > m->arena_bytes)
        return 0;
    m->used[op->origin][b->kind] = b->end;
    return 1;
}

/* The place at the target. 0: none was found. */
static int place_draw(struct model *m, struct model_op *op)
{
    const struct model_window *window = &m->window[op->window];
    const struct model_region *region = region_of(m, op);
    const long size = (long)model_sizes[op->element], unit = window->unit[op->target];
    const int aligned = !op_puts(op->call) && !op_gets(op->call);
    for (int tries = 0; tries < 12; tries++) {
        const long at = (long)model_dice(m, (int)(region->bytes / (size_t)unit) + 1) * unit;
        if ((aligned && at % size != 0) || at + op->to.low < 0 || at + op->to.high > (long)region->bytes)
            continue;
        op->at = (size_t)at;
        if (op_is_valid(m, op))
            return 1;
    }
    return 0;
}

static enum model_element element_draw(struct model *m, enum model_call call)
{
    static const enum model_element swapped[] = {MODEL_I32, MODEL_I64, MODEL_U32, MODEL_U64,
                                                 MODEL_I16, MODEL_I8,  MODEL_BYTE};
    return call == MODEL_Compare_and_swap ? swapped[model_dice(m, sizeof swapped / sizeof *swapped)]
                                          : (enum model_element)model_dice(m, MODEL_ELEMENTS);
}

static int count_draw(struct model *m, size_t size)
{
    const int most = (int)(m->most / size);
    if (model_rarely(m, 25))
        return 0;
    return 1 + model_dice(m, model_rarely(m, 3) ? most : most < 12 ? most : 12);
}

/* All but the place. 0: there is no room, or this MPI cannot do it. */
static int op_draw(struct model *m, struct model_op *op, int requests)
{
    op->call = (enum model_call)model_dice(m, requests ? MODEL_CALLS_ALL : MODEL_Rput);
    op->element = element_draw(m, op->call);
    const int moves = op_puts(op->call) || op_gets(op->call), swaps = op->call == MODEL_Compare_and_swap,
              single = swaps || op->call == MODEL_Fetch_and_op, plain = single || model_rarely(m, 2);
    do
        op->op = moves || swaps ? MODEL_REPLACE : (enum model_operator)model_dice(m, MODEL_OPERATORS_ALL);
    while (!model_legal(op->element, op->op) || (op->op == MODEL_NO_OP && !op_fetches(op->call)));
    model_layout_draw(&op->to, &m->state, op->element, single ? 1 : count_draw(m, model_sizes[op->element]), plain,
                      !moves);
    if (!model_may(op))
        return 0;
    return (op_gets(op->call) || buffer_draw(m, op, MODEL_ORIGIN, single || model_rarely(m, 2))) &&
           (!swaps || buffer_draw(m, op, MODEL_COMPARE, 1)) &&
           ((!op_gets(op->call) && !op_fetches(op->call)) ||
            buffer_draw(m, op, MODEL_RESULT, single || model_rarely(m, 2)));
}

/* Half of them swap. */
static void compare_fill(struct model *m, const struct model_op *op)
{
    const struct model_buffer *b = &op->buffer[MODEL_COMPARE];
    if (!b->used || model_rarely(m, 2))
        return;
    memcpy(m->arena[op->origin][b->kind] + b->at, region_of(m, op)->data + op->at, model_sizes[op->element]);
    if (op->origin == m->me)
        memcpy(m->first[b->kind] + b->at, region_of(m, op)->data + op->at, model_sizes[op->element]);
}

int model_operate(struct model *m, int window, int origin, int target, int requests)
{
    size_t used[EVERY_KINDS];
    if (m->ops == MODEL_OPS)
        return MODEL_NONE;
    struct model_op *op = &m->op[m->ops];
    const int nowhere = target != MODEL_NONE && m->window[window].regions[target] == 0;
    memcpy(used, m->used[origin], sizeof used);
    for (int tries = 0; tries < 6 && !nowhere; tries++) {
        *op = (struct model_op){.origin = origin, .window = window, .target = target};
        if (target != MODEL_NONE)
            op->region = model_dice(m, m->window[window].regions[target]);
        if (op_draw(m, op, requests) && (target == MODEL_NONE || (place_draw(m, op) && op_is_determined(m, op)))) {
            if (target != MODEL_NONE) {
                compare_fill(m, op);
                op_apply(m, op);
            }
            op->request = op->call >= MODEL_Rput;
            m->now++;
            model_add(m, origin, MODEL_OPERATE, m->ops, 0);
            return m->ops++;
        }
        memcpy(m->used[origin], used, sizeof used);
    }
    return MODEL_NONE;
}

void model_store(struct model *m, int window, int owner)
{
    struct model_op op = {.call = MODEL_Put,
                          .origin = owner,
                          .window = window,
                          .target = owner,
                          .op = MODEL_REPLACE,
                          .element = MODEL_BYTE,
                          .store = 1};
    if (m->window[window].regions[owner] == 0)
        return;
    op.region = model_dice(m, m->window[window].regions[owner]);
    model_layout_draw(&op.to, &m->state, MODEL_BYTE, 1 + model_dice(m, 60), 1, 1);
    if (!place_draw(m, &op))
        return;
    struct model_region *region = region_of(m, &op);
    random_bytes(region->data + op.at, random_next(&m->state), (size_t)op.to.n);
    for (int i = 0; i < op.to.n; i++)
        byte_claim(m, &m->window[window], &region->claim[op.at + (size_t)i], &op);
    m->now++;
    struct model_action *action = model_add(m, owner, MODEL_STORE, window, op.region);
    action->c = (int)op.at;
    action->d = op.to.n;
    if (owner == m->me) {
        action->bytes = malloc((size_t)op.to.n);
        memcpy(action->bytes, region->data + op.at, (size_t)op.to.n);
    }
}
