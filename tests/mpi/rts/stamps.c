/* Stamped requests (mpi/message/stamped.c, stamped_persistent.c and made.c by themselves, no message is sent) against a
 * plain list and a pretended MPI: random receives that are made, started alone and in lists, replaced, completed,
 * looked at, freed while they are active, and left over. After each step as many are open as in the list. At the end
 * the MPI has no request of them any more, each type that is held is given back, and no wait looks at receives.
 * One rank. stamps [steps [seed]] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/message/endpoints.h"
#include "mpi/message/made.h"
#include "mpi/message/requests.h"
#include "mpi/message/unexpected_own.h"
#include "mpi/real/errors.h"
#include "mpi/real/lent.h"
#include "mpi/real/quiet.h"
#include "mpi/real/quirks.h"
#include "mpi/real/self.h"
#include "mpi/request/request.h"
#include "mpi/request/unwatched.h"
#include "support/check.h"
#include "support/random.h"

#include "alone.h"

enum { SLOTS = 24, HANDLES = 400, LIST = 9, STEPS = 60000, SOURCE = 7 };

/* ---- the pretended MPI ---- */

static struct {
    int there, persistent, active, arrived;
} of_mpi[HANDLES];
static int mpi_requests, mpi_starts;

static int place_of(MPI_Request request)
{
    const int i = alone_place(request, HANDLES);
    return i >= 0 && of_mpi[i].there ? i : -1;
}

static MPI_Request mpi_make(int persistent, int active)
{
    int i = 0;
    while (i < HANDLES - 1 && of_mpi[i].there)
        i++;
    CHECK(!of_mpi[i].there, "%d requests of the MPI are open", HANDLES);
    of_mpi[i].there = 1;
    of_mpi[i].persistent = persistent;
    of_mpi[i].active = active;
    of_mpi[i].arrived = 0;
    mpi_requests++;
    return alone_handle((uintptr_t)i);
}

static int mpi_free(MPI_Request *request)
{
    const int i = place_of(*request);
    if (CHECK(i >= 0, "the MPI is given a request that it does not have")) {
        of_mpi[i].there = 0;
        mpi_requests--;
    }
    *request = tutti_handles.no_request;
    return MPI_SUCCESS;
}

static int mpi_recv_init(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                         MPI_Request *request)
{
    (void)buffer, (void)count, (void)type, (void)source, (void)tag, (void)comm;
    *request = mpi_make(1, 0);
    return MPI_SUCCESS;
}

static int mpi_start(MPI_Request *request)
{
    const int i = place_of(*request);
    if (CHECK(i >= 0 && of_mpi[i].persistent && !of_mpi[i].active, "the MPI starts what it cannot start")) {
        of_mpi[i].active = 1;
        of_mpi[i].arrived = 0;
        mpi_starts++;
    }
    return MPI_SUCCESS;
}

static int mpi_startall(int n, MPI_Request requests[])
{
    for (int i = 0; i < n; i++)
        mpi_start(&requests[i]);
    return MPI_SUCCESS;
}

static int mpi_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    const int i = place_of(request);
    *flag = CHECK(i >= 0, "the MPI is asked for a request that it does not have") && of_mpi[i].arrived;
    status->MPI_SOURCE = 1;
    return MPI_SUCCESS;
}

static int mpi_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    const int i = place_of(*request);
    mpi_get_status(*request, flag, status);
    if (!*flag)
        return MPI_SUCCESS;
    of_mpi[i].active = of_mpi[i].arrived = 0;
    return of_mpi[i].persistent ? MPI_SUCCESS : mpi_free(request);
}

static int mpi_wait(MPI_Request *request, MPI_Status *status)
{
    int flag = 0;
    const int code = mpi_test(request, &flag, status);
    CHECK(flag, "a wait for a message that has not arrived");
    return code;
}

static int mpi_cancel(MPI_Request *request)
{
    CHECK(place_of(*request) >= 0, "the MPI cancels a request that it does not have");
    return MPI_SUCCESS;
}

/* ---- the library around ---- */

