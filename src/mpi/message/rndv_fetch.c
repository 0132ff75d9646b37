/* Fetching the data of rendezvous: from the sender's buffer, piece after piece out of its scratch, or part after part
 * from the MPI. Kernels of the GPU that holds the receiver's buffer fetch them. Where that GPU reaches nothing of the
 * sender's, or the buffer is on the host, another GPU that the program has used takes them into pinned memory. */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/log.h"
#include "mpi/message/rndv_recv.h"
#include "mpi/real/errors.h"
#include "p2p/rendezvous.h"

enum { MOST = 64, THROUGH_HOST = 16 << 20 }; /* bytes at a time that pass through pinned memory here */

/* One rendezvous while it is fetched. */
struct fetch {
    struct tutti_recv_request *recv;
    struct tutti_stage *stage;
    struct tutti_rndv *rndv;
    struct tutti_mapping *held;
    enum tutti_rndv_state state;   /* that it is moved on from: GETTING, BOUNCE, AM */
    int gpu;                       /* whose kernels fetch it */
    const struct tutti_plan *from; /* of the sender; held */
    uint64_t pieces;               /* that the job takes */
};

static void fail(struct tutti_recv_request *recv, int code)
{
    recv->state = TUTTI_RECV_FAILED;
    recv->code = code;
}

static void let_go(struct fetch *f)
{
    tutti_endpoint_release(tutti_endpoint, f->held);
    f->held = NULL;
    if (f->from)
        tutti_plan_drop(f->from);
    f->from = NULL;
}

/* All of the message is there, or has failed. The rendezvous leaves its state once: its owner may use it again at once.
 */
static void end_fetch(struct fetch *f, int status)
{
    let_go(f);
    free(f->recv->assembly);
    f->recv->assembly = NULL;
    if (status == TUTTI_OK)
        f->recv->state = TUTTI_RECV_FETCHED;
    else
        fail(f->recv, tutti_error_code(status));
    tutti_rndv_move(f->rndv, f->state, TUTTI_RNDV_ATS);
}

/* ---- fetched by kernels ---- */

/* The GPUs to fetch by, the best first: that of the buffer, then those that the program has used. */
static int candidates(const struct tutti_recv_request *recv, int gpus[])
{
    int all[TUTTI_ENDPOINT_GPUS], n = 0;
    const struct tutti_places *places = &recv->places;
    if (recv->plan && places->device && tutti_places_reached(places) &&
        tutti_endpoint_use(tutti_endpoint, places->gpu) >= 0)
        gpus[n++] = places->gpu;
    const int known = tutti_endpoint_gpus(tutti_endpoint, all);
    for (int i = 0; i < known; i++) {
        if (n == 0 || all[i] != gpus[0])
            gpus[n++] = all[i];
    }
    return n;
}

/* 1 where the receiver's buffer lies on f->gpu. Kernels reach pinned memory too, but copy engines fill it faster. */
static int is_direct(const struct fetch *f)
{
    const struct tutti_places *places = &f->recv->places;
    return f->recv->plan && places->device && tutti_places_reached(places) &&
           (places->gpu < 0 || places->gpu == f->gpu);
}

/* 1 where a copy engine can store packed bytes into the receiver's buffer as they come. */
static int is_copied(const struct fetch *f, const struct tutti_endpoint_layout *layout)
{
    const struct tutti_places *places = &f->recv->places;
    return f->recv->plan && f->recv->whole && !layout->plan && !places->host && !places->spread;
}

/* `job` reads bytes [first, first + bytes) of the message, in the layout of `layout` where that has a plan, otherwise
 * packed, from `data` on; it stores them into the buffer. */
