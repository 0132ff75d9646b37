/* PEs of other nodes. The wire is polled by every wait of Tutti: it is a step of the progress engine. */
#include "shmem/far.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shmem/meet.h"
#include "shmem/wire/wire.h"

/* Says that a PE has arrived at a meeting: contributions of `first` and of members before it. */
struct arrival {
    uint32_t team, hop; /* in small teams the member */
    uint64_t sequence;
    uint32_t first, count;
    struct tutti_shmem_contribution contribution[];
};
_Static_assert(sizeof(struct arrival) + sizeof(struct tutti_shmem_contribution) <= TUTTI_WIRE_NOTE,
               "an arrival is a note");
_Static_assert(sizeof(struct arrival) + (1 << 3 * (TUTTI_SHMEM_ROUNDS - 1)) * sizeof(struct tutti_shmem_contribution) <=
                   TUTTI_WIRE_PIECE,
               "and that of many");

static struct tutti_shmem_wire *far_wire(struct tutti_shmem *space)
{
    return __atomic_load_n(&space->wire, __ATOMIC_ACQUIRE);
}

/* Threads that poll the wire through the engine hold this while they use it. */
static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER;

void tutti_shmem_far_poll(struct tutti_shmem *space)
{
    if (!far_wire(space) || pthread_mutex_trylock(&in_use) != 0)
        return;
    if (far_wire(space))
        tutti_wire_poll(far_wire(space));
    pthread_mutex_unlock(&in_use);
}

void tutti_shmem_far_where(struct tutti_shmem *space, char *text, size_t size)
{
    if (pthread_mutex_trylock(&in_use) != 0)
        return;
    if (far_wire(space))
        tutti_wire_where(far_wire(space), text, size);
    pthread_mutex_unlock(&in_use);
}

/* ---- callbacks of the wire ---- */

/* The content of a message from another process is checked first. */
static void far_receive_hop(void *with, int from, const void *note, size_t bytes)
{
    struct tutti_shmem *const space = with;
    struct arrival arrival;
    (void)from;
    if (bytes < sizeof arrival)
        return;
    memcpy(&arrival, note, sizeof arrival);
    if (arrival.team >= TSHMEM_TEAMS_MAX || arrival.hop >= TSHMEM_NEAR_MAX)
        return;
    const struct tutti_shmem_far_room *const room = &space->far_room[arrival.team];
    const char *from_here = (const char *)note + sizeof arrival;
    if (!room->contribution || arrival.first >= (uint32_t)room->size || arrival.count > (uint32_t)room->size ||
        bytes != sizeof arrival + arrival.count * sizeof *arrival.contribution)
        return;
    for (uint32_t i = 0; i < arrival.count; i++, from_here += sizeof *arrival.contribution)
        memcpy(&room->contribution[(arrival.first + (uint32_t)room->size - i) % (uint32_t)room->size]
                                  [arrival.sequence & 1],
               from_here, sizeof *arrival.contribution);
    const uint64_t call = room->contribution[arrival.first][arrival.sequence & 1].call;
    atomic_store_explicit(&space->control[space->state.me]->place[arrival.team].arrived[arrival.hop],
                          tutti_shmem_arrival(arrival.sequence, call), memory_order_release);
}

static void far_end(void *with, int from, int status)
{
    struct tutti_shmem *const space = with;
    if (status > 0 && from >= 0) {
        tutti_shmem_exit_from_peer(space, status & 0xff);
        return;
    }
    tutti_shmem_leave_near(space);
    if (from >= 0 && !space->control[from])
        tutti_shmem_answer(space, TUTTI_ERR_BROKEN, "the address space ends", "PE %d, of another node, has given up",
                           from);
}

/* ---- life ---- */

static void free_room(struct tutti_shmem *space)
{
    for (int i = 0; i < TSHMEM_TEAMS_MAX; i++) {
        free(space->far_room[i].contribution);
        space->far_room[i].contribution = NULL;
    }
    free(space->is_far);
    space->is_far = NULL;
}

