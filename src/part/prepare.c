/* MPIX_Pbuf_prepare: both sides of a message meet in a round. The receiver, once it is matched, tells the sender that
 * its buffer is ready; the sender waits for that. The first time this is also where the two requests find each other.
 */
#include <stdlib.h>

#include "core/settings.h"
#include "part/own.h"

/* What the sender of a request knows: the last round for which its receiver was ready. A message may come before the
 * sender asks. */
static struct prepared {
    uint64_t id, round;
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

void tutti_part_prepare_message(const struct tutti_part_head *head)
{
    struct prepared *one = prepared_of(head->id);
    if (one)
        one->round = head->round;
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
    const struct tutti_part_record *record = part->record;
    if (part->prepared == part->round)
        return 1;
    if (!record)
        return 0;
    const struct tutti_part_head head = {.way = TUTTI_PART_PREPARED, .id = record->of.id, .round = part->round};
    const int status = tutti_part_channel_send((int)record->of.source, &head, part);
    part->prepared = part->round;
    return status == TUTTI_OK ? 1 : status;
}

static int prepare_send(struct tutti_part *part)
{
    const struct prepared *one = prepared_of(part->id);
    return !one ? TUTTI_ERR_MEMORY : one->round >= part->round;
}

/* All requests of a call. */
struct preparing {
    struct tutti_part *const *part;
    int n;
};

static int preparing_done(void *with)
{
    const struct preparing *p = with;
    int all_done = 1;
    pthread_mutex_lock(&tutti_part_engine.lock);
    for (int i = 0; i < p->n && all_done >= 0; i++) { /* each receiver tells its sender, whatever the others wait for */
        struct tutti_part *part = p->part[i];
        if (part->args.peer < 0 || part->status != TUTTI_OK)
            continue;
        const int done = part->args.send ? prepare_send(part) : prepare_receive(part);
        all_done = done < 0 ? done : all_done && done;
    }
    pthread_mutex_unlock(&tutti_part_engine.lock);
    return all_done;
}

int tutti_part_prepare(struct tutti_part *const parts[], int n)
{
    struct preparing p = {.part = parts, .n = n};
    int status = TUTTI_OK;
    pthread_mutex_lock(&tutti_part_engine.lock);
    for (int i = 0; i < n; i++) {
        if (!atomic_load_explicit(&parts[i]->active, memory_order_relaxed))
            status = TUTTI_ERR_ARGUMENT;
    }
    if (status == TUTTI_OK && n > 0)
        status = tutti_part_channel_listen(); /* a sender alone expects no message otherwise */
    pthread_mutex_unlock(&tutti_part_engine.lock);
    if (status != TUTTI_OK)
        return status;
    return tutti_progress_wait(&(const struct tutti_wait){.done = preparing_done,
                                                          .with = &p,
                                                          .what = "for the other side, in MPIX_Pbuf_prepare",
                                                          .seconds = tutti_settings()->timeout_seconds,
                                                          .watched = 1});
}
