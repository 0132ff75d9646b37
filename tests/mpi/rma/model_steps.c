/* Steps of the model: which epochs ranks open, what they do in them, and what completes it. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

const char *const model_step_names[] = {"fence", "post and start", "shared locks", "exclusive locks"};

/* What a rank has open in a step of passive epochs. */
struct holding {
    int all[MODEL_WINDOWS], one[MODEL_WINDOWS][MODEL_RANKS];
};

/* A completed operation's buffers are looked at and filled again, as a program may use them now. */
static void look(struct model *m, int i)
{
    struct model_op *op = &m->op[i];
    struct model_action *action = model_add(m, op->origin, MODEL_LOOK, i, 0);
    size_t all = 0;
    op->looked = 1;
    if (op->origin != m->me)
        return;
    for (int b = 0; b < MODEL_BUFFERS; b++)
        all += op->buffer[b].used ? op->buffer[b].end - op->buffer[b].begin : 0;
    char *to = action->bytes = malloc(2 * all + 1);
    for (int b = 0; b < MODEL_BUFFERS; b++) {
        const size_t bytes = op->buffer[b].end - op->buffer[b].begin;
        char *from = m->arena[op->origin][op->buffer[b].kind] + op->buffer[b].begin;
        if (!op->buffer[b].used)
            continue;
        memcpy(to, from, bytes); /* what must be there, then what is put there */
        random_bytes(from, random_mix(m->seed + m->now * 977 + (uint64_t)b), bytes);
        memcpy(to + bytes, from, bytes);
        to += 2 * bytes;
    }
}

static void look_some(struct model *m, int origin)
{
    for (int i = 0; i < m->ops; i++) {
        const struct model_op *op = &m->op[i];
        if (op->origin == origin && op->complete && !op->looked && model_rarely(m, 3))
            look(m, i);
    }
}

static int room(const struct model *m)
{
    return m->ops < MODEL_OPS - 8 && m->actions < MODEL_ACTIONS - MODEL_OPS - 200;
}

static int any_target(struct model *m)
{
    return model_rarely(m, 30) ? MODEL_NONE : model_dice(m, m->ranks);
}

static int operations_wanted(struct model *m)
{
    return m->big ? 1 + model_dice(m, 6) : model_dice(m, 1 + 8 * m->ranks);
}

static void sleeps(struct model *m)
{
    if (model_rarely(m, 12))
        model_add(m, model_dice(m, m->ranks), MODEL_SLEEP, 1 + model_dice(m, 400), 0);
}

/* ---- fence ---- */

static void step_fence(struct model *m)
{
    const int sets = (1 << m->windows) - 1, set = 1 + model_dice(m, sets), epochs = 1 + model_dice(m, 3);
    for (int e = 0; e <= epochs; e++) {
        for (int w = 0; w < m->windows; w++) {
            if (!(set >> w & 1))
                continue;
            if (e == 0) { /* stores of the owners come before the first one */
                for (int r = 0; r < m->ranks; r++) {
                    if (!m->unmatched && model_rarely(m, 3))
                        model_store(m, w, r);
                }
            }
            const int assert = e == epochs && model_rarely(m, 2) ? MPI_MODE_NOSUCCEED : 0;
            model_add(m, MODEL_NONE, MODEL_FENCE, w, assert);
            model_window_synchronised(m, w);
        }
        for (int r = 0; r < m->ranks; r++)
            look_some(m, r);
        for (int n = e < epochs ? operations_wanted(m) : 0; n > 0 && room(m); n--) {
            int w = model_dice(m, m->windows);
            while (!(set >> w & 1))
                w = (w + 1) % m->windows;
            model_operate(m, w, model_dice(m, m->ranks), any_target(m), 0);
            sleeps(m);
        }
    }
}

/* ---- post, start, complete, wait ---- */

static void step_posted(struct model *m)
{
    const int w = model_dice(m, m->windows);
    int targets[MODEL_RANKS] = {0}, origins[MODEL_RANKS] = {0};
    for (int o = 0; o < m->ranks; o++) {
        for (int t = 0; t < m->ranks; t++) {
            if (!model_rarely(m, 3)) {
                targets[o] |= 1 << t;
                origins[t] |= 1 << o;
            }
        }
    }
    for (int r = 0; r < m->ranks; r++) {
        if (origins[r]) {
            if (!m->unmatched && model_rarely(m, 3))
                model_store(m, w, r);
            model_add(m, r, MODEL_POST, w, origins[r]);
        }
        if (targets[r])
            model_add(m, r, MODEL_START, w, targets[r]);
    }
    for (int n = operations_wanted(m); n > 0 && room(m); n--) {
        const int origin = model_dice(m, m->ranks), target = model_dice(m, m->ranks);
        if (targets[origin] >> target & 1)
            model_operate(m, w, origin, target, 0);
        sleeps(m);
    }
    for (int r = 0; r < m->ranks; r++) {
        if (targets[r])
            model_add(m, r, MODEL_COMPLETE, w, 0);
        model_completed(m, w, r, MODEL_NONE, 0);
        look_some(m, r);
    }
    for (int r = 0; r < m->ranks; r++) {
        if (origins[r])
            model_add(m, r, MODEL_WAIT, w, model_rarely(m, 2));
    }
    model_window_synchronised(m, w);
}

/* ---- passive epochs ---- */

/* Completes requests of this rank, some or all. */
static void requests(struct model *m, int rank, int all)
{
    const int first = m->listed;
    for (int i = 0; i < m->ops; i++) {
        struct model_op *op = &m->op[i];
        if (op->origin == rank && op->request == 1 && (all || model_rarely(m, 2))) {
            m->list[m->listed++] = i;
            op->request = 2;
            op->complete |= op->call != MODEL_Rget || !model_gets_later();
        }
    }
    if (m->listed > first)
        model_add(m, rank, MODEL_REQUESTS, first, m->listed - first)->c = model_dice(m, 4);
    look_some(m, rank);
}