int tutti_shmem_far_open(struct tutti_shmem *space)
{
    const int pes = space->transport->size;
    struct tutti_shmem_wire *made = NULL;
    const struct tutti_wire_users users = {.notice = far_receive_hop, .ended = far_end, .with = space};
    unsigned char *const is_far = space->is_far = calloc((size_t)pes, sizeof *is_far);
    for (int pe = 0; pe < pes && is_far; pe++) /* in meetings of large teams near members also get messages */
        is_far[pe] = pe != space->state.me && (pes > TUTTI_SHMEM_FLAT || space->control[pe] == NULL);
    int status = is_far ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        status = tutti_wire_open(space->transport, is_far, space->kind->local, space->state.heap,
                                 tutti_shmem_mapped(space), &users, &made);
    if (status != TUTTI_OK) {
        free_room(space);
        return status;
    }
    for (int pe = 0; pe < pes; pe++) {
        if (!space->control[pe]) {
            space->kind_of[pe] = &tutti_shmem_far;
            space->base[pe] = tutti_shmem_far_base(pe);
        }
    }
    __atomic_store_n(&space->wire, made, __ATOMIC_RELEASE);
    tutti_progress_add(space->step);
    tutti_step_open(space->step);
    return TUTTI_OK;
}

void tutti_shmem_far_grow(struct tutti_shmem *space)
{
    if (space->wire)
        tutti_wire_grow(space->wire, tutti_shmem_mapped(space));
}

void tutti_shmem_far_close(struct tutti_shmem *space)
{
    struct tutti_shmem_wire *made = space->wire;
    if (!made)
        return;
    tutti_step_close(space->step);
    pthread_mutex_lock(&in_use);
    __atomic_store_n(&space->wire, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&in_use);
    tutti_wire_close(made);
    free_room(space);
}

void tutti_shmem_far_abort(struct tutti_shmem *space)
{
    if (far_wire(space))
        tutti_wire_abort(far_wire(space), TUTTI_ERR_BROKEN);
}

void tutti_shmem_far_exit(struct tutti_shmem *space, int status)
{
    if (far_wire(space))
        tutti_wire_abort(far_wire(space), TUTTI_WIRE_EXIT | (status & 0xff));
}

/* ---- waiting ---- */

static int broken_or(struct tutti_shmem *space, int done)
{
    return done == 0 && __atomic_load_n(space->state.abort, __ATOMIC_RELAXED) ? TUTTI_ERR_BROKEN : done;
}

static int far_has_left(struct tutti_shmem *space, void *with)
{
    (void)with;
    return broken_or(space, tutti_wire_left(far_wire(space)));
}

static void say_leaving(struct tutti_shmem *space, void *with, char *text, size_t size)
{
    (void)space;
    (void)with;
    snprintf(text, size, "in tshmem_finalize for the farewell of PEs of other nodes");
}

int tutti_shmem_far_leave(struct tutti_shmem *space)
{
    if (!far_wire(space))
        return TUTTI_OK;
    tutti_wire_leave(far_wire(space));
    return tutti_shmem_await(space, far_has_left, say_leaving, NULL);
}

static int far_is_quiet(struct tutti_shmem *space, void *with)
{
    return broken_or(space, tutti_wire_quiet(far_wire(space), *(const int *)with));
}

static int is_fenced(struct tutti_shmem *space, void *with)
{
    (void)with;
    return broken_or(space, tutti_wire_is_fenced(far_wire(space)));
}

static void far_say_quiet(struct tutti_shmem *space, void *with, char *text, size_t size)
{
    char where[160];
    (void)with;
    tutti_wire_where(far_wire(space), where, sizeof where);
    snprintf(text, size, "in tshmem_quiet or tshmem_fence for PEs of other nodes:%s", where);
}

int tutti_shmem_far_quiet(struct tutti_shmem *space, int pe)
{
    (void)space;
    return tutti_shmem_await(space, far_is_quiet, far_say_quiet, &pe);
}

int tutti_shmem_far_fence(struct tutti_shmem *space, int pe)
{
    (void)space;
    return tutti_shmem_await(space, is_fenced, far_say_quiet, &pe);
}

static int shmem_far_operation_ended(struct tutti_shmem *space, void *with)
{
    const int state = tutti_wire_state(with);
    return broken_or(space, state == TUTTI_WIRE_DONE ? 1 : state);
}

static void say_operation(struct tutti_shmem *space, void *with, char *text, size_t size)
{
    (void)space;
    const struct tutti_wire_op *op = with;
    snprintf(text, size, "for PE %d, of another node, which must call Tutti to answer", op->pe);
}

/* ---- operations ---- */

/* nonblocking: the operation is under way on return, and the wire keeps a copy. A failed wait aborts the address
 * space, so nothing refers to `op` afterwards. */
