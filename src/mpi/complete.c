/* Completion calls: with no staged call in flight they go straight to the MPI. Otherwise the entries of their requests
 * are taken out before the real call, because a handle may be used again at once, and put back where nothing completed.
 */
#include <stdlib.h>

#include "mpi/requests.h"

static inline int nothing_open(void)
{
    if (tutti_inside)
        return 1;
    tutti_far_bring_on();
    return tutti_pending_none() && !tutti_nonblocking_busy() && !tutti_letters_busy();
}

/* ---- real calls, while what is open may need this thread: those that wait are made of those that look ---- */

/* Requests of a call, and the entries that were taken out for it. */
struct mine {
    int n;
    struct tutti_pending *const *pending;
    const MPI_Request *requests;
};

static const struct mine nobody;

static int busy(const struct mine *mine)
{
    if (tutti_nonblocking_busy() || tutti_letters_busy() ||
        atomic_load_explicit(&tutti_joints_open, memory_order_relaxed) != 0)
        return 1;
    for (int i = 0; mine->pending && i < mine->n; i++) { /* nobody sends letters to who does not listen */
        if (mine->pending[i] && mine->pending[i]->watch &&
            ((tutti_lane && tutti_lane_listens(tutti_lane)) || tutti_far_hears()))
            return 1;
    }
    return 0;
}

static void poll(const struct mine *mine)
{
    if (tutti_nonblocking_busy())
        tutti_nonblocking_poll();
    if (mine->pending)
        tutti_pending_fetch(mine->pending, mine->requests, mine->n);
    if (tutti_letters_busy())
        tutti_letters_poll();
    else
        tutti_far_bring_on();
    if (atomic_load_explicit(&tutti_joints_open, memory_order_relaxed) != 0)
        tutti_joints_poll();
}

/* Ends with the blocking call where nothing needs this thread any more. */
#define PATIENTLY(test, done, wait)                                                                                    \
    unsigned rounds = 0;                                                                                               \
    for (;;) {                                                                                                         \
        int flag = 0;                                                                                                  \
        if (!busy(mine))                                                                                               \
            return wait;                                                                                               \
        poll(mine);                                                                                                    \
        int code = test;                                                                                               \
        if ((done) || code != MPI_SUCCESS)                                                                             \
            return code;                                                                                               \
        tutti_nonblocking_pause(&rounds);                                                                              \
    }

static int patient_Wait(const struct mine *mine, MPI_Request *request, MPI_Status *status)
{
    PATIENTLY(tutti_real.MPI_Test(request, &flag, status), flag, tutti_real.MPI_Wait(request, status))
}

static int patient_Waitall(const struct mine *mine, int count, MPI_Request requests[], MPI_Status *statuses)
{
    PATIENTLY(tutti_real.MPI_Testall(count, requests, &flag, statuses), flag,
              tutti_real.MPI_Waitall(count, requests, statuses))
}

static int patient_Waitany(const struct mine *mine, int count, MPI_Request requests[], int *which, MPI_Status *status)
{
    PATIENTLY(tutti_real.MPI_Testany(count, requests, which, &flag, status), flag,
              tutti_real.MPI_Waitany(count, requests, which, status))
}

static int patient_Waitsome(const struct mine *mine, int count, MPI_Request requests[], int *out, int which[],
                            MPI_Status *statuses)
{
    PATIENTLY(tutti_real.MPI_Testsome(count, requests, out, which, statuses), flag || *out != 0,
              tutti_real.MPI_Waitsome(count, requests, out, which, statuses))
}

static int patient_Testsome(const struct mine *mine, int count, MPI_Request requests[], int *out, int which[],
                            MPI_Status *statuses)
{
    poll(mine);
    return tutti_real.MPI_Testsome(count, requests, out, which, statuses);
}

/* After a real call that completed one request or not. */
static int settle(struct tutti_pending *pending, int completed, int code, MPI_Request now, MPI_Status *status)
{
    int result = code;
    if (code != MPI_SUCCESS)
        completed = now == tutti_handles.no_request;
    if (!completed) {
        tutti_pending_back(pending);
        return result;
    }
    if (code == MPI_SUCCESS)
        result = tutti_pending_deliver(pending, status);
    tutti_pending_drop(pending);
    return result;
}

