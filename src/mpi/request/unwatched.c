#include "mpi/request/unwatched.h"

#include <stdint.h>
#include <string.h>

#include "mpi/real/handles.h"

enum { SLOTS = 1024 };

int tutti_unwatched_on, tutti_unwatched_open, tutti_unwatched_persistent;
static struct tutti_unwatched slots[SLOTS];
static void (*watch_one)(const struct tutti_unwatched *receive);

/* The slot of two in which a handle may be that has `wanted`; NULL. Handles are numbers, one after the other in each of
 * several ranges that differ in upper bits, or pointers to objects of a few hundred bytes. */
static struct tutti_unwatched *slot_of(MPI_Request request, MPI_Request wanted)
{
    uint64_t word = 0;
    memcpy(&word, &request, sizeof request);
    const uint64_t at = (word ^ word >> 7 ^ word >> 21) % SLOTS;
    if (likely(slots[at].request == wanted))
        return &slots[at];
    return slots[at ^ SLOTS / 2].request == wanted ? &slots[at ^ SLOTS / 2] : NULL;
}

static void slot_drop(struct tutti_unwatched *slot)
{
    slot->request = tutti_handles.no_request;
    tutti_unwatched_open--;
    tutti_unwatched_persistent -= slot->persistent;
}

/* Of a request that is not null, as its handle has changed. */
static void unwatched_ended(MPI_Request request)
{
    struct tutti_unwatched *slot = slot_of(request, request);
    if (slot)
        slot_drop(slot);
}

static void unwatched_set(MPI_Request request, int active)
{
    struct tutti_unwatched *slot = request == tutti_handles.no_request ? NULL : slot_of(request, request);
    if (slot && slot->persistent)
        slot->active = active;
}

void tutti_unwatched_begin(int on, void (*watch)(const struct tutti_unwatched *receive))
{
    watch_one = watch;
    tutti_unwatched_close();
    tutti_unwatched_on = on;
}

void tutti_unwatched_put(const struct tutti_unwatched *receive)
{
    const MPI_Request request = receive->request;
    if (request == tutti_handles.no_request)
        return;
    struct tutti_unwatched *slot = slot_of(request, request);
    if (likely(!slot))
        slot = slot_of(request, tutti_handles.no_request);
    if (unlikely(!slot)) {
        watch_one(receive);
        return;
    }
    if (unlikely(slot->request == request))
        slot_drop(slot);
    tutti_unwatched_open++;
    tutti_unwatched_persistent += receive->persistent;
    *slot = *receive;
}

static void slot_watch(struct tutti_unwatched *slot)
{
    const struct tutti_unwatched receive = *slot;
    slot_drop(slot);
    watch_one(&receive);
}

/* NULL: any. */
static void slots_watch(const MPI_Comm *comm, const MPI_Datatype *type)
{
    for (int i = 0; i < SLOTS && tutti_unwatched_open; i++) {
        if (slots[i].request != tutti_handles.no_request && (!comm || slots[i].comm == *comm) &&
            (!type || slots[i].type == *type))
            slot_watch(&slots[i]);
    }
}

void tutti_unwatched_watch(void)
{
    slots_watch(NULL, NULL);
}

void tutti_unwatched_watch_comm(MPI_Comm comm)
{
    slots_watch(&comm, NULL);
}

void tutti_unwatched_watch_type(MPI_Datatype type)
{
    slots_watch(NULL, &type);
}

void tutti_unwatched_watch_request(MPI_Request request)
{
    struct tutti_unwatched *slot = request == tutti_handles.no_request ? NULL : slot_of(request, request);
    if (slot)
        slot_watch(slot);
}

void tutti_unwatched_end(void)
{
    tutti_unwatched_on = 0;
    tutti_unwatched_watch();
}

void tutti_unwatched_close(void)
{
    tutti_unwatched_on = 0;
    for (int i = 0; i < SLOTS; i++)
        slots[i].request = tutti_handles.no_request;
    tutti_unwatched_open = tutti_unwatched_persistent = 0;
}

