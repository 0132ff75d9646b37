/* Completion calls on lists of requests, if some are stamped (stamped.c). */
#include <stdlib.h>

#include "core/log.h"
#include "mpi/message/unexpected_own.h"
#include "mpi/real/errors.h"

static int (*just_MPI_Waitall)(int, MPI_Request[], MPI_Status *);
static int (*just_MPI_Testall)(int, MPI_Request[], int *, MPI_Status *);
static int (*just_MPI_Waitany)(int, MPI_Request[], int *, MPI_Status *);
static int (*just_MPI_Testany)(int, MPI_Request[], int *, int *, MPI_Status *);
static int (*just_MPI_Waitsome)(int, MPI_Request[], int *, int[], MPI_Status *);
static int (*just_MPI_Testsome)(int, MPI_Request[], int *, int[], MPI_Status *);

enum { FEW = 32 };

struct stamped_list {
    int n;
    MPI_Request *program, *shown; /* the program's list, and what the MPI sees */
    struct tutti_stamped **stamped;
    MPI_Status *statuses, *own; /* the statuses of the call; own: if the program passes none */
    MPI_Request few[FEW];
    struct tutti_stamped *few_marks[FEW];
    MPI_Status few_statuses[FEW];
};

/* UNSTAMPED: no request is stamped. NO_MEMORY: the real call must not be made, since its results could not be passed
 * on. The statuses of the call are `statuses` (NULL: it has one alone). */
enum { UNSTAMPED, MARKED, NO_MEMORY };
static int stamped_list_open(struct stamped_list *m, int n, MPI_Request requests[], MPI_Status *statuses, int lists)
{
    int any = 0;
    if (tutti_stamped_none() || n <= 0 || !requests)
        return UNSTAMPED;
    for (int i = 0; i < n && !any; i++)
        any = tutti_stamped_see(requests[i]) != NULL;
    if (!any)
        return UNSTAMPED;
    *m = (struct stamped_list){.n = n, .program = requests, .statuses = statuses};
    const int few = n <= FEW, own = lists && statuses == MPI_STATUSES_IGNORE;
    m->shown = few ? m->few : malloc((size_t)n * sizeof *m->shown);
    m->stamped = few ? m->few_marks : malloc((size_t)n * sizeof *m->stamped);
    m->own = !own ? NULL : few ? m->few_statuses : malloc((size_t)n * sizeof *m->own);
    if (!m->shown || !m->stamped || (own && !m->own)) {
        tutti_error("out of memory: none of %d requests is completed", n);
        if (!few) {
            free(m->shown);
            free(m->stamped);
            free(m->own);
        }
        return NO_MEMORY;
    }
    if (own)
        m->statuses = m->own;
    for (int i = 0; i < n; i++) {
        m->stamped[i] = tutti_stamped_take(requests[i]);
        m->shown[i] = tutti_stamped_real(m->stamped[i], requests[i]);
    }
    return MARKED;
}

static void stamped_list_close(struct stamped_list *m)
{
    for (int i = 0; i < m->n; i++) {
        if (m->stamped[i])
            tutti_stamped_back(m->stamped[i]);
    }
    if (m->n <= FEW)
        return;
    free(m->shown);
    free(m->stamped);
    free(m->own);
}

/* Copies the MPI's changes of the list to the program's list, except for persistent requests, which stay. Called
 * before the stamps end. */
static void stamped_list_back(struct stamped_list *m)
{
    for (int i = 0; i < m->n; i++) {
        if (!m->stamped[i] || !m->stamped[i]->persistent)
            m->program[i] = m->shown[i];
    }
}

/* The status is of request i. */
static int stamped_list_end_one(struct stamped_list *m, int i, MPI_Status *status, int code)
{
    if (i < 0 || i >= m->n || !m->stamped[i])
        return code;
    code = tutti_stamped_end(m->stamped[i], status, code);
    m->stamped[i] = NULL;
    return code;
}

/* The same for a call that returns several statuses: request which[k], or k if `which` is NULL, for status k of n.
 * After an error that the MPI has not seen all statuses hold an error code. */
static int stamped_list_end_several(struct stamped_list *m, int n, const int which[], int code)
{
    int failed = code == MPI_ERR_IN_STATUS;
    for (int k = 0; k < n; k++) {
        MPI_Status *const status = &m->statuses[k];
        const int i = which ? which[k] : k;
        if (!m->stamped[i] || (code == MPI_ERR_IN_STATUS && status->MPI_ERROR == MPI_ERR_PENDING))
            continue;
        const int one = stamped_list_end_one(m, i, status, code == MPI_ERR_IN_STATUS ? status->MPI_ERROR : MPI_SUCCESS);
        for (int other = 0; other < n && one != MPI_SUCCESS && !failed; other++)
            m->statuses[other].MPI_ERROR = MPI_SUCCESS;
        failed |= one != MPI_SUCCESS;
        if (failed)
            status->MPI_ERROR = one;
    }
    return failed ? MPI_ERR_IN_STATUS : code;
}

static int stamped_list_end_all(struct stamped_list *m, int ended, int code)
{
    stamped_list_back(m);
    if (ended)
        code = stamped_list_end_several(m, m->n, NULL, code);
    stamped_list_close(m);
    return code;
}

