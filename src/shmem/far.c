/* PEs of other nodes. Whatever waits in Tutti brings the wire on: it is a step of the progress engine. */
#include "shmem/far.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shmem/meet.h"
#include "shmem/wire/wire.h"

static unsigned char *is_far; /* [PEs]: reached by messages */
/* What far members have brought to the last two meetings, by team and PE. */
static struct tutti_shmem_said (*brought)[TSHMEM_PES_MAX][2];

/* That a PE has come to a meeting. */
struct arrival {
    uint32_t team, member;
    uint64_t sequence;
    struct tutti_shmem_said said;
};
_Static_assert(sizeof(struct arrival) <= TUTTI_WIRE_NOTE, "an arrival is a note");

static void poll_wire(void);
static void say_where(char *text, size_t size);
static struct tutti_step step = {.name = "PEs of other nodes", .poll = poll_wire, .where = say_where};

static struct tutti_wire *wire(void)
{
    return __atomic_load_n(&tutti_shmem.wire, __ATOMIC_ACQUIRE);
}

/* Held by those who come by the engine, on any thread, while they use the wire. */
static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER;

static void poll_wire(void)
{
    if (!wire() || pthread_mutex_trylock(&in_use) != 0)
        return;
    if (wire())
        tutti_wire_poll(wire());
    pthread_mutex_unlock(&in_use);
}

static void say_where(char *text, size_t size)
{
    if (pthread_mutex_trylock(&in_use) != 0)
        return;
    if (wire())
        tutti_wire_where(wire(), text, size);
    pthread_mutex_unlock(&in_use);
}

/* ---- what the wire tells ---- */

/* What comes from another process is looked at before it is believed. */
static void hear(void *with, int from, const void *note, size_t bytes)
{
    struct tutti_shmem *space = &tutti_shmem;
    struct arrival arrival;
    (void)with;
    if (bytes != sizeof arrival)
        return;
    memcpy(&arrival, note, sizeof arrival);
    if (arrival.team >= TSHMEM_TEAMS_MAX || arrival.member >= TSHMEM_PES_MAX)
        return;
    brought[arrival.team][from][arrival.sequence & 1] = arrival.said;
    atomic_store_explicit(&space->control[space->state.me]->place[arrival.team].arrived[arrival.member],
                          arrival.sequence, memory_order_release);
}

static void end(void *with, int from, int status)
{
    (void)with;
    (void)status;
    tutti_shmem_leave_near();
    if (from >= 0)
        tutti_shmem_fail(TUTTI_ERR_BROKEN, "the address space ends", "PE %d, of another node, has given up", from);
}

/* ---- life ---- */

static const struct tutti_wire_users users = {.notice = hear, .ended = end};

static void free_room(void)
{
    free(brought);
    free(is_far);
    brought = NULL;
    is_far = NULL;
}

int tutti_shmem_far_open(struct tutti_shmem *space)
{
    const int pes = space->transport->size;
    struct tutti_wire *made = NULL;
    brought = calloc(TSHMEM_TEAMS_MAX, sizeof *brought);
    is_far = calloc((size_t)pes, sizeof *is_far);
    for (int pe = 0; pe < pes && is_far; pe++)
        is_far[pe] = space->control[pe] == NULL;
    int status = brought && is_far ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        status = tutti_wire_open(space->transport, is_far, space->kind->local, space->state.heap,
                                 tutti_shmem_mapped(space), &users, &made);
    if (status != TUTTI_OK) {
        free_room();
        return status;
    }
    for (int pe = 0; pe < pes; pe++) {
        if (is_far[pe]) {
            space->kind_of[pe] = &tutti_shmem_far;
            space->base[pe] = tutti_shmem_far_base(pe);
        }
    }
    __atomic_store_n(&space->wire, made, __ATOMIC_RELEASE);
    tutti_progress_add(&step);
    tutti_step_open(&step);
    return TUTTI_OK;
}

void tutti_shmem_far_grow(struct tutti_shmem *space)
{
    if (space->wire)
        tutti_wire_grow(space->wire, tutti_shmem_mapped(space));
}

void tutti_shmem_far_close(struct tutti_shmem *space)
{
    struct tutti_wire *made = space->wire;
    if (!made)
        return;
    tutti_step_close(&step);
    pthread_mutex_lock(&in_use);
    __atomic_store_n(&space->wire, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&in_use);
    tutti_wire_close(made);
    free_room();
}

void tutti_shmem_far_abort(void)
{
    if (wire())
        tutti_wire_abort(wire(), TUTTI_ERR_BROKEN);
}

/* ---- waiting ---- */

static int broken_or(int done)
{
    return done == 0 && __atomic_load_n(tutti_shmem.state.abort, __ATOMIC_RELAXED) ? TUTTI_ERR_BROKEN : done;
}

static int has_left(void *with)
{
    (void)with;
    return broken_or(tutti_wire_left(wire()));
}

static void say_leaving(void *with, char *text, size_t size)
{
    (void)with;
    snprintf(text, size, "in tshmem_finalize for the farewell of PEs of other nodes");
}

int tutti_shmem_far_leave(void)
{
    if (!wire())
        return TUTTI_OK;
    tutti_wire_leave(wire());
    return tutti_shmem_await(has_left, say_leaving, NULL);
}

static int is_quiet(void *with)
{
    return broken_or(tutti_wire_quiet(wire(), *(const int *)with));
}

