/* Messages in stream order that are longer than their receives, and what is refused. */
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

/* ---- errors ---- */

static int is(int error, int class)
{
    return error != MPI_SUCCESS && kit_class(error) == class;
}

/* A communicator that is freed has completed its messages; their waits may come later. */
static void freed_before_waits(struct messages *m)
{
    MPI_Comm comm;
    MPI_Request request[3];
    MPI_Status status;
    MPI_Datatype gaps;
    unsigned char host[64], got[64];
    for (int i = 0; i < 64; i++)
        host[i] = (unsigned char)(i + kit_rank);
    MPI_Type_vector(4, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    FINE(MPIX_Stream_comm_create(MPI_COMM_WORLD, m->mpix, &comm));
    CHECK(tutti_copy(m->memory, host, sizeof host) == 0, "contents");
    FINE(MPIX_Irecv_enqueue(m->memory + 1000, 64, MPI_BYTE, kit_rank, 1, comm, &request[0]));
    FINE(MPIX_Irecv_enqueue(m->memory + 2000, 1, gaps, kit_rank, 2, comm, &request[1]));
    FINE(MPIX_Isend_enqueue(m->memory, 64, MPI_BYTE, kit_rank, 1, comm, &request[2]));
    FINE(MPIX_Send_enqueue(m->memory, 4, MPI_INT, kit_rank, 2, comm));
    FINE(MPI_Comm_free(&comm));
    CHECK(tutti_copy(got, m->memory + 1000, sizeof got) == 0 && memcmp(got, host, sizeof got) == 0,
          "a communicator was freed before its message had arrived");
    CHECK(is(MPIX_Wait_enqueue(&request[1], MPI_STATUS_IGNORE), MPI_ERR_REQUEST), "elements that are not unpacked");
    CHECK(is(MPIX_Wait_enqueue(&request[0], &status), MPI_ERR_REQUEST), "a status of a communicator that is freed");
    request[1] = MPI_REQUEST_NULL;
    FINE(MPIX_Waitall_enqueue(3, request, MPI_STATUSES_IGNORE));
    CHECK(request[0] == MPI_REQUEST_NULL && request[2] == MPI_REQUEST_NULL, "a request is left");
    MPI_Type_free(&gaps);
}

void messages_errors(struct messages *m)
{
    MPI_Datatype gaps;
    MPI_Request request = MPI_REQUEST_NULL, open[600];
    MPI_Status status;
    static char host[32];
    int error = MPI_SUCCESS, n = 0;
    MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    CHECK(is(MPIX_Send_enqueue(m->memory, 1, MPI_INT, MPI_ANY_SOURCE, 0, m->comm), MPI_ERR_RANK), "to any rank");
    CHECK(is(MPIX_Send_enqueue(m->memory, 1, MPI_INT, 0, MPI_ANY_TAG, m->comm), MPI_ERR_TAG), "with any tag");
    CHECK(is(MPIX_Recv_enqueue(m->memory, 1, MPI_INT, kit_size, MPI_ANY_TAG, m->comm, MPI_STATUS_IGNORE), MPI_ERR_RANK),
          "a source");
    CHECK(is(MPIX_Send_enqueue(m->memory, 1, MPI_INT, kit_size, 0, m->comm), MPI_ERR_RANK), "a rank");
    CHECK(is(MPIX_Send_enqueue(m->memory, 1, MPI_INT, 0, -5, m->comm), MPI_ERR_TAG), "a tag");
    CHECK(is(MPIX_Send_enqueue(m->memory, -1, MPI_INT, 0, 0, m->comm), MPI_ERR_COUNT), "a count");
    CHECK(is(MPIX_Send_enqueue(m->memory, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COMM), "no stream");
    MPI_Type_vector(3, 1, 2, MPI_INT, &gaps);
    CHECK(MPIX_Send_enqueue(m->memory, 1, gaps, 0, 0, m->comm) != MPI_SUCCESS, "a type that is not committed");
    MPI_Type_commit(&gaps);
    CHECK(is(MPIX_Recv_enqueue(host, 1, gaps, 0, 0, m->comm, MPI_STATUS_IGNORE), MPI_ERR_BUFFER), "gaps on the host");
    MPI_Type_free(&gaps);
    FINE(MPIX_Send_enqueue(m->memory, 1, MPI_INT, MPI_PROC_NULL, 0, m->comm));
    FINE(MPIX_Irecv_enqueue(m->memory, 1, MPI_INT, MPI_PROC_NULL, 0, m->comm, &request));
    FINE(MPIX_Wait_enqueue(&request, &status));
    CHECK(tutti_stream_sync(m->stream) == 0, "the stream");
    CHECK(messages_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0), "the status of MPI_PROC_NULL");
    CHECK(request == MPI_REQUEST_NULL, "a request of MPI_PROC_NULL");
    FINE(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    for (; n < 600 && error == MPI_SUCCESS; n++)
        error = MPIX_Isend_enqueue(m->memory, 1, MPI_BYTE, kit_rank, n % 64, m->comm, &open[n]);
    CHECK(n - 1 == 511 && is(error, MPI_ERR_UNSUPPORTED_OPERATION), "%d requests are open", n - 1);
    FINE(MPIX_Waitall_enqueue(0, NULL, MPI_STATUSES_IGNORE));
    for (int i = 0; i < n - 1; i++)
        FINE(MPIX_Recv_enqueue(m->memory + 100, 1, MPI_BYTE, kit_rank, i % 64, m->comm, MPI_STATUS_IGNORE));
    FINE(MPIX_Waitall_enqueue(n - 1, open, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 64; i++)
        FINE(MPIX_Isend_enqueue(m->memory, 1, MPI_BYTE, kit_rank, 1000 + i, m->comm, &open[i]));
    CHECK(is(MPIX_Send_enqueue(m->memory, 1, MPI_BYTE, kit_rank, 64, m->comm), MPI_ERR_UNSUPPORTED_OPERATION),
          "a 65th tag beside 64 that are in use");
    CHECK(is(MPIX_Irecv_enqueue(m->memory, 1, MPI_BYTE, MPI_ANY_SOURCE, 64, m->comm, &request),
             MPI_ERR_UNSUPPORTED_OPERATION),
          "from any source, one of which has 64 other tags in use");
    for (int i = 0; i < 64; i++)
        FINE(MPIX_Recv_enqueue(m->memory + 100, 1, MPI_BYTE, kit_rank, 1000 + i, m->comm, MPI_STATUS_IGNORE));
    FINE(MPIX_Waitall_enqueue(64, open, MPI_STATUSES_IGNORE));
    CHECK(tutti_stream_sync(m->stream) == 0, "the stream");
    freed_before_waits(m);
}
