/* Completion calls. If the table of requests is empty they go straight to the MPI. Otherwise a call takes the entries
 * of its requests out of the table before the real call, because the MPI may use a handle again at once. Entries of
 * requests that have not completed are put back. Calls that only look leave the entries in the table. */
#include <stdlib.h>

#include "core/log.h"
#include "mpi/bounce/alive.h"
#include "mpi/real/errors.h"
#include "mpi/request/completion.h"
#include "mpi/request/unwatched.h"
#include "mpi/request/waits.h"
#include "progress/engine.h"

/* For a call with n requests. */
static inline int completion_nothing_open(int n)
{
    if (tutti_inside)
        return 1;
    if (unlikely(tutti_unwatched_open) &&
        (n > TUTTI_UNWATCHED_MOST || !tutti_requests_none() || tutti_progress_busy() ||
         atomic_load_explicit(&tutti_files_advance, memory_order_relaxed)))
        tutti_unwatched_watch();
    return tutti_requests_none() && !tutti_progress_busy() &&
           likely(!atomic_load_explicit(&tutti_files_advance, memory_order_relaxed));
}

/* With nothing open: 1 if the call may complete receives that are not under watch, also in a callback of the program
 * that the library's call has brought about. */
static inline int completion_is_noted(int n)
{
    return unlikely(tutti_unwatched_open) && n <= TUTTI_UNWATCHED_MOST;
}

/* ---- the requests of a call ---- */

enum { FEW = 64 };                   /* as windows often have: they allocate nothing */
enum { TAKE, TAKE_AND_WAIT, LEAVE }; /* AND_WAIT: for all of them, so that the call can claim some */

struct list {
    int n, leave;
    struct tutti_request **entry; /* of each request, or NULL */
    MPI_Status *status, *given;   /* where the real call writes: the program's, or our own */
    struct tutti_call_requests mine;
    struct tutti_request *few[FEW];
    MPI_Status few_status[FEW];
};

static inline MPI_Status *one_of(MPI_Status *status)
{
    return status == MPI_STATUS_IGNORE ? NULL : status;
}

static inline MPI_Status *completion_all_of(MPI_Status *statuses)
{
    return statuses == MPI_STATUSES_IGNORE ? NULL : statuses;
}

static void free_lists(struct list *list)
{
    if (list->entry != list->few)
        free(list->entry);
    if (list->status != list->few_status && list->status != list->given)
        free(list->status);
}

static int any_watched(const MPI_Request *requests, int n)
{
    int any = 0;
    for (int i = 0; i < n && !any; i++)
        any = tutti_request_see(requests[i]) != NULL;
    return any;
}

/* What a call finds out about its requests. */
enum { UNWATCHED, WATCHED, NO_MEMORY };

/* statuses: that the program asks for, or NULL; the real call writes `results` of them. UNWATCHED: the real call is to
 * be made as it is. NO_MEMORY: it must not be made, since what it completes could not be delivered. */
static int list_open(struct list *list, int n, const MPI_Request *requests, MPI_Status *statuses, int results, int how)
{
    int any = 0;
    if (n <= 0 || !requests)
        return UNWATCHED;
    list->n = n;
    list->leave = how == LEAVE;
    list->entry = n <= FEW ? list->few : malloc((size_t)n * sizeof *list->entry);
    list->given = list->status = statuses;
    if (!statuses)
        list->status = results <= FEW ? list->few_status : malloc((size_t)results * sizeof *list->status);
    if (unlikely(!list->entry || !list->status)) {
        free_lists(list);
        return any_watched(requests, n) ? NO_MEMORY : UNWATCHED;
    }
    if (!list->leave)
        any = tutti_requests_take(requests, n, list->entry) > 0;
    for (int i = 0; list->leave && i < n; i++) {
        list->entry[i] = tutti_request_visit(requests[i]);
        any |= list->entry[i] != NULL;
    }
    for (int i = 0; any && how != TAKE_AND_WAIT && i < n; i++)
        tutti_request_hand_over(list->entry[i]);
    list->mine = (struct tutti_call_requests){n, list->entry, requests};
    if (!any)
        free_lists(list);
    return any ? WATCHED : UNWATCHED;
}

