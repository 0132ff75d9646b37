/* Rounds in which kernels meet. A rank whose buffers are others than at the agreement refuses the round: then no
 * partition can be complete, and all ranks let it go by the schedule. */
#include "core/counters.h"
#include "kernels/meet_args.h"
#include "part/coll/meet.h"

enum { LOOK_POLLS = 64, BLOCKS = 128 };

static void word_store(const struct tutti_pcoll *p, int word)
{
    uint32_t *const marks = tutti_marks_own(tutti_part_engine.worker.node);
    __atomic_store_n(&marks[p->meeting->marks + word], p->meeting->base + p->meeting->round, __ATOMIC_RELEASE);
}

static int is_as_agreed(const struct tutti_pcoll *p)
{
    const struct tutti_meeting *m = p->meeting;
    struct tutti_places in, out;
    return tutti_meet_places(p, &in, &out) && in.id == m->in.id && out.id == m->out.id && in.gpu == m->in.gpu &&
           m->memory->life == tutti_gpu_life(in.gpu);
}

int tutti_pcoll_meet_start(struct tutti_pcoll *p)
{
    struct tutti_meeting *m = p->meeting;
    if (!m)
        return 0;
    m->round++;
    m->attempt = m->state != TUTTI_MEET_YES && m->round == m->next;
    if (m->state != TUTTI_MEET_YES)
        return 0;
    if (!is_as_agreed(p)) {
        word_store(p, TUTTI_MEET_REFUSED);
        m->state = TUTTI_MEET_NO;
        m->attempt = 1;
        return 0;
    }
    m->reached++;
    m->complete = 0;
    atomic_store_explicit(&m->on, 1, memory_order_release);
    return 1;
}

int tutti_pcoll_meet_mark(struct tutti_pcoll *p, int first, int last)
{
    const struct tutti_meeting *m = p->meeting;
    struct tutti_meet_args args = {
        .meet = m->view, .partitions = p->partitions, .first = first, .n = last - first + 1, .blocks = BLOCKS};
    const uint64_t slices = (uint64_t)args.n * (uint64_t)m->view.slices;
    if (slices < args.blocks)
        args.blocks = (uint32_t)slices;
    return tutti_device()->launch.meet(m->stream, &args);
}

static uint32_t word_of(const struct tutti_meeting *m, int rank, int word)
{
    return __atomic_load_n(&m->words[rank][word], __ATOMIC_ACQUIRE);
}

/* 1 if another rank has stored this round's number there. */
static int is_stored(const struct tutti_meeting *m, int rank, int word)
{
    return word_of(m, rank, word) == m->agreement.theirs[rank].base + m->round;
}

static int is_complete(const struct tutti_pcoll *p, int partition)
{
    return word_of(p->meeting, p->args.rank, TUTTI_MEET_WORDS + partition) == p->meeting->reached;
}

int tutti_pcoll_meet_has(const struct tutti_pcoll *p, int partition)
{
    return is_complete(p, partition);
}

void tutti_pcoll_meet_fail(struct tutti_pcoll *p)
{
    word_store(p, TUTTI_MEET_FAILED);
    p->meeting->broken = 1;
    p->meeting->state = TUTTI_MEET_NO;
    p->meeting->next = 0;
}

/* A status of a peer, seldom asked for: the round of one that has died, or has failed, cannot be completed. */
static int peer_status(struct tutti_pcoll *p, int rank)
{
    const struct tutti_meeting *m = p->meeting;
    if (is_stored(m, rank, TUTTI_MEET_FAILED))
        return TUTTI_ERR_BROKEN;
    return tutti_endpoint_watch(tutti_part_engine.worker.endpoint, tutti_meet_peer(p, rank));
}

enum tutti_meet_answer tutti_pcoll_meet_poll(struct tutti_pcoll *p, int *status)
{
    struct tutti_meeting *m = p->meeting;
    while (m->complete < p->partitions && is_complete(p, m->complete))
        m->complete++;
    if (m->complete == p->partitions) {
        tutti_count("partitioned collectives", TUTTI_OUTCOME_LAUNCHED,
                    m->by_kernels ? "met in kernels" : "met in kernels of the engine");
        return TUTTI_MEET_DONE;
    }
    for (int r = 0; r < p->args.size; r++) {
        if (r != p->args.rank && is_stored(m, r, TUTTI_MEET_REFUSED))
            return TUTTI_MEET_SCHEDULE;
    }
    const unsigned look = m->looks++;
    const int rank = (int)(look / LOOK_POLLS % (unsigned)p->args.size);
    if (look % LOOK_POLLS == 0 && rank != p->args.rank && (*status = peer_status(p, rank)) != TUTTI_OK)
        return TUTTI_MEET_LOST;
    return TUTTI_MEET_WAITS;
}

int tutti_pcoll_meet_is_on(const struct tutti_pcoll *p)
{
    return p->meeting && atomic_load_explicit(&p->meeting->on, memory_order_acquire);
}

int tutti_pcoll_meet_see(const struct tutti_pcoll *p, int gpu, struct tutti_meet_seen *out)
{
    const struct tutti_meeting *m = p->meeting;
    if (!tutti_pcoll_meet_is_on(p))
        return 0;
    if (m->in.gpu >= 0 && gpu >= 0 && gpu != m->in.gpu)
        return 0; /* the engine marks what its kernels have made */
    *out = (struct tutti_meet_seen){
        .view = (uint64_t)(uintptr_t)tutti_meet_view(p), .marks = m->view.done[p->args.rank], .reached = m->reached};
    return 1;
}

void tutti_pcoll_meet_end(struct tutti_pcoll *p)
{
    if (p->meeting)
        atomic_store_explicit(&p->meeting->on, 0, memory_order_release);
}

/* The round goes by the schedule after all. */
void tutti_pcoll_meet_leave(struct tutti_pcoll *p)
{
    tutti_pcoll_meet_end(p);
    p->meeting->state = TUTTI_MEET_NO;
    p->meeting->attempt = 1;
}
