/* Calls in stream order that cannot be made: an error of the right class before anything is launched, and the
 * communicator works on.
 *
 *   enqueue_errors        on a communicator with a stream
 *   enqueue_errors shared ranks that share a GPU: there is no such communicator, said alike on all ranks
 *   enqueue_errors absent no Tutti in front */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "tutti/tutti.h"

#define REFUSED(class_, call)                                                                                          \
    do {                                                                                                               \
        int error_ = (call);                                                                                           \
        CHECK(kit_class(error_) == (class_), "%s: class %d, not %s", #call, kit_class(error_), #class_);               \
    } while (0)

static void create(const char *type, const char *value, int class_)
{
    MPI_Info info;
    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Info_create(&info);
    if (type)
        MPI_Info_set(info, "type", type);
    if (value)
        MPI_Info_set(info, "value", value);
    int error = MPIX_Stream_create(info, &stream);
    CHECK(kit_class(error) == class_ && stream == MPIX_STREAM_NULL, "type %s, value %s: class %d, not %d",
          type ? type : "missing", value ? value : "missing", kit_class(error), class_);
    MPI_Info_free(&info);
}

static void streams(void)
{
    MPIX_Stream none = MPIX_STREAM_NULL;
    MPI_Info info;
    const void *far = "far too long";
    create(NULL, "00", MPI_ERR_INFO_KEY);
    create("tutti_stream", NULL, MPI_ERR_INFO_KEY);
    create("hipStream_t", "0000000000000000", MPI_ERR_INFO_VALUE);
    create("tutti_stream", "00", MPI_ERR_INFO_VALUE);
    create("tutti_stream", "zz00000000000000", MPI_ERR_INFO_VALUE);
    create("tutti_stream", "[9]", MPI_ERR_INFO_VALUE); /* as MPICH writes bytes of zero */
    create("tutti_stream", "[0]0000000000000000", MPI_ERR_INFO_VALUE);
    create("tutti_stream", "[7]", MPI_ERR_INFO_VALUE);
    create("tutti_stream", "00[8]", MPI_ERR_INFO_VALUE);
    create("tutti_stream", "[8]00", MPI_ERR_INFO_VALUE);
    create("tutti_stream", "[8", MPI_ERR_INFO_VALUE);
    if (strcmp(tutti_device_name(), "host") == 0) {
        create("tutti_stream", "1122334455667788", MPI_ERR_ARG);
        create("tutti_stream", "[3]11[2]2233", MPI_ERR_ARG);
        create("cudaStream_t", "0000000000000000", MPI_ERR_INFO_VALUE);
    }
    REFUSED(MPI_ERR_INFO, MPIX_Stream_create(MPI_INFO_NULL, &none));
    REFUSED(MPI_ERR_ARG, MPIX_Stream_free(&none));
    MPI_Info_create(&info);
    REFUSED(MPI_ERR_INFO_VALUE, MPIX_Info_set_hex(info, "value", far, MPI_MAX_INFO_VAL));
    REFUSED(MPI_ERR_INFO_VALUE, MPIX_Info_set_hex(info, "value", far, -1));
    MPI_Info_free(&info);
}

static void add(void *in, void *out, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)out)[i] += ((int *)in)[i];
}