/* The code of a call that has done nothing, and may be made again. */
static int completion_no_memory(int n)
{
    tutti_error("out of memory: none of %d requests is completed", n);
    return tutti_fail_self(MPI_ERR_NO_MEM);
}

/* The code of a call whose requests have no entries. Messages of freed requests may have arrived with those that it
 * completed. */
static int code_swept(int code)
{
    tutti_requests_sweep();
    return code;
}

/* Puts the entries back that were not settled; returns `code`. */
static int list_close(struct list *list, int code)
{
    for (int i = 0; i < list->n; i++) {
        if (list->entry[i] && list->leave)
            tutti_request_leave(list->entry[i]);
        else if (list->entry[i])
            tutti_request_back(list->entry[i]);
    }
    free_lists(list);
    tutti_requests_sweep();
    return code;
}

/* Request i has completed, or failed with `code`, and the MPI has made `now` of it. A failed request that has neither
 * gone nor outlives its completion is still under way; `whole`: `code` is of the whole call, which has ended no request
 * that is still there. */
static int completion_settle(struct list *list, int i, int code, int whole, MPI_Request now, MPI_Status *status)
{
    struct tutti_request *entry = list->entry[i];
    if (!entry)
        return code;
    if (code != MPI_SUCCESS && !list->leave && now != tutti_handles.no_request &&
        (whole || !tutti_request_lives(entry) || code == MPI_ERR_PENDING))
        return code;
    code = code == MPI_SUCCESS ? tutti_request_deliver(entry, status) : tutti_request_fail(entry, status, code);
    if (!list->leave) {
        list->entry[i] = NULL;
        tutti_request_drop(entry);
    }
    return code;
}

/* Settles all requests, or those named by `indices`, after a call that returns the outcome of each of `n`. If one
 * has another error than the MPI's, the statuses hold it. */
static int settle_some(struct list *list, const MPI_Request *requests, const int *indices, int n, int code)
{
    int result = code, wrong = 0;
    if (code == MPI_SUCCESS)
        tutti_requests_arrived(list->entry, indices, list->status, n);
    for (int k = 0; k < n; k++) {
        int i = indices ? indices[k] : k, one = code == MPI_ERR_IN_STATUS ? list->status[k].MPI_ERROR : code;
        int done = completion_settle(list, i, one, code != MPI_ERR_IN_STATUS, requests[i], &list->status[k]);
        if (done != one && result == MPI_SUCCESS) {
            for (int j = 0; j < n; j++)
                list->status[j].MPI_ERROR = MPI_SUCCESS;
            result = MPI_ERR_IN_STATUS;
        }
        if (done != one && result == MPI_ERR_IN_STATUS)
            list->status[k].MPI_ERROR = done;
        wrong |= done != MPI_SUCCESS;
    }
    return result == MPI_ERR_IN_STATUS && !wrong ? MPI_SUCCESS : result;
}

/* After a call that completes one of several: the completed request, if any. */
static int settle_any(struct list *list, const MPI_Request *requests, int i, int code)
{
    return i >= 0 && i < list->n ? completion_settle(list, i, code, 0, requests[i], list->status) : code;
}

/* ---- calls that complete ---- */

int tutti_completion_wait(MPI_Request *request, MPI_Status *status)
{
    struct list list;
    if (completion_nothing_open(1) || !request)
        return completion_is_noted(1) && request ? tutti_unwatched_wait(request, status)
                                                 : tutti_next.MPI_Wait(request, status);
    TUTTI_INSIDE();
    if (list_open(&list, 1, request, one_of(status), 1, TAKE_AND_WAIT) == UNWATCHED)
        return code_swept(tutti_progressing_wait(&tutti_no_call_requests, request, status));
    int code = tutti_progressing_wait(&list.mine, request, list.status);
    return list_close(&list, completion_settle(&list, 0, code, 0, *request, list.status));
}