int tutti_door_MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct tutti_pending *pending;
    if (nothing_open() || !request)
        return tutti_real.MPI_Wait(request, status);
    TUTTI_INSIDE();
    pending = tutti_pending_take(*request);
    const struct mine mine = {1, &pending, request};
    if (!pending)
        return patient_Wait(&mine, request, status);
    MPI_Status own, *where = status == MPI_STATUS_IGNORE ? &own : status;
    int code = patient_Wait(&mine, request, where);
    return settle(pending, 1, code, *request, where);
}

int tutti_door_MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct tutti_pending *pending;
    if (nothing_open() || !request)
        return tutti_real.MPI_Test(request, flag, status);
    TUTTI_INSIDE();
    pending = tutti_pending_take(*request);
    const struct mine mine = {1, &pending, request};
    poll(&mine);
    if (!pending)
        return tutti_real.MPI_Test(request, flag, status);
    if (pending->watch && tutti_watch_is_open(pending->watch)) { /* the data are on their way */
        *flag = 0;
        tutti_pending_back(pending);
        return MPI_SUCCESS;
    }
    MPI_Status own, *where = status == MPI_STATUS_IGNORE ? &own : status;
    int code = tutti_real.MPI_Test(request, flag, where);
    return settle(pending, *flag, code, *request, where);
}

int tutti_door_MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct tutti_pending *pending;
    if (nothing_open())
        return tutti_real.MPI_Request_get_status(request, flag, status);
    TUTTI_INSIDE();
    pending = tutti_pending_see(request);
    poll(&(const struct mine){1, &pending, &request});
    if (!pending)
        return tutti_real.MPI_Request_get_status(request, flag, status);
    MPI_Status own, *where = status == MPI_STATUS_IGNORE ? &own : status;
    int code = tutti_real.MPI_Request_get_status(request, flag, where);
    return code == MPI_SUCCESS && *flag ? tutti_pending_deliver(pending, where) : code;
}

int tutti_door_MPI_Request_free(MPI_Request *request)
{
    struct tutti_pending *pending;
    if (nothing_open() || !request || !(pending = tutti_pending_take(*request)))
        return tutti_real.MPI_Request_free(request);
    if (pending->open) {
        int code = tutti_open_free(pending->open, request);
        pending->open = NULL;
        tutti_pending_drop(pending);
        return code;
    }
    return tutti_pending_free(pending, request);
}

/* ---- lists of requests ---- */

enum { FEW = 32 };

struct list {
    int n;
    struct tutti_pending **pending; /* of each request, or NULL */
    MPI_Status *status;             /* where the real call writes: the program's, or our own */
    struct tutti_pending *few[FEW];
    MPI_Status few_status[FEW];
};

/* Takes the entries of the requests out (or, with `leave`, looks at them). 0: none of them is staged, or there is no
 * memory; the real call is to be made as it is. */
static int list_open(struct list *list, int n, const MPI_Request *requests, MPI_Status *statuses, int leave)
{
    int any = 0;
    if (n <= 0 || !requests)
        return 0;
    list->n = n;
    list->pending = n <= FEW ? list->few : malloc((size_t)n * sizeof *list->pending);
    list->status = statuses;
    if (statuses == MPI_STATUSES_IGNORE)
        list->status = n <= FEW ? list->few_status : malloc((size_t)n * sizeof *list->status);
    for (int i = 0; i < n && list->pending && list->status; i++) {
        list->pending[i] = leave ? tutti_pending_see(requests[i]) : tutti_pending_take(requests[i]);
        any |= list->pending[i] != NULL;
    }
    if (any)
        return 1;
    if (list->pending != list->few)
        free(list->pending);
    if (list->status != list->few_status && list->status != statuses)
        free(list->status);
    return 0;
}

/* Puts back what was not settled; returns `code`. */
static int list_close(struct list *list, const MPI_Status *statuses, int leave, int code)
{
    for (int i = 0; i < list->n && !leave; i++) {
        if (list->pending[i])
            tutti_pending_back(list->pending[i]);
    }
    if (list->pending != list->few)
        free(list->pending);
    if (list->status != list->few_status && list->status != statuses)
        free(list->status);
    tutti_pending_sweep(0);
    return code;
}

static int list_settle(struct list *list, int i, int code, MPI_Request now, MPI_Status *status)
{
    struct tutti_pending *pending = list->pending[i];
    list->pending[i] = NULL;
    return pending ? settle(pending, 1, code, now, status) : code;
}