static void arguments(struct queue *queue)
{
    MPI_Comm comm = queue->comm;
    char *in = queue->buffer[0], *out = queue->buffer[1];
    static int stack[64];
    int *heap = malloc(4096), negative[QUEUE_RANKS] = {0};
    MPI_Datatype pairs;
    MPI_Op own;
    MPI_Op_create(add, 1, &own);
    MPI_Type_contiguous(2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    negative[queue->size - 1] = -1;
    REFUSED(MPI_ERR_COMM, MPIX_Allreduce_enqueue(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    REFUSED(MPI_ERR_COMM, MPIX_Barrier_enqueue(MPI_COMM_SELF));
    REFUSED(MPI_ERR_COMM, MPIX_Barrier_enqueue(MPI_COMM_NULL));
    REFUSED(MPI_ERR_BUFFER, MPIX_Allreduce_enqueue(stack, out, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_ERR_BUFFER, MPIX_Allreduce_enqueue(in, heap, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_ERR_BUFFER, MPIX_Allreduce_enqueue(MPI_IN_PLACE, heap, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_ERR_BUFFER, MPIX_Allreduce_enqueue(NULL, out, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_ERR_BUFFER, MPIX_Allreduce_enqueue(in, NULL, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_ERR_BUFFER, MPIX_Allreduce_enqueue(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_ERR_BUFFER, MPIX_Scan_enqueue(in, stack, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_ERR_TYPE, MPIX_Allreduce_enqueue(in, out, 1, pairs, MPI_SUM, comm));
    REFUSED(MPI_ERR_TYPE, MPIX_Exscan_enqueue(in, out, 1, MPI_DATATYPE_NULL, MPI_SUM, comm));
    REFUSED(MPI_ERR_OP, MPIX_Allreduce_enqueue(in, out, 1, MPI_INT, own, comm));
    REFUSED(MPI_ERR_OP, MPIX_Allreduce_enqueue(in, out, 1, MPI_DOUBLE, MPI_BXOR, comm));
    REFUSED(MPI_ERR_OP, MPIX_Reduce_scatter_block_enqueue(in, out, 1, MPI_INT, MPI_OP_NULL, comm));
    REFUSED(MPI_ERR_COUNT, MPIX_Allreduce_enqueue(in, out, -1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_ERR_COUNT, MPIX_Reduce_scatter_enqueue(in, out, negative, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_ERR_COUNT, MPIX_Reduce_scatter_block_enqueue_c(in, out, (MPI_Count)1 << 62, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_ERR_ROOT, MPIX_Reduce_enqueue(in, out, 1, MPI_INT, MPI_SUM, queue->size, comm));
    REFUSED(MPI_ERR_ROOT, MPIX_Reduce_enqueue(in, out, 1, MPI_INT, MPI_SUM, -1, comm));
    if (queue->rank == 1)
        REFUSED(MPI_ERR_BUFFER, MPIX_Reduce_enqueue(MPI_IN_PLACE, out, 1, MPI_INT, MPI_SUM, 0, comm));
    /* Nothing to do is no error, whatever the buffers. */
    REFUSED(MPI_SUCCESS, MPIX_Allreduce_enqueue(stack, NULL, 0, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_SUCCESS, MPIX_Reduce_enqueue(NULL, NULL, 0, MPI_INT, MPI_SUM, 0, comm));
    memset(negative, 0, sizeof negative);
    REFUSED(MPI_SUCCESS, MPIX_Reduce_scatter_enqueue(NULL, heap, negative, MPI_INT, MPI_SUM, comm));
    MPI_Type_free(&pairs);
    MPI_Op_free(&own);
    free(heap);
}

/* The same of calls that move data. */
static void movers(struct queue *queue)
{
    MPI_Comm comm = queue->comm;
    char *in = queue->buffer[0], *out = queue->buffer[1];
    static int stack[64];
    int counts[QUEUE_RANKS] = {0}, places[QUEUE_RANKS] = {0}, negative[QUEUE_RANKS] = {0};
    MPI_Datatype open;
    MPI_Type_contiguous(2, MPI_INT, &open); /* not committed */
    negative[queue->size - 1] = -1;
    REFUSED(MPI_ERR_COMM, MPIX_Bcast_enqueue(in, 1, MPI_INT, 0, MPI_COMM_WORLD));
    REFUSED(MPI_ERR_COMM, MPIX_Alltoall_enqueue(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_NULL));
    REFUSED(MPI_ERR_ROOT, MPIX_Bcast_enqueue(in, 1, MPI_INT, queue->size, comm));
    REFUSED(MPI_ERR_ROOT, MPIX_Gather_enqueue(in, 1, MPI_INT, out, 1, MPI_INT, -1, comm));
    REFUSED(MPI_ERR_ROOT, MPIX_Scatter_enqueue(in, 1, MPI_INT, out, 1, MPI_INT, queue->size, comm));
    REFUSED(MPI_ERR_COUNT, MPIX_Bcast_enqueue(in, -1, MPI_INT, 0, comm));
    REFUSED(MPI_ERR_COUNT, MPIX_Bcast_enqueue_c(in, (MPI_Count)1 << 62, MPI_INT, 0, comm));
    REFUSED(MPI_ERR_COUNT, MPIX_Allgather_enqueue(in, 1, MPI_INT, out, -1, MPI_INT, comm));
    REFUSED(MPI_ERR_COUNT, MPIX_Alltoallv_enqueue(in, negative, places, MPI_INT, out, counts, places, MPI_INT, comm));
    REFUSED(MPI_ERR_ARG, MPIX_Alltoallv_enqueue(in, NULL, places, MPI_INT, out, counts, places, MPI_INT, comm));
    REFUSED(MPI_ERR_ARG, MPIX_Allgatherv_enqueue(in, 1, MPI_INT, out, counts, NULL, MPI_INT, comm));
    REFUSED(MPI_ERR_TYPE, MPIX_Bcast_enqueue(in, 1, open, 0, comm));
    REFUSED(MPI_ERR_TYPE, MPIX_Allgather_enqueue(in, 1, MPI_INT, out, 1, MPI_DATATYPE_NULL, comm));
    if (queue->size > 1) { /* one rank alone sends nothing */
        REFUSED(MPI_ERR_BUFFER, MPIX_Bcast_enqueue(stack, 1, MPI_INT, 0, comm));
        REFUSED(MPI_ERR_BUFFER, MPIX_Bcast_enqueue(NULL, 1, MPI_INT, 0, comm));
    }
    REFUSED(MPI_ERR_BUFFER, MPIX_Bcast_enqueue(MPI_IN_PLACE, 1, MPI_INT, 0, comm));
    REFUSED(MPI_ERR_BUFFER, MPIX_Allgather_enqueue(stack, 1, MPI_INT, out, 1, MPI_INT, comm));
    REFUSED(MPI_ERR_BUFFER, MPIX_Allgather_enqueue(in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm));
    REFUSED(MPI_ERR_BUFFER, MPIX_Alltoall_enqueue(in, 1, MPI_INT, stack, 1, MPI_INT, comm));
    REFUSED(MPI_ERR_TRUNCATE, MPIX_Alltoall_enqueue(in, 2, MPI_INT, out, 1, MPI_INT, comm));
    if (queue->rank == 1)
        REFUSED(MPI_ERR_BUFFER, MPIX_Gather_enqueue(MPI_IN_PLACE, 1, MPI_INT, out, 1, MPI_INT, 0, comm));
    if (queue->rank == 1)
        REFUSED(MPI_ERR_BUFFER, MPIX_Scatter_enqueue(in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, comm));
    REFUSED(MPI_ERR_BUFFER, MPIX_Reduce_local_enqueue(in, stack, 1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_ERR_OP, MPIX_Reduce_local_enqueue(in, out, 1, MPI_DOUBLE, MPI_BXOR, comm));
    REFUSED(MPI_ERR_TYPE, MPIX_Reduce_local_enqueue(in, out, 1, open, MPI_SUM, comm));
    REFUSED(MPI_ERR_COUNT, MPIX_Reduce_local_enqueue(in, out, -1, MPI_INT, MPI_SUM, comm));
    REFUSED(MPI_SUCCESS, MPIX_Bcast_enqueue(NULL, 0, MPI_INT, 0, comm));
    REFUSED(MPI_SUCCESS, MPIX_Alltoall_enqueue(stack, 0, MPI_INT, stack, 0, MPI_INT, comm));
    REFUSED(MPI_SUCCESS, MPIX_Alltoallv_enqueue(NULL, counts, places, MPI_INT, stack, counts, places, MPI_INT, comm));
    REFUSED(MPI_SUCCESS, MPIX_Reduce_local_enqueue(NULL, stack, 0, MPI_INT, MPI_SUM, comm));
    MPI_Type_free(&open);
}

/* A handler of the program gets the code. */
static int handled;
static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled = *code;
}

static void handlers(struct queue *queue)
{
    MPI_Errhandler own;
    int here = 0;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(queue->comm, own);
    REFUSED(MPI_ERR_BUFFER, MPIX_Allreduce_enqueue(&here, &here, 1, MPI_INT, MPI_SUM, queue->comm));
    CHECK(kit_class(handled) == MPI_ERR_BUFFER, "the communicator's error handler was given class %d",
          kit_class(handled));
    MPI_Comm_set_errhandler(queue->comm, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&own);
}

static void with_stream(void)
{
    struct queue queue;
    streams();
    queue_open(&queue, MPI_COMM_WORLD, NULL, 100, kit_seed);
    for (int i = 0; i < 3; i++) {
        arguments(&queue);
        movers(&queue);
        handlers(&queue);
        for (int k = 0; k < 20; k++)
            queue_go(&queue, -1);
        queue_check(&queue, "after refused calls");
    }
    queue_close(&queue);
}

static void shared(void)
{
    MPI_Comm comm;
    MPIX_Stream mpix = MPIX_STREAM_NULL;
    void *stream = NULL;
    CHECK(tutti_stream_create(&stream) == 0 && queue_name_stream(NULL, stream, &mpix) == MPI_SUCCESS, "a stream");
    for (int i = 0; i < 3; i++) {
        comm = MPI_COMM_WORLD;
        REFUSED(MPI_ERR_UNSUPPORTED_OPERATION, MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &comm));
        CHECK(comm == MPI_COMM_NULL, "a communicator all the same");
    }
    MPIX_Stream_free(&mpix);
    CHECK(tutti_stream_destroy(stream) == 0, "tutti_stream_destroy");
}

static void absent(void)
{
    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Info info;
    char value[64] = "";
    int flag = 0, bytes = 0x12345678;
    MPI_Info_create(&info);
    CHECK(MPIX_Info_set_hex(info, "value", &bytes, sizeof bytes) == MPI_SUCCESS, "MPIX_Info_set_hex");
    MPI_Info_get(info, "value", sizeof value - 1, value, &flag);
    CHECK(flag && strcmp(value, "78563412") == 0, "MPIX_Info_set_hex wrote %s", value);
    REFUSED(MPI_ERR_UNSUPPORTED_OPERATION, MPIX_Stream_create(info, &stream));
    REFUSED(MPI_ERR_UNSUPPORTED_OPERATION, MPIX_Stream_free(&stream));
    REFUSED(MPI_ERR_UNSUPPORTED_OPERATION, MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm));
    REFUSED(MPI_ERR_UNSUPPORTED_OPERATION, MPIX_Allreduce_enqueue(value, value, 1, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD));
    REFUSED(MPI_ERR_UNSUPPORTED_OPERATION, MPIX_Barrier_enqueue(MPI_COMM_WORLD));
    REFUSED(MPI_ERR_UNSUPPORTED_OPERATION, MPIX_Bcast_enqueue(value, 1, MPI_CHAR, 0, MPI_COMM_WORLD));
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (strcmp(what, "absent") == 0)
        absent();
    else if (!queue_possible())
        kit_skip("enqueue_errors", "needs a device with streams, and the library in front");
    else if (!kit_errors_returned())
        kit_skip("enqueue_errors", "this MPI ends the program on its errors, though they should be returned");
    else if (strcmp(what, "shared") == 0)
        shared();
    else
        with_stream();
    return kit_end("enqueue_errors");
}
