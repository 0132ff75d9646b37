#include "mpi/request/unwatched.h"

#include <stdint.h>
#include <string.h>

#include "mpi/real/handles.h"

enum { SLOTS = 1024 };

int tutti_unwatched_on, tutti_unwatched_open;
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
}

static void unwatched_ended(MPI_Request request)
{
    struct tutti_unwatched *slot = request == tutti_handles.no_request ? NULL : slot_of(request, request);
    if (slot)
        slot_drop(slot);
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
    tutti_unwatched_open += slot->request != request;
    *slot = *receive;
}

void tutti_unwatched_watch(void)
{
    for (int i = 0; i < SLOTS && tutti_unwatched_open; i++) {
        if (slots[i].request == tutti_handles.no_request)
            continue;
        const struct tutti_unwatched receive = slots[i];
        slot_drop(&slots[i]);
        watch_one(&receive);
    }
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
    tutti_unwatched_open = 0;
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

/* What has completed has another handle now, the null one. */
static void handles_compare(const struct handles *before, const MPI_Request requests[])
{
    for (int i = 0; i < before->n; i++) {
        if (before->each[i] != requests[i])
            unwatched_ended(before->each[i]);
    }
}

#define COMPLETES(name, call, n, requests, parameters, arguments)                                                      \
    int name parameters                                                                                                \
    {                                                                                                                  \
        struct handles before;                                                                                         \
        handles_copy(&before, n, requests);                                                                            \
        const int code = tutti_next.call arguments;                                                                    \
        handles_compare(&before, requests);                                                                            \
        return code;                                                                                                   \
    }
COMPLETES(tutti_unwatched_wait, MPI_Wait, 1, request, (MPI_Request * request, MPI_Status *status), (request, status))
COMPLETES(tutti_unwatched_test, MPI_Test, 1, request, (MPI_Request * request, int *flag, MPI_Status *status),
          (request, flag, status))
COMPLETES(tutti_unwatched_waitall, MPI_Waitall, count, requests,
          (int count, MPI_Request requests[], MPI_Status *statuses), (count, requests, statuses))
COMPLETES(tutti_unwatched_testall, MPI_Testall, count, requests,
          (int count, MPI_Request requests[], int *flag, MPI_Status *statuses), (count, requests, flag, statuses))
COMPLETES(tutti_unwatched_waitany, MPI_Waitany, count, requests,
          (int count, MPI_Request requests[], int *which, MPI_Status *status), (count, requests, which, status))
COMPLETES(tutti_unwatched_testany, MPI_Testany, count, requests,
          (int count, MPI_Request requests[], int *which, int *flag, MPI_Status *status),
          (count, requests, which, flag, status))
COMPLETES(tutti_unwatched_waitsome, MPI_Waitsome, count, requests,
          (int count, MPI_Request requests[], int *out, int which[], MPI_Status *statuses),
          (count, requests, out, which, statuses))
COMPLETES(tutti_unwatched_testsome, MPI_Testsome, count, requests,
          (int count, MPI_Request requests[], int *out, int which[], MPI_Status *statuses),
          (count, requests, out, which, statuses))
#undef COMPLETES