static void fill_job(const struct fetch *f, const struct tutti_endpoint_layout *layout, char *data, uint64_t first,
                     uint64_t bytes, struct tutti_pack_job *job)
{
    const struct tutti_recv_request *recv = f->recv;
    char *to = recv->buffer;
    *job = (struct tutti_pack_job){.first = first, .bytes = bytes};
    if (!layout->plan) {
        job->direction = TUTTI_UNPACK;
        job->plan = recv->plan;
        job->count = (uint64_t)recv->count;
        job->memory = to;
        job->packed = data;
        return;
    }
    job->plan = layout->plan;
    job->count = layout->count;
    job->memory = layout->memory;
    if (recv->whole) {
        job->direction = TUTTI_PACK;
        job->packed = to + recv->plan->true_lower + first;
    } else {
        job->direction = TUTTI_RELAYOUT;
        job->to_plan = recv->plan;
        job->to_count = (recv->rts.bytes + recv->plan->size - 1) / recv->plan->size;
        job->to = to;
    }
}

/* The same by way of pinned memory, at once. */
static int through_host(struct fetch *f, const struct tutti_endpoint_layout *layout, char *data, uint64_t first,
                        uint64_t bytes)
{
    const uint64_t most = f->recv->plan && bytes > THROUGH_HOST ? THROUGH_HOST : bytes;
    struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, most);
    int status = bounce ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (uint64_t done = 0; done < bytes && status == TUTTI_OK; done += most) {
        const uint64_t n = bytes - done < most ? bytes - done : most;
        const struct tutti_pack_job job = {.direction = TUTTI_PACK,
                                           .plan = layout->plan,
                                           .count = layout->count,
                                           .memory = layout->memory,
                                           .packed = bounce->memory,
                                           .first = first + done,
                                           .bytes = n};
        status = layout->plan ? tutti_pack_now(f->gpu, &job, 1)
                              : tutti_door.device->copy_now(bounce->memory, data + done, n);
        if (status == TUTTI_OK)
            status = tutti_recv_store(f->recv, f->stage, bounce->memory, first + done, n);
    }
    tutti_bounce_give(bounce);
    return status;
}

/* 1: `job` is to be run; TUTTI_OK: the bytes are there; negative: a status. */
static int move(struct fetch *f, const struct tutti_endpoint_layout *layout, char *data, uint64_t first, uint64_t bytes,
                struct tutti_pack_job *job)
{
    if (!is_direct(f) && is_copied(f, layout))
        return tutti_door.device->copy_now((char *)f->recv->buffer + f->recv->plan->true_lower + first, data, bytes);
    if (!is_direct(f))
        return through_host(f, layout, data, first, bytes);
    fill_job(f, layout, data, first, bytes, job);
    return 1;
}

/* Offered in the sender's buffer. As begin() returns. */
static int begin_get(struct fetch *f, const int *gpus, int n, struct tutti_pack_job *job)
{
    struct tutti_recv_request *recv = f->recv;
    const int peer = recv->rts.rank;
    char *data = NULL;
    enum tutti_reaching there = TUTTI_REACH_NOT;
    for (int i = 0; i < n && there == TUTTI_REACH_NOT && !recv->demanded; i++) {
        there = tutti_endpoint_reach(tutti_endpoint, peer, f->rndv, f->gpu = gpus[i], recv->rts.bytes, &data, &f->held);
    }
    if (there == TUTTI_REACH_NOT) {
        recv->demanded = 1;
        tutti_endpoint_demand(tutti_endpoint, peer, f->rndv, gpus, n);
    }
    if (there != TUTTI_REACHED || !tutti_rndv_win(f->rndv, TUTTI_RNDV_GETTING)) {
        let_go(f);
        return 0;
    }
    f->state = TUTTI_RNDV_GETTING;
    struct tutti_endpoint_layout layout = {.plan = NULL};
    int status = f->rndv->layout_bytes > 0
                     ? tutti_endpoint_layout(tutti_endpoint, peer, f->rndv, f->held, data, recv->rts.bytes, &layout)
                     : TUTTI_OK;
    f->from = layout.plan;
    if (status == TUTTI_OK)
        status = move(f, &layout, data, 0, recv->rts.bytes, job);
    if (status == 1)
        return 1;
    end_fetch(f, status);
    return -1;
}