/* Settles all entries after a call that says of each request what became of it. */
static int list_settle_all(struct list *list, const MPI_Request *requests, int code)
{
    int result = code;
    if (code == MPI_SUCCESS)
        tutti_pending_finish(list->pending, NULL, list->status, list->n);
    for (int i = 0; i < list->n; i++) {
        int one = code == MPI_ERR_IN_STATUS ? list->status[i].MPI_ERROR : code;
        int done = list_settle(list, i, one, requests[i], &list->status[i]);
        if (code == MPI_SUCCESS && done != MPI_SUCCESS)
            result = done;
    }
    return result;
}

/* The same for the requests named by `indices`. */
static int list_settle_some(struct list *list, const MPI_Request *requests, const int *indices, int n, int code)
{
    int result = code;
    if (code == MPI_SUCCESS)
        tutti_pending_finish(list->pending, indices, list->status, n);
    for (int k = 0; k < n; k++) {
        int one = code == MPI_ERR_IN_STATUS ? list->status[k].MPI_ERROR : code;
        int done = list_settle(list, indices[k], one, requests[indices[k]], &list->status[k]);
        if (code == MPI_SUCCESS && done != MPI_SUCCESS)
            result = done;
    }
    return result;
}

int tutti_door_MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses)
{
    struct list list;
    if (nothing_open())
        return tutti_real.MPI_Waitall(count, array_of_requests, array_of_statuses);
    TUTTI_INSIDE();
    if (!list_open(&list, count, array_of_requests, array_of_statuses, 0))
        return patient_Waitall(&nobody, count, array_of_requests, array_of_statuses);
    const struct mine mine = {count, list.pending, array_of_requests};
    int code = patient_Waitall(&mine, count, array_of_requests, list.status);
    return list_close(&list, array_of_statuses, 0, list_settle_all(&list, array_of_requests, code));
}

int tutti_door_MPI_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status *array_of_statuses)
{
    struct list list;
    if (nothing_open())
        return tutti_real.MPI_Testall(count, array_of_requests, flag, array_of_statuses);
    TUTTI_INSIDE();
    if (!list_open(&list, count, array_of_requests, array_of_statuses, 0)) {
        poll(&nobody);
        return tutti_real.MPI_Testall(count, array_of_requests, flag, array_of_statuses);
    }
    poll(&(const struct mine){count, list.pending, array_of_requests});
    int code = tutti_real.MPI_Testall(count, array_of_requests, flag, list.status);
    if (code != MPI_SUCCESS || *flag)
        code = list_settle_all(&list, array_of_requests, code);
    return list_close(&list, array_of_statuses, 0, code);
}

int tutti_door_MPI_Waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status)
{
    struct list list;
    MPI_Status own, *where = status == MPI_STATUS_IGNORE ? &own : status;
    if (nothing_open())
        return tutti_real.MPI_Waitany(count, array_of_requests, indx, status);
    TUTTI_INSIDE();
    if (!list_open(&list, count, array_of_requests, MPI_STATUSES_IGNORE, 0))
        return patient_Waitany(&nobody, count, array_of_requests, indx, status);
    *indx = MPI_UNDEFINED;
    const struct mine mine = {count, list.pending, array_of_requests};
    int code = patient_Waitany(&mine, count, array_of_requests, indx, where);
    if (*indx >= 0 && *indx < count)
        code = list_settle(&list, *indx, code, array_of_requests[*indx], where);
    return list_close(&list, MPI_STATUSES_IGNORE, 0, code);
}

int tutti_door_MPI_Testany(int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status)
{
    struct list list;
    MPI_Status own, *where = status == MPI_STATUS_IGNORE ? &own : status;
    if (nothing_open())
        return tutti_real.MPI_Testany(count, array_of_requests, indx, flag, status);
    TUTTI_INSIDE();
    if (!list_open(&list, count, array_of_requests, MPI_STATUSES_IGNORE, 0)) {
        poll(&nobody);
        return tutti_real.MPI_Testany(count, array_of_requests, indx, flag, status);
    }
    *indx = MPI_UNDEFINED;
    poll(&(const struct mine){count, list.pending, array_of_requests});
    int code = tutti_real.MPI_Testany(count, array_of_requests, indx, flag, where);
    if ((code != MPI_SUCCESS || *flag) && *indx >= 0 && *indx < count)
        code = list_settle(&list, *indx, code, array_of_requests[*indx], where);
    return list_close(&list, MPI_STATUSES_IGNORE, 0, code);
}

