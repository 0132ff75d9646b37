/* Requests that stand for operations of Tutti's: a side table from the MPI's own requests to entries, each of a kind,
 * which is one table of operations. Code that completes, cancels, frees or starts requests knows entries and no kinds.
 *
 * Several entries of one request are a chain: each lies on the next one, `under` it, whose operation runs first where
 * data move. Entries are taken from a list of their own; a kind's data lie in the entry. */
#ifndef TUTTI_MPI_REQUEST_REQUEST_H
#define TUTTI_MPI_REQUEST_REQUEST_H

#include <stdatomic.h>
#include <stddef.h>
#include <uthash.h>

#include "mpi/real/door.h"

struct tutti_batch;
struct tutti_request;

/* An operation that a kind lacks is NULL. They are called with tutti_inside raised where the MPI is called around them,
 * never with a lock of the table held but for progress(). */
struct tutti_request_kind {
    const char *name;
    /* 1: the maker of an entry writes all of the kind's own data, which are not cleared. */
    int fills;
    /* 1: a completion call must see the entry, so it stays in the table even if the request is complete when the entry
     * is put there. Such a request must not have the one handle that some MPIs use for all complete requests. */
    int stays;

    /* ---- control ---- */

    /* MPI_Start of a persistent request, in place of the MPI's call. An MPI code. */
    int (*start)(struct tutti_request *entry, MPI_Request *request);
    /* Before the MPI starts a persistent request, which is not active. An MPI code. */
    int (*prepare)(struct tutti_request *entry);
    /* MPI_Cancel, in place of the MPI's call. An MPI code. */
    int (*cancel)(struct tutti_request *entry, MPI_Request *request);
    /* MPI_Request_free: releases what the entry holds and sets *request; close() is not called then. NULL: the entry is
     * kept until the request completes; an idle persistent request is freed. An MPI code. */
    int (*free)(struct tutti_request *entry, MPI_Request *request);

    /* Where the kind keeps the communicator on which it raises errors; NULL: it asks entry->comm. */
    MPI_Comm *(*comm)(struct tutti_request *entry);

    /* ---- while it is under way ---- */

    /* 1 if a wait for the request needs this thread. */
    int (*listens)(const struct tutti_request *entry);
    /* Makes progress without waiting; `request` may be of the null handle. Sets entry->coming. Messages that can be
     * fetched with others in one launch go into the batch. batch NULL: no completion call looks at the entry; nothing
     * is fetched, and entry->coming stays. */
    void (*progress)(struct tutti_request *entry, MPI_Request request, struct tutti_batch *batch);
    /* The MPI has completed the request with this status, or will at the next test; it was not cancelled. 1 if its data
     * must still be fetched; then they are put into the batch, if there is one. */
    int (*arrived)(struct tutti_request *entry, const MPI_Status *status, struct tutti_batch *batch);

    /* Fetches what entries of this kind have put into the batch, and sets their entry->coming. */
    void (*fetch)(struct tutti_batch *batch);

    /* ---- completion ---- */

    /* For requests that this library completes. A call that waits for `n` requests of this kind, and has their entries,
     * claims them: then the operations end without a message that completes the MPI's request, and the call hands the
     * program the null handle. Sets entry->claimed; 0: it completes by the MPI. unclaim: the call has ended before the
     * operation, or in an error: the MPI completes the request. */
    void (*claim)(struct tutti_request *const entries[], int n);
    void (*unclaim)(struct tutti_request *entry);
    /* 1: the MPI knows nothing of a start before unclaim(), which may be called again. So each call that gets requests
     * hands them over (tests/laws/requests.py). */
    int begins_claimed;
    /* Claimed: 1 if the operation has ended. */
    int (*claimed_done)(const struct tutti_request *entry);
    /* Claimed, and a job completes it (sched/worker.h): 1 while the job is under way, if a poll by this thread cannot
     * end it: this thread makes the turns of jobs (`here`), or the library's has a core of its own. NULL: no job. */
    int (*claimed_works)(const struct tutti_request *entry, int here);
    /* Delivers the data of a request that has completed with this status, and may correct the status. Called again if
     * the program tests the request without completing it. Not called for an inactive persistent request. An MPI code,
     * of an error that has been raised. */
    int (*deliver)(struct tutti_request *entry, MPI_Status *status);
    /* The completion call has failed with this code, in the MPI or in an entry below this one. Returns the code for the
     * program. */
    int (*fail)(struct tutti_request *entry, MPI_Status *status, int code);
    /* A persistent request has completed, and may be started again. */
    void (*settle)(struct tutti_request *entry);
    /* 1: keeps the whole entry for a later request, so that nothing is freed; 0, or NULL: close() follows. */
    int (*keep)(struct tutti_request *entry);
    /* Frees what the entry holds. */
    void (*close)(struct tutti_request *entry);
};