__thread int tutti_inside __attribute__((tls_model("initial-exec")));
struct tutti_door tutti_door;
struct tutti_quirks tutti_quirks;
struct tutti_endpoint *tutti_endpoint;
int tutti_far_on = 1, tutti_unwatched_on;
atomic_int tutti_errors_return, tutti_unexpected_count, tutti_unexpected_guards;

static int held, looked_at, unexpected_open, short_open, claims; /* claims: the next start gets a taken-out message */
static char unexpected_any;

int tutti_type_hold(MPI_Datatype type)
{
    (void)type;
    held++;
    return 1;
}
void tutti_type_release(MPI_Datatype type)
{
    (void)type;
    held--;
}
void tutti_receives_open(void)
{
    looked_at++;
}
void tutti_receives_close(void)
{
    looked_at--;
}
int tutti_look(MPI_Request request, int *flag, MPI_Status *status)
{
    return mpi_get_status(request, flag, status);
}
int tutti_test_on(MPI_Comm comm, MPI_Request *request, int *flag, MPI_Status *status)
{
    (void)comm;
    return mpi_test(request, flag, status);
}
int tutti_fail_comm(MPI_Comm comm, int code)
{
    (void)comm;
    return code;
}
MPI_Comm tutti_self_stand_in(MPI_Comm comm)
{
    (void)comm;
    return alone_comm(99);
}
MPI_Comm tutti_self_quiet(void)
{
    return alone_comm(98);
}

/* Messages that probes have taken out. */
void tutti_unexpected_enter(void)
{
}
void tutti_unexpected_leave(void)
{
}
struct tutti_unexpected *tutti_unexpected_claim(int source, int tag, MPI_Comm comm)
{
    (void)source, (void)tag, (void)comm;
    return claims ? (void *)&unexpected_any : NULL;
}
void tutti_unexpected_unclaim(struct tutti_unexpected *unexpected)
{
    CHECK(!unexpected, "a receive has failed");
}
int tutti_unexpected_begun(struct tutti_unexpected *unexpected)
{
    (void)unexpected;
    unexpected_open++;
    return 1;
}
int tutti_unexpected_end(struct tutti_unexpected *unexpected, MPI_Status *status, int code)
{
    (void)unexpected;
    unexpected_open--;
    status->MPI_SOURCE = SOURCE;
    return code;
}
void tutti_unexpected_show(const struct tutti_unexpected *unexpected, MPI_Status *status)
{
    (void)unexpected;
    status->MPI_SOURCE = SOURCE;
}
void tutti_unexpected_orphan(struct tutti_unexpected *unexpected)
{
    (void)unexpected;
    unexpected_open--;
}
int tutti_unexpected_receive(struct tutti_unexpected *unexpected, void *buf, MPI_Count count, MPI_Datatype type,
                             MPI_Request *request)
{
    (void)unexpected, (void)buf, (void)count, (void)type;
    *request = mpi_make(0, 1);
    return MPI_SUCCESS;
}
int tutti_unexpected_post(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                          MPI_Request *request)
{
    (void)buf, (void)count, (void)type, (void)source, (void)tag, (void)comm;
    *request = mpi_make(0, 1);
    return MPI_SUCCESS;
}

/* Receives with memory of their own. */
int tutti_short_recv_move(struct tutti_short_recv *short_recv, const MPI_Status *status)
{
    (void)status;
    short_recv->moved = 1;
    return 1;
}
void tutti_short_recv_drop(struct tutti_short_recv *short_recv, const MPI_Status *status)
{
    (void)short_recv, (void)status;
}
int tutti_short_recv_end(struct tutti_short_recv *short_recv, const MPI_Status *status, int code)
{
    (void)status;
    free(short_recv);
    short_open--;
    return code;
}
struct tutti_request *tutti_short_recv_freed(struct tutti_short_recv *short_recv, MPI_Request request)
{
    static struct tutti_request entry;
    entry.handle = request;
    free(short_recv);
    short_open--;
    return &entry;
}
void tutti_request_orphan(struct tutti_request *entry)
{
    mpi_free(&entry->handle); /* later, when it is complete */
}

/* ---- the plain list ---- */

