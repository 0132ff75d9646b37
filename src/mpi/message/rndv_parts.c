/* Packed bytes of a message on the host: into the program's buffer, and from the MPI, which carries the parts of a
 * rendezvous that no kernel of the receiver can fetch. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/message/rndv_recv.h"
#include "p2p/rendezvous.h"

/* Into the program's buffer, of which there is a plan. */
static int put(const struct tutti_recv_request *recv, char *packed, uint64_t first, uint64_t bytes)
{
    struct tutti_places places = recv->places;
    if (!recv->placed)
        tutti_places_of(recv->plan, recv->count, recv->buffer, &places);
    if (!places.device) {
        tutti_plan_unpack_host(recv->plan, (uint64_t)recv->count, recv->buffer, first, bytes, packed);
        return TUTTI_OK;
    }
    return tutti_packed_move(TUTTI_UNPACK, &places, recv->plan, recv->count, recv->buffer, first, bytes, packed);
}

int tutti_recv_unpack(const struct tutti_recv_request *recv, struct tutti_stage *stage, char *packed)
{
    const uint64_t bytes = recv->rts.bytes;
    MPI_Count extent = recv->extent, size = recv->size;
    char *to = stage->staged ? stage->host : recv->buffer;
    if (recv->plan)
        return put(recv, packed, 0, bytes);
    for (uint64_t e = 0; e * (uint64_t)size < bytes; e++) {
        int position = 0;
        if (size > INT_MAX ||
            tutti_real.MPI_Unpack(packed + e * (uint64_t)size, (int)size, &position, to + (MPI_Count)e * extent, 1,
                                  recv->type, tutti_handles.self) != MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
    }
    return stage->staged ? tutti_stage_out(stage, (MPI_Count)bytes) : TUTTI_OK;
}

/* Bytes [first, first + bytes) of the packed message. Of a type without a plan they are collected, and unpacked with
 * the last of them. */
int tutti_recv_store(struct tutti_recv_request *recv, struct tutti_stage *stage, char *packed, uint64_t first,
                     uint64_t bytes)
{
    const uint64_t all = recv->rts.bytes;
    if (recv->plan)
        return put(recv, packed, first, bytes);
    if (first == 0 && bytes == all)
        return tutti_recv_unpack(recv, stage, packed);
    if (!recv->assembly && !(recv->assembly = malloc(all)))
        return TUTTI_ERR_MEMORY;
    memcpy(recv->assembly + first, packed, bytes);
    return first + bytes == all ? tutti_recv_unpack(recv, stage, recv->assembly) : TUTTI_OK;
}

/* ---- carried by the MPI ---- */

/* A part that is coming, on the communicator of the endpoints. */
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

static uint64_t part_of(const struct tutti_recv_request *recv)
{
    const uint64_t left = recv->rts.bytes - recv->came;
    return left < TUTTI_CARRY_BYTES ? left : TUTTI_CARRY_BYTES;
}

/* Without memory it is tried again: what the sender has sent would be taken for the next message of this rendezvous. */
static int begin_am(struct tutti_recv_request *recv)
{
    const struct tutti_rts_head *rts = &recv->rts;
    struct tutti_rndv_am *am = calloc(1, sizeof *am);
    if (!am || !(am->packed = tutti_bounce_take(&tutti_bounce_pinned, -1, part_of(recv)))) {
        free(am);
        return 0;
    }
    recv->am = am;
    if (tutti_real.MPI_Irecv(am->packed->memory, (int)part_of(recv), tutti_handles.byte,
                             tutti_node_world(tutti_door.node, rts->rank), rts->number, tutti_endpoint_box,
                             &am->request) == MPI_SUCCESS)
        return 1;
    end_am(recv);
    return TUTTI_ERR_TRANSPORT;
}

/* Does not wait. 1: a part has come, into recv->am; 0: not yet; negative: a status. */
static int receive_am(struct tutti_recv_request *recv)
{
    int flag = 0, status = recv->am ? 1 : begin_am(recv);
    if (status != 1)
        return status;
    return tutti_real.MPI_Test(&recv->am->request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS ? flag
                                                                                            : TUTTI_ERR_TRANSPORT;
}

int tutti_recv_parts(struct tutti_recv_request *recv, struct tutti_stage *stage, int keep)
{
    while (recv->came < recv->rts.bytes) {
        int status = receive_am(recv);
        if (status != 1)
            return status;
        const uint64_t bytes = part_of(recv);
        status = keep ? tutti_recv_store(recv, stage, recv->am->packed->memory, recv->came, bytes) : TUTTI_OK;
        recv->came += bytes;
        end_am(recv);
        if (status != TUTTI_OK)
            return status;
    }
    return 1;
}
