/* Which calls a rank can make by fetch: by how many blocks it sends, and by what it and its peers reach; and the reason
 * where it cannot. The endpoint, and what blocks reach, are this test's. */
#include "coll/move/moves.h"
#include "core/reasons.h"
#include "core/settings.h"
#include "support/check.h"
#include "team/endpoint.h"
#include "team/team.h"

enum { GPU = 5, PEER = 3, MOST = TUTTI_RNDVS / 2, BYTES = 64 };
static int not_reached, other_gpu,
    maps; /* the block that is out of reach, and the one of a GPU that is not used; -1: none */
static struct tutti_move_block blocks[2 * MOST + 2];

/* In place of the core's. */
int tutti_move_reaches(struct tutti_move *move, struct tutti_move_block *block)
{
    (void)move;
    CHECK(block->bytes > 0, "a block of no bytes is looked at");
    block->gpu = block - blocks == other_gpu ? GPU + 1 : GPU;
    return block - blocks != not_reached || TUTTI_NO(TWO_GPUS);
}

int tutti_endpoint_use(struct tutti_endpoint *endpoint, int gpu)
{
    (void)endpoint;
    return gpu == GPU ? 0 : -1;
}

int tutti_endpoint_mapped(const struct tutti_endpoint *endpoint, int peer, int gpu)
{
    (void)endpoint;
    CHECK(peer == PEER && gpu == GPU, "rank %d, GPU %d", peer, gpu);
    return maps;
}

int tutti_team_peer(const struct tutti_team *team, int r)
{
    (void)team;
    return r + PEER;
}

/* The reason; TUTTI_REASON_NONE: the rank can make the call. empty: the blocks have no bytes. */
static enum tutti_reason refusal(int sends, int receives, int aside, int empty)
{
    static struct tutti_team team;
    struct tutti_p2p_worker worker = {.endpoint = NULL};
    struct tutti_move move = {.send = blocks,
                              .receive = blocks + sends,
                              .sends = sends,
                              .receives = receives,
                              .aside = aside,
                              .worker = &worker};
    const struct tutti_call call = {.move = &move};
    for (int i = 0; i < sends + receives; i++)
        blocks[i] = (struct tutti_move_block){.bytes = empty ? 0 : BYTES};
    (void)tutti_why_take(TUTTI_REASON_OTHER);
    if (tutti_move_fetch.can(&team, &call))
        return TUTTI_REASON_NONE;
    return tutti_why_take(TUTTI_REASON_OTHER);
}

static void expect(enum tutti_reason got, enum tutti_reason expected, const char *what)
{
    CHECK(got == expected, "%s: reason %d, not %d", what, (int)got, (int)expected);
}

int main(void)
{
    other_gpu = not_reached = -1;
    maps = TUTTI_MAPS;
    expect(refusal(MOST, MOST + 1, 0, 0), TUTTI_REASON_NONE, "half of the rendezvous");
    expect(refusal(MOST + 1, 1, 0, 0), TUTTI_REASON_MANY, "more than half of the rendezvous");
    expect(refusal(1, 1, 1, 0), TUTTI_REASON_IN_PLACE, "in place");
    for (int i = 0; i < 4; i++) {
        not_reached = i;
        expect(refusal(2, 2, 0, 0), TUTTI_REASON_TWO_GPUS, "a block out of reach");
        expect(refusal(2, 2, 0, 1), TUTTI_REASON_NONE, "blocks of no bytes out of reach");
        not_reached = -1;
        other_gpu = i;
        expect(refusal(2, 2, 0, 0), TUTTI_REASON_OTHER_GPU, "a block of another GPU");
        other_gpu = -1;
    }
    maps = TUTTI_MAPS_NOT_YET;
    expect(refusal(1, 1, 0, 0), TUTTI_REASON_NONE, "a peer that has mapped nothing yet");
    maps = TUTTI_MAPS_CANNOT;
    expect(refusal(1, 1, 0, 0), TUTTI_REASON_SCRATCH_UNREACHED, "a peer that cannot map the scratch");
    expect(refusal(0, 1, 0, 0), TUTTI_REASON_NONE, "such a peer, to which nothing goes");
    expect(refusal(1, 1, 0, 1), TUTTI_REASON_NONE, "such a peer, to which no bytes go");
    return check_failed() ? 1 : 0;
}