static int far_run(struct tutti_shmem *space, struct tutti_wire_op *op, int later)
{
    const int status = later ? tutti_wire_post(far_wire(space), op) : tutti_wire_begin(far_wire(space), op);
    if (status != TUTTI_OK)
        return tutti_shmem_fail(space, status, "the address space", "PE %d, of another node, is not reached: %s",
                                op->pe, tutti_status_text(status));
    return later ? TUTTI_OK : tutti_shmem_await(space, shmem_far_operation_ended, say_operation, op);
}

static int far_pe_of(const void *address)
{
    return (int)((uintptr_t)address >> TUTTI_SHMEM_FAR_BITS & (TSHMEM_PES_MAX - 1));
}

static uint64_t far_offset_of(const void *address)
{
    return (uintptr_t)address & (((uintptr_t)1 << TUTTI_SHMEM_FAR_BITS) - 1);
}

static struct tutti_wire_op far_describe(void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst, size_t block,
                                         size_t n, size_t bytes)
{
    const int puts = tutti_shmem_is_far(to);
    const void *there = puts ? to : from;
    return (struct tutti_wire_op){.what = puts ? TUTTI_WIRE_PUT : TUTTI_WIRE_GET,
                                  .pe = far_pe_of(there),
                                  .at = far_offset_of(there),
                                  .here = puts ? (void *)(uintptr_t)from : to,
                                  .n = n,
                                  .block = block,
                                  .bytes = bytes,
                                  .step = puts ? dst : sst,
                                  .here_step = puts ? sst : dst};
}

static int far_copy_blocks(struct tutti_shmem *space, void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst,
                           size_t block, size_t n, size_t bytes)
{
    struct tutti_wire_op op = far_describe(to, from, dst, sst, block, n, bytes);
    return far_run(space, &op, 0);
}

static int far_copy(struct tutti_shmem *space, void *to, const void *from, size_t bytes, int later)
{
    const ptrdiff_t all = (ptrdiff_t)bytes;
    struct tutti_wire_op op = far_describe(to, from, all, all, bytes, 1, 1);
    return far_run(space, &op, later);
}

static int far_copy_element(struct tutti_shmem *space, void *to, const void *from, size_t bytes)
{
    return far_copy_blocks(space, to, from, 1, 1, 1, 1, bytes);
}

static uint64_t far_amo(struct tutti_shmem *space, int operation, void *at, size_t bytes, uint64_t value,
                        uint64_t compare)
{
    const int what = operation & ~TSHMEM_AMO_NO_FETCH;
    struct tutti_wire_op op = {.what = TUTTI_WIRE_AMO,
                               .pe = far_pe_of(at),
                               .changes = 1,
                               .amo = what,
                               .word = far_offset_of(at),
                               .word_bytes = (uint32_t)bytes,
                               .value = value,
                               .compare = compare,
                               .fetches = what == operation && what != TSHMEM_AMO_SET};
    return far_run(space, &op, !op.fetches) == TUTTI_OK ? op.was : 0;
}

static int far_put_signal(struct tutti_shmem *space, void *to, const void *from, size_t bytes, uint64_t *at,
                          uint64_t value, int operation, int later)
{
    const ptrdiff_t all = (ptrdiff_t)bytes;
    struct tutti_wire_op op = far_describe(at, from, all, all, bytes, bytes > 0, 1);
    op.at = bytes > 0 ? far_offset_of(to) : 0;
    op.changes = 1;
    op.amo = operation == TSHMEM_SIGNAL_ADD ? TSHMEM_AMO_ADD : TSHMEM_AMO_SET;
    op.word = far_offset_of(at);
    op.word_bytes = sizeof *at;
    op.value = value;
    return far_run(space, &op, later);
}

const struct tutti_shmem_kind tutti_shmem_far = {
    .name = "far",
    .copy = far_copy,
    .element = far_copy_element,
    .blocks = far_copy_blocks,
    .amo = far_amo,
    .put_signal = far_put_signal,
};

/* ---- meetings ---- */

