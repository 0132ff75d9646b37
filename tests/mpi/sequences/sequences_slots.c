/* The communicators of sequences: of all ranks or some, in any order, with a stream or without. */
#include <stdio.h>
#include <stdlib.h>

#include "queue.h"
#include "sequences.h"
#include "tutti/tutti.h"

struct seq_slot seq_slots[SEQ_SLOTS];
static int *memory; /* device */

#define FINE(call)                                                                                                     \
    do {                                                                                                               \
        int error_ = (call);                                                                                           \
        if (!CHECK(error_ == 0, "%s: %d (class %d)", #call, error_, error_ > 0 ? kit_class(error_) : 0))               \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
    } while (0)

/* The first calls open what a communicator needs: that may wait for what runs on the GPU, so it happens here, at the
 * same place of all ranks. */
static void first_calls(MPI_Comm comm)
{
    MPI_Request request;
    FINE(MPI_Allreduce(memory, memory + 1, 1, MPI_INT, MPI_SUM, comm));
    FINE(MPI_Iallreduce(memory, memory + 1, 1, MPI_INT, MPI_SUM, comm, &request));
    FINE(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int seq_streams(void)
{
    const long streams = check_setting("TUTTI_TEST_STREAMS", SEQ_STREAMS);
    return streams > 0 && streams < SEQ_STREAMS ? (int)streams : SEQ_STREAMS;
}

void seq_slots_open(void)
{
    void *device = NULL;
    FINE(tutti_alloc(64, &device));
    memory = device;
    for (int s = 0; s < SEQ_SLOTS; s++) {
        seq_slots[s] = (struct seq_slot){.rank = -1, .comm = MPI_COMM_NULL};
        if (s < seq_streams()) {
            FINE(tutti_stream_create(&seq_slots[s].stream));
            FINE(queue_name_stream(NULL, seq_slots[s].stream, &seq_slots[s].mpix));
        }
    }
    first_calls(MPI_COMM_WORLD);
    seq_slots[SEQ_WORLD].comm = MPI_COMM_WORLD;
    seq_slots[SEQ_WORLD].rank = kit_rank;
    seq_slots[SEQ_WORLD].shape = seq_shape_of(SEQ_WORLD, 0);
}

static void let_go(struct seq_slot *slot)
{
    if (slot->comm != MPI_COMM_NULL)
        FINE(MPI_Comm_free(&slot->comm));
}

void seq_slot_renew(int s, uint64_t id)
{
    struct seq_slot *slot = &seq_slots[s];
    MPI_Comm split;
    if (s == SEQ_WORLD || slot->id == id)
        return;
    let_go(slot);
    slot->id = id;
    slot->shape = seq_shape_of(s, id);
    slot->rank = seq_place_of(&slot->shape, kit_rank);
    FINE(MPI_Comm_split(MPI_COMM_WORLD, slot->rank < 0 ? MPI_UNDEFINED : 0, slot->rank, &split));
    if (slot->rank < 0)
        return;
    if (s < seq_streams()) {
        FINE(MPIX_Stream_comm_create(split, slot->mpix, &slot->comm));
        FINE(MPI_Comm_free(&split));
    } else {
        slot->comm = split;
    }
    MPI_Comm_set_errhandler(slot->comm, MPI_ERRORS_RETURN);
    first_calls(slot->comm);
}

void seq_slots_close(void)
{
    for (int s = 0; s < SEQ_WORLD; s++) {
        let_go(&seq_slots[s]);
        if (s < seq_streams()) {
            FINE(MPIX_Stream_free(&seq_slots[s].mpix));
            FINE(tutti_stream_destroy(seq_slots[s].stream));
        }
    }
    FINE(tutti_free(memory));
}
