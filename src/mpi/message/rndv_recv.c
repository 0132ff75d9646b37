#include "mpi/message/rndv_recv.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/reserve.h"
#include "core/settings.h"
#include "core/spares.h"
#include "core/trace.h"
#include "mpi/message/rndv.h"
#include "mpi/message/short_recv.h"
#include "mpi/real/errors.h"
#include "mpi/real/lent.h"

/* The first `bytes` bytes of an element: its others stay as they are, which MPI_Unpack() cannot do. */
static int unpack_part(const struct tutti_recv_request *recv, char *element, const char *packed, uint64_t bytes)
{
    const int size = (int)recv->size;
    int position = 0, code = MPI_ERR_OTHER;
    char *const all = malloc((size_t)size);
    if (!all)
        return TUTTI_ERR_MEMORY;
    if (tutti_next.MPI_Pack(element, 1, recv->type, all, size, &position, tutti_handles.self) == MPI_SUCCESS) {
        memcpy(all, packed, bytes);
        position = 0;
        code = tutti_next.MPI_Unpack(all, size, &position, element, 1, recv->type, tutti_handles.self);
    }
    free(all);
    return code == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_TRANSPORT;
}

/* The message is packed, on the host; its type has no plan, so only the MPI can unpack it. */
static int recv_unpack(struct tutti_p2p_recv *core, char *packed)
{
    struct tutti_recv_request *recv =
        (struct tutti_recv_request *)(void *)((char *)core - offsetof(struct tutti_recv_request, core));
    struct tutti_stage *stage = recv->stage;
    const uint64_t bytes = core->bytes;
    const MPI_Count extent = recv->extent, size = recv->size;
    char *to = stage->staged ? stage->host : core->elements.buffer;
    if (size > INT_MAX)
        return TUTTI_ERR_TRANSPORT;
    const uint64_t whole = bytes / (uint64_t)size, rest = bytes % (uint64_t)size;
    for (uint64_t e = 0; e < whole; e++) {
        int position = 0;
        if (tutti_next.MPI_Unpack(packed + e * (uint64_t)size, (int)size, &position, to + (MPI_Count)e * extent, 1,
                                  recv->type, tutti_handles.self) != MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
    }
    if (rest > 0) {
        const int status = unpack_part(recv, to + (MPI_Count)whole * extent, packed + whole * (uint64_t)size, rest);
        if (status != TUTTI_OK)
            return status;
    }
    return stage->staged ? tutti_stage_out(stage, (MPI_Count)bytes) : TUTTI_OK;
}

/* 1 if a buffer of so many bytes may get an RTS. */
static int is_long_enough(uint64_t capacity, int stays)
{
    if (capacity >= TUTTI_MESSAGE_LOOKED)
        return 1;
    return capacity > 0 && tutti_endpoint && (tutti_endpoint_short() || (stays && tutti_endpoints_blind()));
}

int tutti_recv_open(struct tutti_recv_request *recv, const void *buffer, MPI_Count count, MPI_Datatype type,
                    MPI_Comm comm, int stays)
{
    *recv = (struct tutti_recv_request){
        .core.elements = {.buffer = (void *)(uintptr_t)buffer, .count = count}, .type = type, .comm = comm};
    if ((!tutti_endpoint && !tutti_far_on) || count <= 0 || type == tutti_handles.no_type || tutti_inside)
        return 0;
    tutti_trace(TUTTI_TRACE_RECV, 0);
    const int active = tutti_device_active(tutti_door.device);
    if (tutti_endpoint && active)
        tutti_endpoints_poll(buffer);
    struct tutti_layout *layout = tutti_layout_of(type);
    if (!layout || __builtin_mul_overflow((uint64_t)count, (uint64_t)layout->size, &recv->core.capacity) ||
        !is_long_enough(recv->core.capacity, stays))
        return 0;
    const int wide = recv->core.capacity < sizeof recv->text;
    if (wide && (layout->derived ? !tutti_layout_committed(layout, type) : !buffer)) /* the MPI must see the error */
        return 0;
    recv->size = layout->size;
    recv->extent = layout->extent;
    recv->core.elements = tutti_message_elements(buffer, count, layout);
    recv->core.unpack = recv_unpack;
    recv->plan_held = layout->plan && layout->derived;
    if (recv->plan_held)
        tutti_plan_hold(layout->plan);
    else if (!layout->plan && layout->derived && !tutti_type_hold(type))
        return 0;
    recv->own_type = !layout->plan && layout->derived;
    recv->wide = wide;
    return 1;
}

unsigned char *tutti_recv_text(struct tutti_recv_request *recv)
{
    if (!recv->lent && unlikely(atomic_load_explicit(&tutti_short_recv_on, memory_order_relaxed)))
        recv->lent = tutti_short_recv_lend();
    return recv->lent ? recv->lent : recv->text;
}

void tutti_recv_close(struct tutti_recv_request *recv)
{
    tutti_short_recv_return(recv->lent);
    recv->lent = NULL;
    if (recv->plan_held)
        tutti_plan_drop(recv->core.elements.plan);
    recv->plan_held = 0;
    recv->core.elements.plan = NULL;
    if (recv->own_type)
        tutti_type_release(recv->type);
    recv->own_type = 0;
}

/* Ended receives, which are used again. */
static struct tutti_spares spares;

static struct tutti_recv_request *rndv_recv_take_spare(void)
{
    static struct tutti_reserve reserve;
    struct tutti_recv_request *recv =
        tutti_spares_take(&spares, offsetof(struct tutti_recv_request, next), tutti_door_alone());
    return recv ? recv : tutti_reserve_take(&reserve, sizeof *recv);
}

struct tutti_recv_request *tutti_recv_new(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm)
{
    struct tutti_recv_request lost, *const recv = rndv_recv_take_spare();
    const int open = tutti_recv_open(recv ? recv : &lost, buffer, count, type, comm, 1);
    if (recv && open)
        return recv;
    if (open) {
        tutti_error("out of memory: messages from ranks of this node may be lost (TUTTI_RULES=\"message: *@staged "
                    "message_far: *@staged\" avoids this)");
        tutti_recv_close(&lost);
    }
    if (recv)
        tutti_spares_give(&spares, recv, offsetof(struct tutti_recv_request, next), tutti_door_alone());
    return NULL;
}

void tutti_recv_free(struct tutti_recv_request *recv)
{
    if (!recv)
        return;
    tutti_recv_close(recv);
    tutti_spares_give(&spares, recv, offsetof(struct tutti_recv_request, next), tutti_door_alone());
}

/* ---- is it an RTS? ---- */

/* The first bytes that the MPI has received. */
static int first_bytes(const struct tutti_recv_request *recv, const struct tutti_stage *stage, unsigned char *out,
                       size_t n)
{
    const void *at = stage->staged ? stage->host : recv->core.elements.buffer;
    if (recv->wide) {
        memcpy(out, recv->text, n);
        return 1;
    }
    if (stage->staged && (stage->packed || stage->prefix)) {
        memcpy(out, stage->memory, n);
        return 1;
    }
    if (recv->core.elements.plan && recv->core.elements.whole) {
        memcpy(out, (const char *)at + recv->core.elements.plan->true_lower, n);
        return 1;
    }
    if (recv->core.elements.plan) {
        tutti_plan_pack_host(recv->core.elements.plan, (uint64_t)recv->core.elements.count, at, 0, n, out);
        return 1;
    }
    MPI_Count size = recv->size, few = size > 0 ? ((MPI_Count)n + size - 1) / size : 0;
    if (few <= 0 || few > recv->core.elements.count || few * size > INT_MAX)
        return 0;
    int position = 0;
    char *packed = malloc((size_t)(few * size));
    int fine = packed && tutti_next.MPI_Pack(at, (int)few, recv->type, packed, (int)(few * size), &position,
                                             tutti_handles.self) == MPI_SUCCESS;
    if (fine)
        memcpy(out, packed, n);
    free(packed);
    return fine;
}

/* 1 if `bytes` bytes are the RTS of a rendezvous in the node: recv->core.rts. */
static int is_rts(struct tutti_recv_request *recv, const struct tutti_stage *stage, const MPI_Status *status,
                  MPI_Count bytes)
{
    unsigned char text[TUTTI_RTS_BYTES];
    uint64_t key[2];
    const int is_short = bytes < TUTTI_RTS_BYTES && bytes != TUTTI_LEAN_RTS_BYTES;
    if (bytes < TUTTI_SHORT_RTS_LEAST || bytes > TUTTI_RTS_BYTES ||
        (is_short && likely(!tutti_endpoint_shorts(tutti_endpoint))) || !first_bytes(recv, stage, text, (size_t)bytes))
        return 0;
    if (!is_short) {
        _Static_assert(sizeof recv->core.rts <= TUTTI_LEAN_RTS_BYTES, "the shortest RTS of this form holds its head");
        memcpy(&recv->core.rts, text, sizeof recv->core.rts);
        tutti_node_key(tutti_door.node, key);
        if (memcmp(recv->core.rts.key, key, sizeof key) == 0)
            return 1;
    }
    return bytes < TUTTI_RTS_BYTES && tutti_endpoint_shorts(tutti_endpoint) &&
           tutti_short_rts_read(&tutti_p2p, status->MPI_TAG, text, (size_t)bytes, &recv->core.rts);
}

/* Copies the first bytes of recv->text to where the MPI would have stored them. The rest of the last element keeps its
 * old bytes. */
static void recv_put(struct tutti_recv_request *recv, char *at, size_t bytes)
{
    const struct tutti_elements *elements = &recv->core.elements;
    if (elements->plan) {
        tutti_plan_unpack_host(elements->plan, (uint64_t)elements->count, at, 0, bytes, recv->text);
        return;
    }
    const MPI_Count size = recv->size, few = size > 0 ? ((MPI_Count)bytes + size - 1) / size : 0;
    unsigned char *packed = few > 0 && few * size <= INT_MAX ? malloc((size_t)(few * size)) : NULL;
    int position = 0;
    if (!packed)
        return;
    tutti_next.MPI_Pack(at, (int)few, recv->type, packed, (int)(few * size), &position, tutti_handles.self);
    memcpy(packed, recv->text, bytes);
    position = 0;
    tutti_next.MPI_Unpack(packed, (int)(few * size), &position, at, (int)few, recv->type, tutti_handles.self);
    free(packed);
}

/* recv->text holds a message of the program: copies it to where the MPI would have stored it. */
static void recv_narrow(struct tutti_recv_request *recv, const struct tutti_stage *stage, MPI_Count bytes)
{
    if (bytes <= 0)
        return;
    if ((uint64_t)bytes > recv->core.capacity) {
        recv->core.bytes = (uint64_t)bytes;
        recv->state = TUTTI_RECV_FAILED;
        recv->code = MPI_ERR_TRUNCATE;
    } else if (stage->staged && (stage->packed || stage->prefix)) {
        memcpy(stage->memory, recv->text, (size_t)bytes);
    } else {
        recv_put(recv, stage->staged ? stage->host : recv->core.elements.buffer, (size_t)bytes);
    }
}

void tutti_recv_keep(struct tutti_recv_request *recv, const struct tutti_stage *stage)
{
    if (!recv || recv->wide || recv->core.capacity < sizeof recv->text)
        return;
    recv->kept = tutti_endpoint && !stage->staged && !stage->refused;
    if (recv->kept && likely(recv->core.elements.plan && recv->core.elements.whole)) {
        const struct tutti_elements *elements = &recv->core.elements;
        memcpy(recv->text, (const char *)elements->buffer + elements->plan->true_lower, sizeof recv->text);
    } else if (recv->kept) {
        recv->kept = first_bytes(recv, stage, recv->text, sizeof recv->text);
    }
}

struct tutti_recv_target tutti_recv_target(struct tutti_recv_request *recv, const struct tutti_stage *stage,
                                           MPI_Count count)
{
    if (unlikely(recv && recv->wide))
        return (struct tutti_recv_target){tutti_recv_text(recv), sizeof recv->text, tutti_handles.byte};
    tutti_recv_keep(recv, stage);
    return (struct tutti_recv_target){stage->host, count, stage->given};
}

void tutti_recv_arrived(struct tutti_recv_request *recv, const struct tutti_stage *stage, const MPI_Status *status)
{
    unsigned char text[TUTTI_RTS_BYTES];
    TUTTI_INSIDE();
    recv->state = TUTTI_RECV_PLAIN;
    if (unlikely(recv->lent != NULL))
        memcpy(recv->text, recv->lent, sizeof recv->text);
    const MPI_Count bytes = tutti_received(status);
    if (tutti_far_on && bytes == TUTTI_FAR_RTS_BYTES && first_bytes(recv, stage, text, sizeof text)) {
        memcpy(&recv->core.far_rts, text, sizeof recv->core.far_rts);
        if (tutti_far_is_rts(&recv->core.far_rts)) {
            tutti_p2p_from_far(&recv->core);
            recv->state = TUTTI_RECV_FAR;
        }
        return;
    }
    if (!tutti_endpoint || !is_rts(recv, stage, status, bytes)) {
        if (recv->wide)
            recv_narrow(recv, stage, bytes);
        return;
    }
    tutti_endpoint_saw(tutti_endpoint, tutti_door_alone());
    if (tutti_endpoint_expects(tutti_endpoint))
        tutti_endpoint_fetch_ahead(tutti_endpoint, recv->core.rts.rank, recv->core.rts.number);
    recv->core.bytes = recv->core.rts.bytes;
    tutti_stage_expect_rts(recv->core.bytes);
    if (unlikely(recv->kept && recv->core.bytes < sizeof recv->text))
        recv_put(recv, recv->core.elements.buffer, sizeof recv->text);
    recv->core.far = NULL;
    recv->state = TUTTI_RECV_RNDV;
    tutti_trace(TUTTI_TRACE_RTS_SEEN, recv->core.bytes);
    if (TUTTI_TRACED) {
        const struct tutti_rndv *rndv = tutti_endpoint_at(tutti_endpoint, recv->core.rts.rank, recv->core.rts.number);
        tutti_trace_way(TUTTI_TRACE_RTS_WAY, rndv ? rndv->posted : 0);
    }
}

/* ---- fetching ---- */

struct recv_fetching {
    struct tutti_p2p_fetching base;
    struct tutti_recv_request *const *recvs;
};

static struct tutti_p2p_recv *recv_at(const struct tutti_p2p_fetching *fetching, int i)
{
    struct tutti_recv_request *recv = ((const struct recv_fetching *)(const void *)fetching)->recvs[i];
    return tutti_recv_is_open(recv) ? &recv->core : NULL;
}

void tutti_recv_fetch(struct tutti_recv_request *const recvs[], struct tutti_stage *const stages[], int n, int how)
{
    const int beside = how == TUTTI_FETCH_BESIDE || how == TUTTI_FETCH_BESIDE_ALL || how == TUTTI_FETCH_BESIDE_LAST;
    struct recv_fetching all = {{&tutti_p2p, recv_at, n, beside, how == TUTTI_FETCH_BESIDE_LAST}, recvs};
    TUTTI_INSIDE();
    for (int i = 0; i < n; i++)
        recvs[i]->stage = stages[i];
    tutti_p2p_fetch_all(&all.base, how == TUTTI_FETCH_ALL);
    for (int i = 0; i < n; i++) {
        struct tutti_recv_request *recv = recvs[i];
        if (!tutti_recv_is_open(recv) || !recv->core.ended)
            continue;
        recv->code = recv->core.truncated ? MPI_ERR_TRUNCATE : tutti_error_code(recv->core.status);
        recv->state = recv->core.status == TUTTI_OK ? TUTTI_RECV_FETCHED : TUTTI_RECV_FAILED;
    }
}

/* ---- the end ---- */

/* After FETCHED or FAILED: sets the length of the message in the status. An MPI code. */
static int end_of(const struct tutti_recv_request *recv, MPI_Status *status)
{
    TUTTI_INSIDE();
    if (recv->state == TUTTI_RECV_FETCHED) {
        tutti_next.MPI_Status_set_elements_x(status, tutti_handles.byte, (MPI_Count)recv->core.bytes);
        return MPI_SUCCESS;
    }
    if (recv->code == MPI_ERR_TRUNCATE)
        tutti_error("a message of %llu bytes arrived for a buffer of %llu", (unsigned long long)recv->core.bytes,
                    (unsigned long long)recv->core.capacity);
    return tutti_fail_comm(recv->comm, recv->code);
}

int tutti_recv_finish(struct tutti_recv_request *recv, struct tutti_stage *stage, MPI_Status *status, int *code)
{
    if (recv->state == TUTTI_RECV_WAITING)
        tutti_recv_arrived(recv, stage, status);
    if (recv->state == TUTTI_RECV_PLAIN)
        return 0;
    if (tutti_recv_is_open(recv))
        tutti_recv_fetch(&recv, &stage, 1, TUTTI_FETCH_ALL);
    *code = end_of(recv, status);
    return 1;
}
