/* Notes of receives (mpi/request/unwatched.c by itself, no message is sent) against a plain list: random receives,
 * persistent ones among them, starts, calls of a pretended MPI that complete any of them or fail, and requests,
 * communicators and types that go. After each step as many are noted as in the list, and what is put under watch has
 * the arguments that were noted. One rank. unwatched_random [steps [seed]] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/request/unwatched.h"
#include "support/check.h"
#include "support/random.h"

#include "alone.h"

enum { HANDLES = 3000, MOST = 12, KINDS = 4, STEPS = 60000 };

/* What is to be noted. */
static struct note {
    int noted;
    struct tutti_unwatched receive;
} notes[HANDLES];
static int open_now, persistent_now, watched;

static void note_drop(int i)
{
    open_now -= notes[i].noted;
    persistent_now -= notes[i].noted && notes[i].receive.persistent;
    notes[i].noted = 0;
}

/* The library puts a receive under watch: one of the list, or the one that is being noted. */
static void watch(const struct tutti_unwatched *receive)
{
    const int i = alone_place(receive->request, HANDLES);
    watched++;
    if (!CHECK(i >= 0 && notes[i].noted, "a receive is watched that is not noted: %d", i))
        return;
    const struct tutti_unwatched *const wanted = &notes[i].receive;
    CHECK(receive->buffer == wanted->buffer && receive->count == wanted->count && receive->comm == wanted->comm &&
              receive->type == wanted->type && receive->call == wanted->call &&
              receive->persistent == wanted->persistent && (!wanted->persistent || receive->active == wanted->active),
          "receive %d is watched with other arguments, or as %sactive", i, receive->active ? "" : "not ");
    note_drop(i);
}

/* ---- the pretended MPI ---- */

static struct {
    int done[MOST]; /* of the next call's requests */
    int code;
} plan;

static void pretend_done(MPI_Request *request)
{
    const int at = *request == tutti_handles.no_request ? -1 : alone_place(*request, HANDLES);
    if (at < 0)
        return;
    if (notes[at].receive.persistent)
        notes[at].receive.active = plan.code == MPI_SUCCESS ? 0 : notes[at].receive.active;
    else
        note_drop(at);
    if (!notes[at].receive.persistent)
        *request = tutti_handles.no_request;
}

static int pretend_all(int n, MPI_Request requests[])
{
    int all = 1;
    if (!requests)
        return 0;
    for (int i = 0; i < n; i++)
        all &= plan.done[i];
    for (int i = 0; i < n && (all || plan.code != MPI_SUCCESS); i++) {
        if (plan.done[i])
            pretend_done(&requests[i]);
    }
    return all;
}

static int pretend_any(int n, MPI_Request requests[], int *which)
{
    *which = MPI_UNDEFINED;
    for (int i = 0; i < n && *which == MPI_UNDEFINED; i++) {
        if (plan.done[i])
            *which = i;
    }
    if (*which != MPI_UNDEFINED)
        pretend_done(&requests[*which]);
    return *which != MPI_UNDEFINED;
}

static void pretend_some(int n, MPI_Request requests[], int *out, int which[])
{
    *out = 0;
    for (int i = n - 1; i >= 0; i--) {
        if (plan.done[i]) {
            pretend_done(&requests[i]);
            which[(*out)++] = i;
        }
    }
    if (*out == 0 && alone_draw(2))
        *out = MPI_UNDEFINED;
}

static int fake_wait(MPI_Request *request, MPI_Status *status)
{
    (void)status;
    plan.done[0] = 1;
    pretend_all(1, request);
    return plan.code;
}

static int fake_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    (void)status;
    *flag = pretend_all(1, request);
    return plan.code;
}

static int fake_waitall(int n, MPI_Request requests[], MPI_Status *statuses)
{
    (void)statuses;
    for (int i = 0; i < n && plan.code == MPI_SUCCESS; i++)
        plan.done[i] = 1;
    pretend_all(n, requests);
    return plan.code;
}