struct slot {
    int used, persistent, active, replaced, unexpected, is_short;
    MPI_Request request;
};
static struct slot slot[SLOTS];

static void slot_make(struct slot *s)
{
    memset(s, 0, sizeof *s);
    s->used = 1;
    s->persistent = alone_draw(2) == 0;
    if (s->persistent) {
        CHECK(tutti_next.MPI_Recv_init(s, 1, alone_type(1), 0, 0, alone_comm(alone_draw(2)), &s->request) ==
                  MPI_SUCCESS,
              "MPI_Recv_init");
        return;
    }
    s->active = 1;
    s->unexpected = alone_draw(2) == 0;
    s->is_short = !s->unexpected || alone_draw(2) == 0;
    struct tutti_short_recv *const memory = s->is_short ? calloc(1, sizeof *memory) : NULL;
    s->request = mpi_make(0, 1);
    unexpected_open += s->unexpected;
    short_open += s->is_short;
    CHECK(tutti_unexpected_stamp(s->request, s->unexpected ? (void *)&unexpected_any : NULL, memory) == MPI_SUCCESS,
          "a stamp");
}

/* One receive by MPI_Start, or up to LIST by MPI_Startall. The next of them get messages that a probe has taken out. */
static void slots_start(void)
{
    struct slot *which[LIST];
    MPI_Request requests[LIST];
    const int most = alone_draw(2) ? 1 : 1 + (int)alone_draw(LIST), before = mpi_starts, requests_before = mpi_requests;
    int n = 0, replaced = 0;
    claims = alone_draw(3) == 0;
    for (int i = 0; i < SLOTS && n < most; i++) {
        if (slot[i].used && slot[i].persistent && !slot[i].active) {
            requests[n] = slot[i].request;
            which[n++] = &slot[i];
        }
    }
    if (n == 0)
        return;
    const int code = n == 1 ? tutti_next.MPI_Start(requests) : tutti_next.MPI_Startall(n, requests);
    CHECK(code == MPI_SUCCESS, "MPI_Start of %d requests: %d", n, code);
    for (int i = 0; i < n; i++) {
        const int looks = tutti_unexpected_guards || tutti_quirks.get_status_ends_persistent;
        which[i]->active = 1;
        which[i]->unexpected = claims && looks;
        which[i]->replaced = which[i]->unexpected || tutti_quirks.get_status_ends_persistent;
        replaced += which[i]->replaced;
        CHECK(requests[i] == which[i]->request, "a start has changed request %d of %d", i, n);
    }
    CHECK(mpi_starts - before == n - replaced && mpi_requests - requests_before == replaced,
          "of %d receives %d are started and %d replaced, not %d", n, mpi_starts - before,
          mpi_requests - requests_before, replaced);
}

/* What the MPI has for it. */
static MPI_Request real_of(const struct slot *s)
{
    return s->replaced ? tutti_stamped_real(tutti_stamped_see(s->request), s->request) : s->request;
}

static void slot_complete(struct slot *s)
{
    const int place = place_of(real_of(s)), waits = alone_draw(2) == 0;
    MPI_Status status = {0};
    int flag = 0;
    if (!CHECK(place >= 0, "the MPI does not have the request of an active receive"))
        return;
    CHECK(tutti_next.MPI_Test(&s->request, &flag, &status) == MPI_SUCCESS && !flag, "MPI_Test completes too soon");
    of_mpi[place].arrived = 1;
    tutti_stamped_look();
    CHECK(tutti_next.MPI_Request_get_status(s->request, &flag, &status) == MPI_SUCCESS && flag &&
              status.MPI_SOURCE == (s->unexpected ? SOURCE : 1),
          "MPI_Request_get_status: flag %d source %d", flag, status.MPI_SOURCE);
    flag = waits;
    const int code =
        waits ? tutti_next.MPI_Wait(&s->request, &status) : tutti_next.MPI_Test(&s->request, &flag, &status);
    CHECK(code == MPI_SUCCESS && flag && status.MPI_SOURCE == (s->unexpected ? SOURCE : 1),
          "a completion call: code %d flag %d source %d", code, flag, status.MPI_SOURCE);
    CHECK((s->request == tutti_handles.no_request) == !s->persistent, "the handle of a %spersistent receive",
          s->persistent ? "" : "not ");
    s->active = s->replaced = s->unexpected = s->is_short = 0;
    s->used = s->persistent;
}

