/* Messages from short-lived allocations leave nothing behind: no descriptors, no mappings, no memory that the
 * program has freed, with any outcome of the messages. The first two ranks talk. Arguments: allocations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "resources.h"

enum { EACH = 8, BYTES = 20000, WARM = 60, SLACK = 12 };
static struct kit_buffer keep;
static int peer;

/* What a case does to the messages of one allocation, of which `from` is this rank's. */
typedef void round_of(struct kit_buffer *from, struct kit_buffer *to);

/* All sent before the receiver has looked at any. */
static void at_once(struct kit_buffer *from, struct kit_buffer *to)
{
    MPI_Request requests[2 * EACH];
    MPI_Status statuses[2 * EACH];
    for (int i = 0; i < EACH; i++)
        MPI_Irecv(kit_put(&to[i], 0, NULL, BYTES), BYTES, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < EACH; i++)
        MPI_Isend(from->base + from->offset, BYTES, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[EACH + i]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(2 * EACH, requests, statuses);
}

/* One after the other, back and forth. */
static void in_turns(struct kit_buffer *from, struct kit_buffer *to)
{
    for (int i = 0; i < EACH; i++)
        MPI_Sendrecv(from->base + from->offset, BYTES, MPI_BYTE, peer, i, kit_put(&to[0], 0, NULL, BYTES), BYTES,
                     MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Into buffers that are too short. */
static void cut_off(struct kit_buffer *from, struct kit_buffer *to)
{
    for (int i = 0; i < 2; i++) { /* each is reported */
        MPI_Request request;
        MPI_Isend(from->base + from->offset, BYTES, MPI_BYTE, peer, i, MPI_COMM_WORLD, &request);
        int error =
            MPI_Recv(kit_put(&to[0], 0, NULL, BYTES), 2000, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(error != MPI_SUCCESS && kit_class(error) == MPI_ERR_TRUNCATE, "a short buffer: class %d",
              error == MPI_SUCCESS ? MPI_SUCCESS : kit_class(error));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Blocks of a collective. */
static void together(struct kit_buffer *from, struct kit_buffer *to)
{
    for (int i = 0; i < EACH; i++)
        MPI_Alltoall(from->base + from->offset, BYTES / kit_size, MPI_BYTE, kit_put(&to[0], 0, NULL, BYTES),
                     BYTES / kit_size, MPI_BYTE, MPI_COMM_WORLD);
}

/* Received from, sent from, in host memory at the other side. */
static void by_host(struct kit_buffer *from, struct kit_buffer *to)
{
    static unsigned char host[BYTES];
    (void)to;
    for (int i = 0; i < EACH; i++) {
        MPI_Request request;
        MPI_Isend(from->base + from->offset, BYTES, MPI_BYTE, peer, i, MPI_COMM_WORLD, &request);
        MPI_Recv(host, BYTES, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Both have noticed what was freed. */
static void settle(struct kit_buffer *to)
{
    for (int i = 0; i < 4; i++) {
        in_turns(&keep, to);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void run(const char *name, round_of *round, struct kit_buffer *to, int allocations)
{
    struct resources before, after;
    for (int n = 0; n < allocations + WARM; n++) {
        struct kit_buffer from;
        kit_open(&from, KIT_DEVICE, BYTES);
        kit_put(&from, 0, NULL, BYTES);
        round(&from, to);
        kit_close(&from);
        if (n == WARM) {
            settle(to);
            resources_now(&before);
        }
    }
    settle(to);
    resources_now(&after);
    resources_compare(name, &before, &after, SLACK);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        round_of *round;
    } cases[] = {{"at once", at_once},
                 {"in turns", in_turns},
                 {"cut off", cut_off},
                 {"together", together},
                 {"by host", by_host}};
    struct kit_buffer to[EACH];
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("descriptors", "two ranks, with the library");
    const int allocations = argc > 1 ? atoi(argv[1]) : 100;
    peer = 1 - kit_rank;
    kit_open(&keep, KIT_DEVICE, BYTES);
    kit_put(&keep, 0, NULL, BYTES);
    for (int i = 0; i < EACH; i++)
        kit_open(&to[i], KIT_DEVICE, BYTES);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run(cases[i].name, cases[i].round, to, allocations);
    for (int i = 0; i < EACH; i++)
        kit_close(&to[i]);
    kit_close(&keep);
    return kit_end("descriptors");
}
