/* Broadcasts whose blocks are fetched from the root's memory. Needs TUTTI_STATS=1.
 * The root shows its block before all ranks are known to have device memory. Every second call has a receiver with host
 * memory and goes another way: what was shown is taken back, and there is room for the next. */
#include "kit.h"

enum { ROUNDS = 300, BYTES = 4096 };
static const char fetched[] = "fetched from each other";

/* One broadcast of the first `bytes` bytes from this root. */
static void posted_bcast(struct kit_buffer *buffer, int root, int bytes, int round)
{
    static unsigned char values[BYTES];
    int guards = 1;
    for (int i = 0; i < bytes; i++)
        values[i] = (unsigned char)(kit_rank == root ? i * 7 + round : 0xaa);
    void *at = kit_put(buffer, 0, values, (size_t)bytes);
    CHECK(MPI_Bcast(at, bytes, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS, "round %d: MPI_Bcast", round);
    const unsigned char *got = (const unsigned char *)kit_get(buffer, &guards);
    for (int i = 0; i < bytes; i++) {
        if (!CHECK(guards && got[i] == (unsigned char)(i * 7 + round), "round %d: byte %d is %d", round, i, got[i]))
            break;
    }
}

static void posted_in_turns(void)
{
    struct kit_buffer device, host;
    kit_open(&device, KIT_DEVICE, BYTES);
    kit_open(&host, KIT_HOST, BYTES);
    for (int round = 0; round < ROUNDS && !check_failed(); round++) {
        posted_bcast(&device, 0, 1 + round * 7 % BYTES, round);
        posted_bcast(kit_rank == 1 ? &host : &device, 0, 1 + round * 7 % BYTES, round);
    }
    CHECK(kit_plain || kit_counted("MPI_Bcast", fetched) == ROUNDS, "%d of %d calls were fetched",
          (int)kit_counted("MPI_Bcast", fetched), ROUNDS);
    kit_close(&device);
    kit_close(&host);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    posted_in_turns();
    return kit_end("moves_posted");
}