/* A replacement that is active is freed with the persistent receive. */
static void slot_free(struct slot *s)
{
    const int before = mpi_requests;
    CHECK(tutti_next.MPI_Request_free(&s->request) == MPI_SUCCESS && s->request == tutti_handles.no_request,
          "MPI_Request_free");
    CHECK(before - mpi_requests == 1 + s->replaced, "MPI_Request_free frees %d requests of the MPI, not %d",
          before - mpi_requests, 1 + s->replaced);
    s->used = 0;
}

static void check_open(long step)
{
    int open = 0, persistent = 0, shorts = 0, unexpected = 0;
    for (int i = 0; i < SLOTS; i++) {
        const struct slot *const s = &slot[i];
        open += s->used && s->active && (!s->persistent || s->replaced);
        persistent += s->used && s->persistent;
        shorts += s->used && s->is_short;
        unexpected += s->used && s->unexpected;
    }
    CHECK(tutti_stamped_open == open && tutti_stamped_persistent == persistent && held == persistent,
          "step %ld: %d are open, %d persistent, %d types held, not %d, %d", step, tutti_stamped_open,
          tutti_stamped_persistent, held, open, persistent);
    CHECK(looked_at == shorts && short_open == shorts && unexpected_open == unexpected,
          "step %ld: waits look at %d receives, %d have memory, %d got unexpected messages, not %d, %d", step,
          looked_at, short_open, unexpected_open, shorts, unexpected);
}

/* All are completed or freed, or some are left, as a program may that ends by MPI_Finalize. */
static void end(long step, int leaves)
{
    for (int i = 0; i < SLOTS && !leaves; i++) {
        if (slot[i].used && slot[i].active && alone_draw(2))
            slot_complete(&slot[i]);
        if (slot[i].used)
            slot_free(&slot[i]);
    }
    check_open(step);
    CHECK(leaves || mpi_requests == 0, "the MPI keeps %d requests", mpi_requests);
    tutti_stamped_close();
    CHECK(looked_at == 0 && held == 0, "at the end waits look at %d receives, %d types are held", looked_at, held);
    memset(slot, 0, sizeof slot);
    memset(of_mpi, 0, sizeof of_mpi);
    mpi_requests = unexpected_open = short_open = 0;
}

int main(int argc, char **argv)
{
    const long steps = argc > 1 ? strtol(argv[1], NULL, 0) : STEPS;
    alone_state = argc > 2 ? random_mix(strtoull(argv[2], NULL, 0)) : 17;
    alone_handles();
    tutti_next.MPI_Wait = mpi_wait;
    tutti_next.MPI_Test = mpi_test;
    tutti_next.MPI_Request_get_status = mpi_get_status;
    tutti_next.MPI_Request_free = mpi_free;
    tutti_next.MPI_Cancel = mpi_cancel;
    tutti_next.MPI_Recv_init = mpi_recv_init;
    tutti_next.MPI_Start = mpi_start;
    tutti_next.MPI_Startall = mpi_startall;
    tutti_calls_stamped();
    tutti_calls_persistent();
    for (long step = 0; step < steps && !check_failed(); step++) {
        struct slot *const s = &slot[alone_draw(SLOTS)];
        const unsigned what = alone_draw(100);
        if (what < 40 && !s->used)
            slot_make(s);
        else if (what < 60)
            slots_start();
        else if (what < 90 && s->used && s->active)
            slot_complete(s);
        else if (what < 97 && s->used)
            slot_free(s);
        check_open(step);
        if (step % 500 == 499) {
            end(step, alone_draw(2) == 0);
            tutti_quirks.get_status_ends_persistent = alone_draw(2) == 0;
            atomic_store(&tutti_unexpected_guards, alone_draw(2) == 0);
        }
    }
    if (!check_failed())
        end(steps, 0);
    printf("stamps: %ld steps, %ld failed\n", steps, check_failed());
    return check_failed() != 0;
}