enum { TUTTI_REQUEST_OWN = 320 };

struct tutti_request {
    const struct tutti_request_kind *kind;
    MPI_Request handle; /* the MPI's */
    MPI_Comm comm;
    struct tutti_request *under;
    int persistent; /* the entry lives as long as the request */
    int active;     /* persistent: started and not completed */
    int delivered;  /* for kinds that deliver once: the data have been delivered */
    int own_handle; /* 1: the MPI uses the handle for no other request, even if this one is complete */
    int claimed;    /* 1: by the call that has the entry */
    int visits;     /* calls that work on it while it is in the table; under the table's lock */
    int coming;     /* the MPI could complete the request, but its data have not arrived: the MPI does not get it */
    int rests;      /* enum tutti_rests: of its last progress() in a call that waits for all of its requests */
    int ended;      /* freed by the program: the MPI has completed it, with `status` */
    uint64_t met;   /* freed by the program: the needs that there were when its last look began; see freed.c */
    MPI_Status status;
    struct tutti_alive *alive;  /* of its buffer, see alive.h; NULL: none */
    struct tutti_request *next; /* among those that are free, or freed by the program */
    UT_hash_handle hh;
    _Alignas(max_align_t) unsigned char own[TUTTI_REQUEST_OWN];
};

/* Entries that a call which waits for all of its requests can skip. MOSTLY: progress() would only look for a message
 * that has probably not arrived, so the call looks in some of its turns. UNTIL_ARRIVED: there is nothing to do before
 * arrived(). RESTS: there is nothing to do there either. */
enum tutti_rests { TUTTI_RESTS_NOT, TUTTI_RESTS_MOSTLY, TUTTI_RESTS_UNTIL_ARRIVED, TUTTI_RESTS };

/* The data of an entry's kind. */
#define TUTTI_REQUEST_OF(type, entry)                                                                                  \
    (__extension__({                                                                                                   \
        _Static_assert(sizeof(type) <= TUTTI_REQUEST_OWN, "entries have room for the data of each kind");              \
        (type *)(void *)(uintptr_t)(entry)->own;                                                                       \
    }))

/* ---- table.c: where entries are ---- */

extern atomic_int tutti_requests_open;
/* 1: the program has begun nonblocking accesses of files, which an MPI may advance in any completing call, by calls
 * that the program could make: these are the MPI's own. */
extern atomic_int tutti_files_advance;

/* 1 if the table is empty: the only cost for programs without such requests. */
static inline int tutti_requests_none(void)
{
    return likely(atomic_load_explicit(&tutti_requests_open, memory_order_relaxed) == 0);
}

/* A new entry, in no table, with the kind's data all 0. NULL without memory. */
struct tutti_request *tutti_request_new(const struct tutti_request_kind *kind, MPI_Request handle, MPI_Comm comm);
/* Frees an entry that is in no table and holds nothing. */
void tutti_request_give(struct tutti_request *entry);
/* Takes the request's chain out; NULL: no chain. The caller puts it back, drops it or frees it. */
struct tutti_request *tutti_request_take(MPI_Request request);
/* The same for n requests: entries[i]. Returns how many have entries. */
int tutti_requests_take(const MPI_Request requests[], int n, struct tutti_request *entries[]);
/* Returns the chain, which stays in the table. */
struct tutti_request *tutti_request_see(MPI_Request request);
/* The same for a call that works on the entries: tutti_requests_look() skips them until the call has left them. */
struct tutti_request *tutti_request_visit(MPI_Request request);
void tutti_request_leave(struct tutti_request *entry);
void tutti_request_back(struct tutti_request *entry);
/* Puts a new entry on top of what the request has. */
void tutti_request_push(struct tutti_request *entry);
/* For all chains, then `end` once (NULL: nothing), with the table's lock held. */
void tutti_requests_each(void (*visit)(struct tutti_request *entry, void *with), void (*end)(void *with), void *with);
/* Nothing is under watch any more. */
void tutti_requests_close(void);

/* ---- chain.c: several entries of one request ---- */

