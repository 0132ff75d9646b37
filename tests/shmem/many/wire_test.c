/* The wire among many PEs, which are threads: each talks to a few of the others, and keeps memory for those alone. */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/status.h"
#include "shmem/wire/own.h"
#include "shmem/wire_at_once.h"
#include "support/check.h"
#include "support/threads.h"

enum { MOST = 300, FRIENDS = 4, TURNS = 6 };
static const int distance[FRIENDS] = {1, 2, 17, 50};

/* What the others do on the memory of a PE. */
struct heap {
    uint64_t from[FRIENDS][TURNS]; /* by distance to who stores it */
    uint64_t counter;
};
static struct heap heaps[MOST];
static atomic_int done, ended;

static void hear(void *with, int from, const void *note, size_t bytes)
{
    (void)with;
    CHECK(bytes == sizeof from && memcmp(note, &from, bytes) == 0, "the note of PE %d", from);
}

static void give_up(void *with, int from, int status)
{
    (void)with;
    (void)from;
    (void)status;
    atomic_fetch_add(&ended, 1);
}

static const struct tutti_wire_users users = {.notice = hear, .ended = give_up};

static void until(struct tutti_shmem_wire *wire, int (*is)(struct tutti_shmem_wire *wire))
{
    int state;
    while ((state = is(wire)) == 0) {
        tutti_wire_poll(wire);
        sched_yield();
    }
    CHECK(state == 1, "the wire says %d", state);
}

static int is_quiet(struct tutti_shmem_wire *wire)
{
    return tutti_wire_quiet(wire, -1);
}

static void run(struct tutti_shmem_wire *wire, struct tutti_wire_op *op)
{
    CHECK(tutti_wire_begin(wire, op) == TUTTI_OK, "an operation to PE %d", op->pe);
    while (tutti_wire_state(op) == TUTTI_WIRE_UNDER_WAY) {
        tutti_wire_poll(wire);
        sched_yield();
    }
}

static void talk(struct tutti_shmem_wire *wire, int me, int pes)
{
    for (int i = 0; i < FRIENDS; i++) {
        const int pe = (me + distance[i]) % pes;
        for (int turn = 0; turn < TURNS; turn++) {
            uint64_t value = (uint64_t)me * 1000 + (uint64_t)turn, back = 0;
            struct tutti_wire_op put = {.what = TUTTI_WIRE_PUT,
                                        .pe = pe,
                                        .at = offsetof(struct heap, from[i][turn]),
                                        .here = &value,
                                        .n = 1,
                                        .block = 1,
                                        .bytes = 8,
                                        .step = 1,
                                        .here_step = 1,
                                        .changes = 1,
                                        .amo = TSHMEM_AMO_ADD,
                                        .word = offsetof(struct heap, counter),
                                        .word_bytes = 8,
                                        .value = 1};
            struct tutti_wire_op get = put;
            get.what = TUTTI_WIRE_GET;
            get.changes = 0;
            get.here = &back;
            run(wire, &put);
            run(wire, &get);
            CHECK(back == value, "PE %d got %llu from PE %d", me, (unsigned long long)back, pe);
        }
        struct tutti_wire_op note = {.what = TUTTI_WIRE_NOTICE, .pe = pe, .note_bytes = sizeof me};
        memcpy(note.note, &me, sizeof me);
        run(wire, &note);
    }
    until(wire, is_quiet);
}

static int rank_main(struct tutti_transport *transport, void *arg)
{
    const int breaks = *(const int *)arg, me = transport->rank, pes = transport->size;
    struct tutti_shmem_wire *wire = NULL;
    unsigned char far[MOST];
    memset(far, 1, sizeof far);
    far[me] = 0;
    memset(&heaps[me], 0, sizeof heaps[me]);
    if (me == 0)
        atomic_store(&done, 0);
    CHECK(tutti_wire_open(transport, far, &at_once, (char *)&heaps[me], sizeof heaps[me], &users, &wire) == 0, "open");
    transport->ops->barrier(transport);
    talk(wire, me, pes);
    atomic_fetch_add(&done, 1);
    while (atomic_load(&done) < pes) {
        tutti_wire_poll(wire);
        sched_yield();
    }
    CHECK(heaps[me].counter == FRIENDS * TURNS, "PE %d: %llu puts", me, (unsigned long long)heaps[me].counter);
    for (int i = 0; i < FRIENDS * TURNS; i++) {
        const int from = (me - distance[i / TURNS] + pes) % pes;
        CHECK(heaps[me].from[i / TURNS][i % TURNS] == (uint64_t)from * 1000 + (uint64_t)(i % TURNS), "of PE %d", from);
    }
    CHECK(wire->peers <= 2 * FRIENDS, "PE %d keeps memory for %d others", me, wire->peers);
    transport->ops->barrier(transport);
    if (breaks) { /* all hear of it, also those who never had a message of that PE */
        if (me == pes - 1)
            tutti_wire_abort(wire, TUTTI_ERR_BROKEN);
        while (atomic_load(&ended) < pes) {
            tutti_wire_poll(wire);
            sched_yield();
        }
    } else {
        tutti_wire_leave(wire);
        until(wire, tutti_wire_left);
    }
    transport->ops->barrier(transport);
    tutti_wire_close(wire);
    return check_failed() != 0;
}

int main(void)
{
    int failed = 0;
    for (int k = 0; k < 3; k++) {
        int breaks = k == 2;
        atomic_store(&ended, 0);
        failed |= tutti_threads_run(k == 1 ? MOST : 100, rank_main, &breaks);
    }
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return failed != 0 || check_failed() != 0;
}
