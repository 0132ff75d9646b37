#include "shmem/wire_kit.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/status.h"
#include "support/check.h"

/* ---- what agents do ---- */

/* Those of a PE that have begun and not ended; a wire has one thread in it at a time. */
static struct work {
    int changes, operation;
    void *to;
    const void *from;
    ptrdiff_t dst, sst;
    size_t block, n, bytes;
    uint64_t value, compare, *was;
} works[PES][256];
static int begun[PES], looks[PES];
__thread int here;

static struct work *next_work(void)
{
    if (begun[here] == 256)
        abort();
    return &works[here][begun[here]++];
}

static int later_copy(void *with, void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                      size_t bytes)
{
    (void)with;
    *next_work() =
        (struct work){.to = to, .from = from, .dst = dst, .sst = sst, .block = block, .n = n, .bytes = bytes};
    return TUTTI_OK;
}

static int later_change(void *with, int operation, void *at, size_t bytes, uint64_t value, uint64_t compare,
                        uint64_t *was)
{
    (void)with;
    *next_work() = (struct work){
        .changes = 1, .operation = operation, .to = at, .bytes = bytes, .value = value, .compare = compare, .was = was};
    return TUTTI_OK;
}

static int later_ended(void *with)
{
    (void)with;
    if (++looks[here] % 3 != 0)
        return 0;
    for (int i = 0; i < begun[here]; i++) {
        const struct work *w = &works[here][i];
        if (w->changes)
            at_once.amo(NULL, w->operation, w->to, w->bytes, w->value, w->compare, w->was);
        else
            at_once.blocks(NULL, w->to, w->from, w->dst, w->sst, w->block, w->n, w->bytes);
    }
    begun[here] = 0;
    return 1;
}

const struct tutti_wire_local later = {
    .room = room, .give = give, .blocks = later_copy, .amo = later_change, .ended = later_ended};

void begin_works(int pe)
{
    begun[pe] = looks[pe] = 0;
}

/* ---- a PE ---- */

void hear(void *with, int from, const void *note, size_t bytes)
{
    struct side *s = with;
    uint64_t number;
    if (CHECK(bytes == sizeof number, "a note of %zu bytes", bytes)) {
        memcpy(&number, note, sizeof number);
        CHECK(number == atomic_load(&s->notices[from]) + 1, "note %llu after %llu", (unsigned long long)number,
              (unsigned long long)s->notices[from]);
        atomic_store(&s->notices[from], number);
    }
}

void give_up(void *with, int from, int status)
{
    struct side *s = with;
    atomic_store(&s->by, from);
    CHECK(atomic_exchange(&s->given_up, status) == 0, "told twice");
}

void *help(void *with)
{
    struct side *s = with;
    here = s->pe;
    while (!atomic_load(&s->stop)) {
        tutti_wire_poll(s->wire);
        sched_yield();
    }
    return NULL;
}

/* Waits, and is now and then away. */
void await(struct side *s, int (*done)(struct side *s, const void *with), const void *with, const char *what)
{
    const uint64_t until = tutti_now_ns() + SECONDS * UINT64_C(1000000000);
    while (!done(s, with)) {
        tutti_wire_poll(s->wire);
        if (draw(s, 64) == 0)
            usleep((useconds_t)draw(s, DELAY_US));
        else
            sched_yield();
        if (tutti_now_ns() > until) {
            char where[256];
            tutti_wire_where(s->wire, where, sizeof where);
            fprintf(stderr, "PE %d waits forever for %s:%s\n", s->pe, what, where);
            _exit(3);
        }
    }
}

int is_over(struct side *s, const void *op)
{
    (void)s;
    return tutti_wire_state(op) != TUTTI_WIRE_UNDER_WAY;
}

int is_quiet(struct side *s, const void *with)
{
    return tutti_wire_quiet(s->wire, with ? *(const int *)with : -1);
}

int is_fenced(struct side *s, const void *with)
{
    (void)with;
    return tutti_wire_is_fenced(s->wire);
}

int is_left(struct side *s, const void *with)
{
    (void)with;
    return tutti_wire_left(s->wire) != 0;
}

int is_given_up(struct side *s, const void *with)
{
    (void)with;
    return atomic_load(&s->given_up);
}

static atomic_int come;
static int have_come(struct side *s, const void *many)
{
    (void)s;
    return atomic_load(&come) >= *(const int *)many;
}

void forget_meetings(void)
{
    atomic_store(&come, 0);
}

void meet(struct side *s, int *times)
{
    const int many = ++*times * PES;
    atomic_fetch_add(&come, 1);
    await(s, have_come, &many, "the others");
}

struct tutti_wire_op put_of(int pe, uint64_t at, const void *from, size_t bytes)
{
    return (struct tutti_wire_op){.what = TUTTI_WIRE_PUT,
                                  .pe = pe,
                                  .at = at,
                                  .here = (void *)(uintptr_t)from,
                                  .n = 1,
                                  .block = bytes,
                                  .bytes = 1,
                                  .step = (ptrdiff_t)bytes,
                                  .here_step = (ptrdiff_t)bytes};
}

struct tutti_wire_op get_of(int pe, uint64_t at, void *to, size_t bytes)
{
    struct tutti_wire_op op = put_of(pe, at, to, bytes);
    op.what = TUTTI_WIRE_GET;
    return op;
}

struct tutti_wire_op amo_of(int pe, int amo, uint64_t word, uint32_t bytes, uint64_t value, int fetches)
{
    return (struct tutti_wire_op){.what = TUTTI_WIRE_AMO,
                                  .pe = pe,
                                  .changes = 1,
                                  .amo = amo,
                                  .word = word,
                                  .word_bytes = bytes,
                                  .value = value,
                                  .fetches = fetches};
}

void run(struct side *s, struct tutti_wire_op *op)
{
    CHECK((draw(s, 2) ? tutti_wire_begin : tutti_wire_queue)(s->wire, op) == TUTTI_OK, "begin");
    await(s, is_over, op, "an operation");
    CHECK(tutti_wire_state(op) == TUTTI_WIRE_DONE, "state %d", tutti_wire_state(op));
}

void settle(struct side *s)
{
    await(s, is_quiet, NULL, "quiet");
}

int next_pe(const struct side *s, uint64_t by)
{
    return (int)(((uint64_t)s->pe + 1 + by % (PES - 1)) % PES);
}
