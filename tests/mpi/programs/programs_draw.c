/* Draws programs: action after action, each with all its steps, while it is known what is open and what must match. */
#include <stdlib.h>
#include <string.h>

#include "programs.h"

const char *const prog_kind_names[PROG_KIND_COUNT] = {
#define PROG_KIND(name) #name,
    PROG_KINDS(PROG_KIND)
#undef PROG_KIND
};

int prog_dice(struct prog_drawer *d, int n)
{
    return (int)(random_next(&d->state) % (uint64_t)n);
}

int prog_may(const struct prog_drawer *d, enum prog_kind kind)
{
    return d->p->kinds.may[kind];
}

int prog_chance(struct prog_drawer *d, enum prog_kind kind, int percent)
{
    return prog_may(d, kind) && prog_dice(d, 100) < percent;
}

/* 1 if there is room for another action; what ends a program has room beyond that. */
int prog_room(const struct prog_drawer *d)
{
    const struct prog *p = d->p;
    return p->steps < PROG_STEPS / 2 && p->reqs < PROG_REQS / 2 && p->ends < PROG_ENDS / 2 &&
           p->listed < PROG_LISTED / 2;
}

struct prog_step *prog_add(struct prog_drawer *d, int rank, enum prog_what what, int a, int b)
{
    if (d->p->steps == PROG_STEPS)
        abort();
    struct prog_step *step = &d->p->step[d->p->steps++];
    *step = (struct prog_step){.rank = rank, .what = what, .a = a, .b = b};
    d->clock[rank][rank] = d->p->steps;
    return step;
}

int prog_new_req(struct prog_drawer *d, enum prog_type type, int rank, int end)
{
    if (d->p->reqs == PROG_REQS)
        abort();
    struct prog_req *req = &d->p->req[d->p->reqs];
    *req = (struct prog_req){.type = type, .rank = rank, .end = end, .partner = -1, .group = -1, .started = 1};
    memcpy(req->clock, d->clock[rank], sizeof req->clock);
    req->clock[rank] = d->p->steps; /* the step that is about to be added */
    return d->p->reqs++;
}

/* What `clock` tells has happened is known to the rank from here on. */
void prog_learn(struct prog_drawer *d, int rank, const int *clock)
{
    for (int r = 0; r < d->p->ranks; r++)
        d->clock[rank][r] = clock[r] > d->clock[rank][r] ? clock[r] : d->clock[rank][r];
}

int prog_any_comm(struct prog_drawer *d, int wild)
{
    for (int i = 0, c = prog_dice(d, d->p->comms); i < d->p->comms; i++, c = (c + 1) % d->p->comms) {
        const struct prog_comm *comm = &d->p->comm[c];
        if (comm->ready && !comm->freed && (wild < 0 || comm->wild == wild))
            return c;
    }
    return -1;
}

int prog_rank_in(const struct prog_comm *comm, int world)
{
    for (int i = 0; i < comm->size; i++) {
        if (comm->members[i] == world)
            return i;
    }
    return -1;
}

int prog_rank_of(const struct prog_comm *comm, int place)
{
    return place < comm->left ? place : place - comm->left;
}

size_t prog_draw_n(struct prog_drawer *d, enum prog_element element)
{
    size_t bytes = prog_element_bytes[element], most = d->most / bytes;
    int dice = prog_dice(d, 100);
    size_t n;
    if (dice < 8)
        n = 0;
    else if (dice < 18)
        n = 1 + (size_t)prog_dice(d, 64);
    else if (dice < 24) /* shorter than any RTS */
        n = (1 + (size_t)prog_dice(d, 8) + bytes - 1) / bytes;
    else if (dice < 40) /* RTSs are as short as these */
        n = (1 + (size_t)prog_dice(d, prog_dice(d, 2) ? 511 : 32) + bytes - 1) / bytes;
    else if (dice < 56)
        n = 512 / bytes - 2 + (size_t)prog_dice(d, 5);
    else if (dice < 60) /* as long as Tutti's own messages */
        n = ((const size_t[]){96, 96, 480, 3360})[prog_dice(d, 4)] / bytes;
    else if (dice < 75 || !prog_may(d, PROG_large))
        n = 1 + (size_t)prog_dice(d, 4096 / (int)bytes);
    else if (dice < 85)
        n = ((size_t)4096 << prog_dice(d, 6)) / bytes - 2 + (size_t)prog_dice(d, 5);
    else
        n = (size_t)prog_dice(d, (int)most);
    return n < most ? n : most;
}

