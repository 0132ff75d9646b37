/* Broadcasts whose blocks are fetched from the root's memory. Needs TUTTI_STATS=1.
 *   moves_posted       the root shows its block before all ranks are known to have device memory. Every second call has
 *                      a receiver with host memory and goes another way: what was shown is taken back, and there is
 *                      room for the next
 *   moves_posted kept  the receivers are to keep the root's memory mapped: other ways are taken until mapping it pays,
 *                      and again behind a new allocation. On credit one is mapped, not a second one
 *   moves_posted large  as `kept` (TUTTI_HOST_MAPPING_US=600): the first mapping of an allocation from 256 MiB on
 * takes longer, so it pays later moves_posted shared  ranks take turns on a GPU: other ways are always taken */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

/* Calls of packets that lose the price of a mapping (TUTTI_MAPPING_PRICE_US=100), 2 us each. Without a set price they
 * lose sooner so much that it is made on credit; so many are made before the packing kernels are loaded. */
enum { ROUNDS = 300, BYTES = 4096, CALLS_MOST = 6000, SOME = 20, PAY = 50, UNLOADED = 32 };
static const char fetched[] = "fetched from each other", kept[] = "fetched from memory that is kept mapped";

struct tutti_endpoint;
void tutti_endpoint_block_lost(struct tutti_endpoint *endpoint, int peer, uint64_t id, uint64_t ns);
static int lost; /* blocks that have gone another way, as the library counts them for the mapping */

/* In front of the core's. */
void tutti_endpoint_block_lost(struct tutti_endpoint *endpoint, int peer, uint64_t id, uint64_t ns)
{
    void (*next)(struct tutti_endpoint *, int, uint64_t, uint64_t);
    *(void **)&next = dlsym(RTLD_NEXT, "tutti_endpoint_block_lost");
    lost++;
    next(endpoint, peer, id, ns);
}

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

/* Until some calls are fetched from memory that is kept mapped: of those that only ask for the mapping there are few.
 * Returns the number of calls before the first one. */
static int posted_until_kept(struct kit_buffer *buffer)
{
    const long before = (long)kit_counted("MPI_Bcast", kept);
    int call = 0, first = CALLS_MOST;
    for (int all = 0; call < CALLS_MOST && !all && !check_failed(); call++) {
        posted_bcast(buffer, 0, 8, call);
        posted_bcast(buffer, 0, 2048, call); /* for which the rules name other rows */
        const long made = (long)kit_counted("MPI_Bcast", kept) - before;
        first = made > 0 && call < first ? call : first;
        const int mine = made >= SOME;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    CHECK(kit_plain || call < CALLS_MOST, "none of %d calls is fetched", call);
    return first;
}

/* Nothing has saved what is owed for the mapping of another allocation: no call of a new one is fetched. */
static void posted_while_owed(void)
{
    struct kit_buffer buffer;
    const uint64_t before = kit_counted("MPI_Bcast", kept);
    kit_open(&buffer, KIT_DEVICE, BYTES);
    for (int call = 0; call < 4 * UNLOADED; call++)
        posted_bcast(&buffer, 0, 8, call);
    CHECK(kit_counted("MPI_Bcast", kept) == before, "%d calls of a second allocation are fetched on credit",
          (int)(kit_counted("MPI_Bcast", kept) - before));
    kit_close(&buffer);
}

static void posted_kept(void)
{
    const int is_set = getenv("TUTTI_MAPPING_PRICE_US") != NULL, pay = is_set ? PAY : UNLOADED;
    for (int turn = 0; turn < (is_set ? 3 : 1); turn++) {
        struct kit_buffer buffer;
        kit_open(&buffer, KIT_DEVICE, BYTES);
        const int first = posted_until_kept(&buffer);
        CHECK(kit_plain || first >= pay - 1, "turn %d: of a new allocation calls are fetched after %d, before it pays",
              turn, first);
        const int before = lost;
        CHECK(kit_plain || kit_rank != 0 || before > 0, "turn %d: what other ways lose is not counted", turn);
        for (int call = 0; call < SOME; call++)
            posted_bcast(&buffer, 0, 8, call);
        CHECK(lost == before, "turn %d: %d calls that are fetched count as lost", turn, lost - before);
        kit_close(&buffer);
    }
    if (!is_set)
        posted_while_owed();
}

/* Behind a small allocation that was mapped on credit. The root alone knows how long its allocation is. */
static void posted_large(void)
{
    enum { LARGE = 256 << 20, LARGE_TIMES = 5, USUAL_US = 600, LOSES_US = 2 };
    struct kit_buffer small, large;
    kit_open(&small, KIT_DEVICE, BYTES);
    (void)posted_until_kept(&small);
    kit_open(&large, KIT_DEVICE, kit_rank == 0 ? LARGE : BYTES);
    const int first = posted_until_kept(&large), pay = LARGE_TIMES * USUAL_US / LOSES_US;
    CHECK(kit_plain || first >= pay - 1, "calls of a large allocation are fetched after %d, before it pays", first);
    kit_close(&large);
    kit_close(&small);
}

static void posted_shared(void)
{
    struct kit_buffer buffer;
    kit_open(&buffer, KIT_DEVICE, BYTES);
    for (int call = 0; call < ROUNDS; call++)
        posted_bcast(&buffer, 0, 8, call);
    /* in the first call a rank may not know yet that they share it */
    CHECK(kit_counted("MPI_Bcast", kept) <= 1, "%d calls are fetched", (int)kit_counted("MPI_Bcast", kept));
    kit_close(&buffer);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (argc > 1 && strcmp(argv[1], "kept") == 0)
        posted_kept();
    else if (argc > 1 && strcmp(argv[1], "large") == 0)
        posted_large();
    else if (argc > 1)
        posted_shared();
    else
        posted_in_turns();
    return kit_end("moves_posted");
}
