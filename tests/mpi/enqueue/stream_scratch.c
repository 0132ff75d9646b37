/* A communicator with a stream is made while one rank still allocates its scratch for messages, which its peer, whose
 * scratch is mapped everywhere, has not seen: TUTTI_HOST_MAPPING_US makes allocating slow. All ranks must come out of
 * MPIX_Stream_comm_create, and a sum in the stream is right. Argument: the rank whose scratch is late. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

#include "tutti/mpix.h"
#include "tutti/tutti.h"

enum { N = 16384, BYTES = N * (int)sizeof(float), EARLY = 40, EARLY_US = 2000, TAG = 3 };
static float values[N];

static void message(struct kit_buffer *buffer, int from, int number)
{
    for (int i = 0; i < N; i++)
        values[i] = (float)(number * N + i);
    void *at = kit_put(buffer, 0, kit_rank == from ? values : NULL, sizeof values);
    if (kit_rank == from)
        MPI_Send(at, N, MPI_FLOAT, 1 - from, TAG, MPI_COMM_WORLD);
    else if (kit_rank == 1 - from)
        MPI_Recv(at, N, MPI_FLOAT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (kit_rank < 2)
        CHECK(memcmp(kit_get(buffer, NULL), values, sizeof values) == 0, "message %d from rank %d is wrong", number,
              from);
}

static void sum(MPI_Comm comm, void *stream, struct kit_buffer *in, struct kit_buffer *out)
{
    for (int i = 0; i < N; i++)
        values[i] = (float)(i + kit_rank);
    const void *from = kit_put(in, 0, values, sizeof values);
    void *to = kit_put(out, 0, NULL, sizeof values);
    CHECK(MPIX_Allreduce_enqueue(from, to, N, MPI_FLOAT, MPI_SUM, comm) == MPI_SUCCESS, "the sum was refused");
    CHECK(tutti_stream_sync(stream) == 0, "the stream");
    const float *result = (const float *)(const void *)kit_get(out, NULL);
    for (int i = 0; i < N; i++) {
        if (!CHECK(result[i] == (float)(kit_size * i + kit_size * (kit_size - 1) / 2), "element %d is %g", i,
                   result[i]))
            break;
    }
}

int main(int argc, char **argv)
{
    struct kit_buffer first, in, out;
    void *stream = NULL;
    MPI_Info info;
    MPIX_Stream mpix;
    MPI_Comm comm = MPI_COMM_NULL;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int late = argc > 1 ? atoi(argv[1]) : 0;
    kit_open(&first, KIT_DEVICE, BYTES);
    kit_open(&in, KIT_DEVICE, BYTES);
    kit_open(&out, KIT_DEVICE, BYTES);
    for (int i = 0; i < EARLY; i++) { /* until the scratch of their sender is mapped by the other rank */
        message(&first, 1 - late, i);
        usleep(EARLY_US);
    }
    CHECK(tutti_stream_create(&stream) == 0, "a stream");
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "tutti_stream");
    MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
    CHECK(MPIX_Stream_create(info, &mpix) == MPI_SUCCESS, "a stream of MPI");
    MPI_Info_free(&info);
    message(&first, late, EARLY); /* begins to allocate the scratch of `late` */
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &comm) == MPI_SUCCESS, "no communicator with a stream");
    sum(comm, stream, &in, &out);
    for (int i = 0; i < 4; i++)
        message(&first, i % 2, EARLY + 1 + i);
    MPI_Comm_free(&comm);
    MPIX_Stream_free(&mpix);
    tutti_stream_destroy(stream);
    kit_close(&first);
    kit_close(&in);
    kit_close(&out);
    return kit_end("stream_scratch");
}