int tutti_completion_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct list list;
    if (completion_nothing_open(1) || !request)
        return completion_is_noted(1) && request ? tutti_unwatched_test(request, flag, status)
                                                 : tutti_next.MPI_Test(request, flag, status);
    TUTTI_INSIDE();
    if (list_open(&list, 1, request, one_of(status), 1, TAKE) == UNWATCHED) {
        tutti_call_requests_poll(&tutti_no_call_requests);
        return code_swept(tutti_next.MPI_Test(request, flag, status));
    }
    tutti_call_requests_poll(&list.mine);
    int code = MPI_SUCCESS;
    *flag = 0;
    if (!tutti_is_coming(list.entry[0]))
        code = tutti_next.MPI_Test(request, flag, list.status);
    if (code != MPI_SUCCESS || *flag)
        code = completion_settle(&list, 0, code, 0, *request, list.status);
    return list_close(&list, code);
}

int tutti_completion_waitall(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses)
{
    struct list list;
    int code, unreturned = 0;
    if (completion_nothing_open(count))
        return completion_is_noted(count) ? tutti_unwatched_waitall(count, array_of_requests, array_of_statuses)
                                          : tutti_next.MPI_Waitall(count, array_of_requests, array_of_statuses);
    TUTTI_INSIDE();
    const int found =
        list_open(&list, count, array_of_requests, completion_all_of(array_of_statuses), count, TAKE_AND_WAIT);
    if (found == NO_MEMORY)
        return completion_no_memory(count);
    if (found == UNWATCHED)
        code = code_swept(tutti_progressing_waitall(&tutti_no_call_requests, count, array_of_requests,
                                                    array_of_statuses, &unreturned));
    else
        code = tutti_progressing_waitall(&list.mine, count, array_of_requests, list.status, &unreturned);
    if (found == WATCHED)
        code = list_close(&list, settle_some(&list, array_of_requests, NULL, count, code));
    return code == MPI_ERR_IN_STATUS && unreturned ? MPI_SUCCESS : code;
}

int tutti_completion_testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status *array_of_statuses)
{
    struct list list;
    if (completion_nothing_open(count))
        return completion_is_noted(count) ? tutti_unwatched_testall(count, array_of_requests, flag, array_of_statuses)
                                          : tutti_next.MPI_Testall(count, array_of_requests, flag, array_of_statuses);
    TUTTI_INSIDE();
    const int found = list_open(&list, count, array_of_requests, completion_all_of(array_of_statuses), count, TAKE);
    if (found == NO_MEMORY)
        return completion_no_memory(count);
    if (found == UNWATCHED) {
        tutti_call_requests_poll(&tutti_no_call_requests);
        return code_swept(tutti_next.MPI_Testall(count, array_of_requests, flag, array_of_statuses));
    }
    tutti_call_requests_poll(&list.mine);
    int code = tutti_filtered_testall(list.entry, count, array_of_requests, flag, list.status);
    if (code != MPI_SUCCESS || *flag)
        code = settle_some(&list, array_of_requests, NULL, count, code);
    return list_close(&list, code);
}

int tutti_completion_waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status)
{
    struct list list;
    if (completion_nothing_open(count))
        return completion_is_noted(count) ? tutti_unwatched_waitany(count, array_of_requests, indx, status)
                                          : tutti_next.MPI_Waitany(count, array_of_requests, indx, status);
    TUTTI_INSIDE();
    const int found = list_open(&list, count, array_of_requests, one_of(status), 1, TAKE);
    if (found == NO_MEMORY)
        return completion_no_memory(count);
    if (found == UNWATCHED)
        return code_swept(tutti_progressing_waitany(&tutti_no_call_requests, count, array_of_requests, indx, status));
    *indx = MPI_UNDEFINED;
    int code = tutti_progressing_waitany(&list.mine, count, array_of_requests, indx, list.status);
    return list_close(&list, settle_any(&list, array_of_requests, *indx, code));
}

