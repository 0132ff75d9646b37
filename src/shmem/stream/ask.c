/* PEs of other nodes in stream order: a kernel of one thread puts a request into the ring of the kernels. If the
 * stream must wait, the kernel polls until the request is complete. So it can be captured in graphs. */
#include "core/log.h"
#include "core/status.h"
#include "progress/transport.h"
#include "shmem/stream/stream.h"

/* If threads of Tutti may not call the MPI, a program that waits for its stream by itself would hang. */
static void stream_warn(struct tutti_shmem *space, const char *name)
{
    static atomic_int said;
    if (!space->transport->any_thread && !atomic_exchange(&said, 1))
        tutti_warn(
            "%s: without MPI_THREAD_MULTIPLE (TUTTI_ASYNC_PROGRESS=1 asks for it) operations of streams on PEs of "
            "other nodes progress only while the program is in calls of Tutti's that wait; waiting for the stream "
            "is not such a call",
            name);
}

int tutti_shmem_stream_reaches_far(struct tutti_shmem *space, const char *name)
{
    if (!space->gpu) /* reported later */
        return 1;
    if (space->state.ring.slots == 0) {
        tutti_shmem_fail(space, TUTTI_ERR_UNAVAILABLE, name,
                         "streams reach PEs of other nodes by the ring of the kernels: not with TUTTI_SHMEM_RING=off");
        return 0;
    }
    stream_warn(space, name);
    return 1;
}

int tutti_shmem_stream_ask(struct tutti_shmem *space, const struct tutti_shmem_asked *asked, int pe, int wait,
                           const char *name, void *stream)
{
    struct tutti_shmem_streamed call = {.args = {.asked = *asked, .part = (uint32_t)wait}};
    call.args.asked.pe = pe;
    if (!tutti_shmem_stream_reaches_far(space, name))
        return TUTTI_ERR_UNAVAILABLE;
    return tutti_shmem_stream_one(space, &call, TUTTI_SHMEM_DO_ASK, 0, name, stream);
}
