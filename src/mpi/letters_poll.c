/* Bringing sends by letters on. */
#include <stdlib.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "mpi/own.h"
#include "mpi/requests.h"
#include "mpi/sent.h"

enum {
    GRACE_NS = 20000,         /* how long the receiver may come first: about what a packing kernel takes */
    GRACE_BYTES = 100,        /* and a nanosecond more for so many bytes */
    GRACE_MAILED_NS = 5000000 /* where the data would have to go through host memory */
};

atomic_int tutti_letters_open;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_sent *all; /* with a mail or data on the way, or not left */

void tutti_sent_destroy(struct tutti_sent *sent)
{
    if (sent->given_up)
        tutti_own_end(0, &sent->request);
    if (sent->tag >= 0 && !sent->borrowed)
        tutti_own_release(sent->tag);
    if (sent->plan)
        tutti_plan_drop(sent->plan);
    free(sent);
}

void tutti_sent_list(struct tutti_sent *sent)
{
    pthread_mutex_lock(&lock);
    sent->next = all;
    all = sent;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add_explicit(&tutti_letters_open, 1, memory_order_relaxed);
}

static int overdue(const struct tutti_sent *sent, uint64_t now)
{
    return now - sent->since > GRACE_NS + sent->patience + sent->bytes / GRACE_BYTES;
}

/* Packs into host memory, from where the MPI carries it when the receiver asks. */
static void mail_data(struct tutti_sent *sent, uint64_t now)
{
    struct tutti_letter *letter = sent->letter;
    if (now - sent->since < GRACE_MAILED_NS + sent->patience || sent->bytes > INT32_MAX ||
        !tutti_letter_win(letter, TUTTI_LETTER_MOVING))
        return;
    sent->pinned = tutti_pinned_take(sent->bytes, &sent->room);
    const struct tutti_pack_job job = tutti_sent_packing(sent, sent->pinned);
    int status = sent->pinned ? tutti_pack_now(tutti_lane_gpu(tutti_lane), &job, 1) : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK &&
        tutti_real.MPI_Isend(sent->pinned, (int)sent->bytes, tutti_handles.byte,
                             tutti_node_world(tutti_door.node, (int)letter->to), tutti_lane_number(tutti_lane, letter),
                             tutti_lane_box, &sent->data) == MPI_SUCCESS) {
        tutti_letter_set(letter, TUTTI_LETTER_MAILED);
        return;
    }
    /* The receiver may still come for it. */
    tutti_pinned_give(sent->pinned, sent->room);
    sent->pinned = NULL;
    tutti_letter_set(letter, TUTTI_LETTER_OFFERED);
}

/* What was offered and not fetched in time goes into scratch, all in one launch. */
static void pack_overdue(uint64_t now)
{
    enum { MOST = 64 };
    struct tutti_pack_job jobs[MOST];
    struct tutti_sent *of[MOST];
    unsigned n = 0;
    for (struct tutti_sent *sent = all; sent && n < MOST; sent = sent->next) {
        if (!sent->letter || !tutti_letter_is(sent->letter, TUTTI_LETTER_OFFERED) || !overdue(sent, now))
            continue;
        void *scratch = tutti_lane_scratch(tutti_lane, sent->letter, sent->bytes);
        if (!scratch)
            mail_data(sent, now);
        if (!scratch || !tutti_letter_win(sent->letter, TUTTI_LETTER_MOVING))
            continue;
        jobs[n] = tutti_sent_packing(sent, scratch);
        of[n++] = sent;
    }
    int status = n ? tutti_pack_now(tutti_lane_gpu(tutti_lane), jobs, n) : TUTTI_OK;
    for (unsigned i = 0; i < n; i++)
        tutti_letter_set(of[i]->letter, status == TUTTI_OK ? TUTTI_LETTER_PACKED : TUTTI_LETTER_OFFERED);
}

