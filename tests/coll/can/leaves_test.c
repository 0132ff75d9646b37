/* Which nonblocking reductions the starting call itself leaves to the MPI: of device memory, which peers have left
 * before, in any order, and on communicators without a stream of the program, for which the rank would wait. */
#include "coll/call/declined.h"
#include "coll/coll.h"
#include "core/types.h"
#include "support/check.h"
#include "team/team.h"

enum { COUNT = 7 };
static int declined;

/* In place of the core's. */
int tutti_declined_is_next(const struct tutti_team *team, enum tutti_collective collective, size_t bytes)
{
    (void)team;
    CHECK(collective == TUTTI_COLLECTIVE_ALLREDUCE && bytes == COUNT * sizeof(float), "%d, %d bytes", (int)collective,
          (int)bytes);
    return declined;
}

static int settle(void *with)
{
    CHECK(!with, "the program's stream is waited for");
    return 0;
}

int main(void)
{
    static struct tutti_team team;
    for (int i = 0; i < 1 << 5; i++) {
        const int on_device = i & 1, in_order = i >> 1 & 1, has_stream = i >> 2 & 1, of_mpi = i >> 3 & 1;
        const struct tutti_call call = {.collective = TUTTI_COLLECTIVE_ALLREDUCE,
                                        .kind = on_device ? TUTTI_ARRIVAL_DEVICE : TUTTI_ARRIVAL_HOST,
                                        .count = COUNT,
                                        .type = TUTTI_TYPE_F32,
                                        .op = TUTTI_OP_SUM,
                                        .host_ok = of_mpi};
        declined = i >> 4 & 1;
        team.size = in_order ? 3 : 2;
        tutti_coll_settle_by(&team, has_stream ? settle : NULL, &team);
        const int leaves = on_device && declined && of_mpi && !in_order && !has_stream;
        CHECK(tutti_reduce_leaves(&team, &call) == leaves, "case %d: not %d", i, leaves);
    }
    return check_failed() ? 1 : 0;
}
