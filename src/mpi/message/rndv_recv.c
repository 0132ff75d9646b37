#include "mpi/message/rndv_recv.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/reserve.h"
#include "core/settings.h"
#include "mpi/message/rndv.h"
#include "mpi/real/errors.h"
#include "mpi/real/lent.h"

int tutti_recv_open(struct tutti_recv_request *recv, const void *buffer, MPI_Count count, MPI_Datatype type,
                    MPI_Comm comm)
{
    *recv =
        (struct tutti_recv_request){.buffer = (void *)(uintptr_t)buffer, .count = count, .type = type, .comm = comm};
    if ((!tutti_endpoint && !tutti_far_on) || count <= 0 || type == tutti_handles.no_type || tutti_inside)
        return 0;
    const int active = tutti_door.device && tutti_door.device->active();
    if (tutti_endpoint && active)
        tutti_endpoints_poll(buffer, 0);
    uint64_t least = tutti_endpoint && tutti_endpoint_listens(tutti_endpoint) ? TUTTI_RTS_BYTES : tutti_endpoint_least;
    if ((active || tutti_far_hears()) && tutti_far_on && least > TUTTI_FAR_RTS_BYTES)
        least = TUTTI_FAR_RTS_BYTES;
    struct tutti_layout *layout = tutti_layout_of(type);
    if (!layout || __builtin_mul_overflow((uint64_t)count, (uint64_t)layout->size, &recv->capacity) ||
        recv->capacity < least)
        return 0;
    recv->size = layout->size;
    recv->extent = layout->extent;
    recv->whole = layout->in_order && (layout->solid || count == 1);
    if (layout->plan)
        recv->plan = tutti_plan_hold(layout->plan);
    else if (layout->derived && !tutti_type_hold(type))
        return 0;
    recv->own_type = !layout->plan && layout->derived;
    return 1;
}

void tutti_recv_close(struct tutti_recv_request *recv)
{
    if (recv->plan)
        tutti_plan_drop(recv->plan);
    recv->plan = NULL;
    if (recv->own_type)
        tutti_type_let_go(recv->type);
    recv->own_type = 0;
}

struct tutti_recv_request *tutti_recv_new(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm)
{
    struct tutti_recv_request made, *recv;
    if (!tutti_recv_open(&made, buffer, count, type, comm))
        return NULL;
    static struct tutti_reserve reserve;
    if (!(recv = tutti_reserve_take(&reserve, sizeof *recv))) {
        tutti_error("out of memory: messages from ranks of this node may be lost (TUTTI_MESSAGES=mpi does without)");
        tutti_recv_close(&made);
        return NULL;
    }
    *recv = made;
    return recv;
}

void tutti_recv_free(struct tutti_recv_request *recv)
{
    if (recv)
        tutti_recv_close(recv);
    free(recv);
}

/* ---- is it an RTS? ---- */

/* The first bytes of what the MPI has received. */
static int first_bytes(const struct tutti_recv_request *recv, const struct tutti_stage *stage, unsigned char *out)
{
    const void *at = stage->staged ? stage->host : recv->buffer;
    if (stage->staged && (stage->packed || stage->prefix)) {
        memcpy(out, stage->memory, TUTTI_RTS_BYTES);
        return 1;
    }
    if (recv->plan) {
        tutti_plan_pack_host(recv->plan, (uint64_t)recv->count, at, 0, TUTTI_RTS_BYTES, out);
        return 1;
    }
    MPI_Count size = recv->size, few = size > 0 ? (TUTTI_RTS_BYTES + size - 1) / size : 0;
    if (few <= 0 || few > recv->count || few * size > INT_MAX)
        return 0;
    int position = 0;
    char *packed = malloc((size_t)(few * size));
    int fine = packed && tutti_real.MPI_Pack(at, (int)few, recv->type, packed, (int)(few * size), &position,
                                             tutti_handles.self) == MPI_SUCCESS;
    if (fine)
        memcpy(out, packed, TUTTI_RTS_BYTES);
    free(packed);
    return fine;
}

