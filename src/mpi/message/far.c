#include "mpi/message/far.h"

#include <stdatomic.h>

#include "core/log.h"
#include "mpi/real/hook.h"
#include "mpi/request/request.h"

enum { LOOK_EACH = 8, TAGS = 32000 };

int tutti_far_on, tutti_far_progresses;
atomic_int tutti_far_arrived;
static struct tutti_pipelined *tutti_far; /* over the transport; NULL: tutti_far_on is 0 */

static void far_look(void);
struct tutti_step tutti_far_step = {.name = "messages to and from other nodes", .poll = far_look};

void tutti_far_open(struct tutti_transport *transport)
{
    enum { NOT, KEY, STANDS = KEY + 2, WORDS };
    int64_t mine[WORDS] = {tutti_door.aware, 0, 0, !tutti_door.multiple && !tutti_hook_is_there()}, all[WORDS];
    uint64_t drawn[2];
    int size = 1;
    tutti_next.MPI_Comm_size(tutti_handles.world, &size);
    if (tutti_node_size(tutti_door.node) == size) /* all ranks find the same */
        return;
    tutti_node_key(tutti_door.node, drawn);
    if (tutti_door.rank == 0) {
        mine[KEY] = (int64_t)(drawn[0] >> 1);
        mine[KEY + 1] = (int64_t)(drawn[1] >> 1);
    }
    const int tag = tutti_transport_tags(transport, TAGS);
    if (tag >= 0)
        tutti_far = tutti_pipelined_new(transport, (const uint64_t[]){0, 0}, tag, TAGS, &tutti_far_step);
    mine[NOT] |= !tutti_far;
    if (tutti_next.MPI_Allreduce(mine, all, WORDS, tutti_handles.int64, tutti_handles.max, tutti_handles.world) !=
            MPI_SUCCESS ||
        all[NOT]) {
        tutti_pipelined_free(tutti_far, 0);
        tutti_far = NULL;
        return;
    }
    tutti_pipelined_key(tutti_far, (const uint64_t[]){(uint64_t)all[KEY], (uint64_t)all[KEY + 1]});
    tutti_p2p.pipelined = tutti_far;
    tutti_far_on = 1;
    tutti_far_progresses = !all[STANDS];
}

void tutti_far_close(int alive)
{
    tutti_pipelined_free(tutti_far, alive);
    tutti_far = NULL;
    tutti_far_on = tutti_far_progresses = 0;
}

int tutti_far_is_rts(const struct tutti_pipelined_rts *rts)
{
    if (!tutti_pipelined_knows(tutti_far, rts))
        return 0;
    atomic_store(&tutti_far_arrived, 1);
    return 1;
}

/* The peers may send this rank as much as it sends. Schedules advance the fragments. */
static void far_look(void)
{
    static atomic_uint turns;
    if (tutti_far_has_arrived() && atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed) % LOOK_EACH == 0)
        tutti_requests_look();
}