static int is_fenced(void *with)
{
    (void)with;
    return broken_or(tutti_wire_is_fenced(wire()));
}

static void say_quiet(void *with, char *text, size_t size)
{
    char where[160];
    (void)with;
    tutti_wire_where(wire(), where, sizeof where);
    snprintf(text, size, "in tshmem_quiet or tshmem_fence for PEs of other nodes:%s", where);
}

int tutti_shmem_far_quiet(int pe)
{
    return tutti_shmem_await(is_quiet, say_quiet, &pe);
}

int tutti_shmem_far_fence(int pe)
{
    return tutti_shmem_await(is_fenced, say_quiet, &pe);
}

static int has_ended(void *with)
{
    const int state = tutti_wire_state(with);
    return broken_or(state == TUTTI_WIRE_DONE ? 1 : state);
}

static void say_operation(void *with, char *text, size_t size)
{
    const struct tutti_wire_op *op = with;
    snprintf(text, size, "for PE %d, of another node, which must call Tutti to answer", op->pe);
}

/* ---- operations ---- */

/* later: it is under way on return, and the wire keeps what it needs. Where a wait fails, all have been told that the
 * address space ends: then nothing refers to `op` any more. */
static int run(struct tutti_wire_op *op, int later)
{
    const int status = later ? tutti_wire_post(wire(), op) : tutti_wire_begin(wire(), op);
    if (status != TUTTI_OK)
        return tutti_shmem_fail(status, "the address space", "PE %d, of another node, is not reached: %s", op->pe,
                                tutti_status_text(status));
    return later ? TUTTI_OK : tutti_shmem_await(has_ended, say_operation, op);
}

static int pe_of(const void *address)
{
    return (int)((uintptr_t)address >> TUTTI_SHMEM_FAR_BITS & (TSHMEM_PES_MAX - 1));
}

static uint64_t offset_of(const void *address)
{
    return (uintptr_t)address & (((uintptr_t)1 << TUTTI_SHMEM_FAR_BITS) - 1);
}

static struct tutti_wire_op describe(void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                                     size_t bytes)
{
    const int puts = tutti_shmem_is_far(to);
    const void *there = puts ? to : from;
    return (struct tutti_wire_op){.what = puts ? TUTTI_WIRE_PUT : TUTTI_WIRE_GET,
                                  .pe = pe_of(there),
                                  .at = offset_of(there),
                                  .here = puts ? (void *)(uintptr_t)from : to,
                                  .n = n,
                                  .block = block,
                                  .bytes = bytes,
                                  .step = puts ? dst : sst,
                                  .here_step = puts ? sst : dst};
}

static int copy_blocks(void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n, size_t bytes)
{
    struct tutti_wire_op op = describe(to, from, dst, sst, block, n, bytes);
    return run(&op, 0);
}

static int copy(void *to, const void *from, size_t bytes, int later)
{
    const ptrdiff_t all = (ptrdiff_t)bytes;
    struct tutti_wire_op op = describe(to, from, all, all, bytes, 1, 1);
    return run(&op, later);
}

static int copy_element(void *to, const void *from, size_t bytes)
{
    return copy_blocks(to, from, 1, 1, 1, 1, bytes);
}

static uint64_t amo(int operation, void *at, size_t bytes, uint64_t value, uint64_t compare)
{
    const int what = operation & ~TSHMEM_AMO_NO_FETCH;
    struct tutti_wire_op op = {.what = TUTTI_WIRE_AMO,
                               .pe = pe_of(at),
                               .changes = 1,
                               .amo = what,
                               .word = offset_of(at),
                               .word_bytes = (uint32_t)bytes,
                               .value = value,
                               .compare = compare,
                               .fetches = what == operation && what != TSHMEM_AMO_SET};
    return run(&op, !op.fetches) == TUTTI_OK ? op.was : 0;
}

static int put_signal(void *to, const void *from, size_t bytes, uint64_t *at, uint64_t value, int operation, int later)
{
    const ptrdiff_t all = (ptrdiff_t)bytes;
    struct tutti_wire_op op = describe(at, from, all, all, bytes, bytes > 0, 1);
    op.at = bytes > 0 ? offset_of(to) : 0;
    op.changes = 1;
    op.amo = operation == TSHMEM_SIGNAL_ADD ? TSHMEM_AMO_ADD : TSHMEM_AMO_SET;
    op.word = offset_of(at);
    op.word_bytes = sizeof *at;
    op.value = value;
    return run(&op, later);
}

const struct tutti_shmem_kind tutti_shmem_far = {
    .name = "far",
    .copy = copy,
    .element = copy_element,
    .blocks = copy_blocks,
    .amo = amo,
    .put_signal = put_signal,
};

/* ---- meetings ---- */

int tutti_shmem_far_arrive(int pe, uint32_t team, int me, uint64_t sequence, const struct tutti_shmem_said *said)
{
    const struct arrival arrival = {.team = team, .member = (uint32_t)me, .sequence = sequence, .said = *said};
    struct tutti_wire_op op = {.what = TUTTI_WIRE_NOTICE, .pe = pe, .note_bytes = sizeof arrival};
    memcpy(op.note, &arrival, sizeof arrival);
    return run(&op, 1);
}

const struct tutti_shmem_said *tutti_shmem_far_said(int pe, uint32_t team, uint64_t sequence)
{
    return &brought[team][pe][sequence & 1];
}