/* Puts a new entry under watch, on top of what the request has. One that is complete already is finished at once: an
 * MPI may use one handle for all such requests, so it cannot be a key. An MPI code. */
int tutti_request_put(struct tutti_request *entry);
/* The same of an entry that was made before its request. */
static inline int tutti_request_begun(struct tutti_request *entry, MPI_Request request)
{
    entry->handle = request;
    return tutti_request_put(entry);
}
/* There was no memory for the entry of an active request: reports it. The memory that its call uses must live until it
 * completes, so that memory is leaked rather than reused too early. An MPI code. */
int tutti_request_lost(MPI_Comm comm);
/* Before a call that lets the MPI complete the request, or look at it: unclaims what began claimed. */
void tutti_request_hand_over(struct tutti_request *entry);
/* 1 if the request outlives its completion. */
int tutti_request_lives(const struct tutti_request *entry);
/* Completed with this status, or failed with this code. An MPI code. */
int tutti_request_deliver(struct tutti_request *entry, MPI_Status *status);
int tutti_request_fail(struct tutti_request *entry, MPI_Status *status, int code);
/* The program has completed a request: persistent entries go back to the table, the others are closed. destroy: all are
 * closed. */
void tutti_request_drop(struct tutti_request *entry);
void tutti_request_destroy(struct tutti_request *entry);

/* 1 if the request is not to be completed yet, as tutti_requests_progress() has found it. */
static inline int tutti_is_coming(const struct tutti_request *entry)
{
    for (; entry; entry = entry->under) {
        if (entry->coming)
            return 1;
    }
    return 0;
}

/* How data of messages are fetched: what can be fetched now; all, with a wait; what can be, by kernels that may still
 * run on return: then the thread makes progress of these requests again, or calls tutti_p2p_land(). BESIDE_ALL: the
 * same for a call that waits for all of the requests, so that those which can hardly have completed are not looked at.
 * BESIDE_LAST: the same where the messages of all of them have arrived. */
enum tutti_fetch_how {
    TUTTI_FETCH_NOW,
    TUTTI_FETCH_ALL,
    TUTTI_FETCH_BESIDE,
    TUTTI_FETCH_BESIDE_ALL,
    TUTTI_FETCH_BESIDE_LAST
};
/* Advances these requests without waiting for other ranks. The entries were taken out; NULL ones are skipped. how: not
 * ALL. */
void tutti_requests_progress(struct tutti_request *const entries[], const MPI_Request requests[], int n,
                             enum tutti_fetch_how how);
/* The same for requests that have completed with these statuses, all together, before they are delivered; statuses[k]
 * is of entries[which[k]], of entries[k] where `which` is NULL. Waits. */
void tutti_requests_arrived(struct tutti_request *const entries[], const int which[], const MPI_Status statuses[],
                            int n);
/* For an entry whose request has completed with this status. 0: its data have not arrived, and the caller calls again.
 * Never waits. */
int tutti_request_fetched(struct tutti_request *entry, const MPI_Status *status);
/* The communicator is being freed: what is under watch raises its errors elsewhere, by the same error handler. */
void tutti_requests_leave(MPI_Comm comm);
/* Looks at all requests that no call works on, with the table's lock held: no call begins with them meanwhile. */
void tutti_requests_look(void);

/* ---- freed.c: requests that the program has freed ---- */

/* Not 0 while this thread holds a lock that the end of a request takes: nothing is swept meanwhile. */
extern __thread int tutti_sweeps_off;
/* The chain was taken out: stays until the request completes. */
void tutti_request_orphan(struct tutti_request *entry);
/* Completes those freed requests that are ready. Used before the return of a call from which the program may conclude
 * that its data have arrived. */
void tutti_requests_sweep(void);
/* Collective over a communicator of Tutti's own of all ranks, in MPI_Finalize: waits for each, but not for those that
 * can never end. seconds: as in struct tutti_wait. */
void tutti_requests_end(MPI_Comm world, long seconds);

static inline int tutti_was_cancelled(const MPI_Status *status)
{
    int cancelled = 0;
    tutti_next.MPI_Test_cancelled(status, &cancelled);
    return cancelled;
}

/* ---- null.c ---- */

/* The MPI has made a persistent message of MPI_PROC_NULL, with this code. Each start is counted under the name `call`.
 * Returns an MPI code. */
int tutti_null_begun(const char *call, MPI_Comm comm, int code, const MPI_Request *request);

#endif
