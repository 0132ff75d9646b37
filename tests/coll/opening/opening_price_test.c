/* When it pays to open a team and to load kernels, beside the best decision in hindsight, for random sequences of calls
 * of both kinds on communicators that are made meanwhile: the calls of a kind on a communicator never lose more than
 * twice what the better way takes for them, and one opening of the process more, which is lent. Nothing is lent where
 * others work on the GPU. */
#include <stdio.h>

#include "coll/call/opening_price.h"
#include "support/check.h"
#include "support/random.h"

enum { KINDS = TUTTI_OPENING_KINDS, COMMS = 6, PROGRAMS = 4000, CALLS = 6000, MOST_BYTES = 4096 };

/* What the calls of a kind on a communicator have cost, and would have cost if all were staged. */
struct account {
    uint64_t lost;   /* as the rank counts it */
    uint64_t paid;   /* staged calls, the team, kernels */
    uint64_t staged; /* all calls, if staged */
    uint64_t takes;  /* what opening for them alone takes: the most that it has taken since the first call */
    int over;        /* 1: its calls are made by kernels */
};
struct comm {
    int open, known; /* known: its ranks have mapped an earlier channel */
    struct account of[KINDS];
};
/* A process. */
struct world {
    enum tutti_opening_gpu gpu;
    int opened, loaded[KINDS];
    uint64_t lent; /* what the lent opening has cost more than the calls had lost */
    struct comm comm[COMMS];
};

static enum tutti_opening_team team_of(const struct world *w, const struct comm *c)
{
    return c->open      ? TUTTI_OPENING_NO_TEAM
           : !w->opened ? TUTTI_OPENING_FIRST_TEAM
           : c->known   ? TUTTI_OPENING_KNOWN_TEAM
                        : TUTTI_OPENING_NEW_TEAM;
}

static void call(struct world *w, struct comm *c, enum tutti_opening_kind kind, int ordered, uint64_t out, uint64_t in)
{
    struct account *const a = &c->of[kind];
    const enum tutti_opening_team team = team_of(w, c);
    const int lacks = !w->loaded[kind];
    const uint64_t loses = tutti_opening_loses(w->gpu, kind, ordered, out, in),
                   takes = tutti_opening_takes(team, lacks);
    const uint64_t due = tutti_opening_due(w->gpu, kind, team, lacks);
    CHECK(!ordered || loses > tutti_opening_loses(w->gpu, kind, 0, out, in), "what Tutti reduces loses no more");
    CHECK(due <= takes, "due %llu of %llu", (unsigned long long)due, (unsigned long long)takes);
    a->staged += loses;
    if (a->over)
        return;
    a->lost += loses;
    a->takes = takes > a->takes ? takes : a->takes;
    if (takes > 0 && a->lost < due) {
        a->paid += loses;
        return;
    }
    if (due < takes) {
        CHECK(w->lent == 0 && w->gpu == TUTTI_OPENING_ALONE, "lent again, or on a GPU that others use");
        w->lent = takes - due;
    }
    a->paid += takes;
    a->over = c->open = w->opened = w->loaded[kind] = 1;
}

static uint64_t better(const struct account *a)
{
    return a->staged < a->takes ? a->staged : a->takes;
}

/* Checks the calls of a communicator when it ends, and makes a new one in its place. */
static void ends(struct world *w, struct comm *c, int known, uint64_t *lost, uint64_t *least)
{
    for (int kind = 0; kind < KINDS; kind++) {
        const struct account *a = &c->of[kind];
        *lost += a->paid;
        *least += better(a);
        CHECK(a->paid <= 2 * better(a) + w->lent, "%llu ns are lost, %llu by the better way, %llu are lent",
              (unsigned long long)a->paid, (unsigned long long)better(a), (unsigned long long)w->lent);
    }
    *c = (struct comm){.known = known};
}

static uint64_t draw_below(uint64_t *state, uint64_t most)
{
    return random_next(state) % most;
}

