/* Calls that repeat. Programs make the same nonblocking collective again and again: what the worker has made once needs
 * no other entry, description or copy of its arguments. Only what memory its buffers are may have changed. */
#include "core/lock.h"
#include "mpi/comm/comms.h"
#include "mpi/real/handles.h"
#include "mpi/reduce/deferred_call.h"
#include "mpi/reduce/nonblocking.h"

/* What two calls are compared by first, and found by. */
struct again_call {
    const char *name;
    const void *in, *out;
    MPI_Count count;
    int root;
};

static struct again_call again_of(const struct tutti_reduction_args *args, const struct tutti_collective_args *move)
{
    return move ? (struct again_call){move->name, move->in.buffer, move->out.buffer, move->in.count, move->root}
                : (struct again_call){args->name, args->sendbuf, args->recvbuf, args->count, args->root};
}

static struct tutti_lock lock; /* of what communicators keep */

static uint64_t again_key(const struct again_call *call)
{
    return (uint64_t)(uintptr_t)call->in + 3 * (uint64_t)(uintptr_t)call->out + 5 * (uint64_t)(uintptr_t)call->name +
           7 * (uint64_t)call->count + (uint64_t)(unsigned)call->root;
}

static int again_is_same(const struct tutti_open_call *open, const struct tutti_reduction_args *args,
                         const struct tutti_collective_args *move)
{
    const struct tutti_collective_args *const its = open->later ? &open->later->args : NULL;
    const struct again_call was = again_of(&open->args, its), now = again_of(args, move);
    if (was.name != now.name || was.in != now.in || was.out != now.out || was.count != now.count ||
        was.root != now.root)
        return 0;
    if (!move)
        return open->args.datatype == args->datatype && open->args.op == args->op;
    return its->in.type == move->in.type && its->out.count == move->out.count && its->out.type == move->out.type &&
           tutti_deferred_call_has_lists(open->later, move);
}

/* Not those of MPI_Ireduce_scatter, which has a list of its own. */
static int again_can_be(const struct tutti_open_call *open)
{
    return open->later ? tutti_deferred_call_is_predefined(open->later) : !open->counts;
}

int tutti_open_call_keep(struct tutti_open_call *open)
{
    if (!open->repeats || open->persistent || !again_can_be(open))
        return 0;
    const struct again_call call = again_of(&open->args, open->later ? &open->later->args : NULL);
    struct tutti_open_call *before = NULL;
    tutti_lock_take_alone(&lock, tutti_door_alone()); /* another thread may free the communicator */
    struct tutti_comm *const state = tutti_comm_find(open->args.comm);
    const int keeps = state && state->number == open->number && !state->over_nodes;
    if (keeps)
        before = tutti_kept_put(&state->kept, again_key(&call), open);
    tutti_lock_give(&lock);
    if (before)
        tutti_open_call_give(before);
    return keeps;
}

static struct tutti_open_call *again_take(struct tutti_comm *state, uint64_t key)
{
    tutti_lock_take_alone(&lock, tutti_door_alone());
    struct tutti_open_call *const open = tutti_kept_take(&state->kept, key);
    tutti_lock_give(&lock);
    return open;
}

struct tutti_open_call *tutti_open_call_again(struct tutti_comm *state, const struct tutti_reduction_args *args,
                                              const struct tutti_collective_args *move)
{
    if (!state)
        return NULL;
    const struct again_call call = again_of(args, move);
    struct tutti_open_call *const open = again_take(state, again_key(&call));
    if (!open || (again_is_same(open, args, move) && tutti_open_call_request(open)))
        return open;
    tutti_open_call_give(open); /* of another type, or of other lists */
    return NULL;
}

void tutti_open_calls_forget(struct tutti_comm *state)
{
    for (int i = 0; i < TUTTI_KEPT; i++) {
        struct tutti_open_call *const open = again_take(state, state->kept.key[i]);
        if (open)
            tutti_open_call_give(open);
    }
}