void tutti_recv_arrived(struct tutti_recv_request *recv, const struct tutti_stage *stage, const MPI_Status *status)
{
    unsigned char text[TUTTI_RTS_BYTES];
    uint64_t key[2];
    TUTTI_INSIDE();
    recv->state = TUTTI_RECV_PLAIN;
    const MPI_Count bytes = tutti_received(status);
    if (tutti_far_on && bytes == TUTTI_FAR_RTS_BYTES && first_bytes(recv, stage, text)) {
        memcpy(&recv->far_rts, text, sizeof recv->far_rts);
        if (tutti_far_is_rts(&recv->far_rts)) {
            recv->rts.bytes = recv->far_rts.bytes;
            recv->state = TUTTI_RECV_FAR;
        }
        return;
    }
    if (!tutti_endpoint || bytes != TUTTI_RTS_BYTES || !first_bytes(recv, stage, text))
        return;
    memcpy(&recv->rts, text, sizeof recv->rts);
    tutti_node_key(tutti_door.node, key);
    if (memcmp(recv->rts.key, key, sizeof key) == 0)
        recv->state = TUTTI_RECV_RNDV;
}

/* ---- fetching ---- */

/* One rendezvous while it is fetched. */
struct fetch {
    struct tutti_recv_request *recv;
    struct tutti_stage *stage;
    struct tutti_rndv *rndv;
    struct tutti_mapping *held;
    int offered;                   /* the data lie in the sender's buffer */
    const struct tutti_plan *from; /* of the sender; held */
    struct tutti_bounce *bounce;   /* pinned: where kernels do not reach the buffer */
};

static void fail(struct tutti_recv_request *recv, int code)
{
    recv->state = TUTTI_RECV_FAILED;
    recv->code = code;
}

static void end_fetch(struct fetch *f, int status)
{
    tutti_endpoint_release(tutti_endpoint, f->held);
    if (f->from)
        tutti_plan_drop(f->from);
    tutti_bounce_give(f->bounce);
    if (status == TUTTI_OK)
        f->recv->state = TUTTI_RECV_FETCHED;
    else
        fail(f->recv, tutti_error_code(status));
    tutti_rndv_set(f->rndv, TUTTI_RNDV_ATS);
}

int tutti_recv_unpack(const struct tutti_recv_request *recv, struct tutti_stage *stage, char *packed)
{
    const uint64_t bytes = recv->rts.bytes;
    if (recv->plan) {
        struct tutti_places places;
        tutti_places_of(recv->plan, recv->count, recv->buffer, &places);
        if (!places.device) {
            tutti_plan_unpack_host(recv->plan, (uint64_t)recv->count, recv->buffer, 0, bytes, packed);
            return TUTTI_OK;
        }
        return tutti_packed_move(TUTTI_UNPACK, &places, recv->plan, recv->count, recv->buffer, 0, bytes, packed);
    }
    MPI_Count extent = recv->extent, size = recv->size;
    char *to = stage->staged ? stage->host : recv->buffer;
    for (uint64_t e = 0; e * (uint64_t)size < bytes; e++) {
        int position = 0;
        if (size > INT_MAX ||
            tutti_real.MPI_Unpack(packed + e * (uint64_t)size, (int)size, &position, to + (MPI_Count)e * extent, 1,
                                  recv->type, tutti_handles.self) != MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
    }
    return stage->staged ? tutti_stage_out(stage, (MPI_Count)bytes) : TUTTI_OK;
}

static int unpack(const struct fetch *f, char *packed)
{
    return tutti_recv_unpack(f->recv, f->stage, packed);
}

/* Data that the MPI carries, on the communicator of the endpoints. */
struct tutti_rndv_am {
    MPI_Request request;
    struct tutti_bounce *packed; /* pinned */
};

static void end_am(struct tutti_recv_request *recv)
{
    tutti_bounce_give(recv->am->packed);
    free(recv->am);
    recv->am = NULL;
}

static int begin_am(struct tutti_recv_request *recv)
{
    const struct tutti_rts_head *rts = &recv->rts;
    if (rts->bytes > INT_MAX || !(recv->am = calloc(1, sizeof *recv->am)))
        return TUTTI_ERR_MEMORY;
    struct tutti_rndv_am *am = recv->am;
    am->packed = tutti_bounce_take(&tutti_bounce_pinned, -1, rts->bytes);
    int status = am->packed ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK && tutti_real.MPI_Irecv(am->packed->memory, (int)rts->bytes, tutti_handles.byte,
                                                   tutti_node_world(tutti_door.node, rts->rank), rts->number,
                                                   tutti_endpoint_box, &am->request) != MPI_SUCCESS)
        status = TUTTI_ERR_TRANSPORT;
    if (status != TUTTI_OK)
        end_am(recv);
    return status;
}

