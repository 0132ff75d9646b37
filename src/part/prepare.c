/* MPIX_Pbuf_prepare: the sender waits until the receive of this round has been started. The receiver sends PREPARED
 * when it prepares. A sender that waits asks once; from then on the receiver also sends PREPARED whenever a round
 * starts. So a sender needs the MPI_Start of its receiver alone, and ranks may prepare their requests in any order.
 * While the offer of the receiver's buffer stays the same, a mark in shared memory takes the place of the message. */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/settings.h"
#include "part/own.h"
#include "team/node.h"

/* Ranks that run beside each other prepare within this time: a look at a mark takes a tenth of a poll of the engine. */
enum { PREPARE_LOOKS_NS = 2000 };

/* What the sender of a request knows: the last round that its receiver has started. A message may arrive before the
 * sender prepares. */
static struct prepared {
    uint64_t id, round;
    struct tutti_part_offer offer; /* of `round` */
    int asked;
    UT_hash_handle hh;
} * all;

static struct prepared *prepared_of(uint64_t id)
{
    struct prepared *one;
    HASH_FIND(hh, all, &id, sizeof id, one);
    if (!one && (one = calloc(1, sizeof *one))) {
        one->id = id;
        HASH_ADD(hh, all, id, sizeof one->id, one);
    }
    return one;
}

/* Tells the sender that this round has been started, once. The request may be freed before the message is sent. A
 * status. */
static int prepare_tell(struct tutti_part *part)
{
    const struct tutti_part_record *record = part->record;
    struct tutti_part_head head = {.way = TUTTI_PART_PREPARED, .id = record->of.id, .round = part->round};
    struct tutti_part_offer offer;
    if (part->prepared == part->round)
        return TUTTI_OK;
    part->prepared = part->round;
    if (!tutti_part_put_offer(part, &offer)) {
        if (part->put)
            tutti_part_put_forget(part);
        return tutti_part_channel_send((int)record->of.source, &head, NULL);
    }
    if (tutti_part_put_offer_again(part, &offer))
        return TUTTI_OK;
    head.bytes = sizeof offer;
    return tutti_part_channel_send_more((int)record->of.source, &head, &offer);
}

int tutti_part_prepare_started(struct tutti_part *part)
{
    return part->record && part->record->asked ? prepare_tell(part) : TUTTI_OK;
}

static void prepare_note(const struct tutti_part_head *head, const void *data)
{
    struct prepared *one = prepared_of(head->id);
    if (!one)
        return;
    one->round = head->round;
    one->offer.share.shared = 0;
    if (head->bytes == sizeof one->offer)
        memcpy(&one->offer, data, sizeof one->offer);
}

void tutti_part_prepare_message(int source, const struct tutti_part_head *head, const void *data)
{
    if (head->way == TUTTI_PART_PREPARED) {
        prepare_note(head, data);
        return;
    }
    struct tutti_part_record *record = tutti_part_record_of(source, head->id);
    if (!record)
        return;
    record->asked = 1;
    if (record->receive && record->receive->round > 0)
        tutti_part_fail(record->receive, prepare_tell(record->receive));
}

/* 1 if the receiver has started this round. */
static int prepared_look(struct prepared *one, const struct tutti_part *part)
{
    if (one->round < part->round && tutti_part_put_is_offered(part, &one->offer))
        one->round = part->round;
    return one->round >= part->round;
}

const struct tutti_part_offer *tutti_part_prepare_offer(const struct tutti_part *part)
{
    struct prepared *one;
    HASH_FIND(hh, all, &part->id, sizeof part->id, one);
    return one && prepared_look(one, part) && one->round == part->round && one->offer.share.shared ? &one->offer : NULL;
}

void tutti_part_prepare_forget(uint64_t id)
{
    struct prepared *one;
    HASH_FIND(hh, all, &id, sizeof id, one);
    if (one) {
        HASH_DEL(all, one);
        free(one);
    }
}

void tutti_part_prepare_close(void)
{
    struct prepared *one, *next;
    HASH_ITER(hh, all, one, next)
    {
        HASH_DEL(all, one);
        free(one);
    }
}

/* 1: done; 0: not yet. A status. */
static int prepare_receive(struct tutti_part *part)
{
    if (!part->record)
        return 0;
    const int status = prepare_tell(part);
    return status == TUTTI_OK ? 1 : status;
}

static int prepare_send(struct tutti_part *part)
{
    struct prepared *one = prepared_of(part->id);
    if (!one)
        return TUTTI_ERR_MEMORY;
    if (prepared_look(one, part))
        return tutti_part_put_accept(part, tutti_part_prepare_offer(part));
    if (one->asked)
        return 0;
    one->asked = 1;
    const struct tutti_part_head head = {.way = TUTTI_PART_ASK, .id = part->id, .round = part->round};
    return tutti_part_channel_send(part->args.peer, &head, NULL);
}

/* 1 if a wait of this rank may spin: each rank of the node has a core. */
static int prepare_may_spin(void)
{
    const int how = tutti_settings()->wait;
    const struct tutti_node *node = tutti_part_engine.worker.node;
    return how == TUTTI_SET_WAIT_SPIN || (how == TUTTI_SET_WAIT_AUTO && node && node->size < node->cores);
}

/* All requests of a call. */
struct preparing {
    struct tutti_part *const *part;
    int n;
    int looks; /* 1: what is missing will be marks, unless a receiver's buffer has changed */
};

/* 1 if the receiver has set a mark for a round before, in place of a message. */
static int prepare_sees_mark(const struct tutti_part *part)
{
    struct prepared *one;
    HASH_FIND(hh, all, &part->id, sizeof part->id, one);
    return part->args.send && one && one->offer.share.shared;
}

static int preparing_done(void *with)
{
    struct preparing *p = with;
    int all_done = 1;
    p->looks = 1;
    pthread_mutex_lock(&tutti_part_engine.lock);
    for (int i = 0; i < p->n && all_done >= 0; i++) { /* each receiver tells its sender, and each
                                                             sender asks, whatever the others wait for */
        struct tutti_part *part = p->part[i];
        if (part->args.peer < 0 || part->status != TUTTI_OK)
            continue;
        const int done = part->args.send ? prepare_send(part) : prepare_receive(part);
        all_done = done < 0 ? done : all_done && done;
        p->looks &= done != 0 || prepare_sees_mark(part);
    }
    pthread_mutex_unlock(&tutti_part_engine.lock);
    return all_done;
}

int tutti_part_prepare(struct tutti_part *const parts[], int n)
{
    struct preparing p = {.part = parts, .n = n};
    int status = TUTTI_OK, done;
    pthread_mutex_lock(&tutti_part_engine.lock);
    if (n > 0)
        status = tutti_part_channel_listen(); /* a sender alone expects no message otherwise */
    pthread_mutex_unlock(&tutti_part_engine.lock);
    if (status != TUTTI_OK)
        return status;
    const uint64_t until = tutti_now_ns() + PREPARE_LOOKS_NS;
    while ((done = preparing_done(&p)) == 0 && p.looks && prepare_may_spin() && tutti_now_ns() < until)
        ;
    if (done != 0)
        return done > 0 ? TUTTI_OK : done;
    tutti_step_open(&tutti_part_engine.step); /* the rounds may have ended: then nothing else polls the channel */
    status = tutti_progress_wait(&(const struct tutti_wait){.done = preparing_done,
                                                            .with = &p,
                                                            .what = "for the other side, in MPIX_Pbuf_prepare",
                                                            .seconds = tutti_settings()->timeout_seconds,
                                                            .watched = 1});
    tutti_step_close(&tutti_part_engine.step);
    return status;
}