int tutti_shmem_far_team(struct tutti_shmem *space, unsigned number, int size)
{
    free(space->far_room[number].contribution);
    space->far_room[number].contribution = calloc((size_t)size, sizeof *space->far_room[number].contribution);
    space->far_room[number].size = size;
    return space->far_room[number].contribution ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

int tutti_shmem_far_arrive(struct tutti_shmem *space, const struct tshmem_team_state *team, int pe, uint64_t sequence,
                           const struct tutti_shmem_contribution *contribution)
{
    const struct arrival arrival = {team->number, (uint32_t)team->me, sequence, (uint32_t)team->me, 1};
    struct tutti_wire_op op = {
        .what = TUTTI_WIRE_NOTICE, .pe = pe, .note_bytes = sizeof arrival + sizeof *contribution};
    memcpy(op.note, &arrival, sizeof arrival);
    memcpy(op.note + sizeof arrival, contribution, sizeof *contribution);
    return far_run(space, &op, 1);
}

const struct tutti_shmem_contribution *
tutti_shmem_far_said(struct tutti_shmem *space, const struct tshmem_team_state *team, int member, uint64_t sequence)
{
    return &space->far_room[team->number].contribution[member][sequence & 1];
}

static void free_note(struct tutti_wire_op *op, int status)
{
    (void)status;
    free(op->ended_with);
}

/* What has arrived of the members up to this one, to the hop's target. */
static int far_send_hop(struct tutti_shmem *space, const struct tshmem_team_state *team, uint64_t sequence,
                        const struct tutti_shmem_hop *hop)
{
    const struct tutti_shmem_far_room *const room = &space->far_room[team->number];
    const size_t bytes = sizeof(struct arrival) + (size_t)hop->count * sizeof(struct tutti_shmem_contribution);
    struct arrival *const arrival = malloc(bytes);
    struct tutti_wire_op op = {.what = TUTTI_WIRE_NOTICE,
                               .pe = tutti_shmem_pe_of(space, team, hop->to),
                               .here = arrival,
                               .note_bytes = (uint32_t)bytes,
                               .ended = free_note,
                               .ended_with = arrival};
    if (!arrival)
        return tutti_shmem_fail(space, TUTTI_ERR_MEMORY, "the address space", "no %zu bytes for a message", bytes);
    *arrival =
        (struct arrival){team->number, (uint32_t)hop->number, sequence, (uint32_t)team->me, (uint32_t)hop->count};
    for (int i = 0; i < hop->count; i++)
        arrival->contribution[i] = room->contribution[(team->me + team->size - i) % team->size][sequence & 1];
    const int status = far_run(space, &op, 1);
    if (status != TUTTI_OK)
        free(arrival);
    return status;
}

struct large_meeting {
    const struct tshmem_team_state *team;
    const struct tutti_shmem_place *place;
    uint64_t sequence;
    const char *name;
    int round;
};

static int large_has_arrived(const struct large_meeting *m, const struct tutti_shmem_hop *hop)
{
    return atomic_load_explicit(&m->place->arrived[hop->number], memory_order_acquire) >> 8 >= m->sequence;
}

static int round_is_over(struct tutti_shmem *space, void *with)
{
    const struct large_meeting *m = with;
    struct tutti_shmem_hop hop;
    int over = 1;
    for (int j = 1; tutti_shmem_hop(m->team->size, m->team->me, m->round, j, &hop) && over; j++)
        over = large_has_arrived(m, &hop);
    return broken_or(space, over);
}

static void say_round(struct tutti_shmem *space, void *with, char *text, size_t size)
{
    const struct large_meeting *m = with;
    struct tutti_shmem_hop hop;
    int n = snprintf(text, size, "in %s for PE", m->name);
    for (int j = 1; tutti_shmem_hop(m->team->size, m->team->me, m->round, j, &hop) && n > 0 && (size_t)n + 60 < size;
         j++) {
        if (!large_has_arrived(m, &hop))
            n += snprintf(text + n, size - (size_t)n, " %d", tutti_shmem_pe_of(space, m->team, hop.from));
    }
    if (m->round > 0 && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, ", or others that these wait for");
}

int tutti_shmem_far_meet(struct tutti_shmem *space, const struct tshmem_team_state *team, uint64_t sequence,
                         const struct tutti_shmem_contribution *contribution, const char *name)
{
    struct large_meeting m = {team, &space->control[space->state.me]->place[team->number], sequence, name, 0};
    struct tutti_shmem_hop hop;
    int status = TUTTI_OK;
    space->far_room[team->number].contribution[team->me][sequence & 1] = *contribution;
    for (; status == TUTTI_OK && tutti_shmem_hop(team->size, team->me, m.round, 1, &hop); m.round++) {
        for (int j = 1; status == TUTTI_OK && tutti_shmem_hop(team->size, team->me, m.round, j, &hop); j++)
            status = far_send_hop(space, team, sequence, &hop);
        if (status == TUTTI_OK)
            status = tutti_shmem_await(space, round_is_over, say_round, &m);
    }
    return status;
}