/* Does not wait. 1: all has come, into recv->am; 0: not yet; negative: a status. */
static int receive_am(struct tutti_recv_request *recv)
{
    int flag = 0, status = recv->am ? TUTTI_OK : begin_am(recv);
    if (status != TUTTI_OK)
        return status;
    return tutti_real.MPI_Test(&recv->am->request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS ? flag
                                                                                            : TUTTI_ERR_TRANSPORT;
}

static int reachable(const struct tutti_recv_request *recv)
{
    int gpu = tutti_endpoint_gpu(tutti_endpoint);
    return recv->plan && tutti_places_reached(&recv->places) &&
           (gpu < 0 || recv->places.gpu < 0 || recv->places.gpu == gpu);
}

/* What a kernel has to do, from `data`. The endpoints' GPU reaches that. */
static int job_of(struct fetch *f, char *data, struct tutti_pack_job *job)
{
    struct tutti_recv_request *recv = f->recv;
    const uint64_t bytes = recv->rts.bytes;
    const int laid_out = f->offered && f->rndv->layout_bytes > 0;
    if (recv->plan && !recv->placed)
        tutti_places_of(recv->plan, recv->count, recv->buffer, &recv->places);
    const int direct = reachable(recv);
    char *to = recv->buffer;
    struct tutti_endpoint_layout layout = {.plan = NULL};
    int status = laid_out
                     ? tutti_endpoint_layout(tutti_endpoint, recv->rts.rank, f->rndv, f->held, data, bytes, &layout)
                     : TUTTI_OK;
    f->from = layout.plan;
    if (status != TUTTI_OK)
        return status;
    if (!direct && !(f->bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes)))
        return TUTTI_ERR_MEMORY;
    if (!direct)
        to = f->bounce->memory;
    *job = (struct tutti_pack_job){.bytes = bytes};
    if (laid_out) {
        job->plan = f->from;
        job->count = layout.count;
        job->memory = layout.memory;
    }
    const int as_it_is = !direct || recv->whole;
    if (laid_out && as_it_is) {
        job->direction = TUTTI_PACK;
        job->packed = direct ? to + recv->plan->true_lower : to;
    } else if (laid_out) {
        job->direction = TUTTI_RELAYOUT;
        job->to_plan = recv->plan;
        job->to_count = (bytes + recv->plan->size - 1) / recv->plan->size;
        job->to = to;
    } else if (direct) {
        job->direction = TUTTI_UNPACK;
        job->plan = recv->plan;
        job->count = (uint64_t)recv->count;
        job->memory = to;
        job->packed = data;
    } else { /* no kernel: a copy */
        job->bytes = 0;
        return tutti_door.device->copy_now(to, data, bytes);
    }
    return TUTTI_OK;
}

/* The message is too long for the buffer: its sender is let go. 0: later. */
static int drop(struct fetch *f)
{
    if (tutti_rndv_is(f->rndv, TUTTI_RNDV_AM)) {
        int came = receive_am(f->recv);
        if (came == 0)
            return 0;
        if (came == 1)
            end_am(f->recv);
    } else if (!tutti_rndv_is(f->rndv, TUTTI_RNDV_BOUNCE) && !tutti_rndv_win(f->rndv, TUTTI_RNDV_ATS)) {
        return 0;
    }
    end_fetch(f, TUTTI_OK);
    fail(f->recv, MPI_ERR_TRUNCATE);
    return -1;
}

/* Takes the rendezvous as far as it can be taken now. 1: `job` is to be run; 0: later; -1: it is done, or has failed.
 */