static void late(struct prog_drawer *d)
{
    if (prog_chance(d, PROG_late, 100))
        prog_add(d, prog_dice(d, d->p->ranks), PROG_SLEEP, 50 + prog_dice(d, prog_dice(d, 4) ? 600 : 3000), 0);
}

static int act(struct prog_drawer *d)
{
    int dice = prog_dice(d, 100);
    if (dice < 8 && prog_mark(d))
        return 1;
    if (dice < 22)
        return prog_complete(d, prog_dice(d, d->p->ranks));
    if (dice < 32)
        return prog_receive_sent(d);
    if (dice < 42)
        return prog_send_wanted(d);
    if (dice < 45)
        return prog_receive_probed(d);
    if (dice < 60)
        return prog_message(d);
    if (dice < 66)
        return prog_chance(d, PROG_part, 50) ? prog_part(d) : prog_persistent(d);
    if (dice < 70)
        return prog_exchange(d);
    if (dice < 73)
        return prog_dice(d, 2) ? prog_cancel(d) : prog_null(d);
    if (dice < 80)
        return prog_dice(d, 4) ? prog_group_on(d) : prog_group(d);
    if (dice < 92)
        return prog_collective(d);
    if (dice < 95)
        return prog_catch_up_any(d);
    if (dice < 97)
        return prog_make(d);
    if (dice < 98)
        return prog_unmake(d, prog_any_comm(d, -1));
    late(d);
    return 1;
}

/* Matches what is unmatched, completes what is open, frees what was made. */
static void finish(struct prog_drawer *d)
{
    struct prog *p = d->p;
    d->ending = 1;
    while (prog_mark(d) || prog_group_on(d) || prog_receive_probed(d) || prog_send_wanted(d) || prog_receive_sent(d) ||
           prog_catch_up_any(d) || prog_cancel(d)) {
    }
    for (int turn = 0, left = 1; left; turn++) {
        left = 0;
        for (int r = 0; r < p->reqs; r++)
            left += !p->req[r].done;
        if (left) {
            for (int i = 0, rank = prog_dice(d, p->ranks); i < p->ranks; i++)
                prog_complete(d, (rank + i) % p->ranks);
        }
        if (turn > 1000)
            abort(); /* a mistake in here: something cannot be completed */
    }
    while (prog_drop(d) || prog_leave(d)) {
    }
    for (int c = p->comms - 1; c > 0; c--)
        prog_unmake(d, c);
}

/* One rank of some programs lags: it sleeps before many of its steps, so that the others are far ahead. */
static void lag(struct prog_drawer *d)
{
    if (!prog_chance(d, PROG_lag, 25))
        return;
    int rank = prog_dice(d, d->p->ranks), percent = 5 + prog_dice(d, 40), longest = 20 << prog_dice(d, 5);
    for (int s = 0; s < d->p->steps; s++) {
        if (d->p->step[s].rank == rank && prog_dice(d, 100) < percent)
            d->p->step[s].pause = 1 + prog_dice(d, longest);
    }
}

void prog_draw(struct prog *p, uint64_t seed, uint64_t number, int ranks, int length, size_t most, size_t arena,
               const struct prog_kinds *kinds)
{
    struct prog_drawer drawer = {.p = p, .most = most, .arena = arena}, *d = &drawer;
    memset(p, 0, offsetof(struct prog, comm));
    p->number = number;
    p->seed = seed;
    p->ranks = ranks;
    p->kinds = *kinds;
    d->state = random_mix(seed * 1000003 + number * 17 + 5);
    p->comm[0] = (struct prog_comm){.origin = PROG_WORLD, .parent = -1, .size = ranks, .topology = -1, .ready = 1};
    for (int r = 0; r < ranks; r++)
        p->comm[0].members[r] = r;
    p->comm[0].element = (enum prog_element)prog_dice(d, PROG_ELEMENTS);
    p->comm[0].loose = prog_chance(d, PROG_anytag, 50);
    p->comms = 1;
    int wanted = 1 + prog_dice(d, 2 * length);
    for (int done = 0, tries = 0; done < wanted && tries < 20 * length && prog_room(d); tries++)
        done += act(d) > 0;
    finish(d);
    lag(d);
}