/* ---- completion ---- */

/* The handles of a call's requests before it. */
struct handles {
    int n;
    MPI_Request each[TUTTI_UNWATCHED_MOST];
};

static void handles_copy(struct handles *before, int n, const MPI_Request requests[])
{
    before->n = n > 0 && requests ? n : 0;
    for (int i = 0; i < before->n; i++)
        before->each[i] = requests[i];
}

/* What has completed has another handle now, the null one; a persistent request, which is active no more, the same. */
static void handle_compare(const struct handles *before, const MPI_Request requests[], int i, int done)
{
    const MPI_Request request = before->each[i];
    if (request != requests[i])
        unwatched_ended(request);
    else if (done && unlikely(tutti_unwatched_persistent))
        unwatched_set(request, 0);
}

/* done: the call has completed all of them. */
static void handles_compare(const struct handles *before, const MPI_Request requests[], int done)
{
    for (int i = 0; i < before->n; i++)
        handle_compare(before, requests, i, done);
}

/* The call has completed these, n of them; negative, as MPI_UNDEFINED: none. */
static void handles_compare_some(const struct handles *before, const MPI_Request requests[], const int which[], int n)
{
    for (int k = 0; k < n; k++) {
        if (which[k] >= 0 && which[k] < before->n)
            handle_compare(before, requests, which[k], 1);
    }
}

#define COMPLETES(name, call, n, requests, parameters, arguments, compare)                                             \
    int name parameters                                                                                                \
    {                                                                                                                  \
        struct handles before;                                                                                         \
        handles_copy(&before, n, requests);                                                                            \
        const int code = tutti_next.call arguments;                                                                    \
        if (likely(code == MPI_SUCCESS))                                                                               \
            compare;                                                                                                   \
        else                                                                                                           \
            handles_compare(&before, requests, 0);                                                                     \
        return code;                                                                                                   \
    }
COMPLETES(tutti_unwatched_wait, MPI_Wait, 1, request, (MPI_Request * request, MPI_Status *status), (request, status),
          handles_compare(&before, request, 1))
COMPLETES(tutti_unwatched_test, MPI_Test, 1, request, (MPI_Request * request, int *flag, MPI_Status *status),
          (request, flag, status), handles_compare(&before, request, *flag))
COMPLETES(tutti_unwatched_waitall, MPI_Waitall, count, requests,
          (int count, MPI_Request requests[], MPI_Status *statuses), (count, requests, statuses),
          handles_compare(&before, requests, 1))
COMPLETES(tutti_unwatched_testall, MPI_Testall, count, requests,
          (int count, MPI_Request requests[], int *flag, MPI_Status *statuses), (count, requests, flag, statuses),
          handles_compare(&before, requests, *flag))
COMPLETES(tutti_unwatched_waitany, MPI_Waitany, count, requests,
          (int count, MPI_Request requests[], int *which, MPI_Status *status), (count, requests, which, status),
          handles_compare_some(&before, requests, which, 1))
COMPLETES(tutti_unwatched_testany, MPI_Testany, count, requests,
          (int count, MPI_Request requests[], int *which, int *flag, MPI_Status *status),
          (count, requests, which, flag, status), handles_compare_some(&before, requests, which, *flag ? 1 : 0))
COMPLETES(tutti_unwatched_waitsome, MPI_Waitsome, count, requests,
          (int count, MPI_Request requests[], int *out, int which[], MPI_Status *statuses),
          (count, requests, out, which, statuses), handles_compare_some(&before, requests, which, *out))
COMPLETES(tutti_unwatched_testsome, MPI_Testsome, count, requests,
          (int count, MPI_Request requests[], int *out, int which[], MPI_Status *statuses),
          (count, requests, out, which, statuses), handles_compare_some(&before, requests, which, *out))
#undef COMPLETES

/* ---- starts ---- */

void tutti_unwatched_started(int n, const MPI_Request requests[])
{
    for (int i = 0; i < n && requests; i++)
        unwatched_set(requests[i], 1);
}