static int begin(struct fetch *f, struct tutti_pack_job *job)
{
    struct tutti_recv_request *recv = f->recv;
    const struct tutti_rts_head *rts = &recv->rts;
    f->rndv = tutti_endpoint_find(tutti_endpoint, rts->rank, rts->number, rts->sequence);
    if (!f->rndv) {
        tutti_error(
            "a message from rank %d of this node is lost: its rendezvous is gone (its RTS is old, or has come before)",
            rts->rank);
        fail(recv, tutti_error_code(TUTTI_ERR_MISMATCH));
        return -1;
    }
    if (rts->bytes > recv->capacity)
        return drop(f);
    char *data = NULL;
    int status = TUTTI_OK;
    switch (atomic_load_explicit(&f->rndv->state, memory_order_acquire)) {
    case TUTTI_RNDV_GET:
        data = tutti_endpoint_reach(tutti_endpoint, rts->rank, f->rndv, 1, rts->bytes, &f->held);
        if (!data || !tutti_rndv_win(f->rndv, TUTTI_RNDV_GETTING)) {
            tutti_endpoint_release(tutti_endpoint, f->held);
            f->held = NULL;
            return 0; /* its owner packs it */
        }
        f->offered = 1;
        break;
    case TUTTI_RNDV_BOUNCE:
        data = tutti_endpoint_reach(tutti_endpoint, rts->rank, f->rndv, 0, rts->bytes, &f->held);
        if (!data) {
            end_fetch(f, TUTTI_ERR_ARGUMENT);
            return -1;
        }
        tutti_endpoint_meet(tutti_endpoint, rts->rank, f->rndv);
        break;
    case TUTTI_RNDV_AM:
        if ((status = receive_am(recv)) == 0)
            return 0;
        if (status == 1) {
            status = unpack(f, recv->am->packed->memory);
            end_am(recv);
        }
        end_fetch(f, status);
        return -1;
    default:
        return 0;
    }
    status = job_of(f, data, job);
    if (status == TUTTI_OK && job->bytes > 0)
        return 1;
    if (status == TUTTI_OK && f->bounce)
        status = unpack(f, f->bounce->memory);
    end_fetch(f, status);
    return -1;
}

static int run(struct fetch *fetches, struct tutti_pack_job *jobs, unsigned n)
{
    const int gpu = tutti_endpoint_gpu(tutti_endpoint);
    int status = tutti_pack_now(gpu, jobs, n);
    for (unsigned i = 0; i < n; i++) {
        int one = status;
        if (one == TUTTI_OK && fetches[i].bounce)
            one = unpack(&fetches[i], fetches[i].bounce->memory);
        end_fetch(&fetches[i], one);
    }
    return status;
}

struct fetching {
    struct tutti_recv_request *const *recvs;
    struct tutti_stage *const *stages;
    int n;
};

/* Fetches what can be fetched now, in one launch. 1: nothing is left. */
static int fetch(void *with)
{
    enum { MOST = 64 };
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
        run(fetches, jobs, used);
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

/* After FETCHED or FAILED: puts the length of the message into the status. An MPI code. */
static int end_of(const struct tutti_recv_request *recv, MPI_Status *status)
{
    TUTTI_INSIDE();
    if (recv->state == TUTTI_RECV_FETCHED) {
        tutti_real.MPI_Status_set_elements_x(status, tutti_handles.byte, (MPI_Count)recv->rts.bytes);
        return MPI_SUCCESS;
    }
    if (recv->code == MPI_ERR_TRUNCATE)
        tutti_error("a message of %llu bytes came for a buffer of %llu", (unsigned long long)recv->rts.bytes,
                    (unsigned long long)recv->capacity);
    return tutti_fail_comm(recv->comm, recv->code);
}

int tutti_recv_finish(struct tutti_recv_request *recv, struct tutti_stage *stage, MPI_Status *status, int *code)
{
    if (recv->state == TUTTI_RECV_WAITING)
        tutti_recv_arrived(recv, stage, status);
    if (recv->state == TUTTI_RECV_PLAIN)
        return 0;
    if (tutti_recv_is_open(recv))
        tutti_recv_fetch(&recv, &stage, 1, 1);
    *code = end_of(recv, status);
    return 1;
}