/* Those pieces are taken. 1: they were the last. */
static int took(struct fetch *f)
{
    f->recv->taken += f->pieces;
    atomic_store_explicit(&f->rndv->taken, f->recv->taken, memory_order_release);
    return f->recv->taken == tutti_pieces(f->recv->rts.bytes, f->rndv->piece);
}

/* Where the pieces are, for the first of these GPUs that reaches them. One has the scratch mapped. The sender may have
 * gone on to what it does not send descriptors from. */
static enum tutti_reaching find_pieces(struct fetch *f, const int *gpus, int n, struct tutti_endpoint_run *run)
{
    const struct tutti_recv_request *recv = f->recv;
    enum tutti_reaching there = TUTTI_REACH_NOT;
    int later = 0;
    for (int i = 0; i < n && there != TUTTI_REACHED; i++) {
        there = tutti_endpoint_pieces(tutti_endpoint, recv->rts.rank, f->rndv, f->gpu = gpus[i], recv->rts.bytes,
                                      recv->taken, run);
        later |= there == TUTTI_REACH_LATER;
    }
    return there != TUTTI_REACHED && later ? TUTTI_REACH_LATER : there;
}

/* The sender has packed them when this process had mapped its scratch, for a GPU that the program has reset since: that
 * one is worked on once more, since nobody else has the data. */
static enum tutti_reaching find_after_reset(struct fetch *f, struct tutti_endpoint_run *run)
{
    int gpus[TUTTI_ENDPOINT_GPUS];
    const int n = tutti_endpoint_reset_gpus(tutti_endpoint, gpus);
    for (int i = 0; i < n; i++)
        tutti_endpoint_use(tutti_endpoint, gpus[i]);
    const enum tutti_reaching there = find_pieces(f, gpus, n, run);
    if (there == TUTTI_REACH_NOT)
        tutti_error("a message from rank %d cannot be taken: it lies in memory of a GPU that no GPU of this process "
                    "reaches",
                    tutti_node_world(tutti_door.node, f->recv->rts.rank));
    return there;
}

/* In the sender's scratch. As begin() returns. */
static int begin_pieces(struct fetch *f, const int *gpus, int n, struct tutti_pack_job *job)
{
    static const struct tutti_endpoint_layout packed;
    struct tutti_recv_request *recv = f->recv;
    struct tutti_endpoint_run run;
    f->state = TUTTI_RNDV_BOUNCE;
    enum tutti_reaching there = find_pieces(f, gpus, n, &run);
    if (there == TUTTI_REACH_NOT)
        there = find_after_reset(f, &run);
    if (there == TUTTI_REACH_LATER)
        return 0;
    if (recv->taken == 0)
        tutti_endpoint_meet(tutti_endpoint, recv->rts.rank, f->rndv, f->gpu);
    int status = there == TUTTI_REACHED ? move(f, &packed, run.data, run.first, run.bytes, job) : TUTTI_ERR_ARGUMENT;
    f->pieces = there == TUTTI_REACHED ? run.pieces : 0;
    if (status == 1)
        return 1;
    if (status == TUTTI_OK && !took(f))
        return 0;
    end_fetch(f, status);
    return -1;
}

/* The message is too long for the buffer: its sender is let go. 0: later. */
static int drop(struct fetch *f)
{
    const uint32_t state = atomic_load_explicit(&f->rndv->state, memory_order_acquire);
    if (state == TUTTI_RNDV_AM && tutti_recv_parts(f->recv, f->stage, 0) == 0)
        return 0;
    if (state != TUTTI_RNDV_GET && state != TUTTI_RNDV_BOUNCE && state != TUTTI_RNDV_AM)
        return 0;
    if (!tutti_rndv_move(f->rndv, (enum tutti_rndv_state)state, TUTTI_RNDV_ATS))
        return 0;
    fail(f->recv, MPI_ERR_TRUNCATE);
    return -1;
}

/* Takes the rendezvous as far as it can be taken now. 1: `job` is to be run on f->gpu; 0: later; -1: it is done, or has
 * failed. */
