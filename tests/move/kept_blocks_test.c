/* The account of endpoints for blocks of collectives (team/endpoint/endpoint_price.c): whether a peer is to keep the
 * memory of a block mapped, by what blocks have lost that went another way. */
#include "team/endpoint_price.h"

static int until_kept(uint64_t id, uint64_t extent, uint64_t ns)
{
    int n = 0;
    for (; !tutti_endpoint_keeps(&endpoint, PEER, id, extent) && n < NEVER; n++)
        tutti_endpoint_block_lost(&endpoint, PEER, id, ns);
    return n;
}

/* Blocks that go another way count, by what they lose. The question whether the peer keeps the memory changes nothing,
 * nor does what is lost before the peer is asked to map it. */
static void blocks(void)
{
    enum { LOST = 2000 };
    static struct tutti_endpoint endpoint_before;
    static struct tutti_endpoint_from from_before;
    begin(&without_engines, 0);
    const uint64_t id = ++ids, other = ++ids;
    tutti_endpoint_block_lost(&endpoint, PEER, id, LOST);
    from_before = from[PEER];
    endpoint_before = endpoint;
    for (int i = 0; i < CREDIT / LOST; i++)
        CHECK(!tutti_endpoint_keeps(&endpoint, PEER, id, 0) && !tutti_endpoint_keeps(&endpoint, PEER, other, 0),
              "question %d: it is kept", i);
    CHECK(memcmp(&from_before, &from[PEER], sizeof from_before) == 0 &&
              memcmp(&endpoint_before.owed, &endpoint.owed, sizeof endpoint.owed) == 0,
          "a question changes an account");
    int n = until_kept(id, 0, LOST);
    CHECK(n == CREDIT / LOST - 1 && endpoint.owed == 0, "to be kept after %d blocks, %llu ns are owed", n,
          (unsigned long long)endpoint.owed);
    CHECK(tutti_endpoint_keeps(&endpoint, PEER, id, 0), "no more, before the peer was asked");
    tutti_endpoint_block_asks(&endpoint, PEER, id, 0);
    CHECK(endpoint.owed == USUAL - CREDIT, "%llu ns are owed for it", (unsigned long long)endpoint.owed);
    n = until_kept(id, 0, LOST);
    CHECK(n == CREDIT / LOST, "asked again after %d blocks", n);
    tutti_endpoint_block_asks(&endpoint, PEER, id, 0);
    CHECK(until_kept(id, 0, LOST) == 2 * CREDIT / LOST, "not asked ever more seldom");
    CHECK(until_kept(other, 0, LOST) == USUAL / LOST, "another one is to be kept before it pays");
    tutti_endpoint_block_asks(&endpoint, PEER, other, 0);
    CHECK(endpoint.owed == USUAL - CREDIT, "what has paid is owed");
    CHECK(until_kept(0, 0, LOST) == NEVER, "an allocation that is not known is to be kept");
    atomic_store(&theirs->known[0][3].id, other);
    CHECK(tutti_endpoint_keeps(&endpoint, PEER, other, 0), "what the peer has mapped is not kept");
    CHECK(tutti_endpoint_keeps(&endpoint, 0, ++ids, 0), "memory of this rank is to be mapped for itself");
}

/* Blocks of large allocations: the first mapping takes five times as long, also where usual ones take less. */
static void large_blocks(void)
{
    enum { LOST = 2000, LARGE = 256 << 20, TIMES = 5, JOINED = 200000 };
    begin(&without_engines, 0);
    const uint64_t id = ++ids, other = ++ids, usual_one = ++ids;
    CHECK(until_kept(id, LARGE, LOST) == CREDIT / LOST, "the first one is not mapped on credit");
    tutti_endpoint_block_asks(&endpoint, PEER, id, LARGE);
    CHECK(endpoint.owed == (uint64_t)TIMES * USUAL - CREDIT, "%llu ns are owed for it",
          (unsigned long long)endpoint.owed);
    from[PEER].leased = id;
    theirs->mapping_ns[TUTTI_MAPPING_SMALL] = JOINED;
    CHECK(until_kept(other, LARGE, LOST) == TIMES * USUAL / LOST, "another one is to be kept before it pays");
    CHECK(until_kept(usual_one, LARGE - 1, LOST) == JOINED / LOST, "the longest of usual ones");
    theirs->mapping_ns[TUTTI_MAPPING_LARGE] = JOINED;
    CHECK(tutti_endpoint_keeps(&endpoint, PEER, other, LARGE), "behind a quick mapping of a large one");
}

int main(void)
{
    price_open();
    blocks();
    large_blocks();
    printf("kept_blocks: %ld failed\n", check_failed());
    return check_failed() != 0;
}
