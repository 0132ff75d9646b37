/* A call of one rank that lacks something on its way: a block that cannot be posted or packed, or memory. Then nothing
 * is done, and each block that was posted is withdrawn, once. The blocks' calls are this test's. */
#include <stdlib.h>
#include <string.h>

#include "coll/move/blocks.h"
#include "core/reasons.h"
#include "core/settings.h"
#include "core/status.h"
#include "support/check.h"
#include "team/team.h"

enum { BLOCKS = 5, BYTES = 64, NEVER = BLOCKS };

static int posted[BLOCKS], withdrawn[BLOCKS], exchanged;
static int refused, unpacked; /* the block that cannot be posted, or packed */
static struct tutti_p2p_send *first;
static struct tutti_rndv *const rndv = (struct tutti_rndv *)(void *)posted; /* nothing looks into it */

/* In place of the core's. */
int tutti_block_post(struct tutti_move *move, int i, int peer, struct tutti_p2p_send *send, struct tutti_pack_job *job)
{
    (void)move, (void)peer;
    first = i == 0 ? send : first;
    job->bytes = (size_t)(i == unpacked);
    if (i == refused)
        return 0;
    send->rndv = rndv;
    posted[i]++;
    return 1;
}

void tutti_block_withdraw(struct tutti_move *move, struct tutti_p2p_send *send)
{
    (void)move;
    if (send->rndv)
        withdrawn[send - first]++;
    send->rndv = NULL;
}

int tutti_pack_now(int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    (void)gpu, (void)jobs, (void)n;
    return TUTTI_ERR_MEMORY;
}

int tutti_team_peer(const struct tutti_team *team, int r)
{
    (void)team;
    return r;
}

int tutti_endpoint_number(const struct tutti_endpoint *endpoint, const struct tutti_rndv *of)
{
    (void)endpoint, (void)of;
    return 0;
}

void tutti_p2p_list(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    (void)worker, (void)send;
}

void tutti_block_expect(struct tutti_move *move, int i, int peer, struct tutti_rndv *of, uint32_t number,
                        struct tutti_p2p_recv *recv)
{
    (void)move, (void)i, (void)peer, (void)of, (void)number, (void)recv;
}

void tutti_blocks_fetch(struct tutti_move *move, struct tutti_p2p_recv *recv, int from)
{
    (void)move, (void)recv, (void)from;
    exchanged++;
}

void tutti_blocks_await(struct tutti_move *move, struct tutti_p2p_send *send)
{
    (void)move, (void)send;
}

static void one(int post, int pack)
{
    struct tutti_team team = {.size = 1};
    struct tutti_p2p_worker worker = {0};
    static struct tutti_move_block send[BLOCKS], receive[BLOCKS];
    static struct tutti_move move;
    const char *how = "unset";
    const int fails = post < NEVER || pack < NEVER, before = post <= pack ? post : pack + 1;
    move =
        (struct tutti_move){.send = send, .receive = receive, .sends = BLOCKS, .receives = BLOCKS, .worker = &worker};
    const struct tutti_call call = {.move = &move};
    memset(posted, 0, sizeof posted);
    memset(withdrawn, 0, sizeof withdrawn);
    exchanged = 0;
    refused = post;
    unpacked = pack;
    CHECK(tutti_move_alone(&team, &call, &how) == TUTTI_OK && (how == NULL) == fails && exchanged == !fails,
          "block %d cannot be posted, %d packed: the call is%s made", post, pack, fails ? "" : " not");
    for (int i = 0; i < BLOCKS; i++)
        CHECK(posted[i] == (i < before) && withdrawn[i] == (fails && i < before),
              "block %d cannot be posted, %d packed: block %d is posted %d times and withdrawn %d times", post, pack, i,
              posted[i], withdrawn[i]);
}

int main(void)
{
    for (int post = 0; post <= NEVER; post++) {
        for (int pack = 0; pack <= NEVER; pack++)
            one(post, pack);
    }
    return check_failed() != 0;
}