static int fake_testall(int n, MPI_Request requests[], int *flag, MPI_Status *statuses)
{
    (void)statuses;
    *flag = pretend_all(n, requests);
    return plan.code;
}

static int fake_waitany(int n, MPI_Request requests[], int *which, MPI_Status *status)
{
    (void)status;
    pretend_any(n, requests, which);
    return plan.code;
}

static int fake_testany(int n, MPI_Request requests[], int *which, int *flag, MPI_Status *status)
{
    (void)status;
    *flag = pretend_any(n, requests, which);
    if (!*flag)
        *which = 0; /* undefined by the standard */
    return plan.code;
}

static int fake_some(int n, MPI_Request requests[], int *out, int which[], MPI_Status *statuses)
{
    (void)statuses;
    pretend_some(n, requests, out, which);
    return plan.code;
}

/* ---- steps ---- */

static void put(void)
{
    static const char *const calls[] = {"MPI_Irecv", "MPI_Recv_init"};
    const int i = (int)alone_draw(HANDLES), persistent = alone_draw(3) == 0;
    if (notes[i].noted && notes[i].receive.persistent)
        return;   /* its handle is in use */
    note_drop(i); /* one that a callback completed, unseen */
    notes[i].receive = (struct tutti_unwatched){.request = alone_handle((uintptr_t)i),
                                                .call = calls[persistent],
                                                .buffer = &notes[alone_draw(HANDLES)],
                                                .count = (MPI_Count)alone_draw(1000),
                                                .type = alone_type(alone_draw(KINDS)),
                                                .comm = alone_comm(alone_draw(KINDS)),
                                                .persistent = persistent};
    notes[i].noted = 1;
    open_now++;
    persistent_now += persistent;
    tutti_unwatched_put(&notes[i].receive);
}

/* Some requests, noted ones mostly, one of them null. */
static int some(MPI_Request requests[])
{
    const int n = (int)alone_draw(MOST + 1);
    int used[HANDLES] = {0};
    for (int i = 0; i < n; i++) {
        int at = (int)alone_draw(HANDLES);
        for (int k = 0; k < 200 && (!notes[at].noted || used[at]); k++)
            at = (int)alone_draw(HANDLES);
        requests[i] = used[at] || alone_draw(12) == 0 ? tutti_handles.no_request : alone_handle((uintptr_t)at);
        used[at] |= requests[i] != tutti_handles.no_request;
    }
    return n;
}

static void complete(void)
{
    MPI_Request requests[MOST];
    int which[MOST], flag, out, n = some(requests);
    plan.code = alone_draw(10) ? MPI_SUCCESS : MPI_ERR_IN_STATUS;
    for (int i = 0; i < MOST; i++)
        plan.done[i] = alone_draw(3) != 0;
    switch (alone_draw(8)) {
    case 0:
        if (n > 0)
            tutti_unwatched_wait(requests, MPI_STATUS_IGNORE);
        break;
    case 1:
        if (n > 0)
            tutti_unwatched_test(requests, &flag, MPI_STATUS_IGNORE);
        break;
    case 2:
        if (alone_draw(20) == 0)
            plan.code = MPI_ERR_REQUEST;
        tutti_unwatched_waitall(n, plan.code == MPI_ERR_REQUEST ? NULL : requests, MPI_STATUSES_IGNORE);
        break;
    case 3:
        tutti_unwatched_testall(n, requests, &flag, MPI_STATUSES_IGNORE);
        break;
    case 4:
        tutti_unwatched_waitany(n, requests, &out, MPI_STATUS_IGNORE);
        break;
    case 5:
        tutti_unwatched_testany(n, requests, &out, &flag, MPI_STATUS_IGNORE);
        break;
    case 6:
        tutti_unwatched_waitsome(n, requests, &out, which, MPI_STATUSES_IGNORE);
        break;
    default:
        tutti_unwatched_testsome(n, requests, &out, which, MPI_STATUSES_IGNORE);
    }
}

