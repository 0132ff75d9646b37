/* A communicator with a stream is freed on one rank while the others wait for a nonblocking call that the MPI makes:
 * MPI_Comm_free makes progress. An alarm ends a deadlock. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "queue.h"
#include "tutti/tutti.h"

enum { ROUNDS = 6, COUNT = 200000, SECONDS = 30 };

static void too_long(int signal)
{
    static const char line[] = "FAILED: a rank stands still\n";
    (void)signal;
    (void)!write(2, line, sizeof line - 1);
    _exit(3);
}

/* mixed: rank 0 has device memory, so that the ranks agree that the MPI makes the call. */
static void freed_beside(MPIX_Stream stream, MPI_Comm beside, int mixed, int who)
{
    MPI_Comm comm;
    MPI_Request request;
    int *const host = malloc((size_t)COUNT * sizeof *host), wrong = 0;
    const size_t bytes = (size_t)COUNT * sizeof *host;
    const int on_device = mixed && kit_rank == 0;
    void *memory = host;
    for (int i = 0; i < COUNT; i++)
        host[i] = i + kit_rank;
    if (on_device)
        CHECK(tutti_alloc(bytes, &memory) == 0 && tutti_copy(memory, host, bytes) == 0, "device memory");
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm) == MPI_SUCCESS, "a communicator");
    MPI_Barrier(beside);
    alarm(SECONDS);
    CHECK(MPI_Iallreduce(MPI_IN_PLACE, memory, COUNT, MPI_INT, MPI_SUM, beside, &request) == MPI_SUCCESS, "a start");
    if (kit_rank == who)
        MPI_Comm_free(&comm);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a wait");
    if (kit_rank != who)
        MPI_Comm_free(&comm);
    alarm(0);
    if (on_device)
        CHECK(tutti_copy(host, memory, bytes) == 0 && tutti_free(memory) == 0, "copy out");
    for (int i = 0; i < COUNT; i++)
        wrong += host[i] != kit_size * i + kit_size * (kit_size - 1) / 2;
    CHECK(wrong == 0, "%d elements are wrong", wrong);
    free(host);
}

int main(int argc, char **argv)
{
    void *stream = NULL;
    MPIX_Stream mpix;
    MPI_Comm beside;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    signal(SIGALRM, too_long);
    if (!queue_possible())
        kit_skip("enqueue_freed", "needs a device with streams, and the library in front");
    CHECK(tutti_stream_create(&stream) == 0 && queue_name_stream(NULL, stream, &mpix) == MPI_SUCCESS, "a stream");
    MPI_Comm_dup(MPI_COMM_WORLD, &beside);
    for (int round = 0; round < ROUNDS && !check_failed(); round++)
        freed_beside(mpix, beside, round % 2, round / 2 % kit_size);
    MPI_Comm_free(&beside);
    MPIX_Stream_free(&mpix);
    tutti_stream_destroy(stream);
    return kit_end("enqueue_freed");
}