/* Calls in phases, each of mostly one kind, on few of the communicators. */
static void program(enum tutti_opening_gpu gpu, uint64_t seed)
{
    struct world w = {.gpu = gpu};
    uint64_t state = seed, lost = 0, least = 0;
    const int calls = 1 + (int)draw_below(&state, CALLS);
    const uint64_t bytes = UINT64_C(1) << draw_below(&state, 22);
    unsigned comms = 1, moves = 0;
    for (int i = 0; i < calls; i++) {
        if (draw_below(&state, 200) == 0) {
            comms = 1 + (unsigned)draw_below(&state, COMMS);
            moves = (unsigned)draw_below(&state, 5);
        }
        struct comm *const c = &w.comm[draw_below(&state, comms)];
        if (draw_below(&state, 500) == 0)
            ends(&w, c, (int)draw_below(&state, 2), &lost, &least);
        const enum tutti_opening_kind kind =
            draw_below(&state, 4) < moves ? TUTTI_OPENING_MOVES : TUTTI_OPENING_REDUCES;
        call(&w, c, kind, kind == TUTTI_OPENING_REDUCES && draw_below(&state, 8) == 0, draw_below(&state, bytes),
             draw_below(&state, 2) * bytes);
    }
    for (int i = 0; i < COMMS; i++)
        ends(&w, &w.comm[i], 0, &lost, &least);
    CHECK(lost <= 2 * least + w.lent, "program %llu: %llu ns are lost, %llu by the better way, %llu are lent",
          (unsigned long long)seed, (unsigned long long)lost, (unsigned long long)least, (unsigned long long)w.lent);
}

/* Calls of a kind until the team is opened. */
static long calls_until(struct world *w, struct comm *c, enum tutti_opening_kind kind, uint64_t out, uint64_t in)
{
    enum { NEVER = 1000000 };
    long n = 0;
    while (!c->of[kind].over && n < NEVER) {
        call(w, c, kind, 0, out, in);
        n++;
    }
    return c->of[kind].over ? n : -1;
}

/* A benchmark's warm-up opens the first team, 100 short calls or 10 long ones, and a tuner's, 10 exchanges of 8 KiB;
 * few calls do not. The second team pays. */
static void warm_up(void)
{
    static const struct {
        enum tutti_opening_kind kind;
        uint64_t out, in;
        long least, most;
    } rows[] = {
        {TUTTI_OPENING_REDUCES, 8, 8, 50, 90},      {TUTTI_OPENING_MOVES, 8, 8, 10, 90},
        {TUTTI_OPENING_MOVES, 0, 8, 20, 90},        {TUTTI_OPENING_MOVES, 8 << 10, 8 << 10, 5, 10},
        {TUTTI_OPENING_MOVES, 16 << 10, 0, 3, 10},  {TUTTI_OPENING_REDUCES, 1 << 20, 1 << 20, 1, 10},
        {TUTTI_OPENING_MOVES, 58000, 58000, 3, 10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world w = {.gpu = TUTTI_OPENING_ALONE};
        const long n = calls_until(&w, &w.comm[0], rows[i].kind, rows[i].out, rows[i].in);
        CHECK(n >= rows[i].least && n <= rows[i].most, "row %d: the first team opens after %ld calls", (int)i, n);
        const uint64_t each = tutti_opening_loses(w.gpu, rows[i].kind, 0, rows[i].out, rows[i].in);
        const long second = calls_until(&w, &w.comm[1], rows[i].kind, rows[i].out, rows[i].in);
        CHECK((uint64_t)second == (tutti_opening_takes(TUTTI_OPENING_NEW_TEAM, 0) + each - 1) / each,
              "row %d: the second team opens after %ld calls", (int)i, second);
    }
}

/* Each kind pays for itself: what reductions have lost opens no team for a move, whose kernels are others. */
static void kinds_apart(void)
{
    for (int gpu = 0; gpu < TUTTI_OPENING_GPUS; gpu++) {
        struct world one = {.gpu = gpu}, both = one;
        const long alone = calls_until(&one, &one.comm[0], TUTTI_OPENING_REDUCES, 4096, 4096);
        for (long i = 0; i < alone - 1; i++)
            call(&both, &both.comm[0], TUTTI_OPENING_REDUCES, 0, 4096, 4096);
        call(&both, &both.comm[0], TUTTI_OPENING_MOVES, 0, 4096, 4096);
        CHECK(!both.comm[0].open, "GPU of use %d: reductions open a team for a move", gpu);
        call(&both, &both.comm[0], TUTTI_OPENING_REDUCES, 0, 4096, 4096);
        CHECK(both.comm[0].open && !both.comm[0].of[TUTTI_OPENING_MOVES].over, "a move postpones a team");
    }
}

int main(void)
{
    const uint64_t seed = check_seed();
    printf("seed %llu\n", (unsigned long long)seed);
    warm_up();
    kinds_apart();
    for (uint64_t n = 0; n < PROGRAMS && !check_failed(); n++)
        program((enum tutti_opening_gpu)(n % TUTTI_OPENING_GPUS), seed + n);
    return check_failed() ? 1 : 0;
}