#define SOME(call)                                                                                                     \
    int tutti_door_MPI_##call(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],     \
                              MPI_Status *array_of_statuses)                                                           \
    {                                                                                                                  \
        struct list list;                                                                                              \
        if (nothing_open())                                                                                            \
            return tutti_real.MPI_##call(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);   \
        TUTTI_INSIDE();                                                                                                \
        if (!list_open(&list, incount, array_of_requests, array_of_statuses, 0))                                       \
            return patient_##call(&nobody, incount, array_of_requests, outcount, array_of_indices, array_of_statuses); \
        *outcount = 0;                                                                                                 \
        const struct mine mine = {incount, list.pending, array_of_requests};                                           \
        int code = patient_##call(&mine, incount, array_of_requests, outcount, array_of_indices, list.status);         \
        if (*outcount != MPI_UNDEFINED && (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS))                          \
            code = list_settle_some(&list, array_of_requests, array_of_indices, *outcount, code);                      \
        return list_close(&list, array_of_statuses, 0, code);                                                          \
    }
SOME(Waitsome)
SOME(Testsome)
#undef SOME

/* ---- MPI 4.1: looking at lists without freeing requests ---- */

int tutti_door_MPI_Request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                                          MPI_Status *array_of_statuses)
{
    struct list list;
    if (nothing_open())
        return tutti_real.MPI_Request_get_status_all(count, array_of_requests, flag, array_of_statuses);
    TUTTI_INSIDE();
    poll(&nobody);
    if (!list_open(&list, count, array_of_requests, array_of_statuses, 1))
        return tutti_real.MPI_Request_get_status_all(count, array_of_requests, flag, array_of_statuses);
    int code = tutti_real.MPI_Request_get_status_all(count, array_of_requests, flag, list.status);
    for (int i = 0; code == MPI_SUCCESS && *flag && i < count; i++) {
        if (list.pending[i])
            code = tutti_pending_deliver(list.pending[i], &list.status[i]);
    }
    return list_close(&list, array_of_statuses, 1, code);
}

int tutti_door_MPI_Request_get_status_any(int count, const MPI_Request array_of_requests[], int *indx, int *flag,
                                          MPI_Status *status)
{
    struct list list;
    MPI_Status own, *where = status == MPI_STATUS_IGNORE ? &own : status;
    if (nothing_open())
        return tutti_real.MPI_Request_get_status_any(count, array_of_requests, indx, flag, status);
    TUTTI_INSIDE();
    poll(&nobody);
    if (!list_open(&list, count, array_of_requests, MPI_STATUSES_IGNORE, 1))
        return tutti_real.MPI_Request_get_status_any(count, array_of_requests, indx, flag, status);
    int code = tutti_real.MPI_Request_get_status_any(count, array_of_requests, indx, flag, where);
    if (code == MPI_SUCCESS && *flag && *indx >= 0 && *indx < count && list.pending[*indx])
        code = tutti_pending_deliver(list.pending[*indx], where);
    return list_close(&list, MPI_STATUSES_IGNORE, 1, code);
}

int tutti_door_MPI_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount,
                                           int array_of_indices[], MPI_Status *array_of_statuses)
{
    struct list list;
    if (nothing_open())
        return tutti_real.MPI_Request_get_status_some(incount, array_of_requests, outcount, array_of_indices,
                                                      array_of_statuses);
    TUTTI_INSIDE();
    poll(&nobody);
    if (!list_open(&list, incount, array_of_requests, array_of_statuses, 1))
        return tutti_real.MPI_Request_get_status_some(incount, array_of_requests, outcount, array_of_indices,
                                                      array_of_statuses);
    int code =
        tutti_real.MPI_Request_get_status_some(incount, array_of_requests, outcount, array_of_indices, list.status);
    for (int k = 0; code == MPI_SUCCESS && k < *outcount; k++) {
        int i = array_of_indices[k];
        if (list.pending[i])
            code = tutti_pending_deliver(list.pending[i], &list.status[k]);
    }
    return list_close(&list, array_of_statuses, 1, code);
}