/* The beginning of each call: `m`, the list, or the plain call if no request is stamped. */
#define LIST_OR(plain, statuses, lists)                                                                                \
    struct stamped_list m;                                                                                             \
    const int found = stamped_list_open(&m, n, requests, statuses, lists);                                             \
    if (likely(found == UNSTAMPED))                                                                                    \
        return plain;                                                                                                  \
    if (found == NO_MEMORY)                                                                                            \
        return tutti_fail_self(MPI_ERR_NO_MEM);

static __attribute__((noinline)) int stamped_some_waitall(int n, MPI_Request requests[], MPI_Status *statuses)
{
    LIST_OR(just_MPI_Waitall(n, requests, statuses), statuses, 1)
    const int code = just_MPI_Waitall(n, m.shown, m.statuses);
    return stamped_list_end_all(&m, code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS, code);
}

static __attribute__((noinline)) int stamped_some_testall(int n, MPI_Request requests[], int *flag,
                                                          MPI_Status *statuses)
{
    LIST_OR(just_MPI_Testall(n, requests, flag, statuses), statuses, 1)
    const int code = just_MPI_Testall(n, m.shown, flag, m.statuses);
    return stamped_list_end_all(&m, (code == MPI_SUCCESS && *flag) || code == MPI_ERR_IN_STATUS, code);
}

static int stamped_list_end_any(struct stamped_list *m, int which, MPI_Status *status, int code)
{
    stamped_list_back(m);
    if (which != MPI_UNDEFINED)
        code = stamped_list_end_one(m, which, status, code);
    stamped_list_close(m);
    return code;
}

static __attribute__((noinline)) int stamped_some_waitany(int n, MPI_Request requests[], int *which, MPI_Status *status)
{
    LIST_OR(just_MPI_Waitany(n, requests, which, status), NULL, 0)
    MPI_Status own = {0}, *where = status == MPI_STATUS_IGNORE ? &own : status;
    const int code = just_MPI_Waitany(n, m.shown, which, where);
    return stamped_list_end_any(&m, *which, where, code);
}

static __attribute__((noinline)) int stamped_some_testany(int n, MPI_Request requests[], int *which, int *flag,
                                                          MPI_Status *status)
{
    LIST_OR(just_MPI_Testany(n, requests, which, flag, status), NULL, 0)
    MPI_Status own = {0}, *where = status == MPI_STATUS_IGNORE ? &own : status;
    const int code = just_MPI_Testany(n, m.shown, which, flag, where);
    return stamped_list_end_any(&m, code != MPI_SUCCESS || *flag ? *which : MPI_UNDEFINED, where, code);
}

static int stamped_list_end_some(struct stamped_list *m, int out, const int which[], int code)
{
    stamped_list_back(m);
    if (out != MPI_UNDEFINED && (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS))
        code = stamped_list_end_several(m, out, which, code);
    stamped_list_close(m);
    return code;
}

static __attribute__((noinline)) int stamped_some_waitsome(int n, MPI_Request requests[], int *out, int which[],
                                                           MPI_Status *statuses)
{
    LIST_OR(just_MPI_Waitsome(n, requests, out, which, statuses), statuses, 1)
    const int code = just_MPI_Waitsome(n, m.shown, out, which, m.statuses);
    return stamped_list_end_some(&m, *out, which, code);
}

static __attribute__((noinline)) int stamped_some_testsome(int n, MPI_Request requests[], int *out, int which[],
                                                           MPI_Status *statuses)
{
    LIST_OR(just_MPI_Testsome(n, requests, out, which, statuses), statuses, 1)
    const int code = just_MPI_Testsome(n, m.shown, out, which, m.statuses);
    return stamped_list_end_some(&m, *out, which, code);
}

/* While no request is stamped. */
#define PLAIN(call, lower, parameters, arguments)                                                                      \
    static int stamped_MPI_##call parameters                                                                           \
    {                                                                                                                  \
        return tutti_stamped_none() ? just_MPI_##call arguments : stamped_some_##lower arguments;                      \
    }
PLAIN(Waitall, waitall, (int n, MPI_Request requests[], MPI_Status *statuses), (n, requests, statuses))
PLAIN(Testall, testall, (int n, MPI_Request requests[], int *flag, MPI_Status *statuses), (n, requests, flag, statuses))
PLAIN(Waitany, waitany, (int n, MPI_Request requests[], int *which, MPI_Status *status), (n, requests, which, status))
PLAIN(Testany, testany, (int n, MPI_Request requests[], int *which, int *flag, MPI_Status *status),
      (n, requests, which, flag, status))
PLAIN(Waitsome, waitsome, (int n, MPI_Request requests[], int *out, int which[], MPI_Status *statuses),
      (n, requests, out, which, statuses))
PLAIN(Testsome, testsome, (int n, MPI_Request requests[], int *out, int which[], MPI_Status *statuses),
      (n, requests, out, which, statuses))
#undef PLAIN

void tutti_calls_listed(void)
{
    HOLD(MPI_Waitall)
    HOLD(MPI_Testall)
    HOLD(MPI_Waitany)
    HOLD(MPI_Testany)
    HOLD(MPI_Waitsome)
    HOLD(MPI_Testsome)
}