/* The data are out of the program's buffer. */
static int has_left(struct tutti_sent *sent)
{
    struct tutti_letter *letter = sent->letter;
    if (!letter)
        return 1;
    uint32_t state = atomic_load_explicit(&letter->state, memory_order_acquire);
    int status = TUTTI_OK;
    if (state == TUTTI_LETTER_OFFERED || state == TUTTI_LETTER_CLAIMED || state == TUTTI_LETTER_MOVING) {
        status = tutti_lane_watch(tutti_lane, (int)letter->to);
        if (status == TUTTI_OK)
            return 0;
        sent->code = tutti_error_code(status);
    }
    tutti_lane_let_go(tutti_lane, letter);
    sent->letter = NULL;
    return 1;
}

/* 1 where a synchronous message will not be received any more. */
static int in_vain(struct tutti_sent *sent)
{
    int status = sent->letter ? tutti_lane_watch(tutti_lane, (int)sent->letter->to) : TUTTI_OK;
    if (status != TUTTI_OK)
        sent->code = tutti_error_code(status);
    return status != TUTTI_OK;
}

static int complete(MPI_Request *request)
{
    int flag = 1;
    if (*request != tutti_handles.no_request && tutti_real.MPI_Test(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        flag = 1;
    return flag;
}

/* 1 where the entry leaves the list. The mail may go later than the data: of one to itself, MPICH says that it has gone
 * when it is received. */
static int step(struct tutti_sent *sent)
{
    int mailed = complete(&sent->mail), carried = complete(&sent->data);
    int waits = !mailed && (!sent->plan || sent->message.mode == TUTTI_SEND_SYNCHRONOUS);
    if (sent->state == TUTTI_SENT_ON_ITS_WAY && (!waits || in_vain(sent)) && has_left(sent)) {
        sent->state = TUTTI_SENT_LEFT;
        atomic_fetch_sub_explicit(&tutti_letters_open, 1, memory_order_relaxed);
        if (sent->tag >= 0)
            tutti_own_complete(sent->tag);
    }
    if (carried && sent->pinned) {
        tutti_pinned_give(sent->pinned, sent->room);
        sent->pinned = NULL;
    }
    return sent->state == TUTTI_SENT_LEFT && mailed && carried;
}

/* The lock is held. */
static void poll_locked(void)
{
    struct tutti_sent **at = &all;
    pack_overdue(tutti_now_ns());
    while (*at) {
        struct tutti_sent *sent = *at;
        if (!step(sent)) {
            at = &sent->next;
            continue;
        }
        *at = sent->next;
        sent->next = NULL;
        if (sent->freed)
            tutti_sent_destroy(sent);
        else
            sent->state = TUTTI_SENT_OUT;
    }
}

void tutti_letters_poll(void)
{
    tutti_far_bring_on();
    if (!tutti_lane || pthread_mutex_trylock(&lock) != 0)
        return;
    TUTTI_INSIDE();
    if (all)
        poll_locked();
    pthread_mutex_unlock(&lock);
    tutti_lane_poll(tutti_lane, 0);
}

int tutti_sent_has_left(struct tutti_sent *sent)
{
    pthread_mutex_lock(&lock);
    int left = sent->state != TUTTI_SENT_ON_ITS_WAY;
    pthread_mutex_unlock(&lock);
    return left;
}

void tutti_sent_let_go(struct tutti_sent *sent)
{
    pthread_mutex_lock(&lock);
    int out = sent->state == TUTTI_SENT_OUT;
    sent->freed = 1;
    pthread_mutex_unlock(&lock);
    if (out)
        tutti_sent_destroy(sent);
}

void tutti_letters_end(void)
{
    uint64_t limit = tutti_now_ns() + (uint64_t)tutti_settings()->timeout_seconds * 1000000000u;
    unsigned rounds = 0;
    while (((tutti_lane && all) || tutti_far_busy()) && tutti_now_ns() < limit) {
        tutti_letters_poll();
        tutti_nonblocking_pause(&rounds);
    }
}