int tutti_completion_testany(int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status)
{
    struct list list;
    if (completion_nothing_open(count))
        return completion_is_noted(count) ? tutti_unwatched_testany(count, array_of_requests, indx, flag, status)
                                          : tutti_next.MPI_Testany(count, array_of_requests, indx, flag, status);
    TUTTI_INSIDE();
    const int found = list_open(&list, count, array_of_requests, one_of(status), 1, TAKE);
    if (found == NO_MEMORY)
        return completion_no_memory(count);
    if (found == UNWATCHED) {
        tutti_call_requests_poll(&tutti_no_call_requests);
        return code_swept(tutti_next.MPI_Testany(count, array_of_requests, indx, flag, status));
    }
    *indx = MPI_UNDEFINED;
    tutti_call_requests_poll(&list.mine);
    int code = tutti_filtered_testany(list.entry, count, array_of_requests, indx, flag, list.status);
    if (code != MPI_SUCCESS || *flag)
        code = settle_any(&list, array_of_requests, *indx, code);
    return list_close(&list, code);
}

#define SOME(call, lower)                                                                                              \
    int tutti_completion_##lower(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],  \
                                 MPI_Status *array_of_statuses)                                                        \
    {                                                                                                                  \
        struct list list;                                                                                              \
        if (completion_nothing_open(incount))                                                                          \
            return completion_is_noted(incount) ? tutti_unwatched_##lower(incount, array_of_requests, outcount,        \
                                                                          array_of_indices, array_of_statuses)         \
                                                : tutti_next.MPI_##call(incount, array_of_requests, outcount,          \
                                                                        array_of_indices, array_of_statuses);          \
        TUTTI_INSIDE();                                                                                                \
        const int found =                                                                                              \
            list_open(&list, incount, array_of_requests, completion_all_of(array_of_statuses), incount, TAKE);         \
        *outcount = 0;                                                                                                 \
        if (found == NO_MEMORY)                                                                                        \
            return completion_no_memory(incount);                                                                      \
        if (found == UNWATCHED)                                                                                        \
            return code_swept(tutti_progressing_##lower(&tutti_no_call_requests, incount, array_of_requests, outcount, \
                                                        array_of_indices, array_of_statuses));                         \
        int code = tutti_progressing_##lower(&list.mine, incount, array_of_requests, outcount, array_of_indices,       \
                                             list.status);                                                             \
        if (*outcount != MPI_UNDEFINED && (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS))                          \
            code = settle_some(&list, array_of_requests, array_of_indices, *outcount, code);                           \
        return list_close(&list, code);                                                                                \
    }
SOME(Waitsome, waitsome)
SOME(Testsome, testsome)
#undef SOME

/* ---- calls that only look ---- */

int tutti_door_MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    tutti_alive_forget(); /* the program may free the buffer of one that is complete */
    struct list list;
    if (completion_nothing_open(1))
        return tutti_next.MPI_Request_get_status(request, flag, status);
    TUTTI_INSIDE();
    if (list_open(&list, 1, &request, one_of(status), 1, LEAVE) == UNWATCHED) {
        tutti_call_requests_poll(&tutti_no_call_requests);
        return code_swept(tutti_next.MPI_Request_get_status(request, flag, status));
    }
    tutti_call_requests_poll(&list.mine);
    int code = MPI_SUCCESS;
    *flag = 0;
    if (!tutti_is_coming(list.entry[0]))
        code = tutti_next.MPI_Request_get_status(request, flag, list.status);
    tutti_unraised++; /* the call that completes the request raises its error */
    if (code != MPI_SUCCESS || *flag)
        code = completion_settle(&list, 0, code, 0, request, list.status);
    tutti_unraised--;
    return list_close(&list, code);
}

