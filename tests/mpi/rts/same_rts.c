/* Several ranks that have made equally many sends send messages of one length and tag to rank 0, as programs do whose
 * ranks are alike. All are on their way when rank 0 receives them, by source, by any source, and in every order: each
 * receive gets the message of its sender. From 3 ranks on; argument: rounds (40). */
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { MOST = 512, TAG = 3, RANKS = 16 };

static const unsigned char *contents(int round, int rank, int bytes)
{
    static unsigned char data[MOST];
    for (int b = 0; b < bytes; b++)
        data[b] = (unsigned char)random_mix(kit_seed + (uint64_t)round * 1000003 + (uint64_t)rank * 7919 + (uint64_t)b);
    return data;
}

static void check(struct kit_buffer *b, int round, int rank, int bytes, const MPI_Status *status)
{
    int count = -1, guards = 0;
    MPI_Get_count(status, MPI_BYTE, &count);
    const char *got = kit_get(b, &guards);
    CHECK(count == bytes && status->MPI_SOURCE == rank && guards &&
              memcmp(got, contents(round, rank, bytes), (size_t)bytes) == 0,
          "round %d, %d bytes of rank %d: %d bytes of rank %d, guards %d, first byte %02x, not %02x", round, bytes,
          rank, count, status->MPI_SOURCE, guards, (unsigned char)got[0], contents(round, rank, bytes)[0]);
}

/* The other ranks' messages of this round in a drawn order; every third round by MPI_ANY_SOURCE, every second one by
 * nonblocking receives. */
static void receive_all(struct kit_buffer in[], int round, int bytes)
{
    MPI_Request requests[RANKS];
    MPI_Status statuses[RANKS];
    int order[RANKS], n = 0;
    uint64_t dice = random_mix(kit_seed ^ (uint64_t)round * 2654435761u);
    for (int r = 1; r < kit_size; r++)
        order[n++] = r;
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)(random_next(&dice) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (int i = 0; i < n; i++) {
        void *to = kit_put(&in[i], 0, NULL, (size_t)bytes);
        const int from = round % 3 == 2 ? MPI_ANY_SOURCE : order[i];
        if (round % 2)
            MPI_Irecv(to, bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Recv(to, bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &statuses[i]);
    }
    if (round % 2)
        MPI_Waitall(n, requests, statuses);
    for (int i = 0; i < n; i++)
        check(&in[i], round, round % 3 == 2 ? statuses[i].MPI_SOURCE : order[i], bytes, &statuses[i]);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {8, 1, 6, 64, 7, 300, 2, 479};
    struct kit_buffer in[RANKS], out;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int rounds = argc > 1 ? atoi(argv[1]) : 40;
    if (kit_size < 3 || kit_size > RANKS)
        kit_skip("same_rts", "from 3 to 16 ranks");
    for (int r = 0; r < kit_size; r++)
        kit_open(&in[r], r % 2 ? KIT_HOST : KIT_DEVICE, MOST);
    kit_open(&out, KIT_DEVICE, MOST);
    for (int round = 0; round < rounds && !check_failed(); round++) {
        const int bytes = lengths[round % 8];
        MPI_Request request = MPI_REQUEST_NULL;
        if (kit_rank > 0)
            MPI_Isend(kit_put(&out, 0, contents(round, kit_rank, bytes), (size_t)bytes), bytes, MPI_BYTE, 0, TAG,
                      MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD); /* all are on their way */
        if (kit_rank == 0)
            receive_all(in, round, bytes);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int r = 0; r < kit_size; r++)
        kit_close(&in[r]);
    kit_close(&out);
    return kit_end("same_rts");
}