static void start(void)
{
    MPI_Request requests[MOST];
    const int n = some(requests);
    for (int i = 0; i < n; i++) {
        const int at = alone_place(requests[i], HANDLES);
        if (at >= 0 && notes[at].receive.persistent)
            notes[at].receive.active = 1;
    }
    tutti_unwatched_started(n, requests);
    tutti_unwatched_started(n, NULL); /* the MPI reports it */
}

/* Those of the list for which this holds are to be watched. */
static int noted_of(const MPI_Comm *comm, const MPI_Datatype *type)
{
    int n = 0;
    for (int i = 0; i < HANDLES; i++)
        n += notes[i].noted && (!comm || notes[i].receive.comm == *comm) && (!type || notes[i].receive.type == *type);
    return n;
}

static void go(void)
{
    const MPI_Comm comm = alone_comm(alone_draw(KINDS));
    const MPI_Datatype type = alone_type(alone_draw(KINDS));
    const int i = (int)alone_draw(HANDLES), what = (int)alone_draw(40);
    int wanted = 0;
    watched = 0;
    if (what == 0) {
        wanted = noted_of(&comm, NULL);
        tutti_unwatched_watch_comm(comm);
    } else if (what == 1) {
        wanted = noted_of(NULL, &type);
        tutti_unwatched_watch_type(type);
    } else if (what == 2) {
        wanted = open_now;
        tutti_unwatched_watch();
    } else {
        wanted = notes[i].noted;
        tutti_unwatched_watch_request(alone_handle((uintptr_t)i));
        tutti_unwatched_watch_request(tutti_handles.no_request);
    }
    CHECK(watched == wanted, "%d receives are watched, not %d: case %d", watched, wanted, what);
}

int main(int argc, char **argv)
{
    const long steps = argc > 1 ? strtol(argv[1], NULL, 0) : STEPS;
    int most = 0;
    alone_state = argc > 2 ? random_mix(strtoull(argv[2], NULL, 0)) : 11;
    alone_handles();
    tutti_next.MPI_Wait = fake_wait;
    tutti_next.MPI_Test = fake_test;
    tutti_next.MPI_Waitall = fake_waitall;
    tutti_next.MPI_Testall = fake_testall;
    tutti_next.MPI_Waitany = fake_waitany;
    tutti_next.MPI_Testany = fake_testany;
    tutti_next.MPI_Waitsome = fake_some;
    tutti_next.MPI_Testsome = fake_some;
    tutti_unwatched_begin(1, watch);
    CHECK(tutti_unwatched_on, "receives are not noted");
    put();
    tutti_unwatched_put(&(const struct tutti_unwatched){.request = tutti_handles.no_request, .persistent = 1});
    CHECK(tutti_unwatched_open == 1 && tutti_unwatched_persistent == persistent_now,
          "%d receives are noted, not one, %d persistent", tutti_unwatched_open, tutti_unwatched_persistent);
    tutti_unwatched_begin(1, watch); /* another life */
    memset(notes, 0, sizeof notes);
    open_now = persistent_now = 0;
    for (long step = 0; step < steps && !check_failed(); step++) {
        const unsigned what = alone_draw(16), fills = step / 2000 % 2 == 0;
        if (what < (fills ? 10u : 4u))
            put();
        else if (what < 12)
            complete();
        else if (what < 15)
            start();
        else
            go();
        most = open_now > most ? open_now : most;
        CHECK(tutti_unwatched_open == open_now && tutti_unwatched_persistent == persistent_now,
              "step %ld: %d noted, not %d; %d persistent, not %d", step, tutti_unwatched_open, open_now,
              tutti_unwatched_persistent, persistent_now);
    }
    tutti_unwatched_end();
    CHECK(!tutti_unwatched_on && open_now == 0 && tutti_unwatched_open == 0, "%d receives stay noted", open_now);
    tutti_unwatched_begin(1, watch);
    put();
    tutti_unwatched_close();
    CHECK(!tutti_unwatched_on && tutti_unwatched_open == 0 && tutti_unwatched_persistent == 0, "notes stay");
    printf("unwatched_random: %ld steps, %d noted at most, %ld failed\n", steps, most, check_failed());
    return check_failed() != 0;
}