int tutti_door_MPI_Request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                                          MPI_Status *array_of_statuses)
{
    tutti_alive_forget(); /* the program may free the buffer of one that is complete */
    struct list list;
    if (completion_nothing_open(count))
        return tutti_next.MPI_Request_get_status_all(count, array_of_requests, flag, array_of_statuses);
    TUTTI_INSIDE();
    const int found = list_open(&list, count, array_of_requests, completion_all_of(array_of_statuses), count, LEAVE);
    if (found == NO_MEMORY)
        return completion_no_memory(count);
    if (found == UNWATCHED) {
        tutti_call_requests_poll(&tutti_no_call_requests);
        return code_swept(tutti_next.MPI_Request_get_status_all(count, array_of_requests, flag, array_of_statuses));
    }
    tutti_call_requests_poll(&list.mine);
    int code = MPI_SUCCESS;
    *flag = 0;
    if (!tutti_any_is_coming(list.entry, count))
        code = tutti_next.MPI_Request_get_status_all(count, array_of_requests, flag, list.status);
    if (code == MPI_ERR_IN_STATUS || (code == MPI_SUCCESS && *flag))
        code = settle_some(&list, array_of_requests, NULL, count, code);
    return list_close(&list, code);
}

int tutti_door_MPI_Request_get_status_any(int count, const MPI_Request array_of_requests[], int *indx, int *flag,
                                          MPI_Status *status)
{
    tutti_alive_forget(); /* the program may free the buffer of one that is complete */
    struct list list;
    struct tutti_filter filter;
    if (completion_nothing_open(count))
        return tutti_next.MPI_Request_get_status_any(count, array_of_requests, indx, flag, status);
    TUTTI_INSIDE();
    const int found = list_open(&list, count, array_of_requests, one_of(status), 1, LEAVE);
    if (found == NO_MEMORY)
        return completion_no_memory(count);
    if (found == UNWATCHED) {
        tutti_call_requests_poll(&tutti_no_call_requests);
        return code_swept(tutti_next.MPI_Request_get_status_any(count, array_of_requests, indx, flag, status));
    }
    tutti_call_requests_poll(&list.mine);
    *indx = MPI_UNDEFINED;
    tutti_filter_open(&filter, list.entry, array_of_requests, count);
    int code = tutti_next.MPI_Request_get_status_any(count, filter.shown, indx, flag, list.status);
    if (code == MPI_SUCCESS && filter.hidden && *indx == MPI_UNDEFINED)
        *flag = 0;
    tutti_filter_close(&filter, NULL);
    if (code != MPI_SUCCESS || *flag)
        code = settle_any(&list, array_of_requests, *indx, code);
    return list_close(&list, code);
}

int tutti_door_MPI_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount,
                                           int array_of_indices[], MPI_Status *array_of_statuses)
{
    tutti_alive_forget(); /* the program may free the buffer of one that is complete */
    struct list list;
    struct tutti_filter filter;
    if (completion_nothing_open(incount))
        return tutti_next.MPI_Request_get_status_some(incount, array_of_requests, outcount, array_of_indices,
                                                      array_of_statuses);
    TUTTI_INSIDE();
    const int found =
        list_open(&list, incount, array_of_requests, completion_all_of(array_of_statuses), incount, LEAVE);
    if (found == NO_MEMORY)
        return completion_no_memory(incount);
    if (found == UNWATCHED) {
        tutti_call_requests_poll(&tutti_no_call_requests);
        return code_swept(tutti_next.MPI_Request_get_status_some(incount, array_of_requests, outcount, array_of_indices,
                                                                 array_of_statuses));
    }
    tutti_call_requests_poll(&list.mine);
    *outcount = 0;
    tutti_filter_open(&filter, list.entry, array_of_requests, incount);
    int code = tutti_next.MPI_Request_get_status_some(incount, filter.shown, outcount, array_of_indices, list.status);
    if (filter.hidden && *outcount == MPI_UNDEFINED)
        *outcount = 0;
    tutti_filter_close(&filter, NULL);
    if (*outcount != MPI_UNDEFINED && (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS))
        code = settle_some(&list, array_of_requests, array_of_indices, *outcount, code);
    return list_close(&list, code);
}