/* What the origin may call in an epoch of the window, with the target if it has not locked all. */
static void complete_some(struct model *m, int rank, int w, int target)
{
    const int how = model_dice(m, 5);
    if (how < 2) {
        model_add(m, rank, MODEL_FLUSH, w, target)->c = how;
        model_completed(m, w, rank, target, how == 0);
    } else if (how < 4) {
        model_add(m, rank, MODEL_FLUSH_ALL, w, 0)->c = how - 2;
        model_completed(m, w, rank, MODEL_NONE, how == 2);
    } else {
        model_add(m, rank, MODEL_SYNC, w, 0);
    }
    look_some(m, rank);
}

static void unlock(struct model *m, struct holding *h, int rank, int w, int target)
{
    if (!model_rarely(m, 4)) /* otherwise after the epoch */
        requests(m, rank, 1);
    if (h->all[w])
        model_add(m, rank, MODEL_UNLOCK_ALL, w, 0);
    else
        model_add(m, rank, MODEL_UNLOCK, w, target);
    model_completed(m, w, rank, h->all[w] ? MODEL_NONE : target, 1);
    h->all[w] = h->one[w][target] = 0;
    look_some(m, rank);
}

static void lock(struct model *m, struct holding *h, int rank, int w, int target, int type, int assert)
{
    struct model_action *action = model_add(m, rank, MODEL_LOCK, w, target);
    action->c = type;
    action->d = assert;
    h->one[w][target] = 1;
}

static int holds_any(const struct holding *h, int w)
{
    int any = h->all[w];
    for (int t = 0; t < MODEL_RANKS; t++)
        any |= h->one[w][t];
    return any;
}

/* Of a rank that may hold any number of locks, all of them shared. */
static void act_shared(struct model *m, struct holding *h, int rank)
{
    const int w = model_dice(m, m->windows), t = model_dice(m, m->ranks), way = model_dice(m, 10);
    if (!h->all[w] && !h->one[w][t]) {
        const int assert = model_rarely(m, 4) && !model_checks_locks() ? MPI_MODE_NOCHECK : 0;
        if (!holds_any(h, w) && model_rarely(m, 2)) {
            model_add(m, rank, MODEL_LOCK_ALL, w, assert);
            h->all[w] = 1;
        } else {
            lock(m, h, rank, w, t, MPI_LOCK_SHARED, assert);
        }
    } else if (way == 0) {
        unlock(m, h, rank, w, t);
    } else if (way == 1) {
        complete_some(m, rank, w, t);
    } else if (way == 2) {
        requests(m, rank, 0);
    } else if (way == 3 && (h->all[w] || h->one[w][rank])) {
        model_store(m, w, rank);
        model_add(m, rank, MODEL_SYNC, w, 0);
    } else {
        model_operate(m, w, rank, h->all[w] && model_rarely(m, 30) ? MODEL_NONE : t, 1);
    }
    sleeps(m);
}

static void step_shared(struct model *m)
{
    struct holding h[MODEL_RANKS];
    memset(h, 0, sizeof h);
    for (int n = 3 * operations_wanted(m); n > 0 && room(m); n--) {
        const int rank = model_dice(m, m->ranks);
        act_shared(m, &h[rank], rank);
    }
    for (int r = 0; r < m->ranks; r++) {
        for (int w = 0; w < m->windows; w++) {
            for (int t = 0; t < m->ranks; t++) {
                if (h[r].all[w] || h[r].one[w][t])
                    unlock(m, &h[r], r, w, t);
            }
        }
        requests(m, r, 1);
    }
}

/* One lock at a time, so that no rank holds one that another waits for while it waits itself. */
static void step_exclusive(struct model *m)
{
    struct holding h;
    memset(&h, 0, sizeof h);
    for (int n = 1 + operations_wanted(m) / 2; n > 0 && room(m); n--) {
        const int rank = model_dice(m, m->ranks), w = model_dice(m, m->windows), t = model_dice(m, m->ranks);
        const int type = model_rarely(m, 3) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
        lock(m, &h, rank, w, t, type, 0);
        if (t == rank && type == MPI_LOCK_EXCLUSIVE && model_rarely(m, 2))
            model_store(m, w, rank);
        for (int ops = model_dice(m, 6); ops > 0; ops--) {
            if (model_rarely(m, 4))
                complete_some(m, rank, w, t);
            model_operate(m, w, rank, t, 1);
        }
        unlock(m, &h, rank, w, t);
        sleeps(m);
    }
    for (int r = 0; r < m->ranks; r++)
        requests(m, r, 1);
}

/* ---- any ---- */

enum model_kind model_kind_draw(struct model *m)
{
    return (enum model_kind)model_dice(m, MODEL_STEPS);
}

void model_step(struct model *m, enum model_kind kind)
{
    model_step_begin(m);
    switch (kind) {
    case MODEL_STEP_FENCE:
        step_fence(m);
        break;
    case MODEL_STEP_POSTED:
        step_posted(m);
        break;
    case MODEL_STEP_SHARED:
        step_shared(m);
        break;
    default:
        step_exclusive(m);
    }
}

void model_move(struct model *m, int window)
{
    for (int r = 0; r < m->ranks; r++) {
        for (int k = 0; k < m->window[window].regions[r]; k++)
            m->window[window].region[r][k].kind = (enum every_kind)model_dice(m, EVERY_KINDS);
    }
}
