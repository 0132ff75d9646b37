/* Messages in stream order that are longer than their receives. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream_messages.h"
#include "tutti/tutti.h"

/* A message of so many bytes, and a receive of one byte less. */
static void one_message(struct messages *m, int bytes)
{
    if (kit_rank == 0)
        FINE(MPIX_Send_enqueue(m->memory, bytes, MPI_BYTE, 1, 0, m->comm));
    else if (kit_rank == 1)
        FINE(MPIX_Recv_enqueue(m->memory, bytes - 1, MPI_BYTE, 0, 0, m->comm, MPI_STATUS_IGNORE));
}

int messages_truncated_fails(void)
{
    return !getenv("TUTTI_NODE_RANKS") || kit_rank == 1;
}

static void truncate_one(struct messages *m, int bytes)
{
    int error = MPI_SUCCESS;
    MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    one_message(m, bytes);
    for (int i = 0; i < 300 && error == MPI_SUCCESS; i++) {
        usleep(20000);
        error = MPIX_Send_enqueue(m->memory, 1, MPI_BYTE, MPI_PROC_NULL, 0, m->comm);
        if (error == MPI_SUCCESS && kit_rank < 2)
            error = MPIX_Send_enqueue(m->memory, 0, MPI_BYTE, kit_rank, 1, m->comm);
        if (error == MPI_SUCCESS && kit_rank < 2)
            error = MPIX_Recv_enqueue(m->memory, 0, MPI_BYTE, kit_rank, 1, m->comm, MPI_STATUS_IGNORE);
    }
    CHECK(error != MPI_SUCCESS || kit_rank > 1 || !messages_truncated_fails(), "nothing was reported");
}

/* The message takes many chunks of the ring: the bytes behind the receive's buffer stay. */
static void truncated_long(struct messages *m)
{
    enum { LONG = 300000, AROUND = 64 };
    unsigned char kept[AROUND], found[AROUND];
    memset(kept, 0x5a, AROUND);
    memset(found, 0xa5, AROUND); /* the end of the message */
    if (kit_rank == 0)
        CHECK(tutti_copy(m->memory + LONG - AROUND, found, AROUND) == 0, "contents");
    if (kit_rank == 1)
        CHECK(tutti_copy(m->memory + LONG - 1, kept, AROUND) == 0, "contents");
    MPI_Barrier(MPI_COMM_WORLD);
    truncate_one(m, LONG);
    CHECK(tutti_copy(found, m->memory + LONG - 1, AROUND) == 0, "contents");
    CHECK(kit_rank != 1 || memcmp(found, kept, AROUND) == 0, "bytes behind the receive's were overwritten");
}

void messages_truncated(struct messages *m, int is_long)
{
    if (is_long)
        truncated_long(m);
    else
        truncate_one(m, 1000);
}