static int begin(struct fetch *f, struct tutti_pack_job *job)
{
    struct tutti_recv_request *recv = f->recv;
    const struct tutti_rts_head *rts = &recv->rts;
    int gpus[TUTTI_ENDPOINT_GPUS + 1], status;
    f->rndv = tutti_endpoint_find(tutti_endpoint, rts->rank, rts->number, rts->sequence);
    if (!f->rndv) {
        tutti_error(
            "a message from rank %d of this node is lost: its rendezvous is gone (its RTS is old, or a duplicate)",
            rts->rank);
        fail(recv, tutti_error_code(TUTTI_ERR_MISMATCH));
        return -1;
    }
    if (rts->bytes > recv->capacity)
        return drop(f);
    if (recv->plan && !recv->placed) {
        tutti_places_of(recv->plan, recv->count, recv->buffer, &recv->places);
        recv->placed = 1;
    }
    switch (atomic_load_explicit(&f->rndv->state, memory_order_acquire)) {
    case TUTTI_RNDV_GET:
        return begin_get(f, gpus, candidates(recv, gpus), job);
    case TUTTI_RNDV_BOUNCE:
        return begin_pieces(f, gpus, candidates(recv, gpus), job);
    case TUTTI_RNDV_AM:
        f->state = TUTTI_RNDV_AM;
        if ((status = tutti_recv_parts(f->recv, f->stage, 1)) == 0)
            return 0;
        end_fetch(f, status == 1 ? TUTTI_OK : status);
        return -1;
    default:
        return 0;
    }
}

/* One launch for each GPU. Returns how many are not at their end. */
static unsigned run(struct fetch *fetches, struct tutti_pack_job *jobs, unsigned n)
{
    unsigned left = 0;
    for (unsigned done = 0; done < n;) {
        struct tutti_pack_job together[MOST];
        struct fetch *of[MOST];
        unsigned used = 0;
        for (unsigned i = 0; i < n; i++) {
            if (!fetches[i].recv || (used > 0 && fetches[i].gpu != of[0]->gpu))
                continue;
            together[used] = jobs[i];
            of[used++] = &fetches[i];
        }
        const int status = tutti_pack_now(of[0]->gpu, together, used);
        for (unsigned k = 0; k < used; k++) {
            if (status == TUTTI_OK && of[k]->state == TUTTI_RNDV_BOUNCE && !took(of[k])) {
                let_go(of[k]);
                left++;
            } else {
                end_fetch(of[k], status);
            }
            of[k]->recv = NULL;
        }
        done += used;
    }
    return left;
}

struct fetching {
    struct tutti_recv_request *const *recvs;
    struct tutti_stage *const *stages;
    int n;
};

/* Fetches what can be fetched now. 1: nothing is left. */
static int fetch(void *with)
{
    struct fetch fetches[MOST];
    struct tutti_pack_job jobs[MOST];
    const struct fetching *all = with;
    unsigned used = 0, left = 0;
    for (int i = 0; i < all->n; i++) {
        struct tutti_recv_request *recv = all->recvs[i];
        if (recv->state != TUTTI_RECV_RNDV)
            continue;
        if (used == MOST) {
            left++;
            continue;
        }
        fetches[used] = (struct fetch){.recv = recv, .stage = all->stages[i]};
        int what = begin(&fetches[used], &jobs[used]);
        used += what == 1;
        if (what == 0 && tutti_endpoint_watch(tutti_endpoint, recv->rts.rank) != TUTTI_OK)
            fail(recv, tutti_error_code(TUTTI_ERR_PEER));
        else
            left += what == 0;
    }
    if (used)
        left += run(fetches, jobs, used);
    return left == 0;
}

void tutti_recv_fetch(struct tutti_recv_request *const recvs[], struct tutti_stage *const stages[], int n, int wait)
{
    struct fetching all = {recvs, stages, n};
    TUTTI_INSIDE();
    tutti_far_fetch(recvs, stages, n, wait);
    if (!fetch(&all) && wait) /* their owners may wait in the same way for messages of this rank */
        tutti_progress_wait(
            &(const struct tutti_wait){.done = fetch, .with = &all, .what = "for the data of a message of the node"});
}
