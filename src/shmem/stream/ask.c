/* PEs of other nodes in stream order: a kernel of one thread puts a request into the ring of the kernels and, where the
 * stream is to wait, looks until it is done. So it is a part of graphs too. */
#include "core/status.h"
#include "shmem/stream/stream.h"

int tutti_shmem_stream_ask(const struct tutti_shmem_asked *asked, int pe, int wait, const char *name, void *stream)
{
    struct tutti_shmem_streamed call = {.args = {.asked = *asked, .part = (uint32_t)wait}};
    call.args.asked.pe = pe;
    if (tutti_shmem.gpu && tutti_shmem.state.ring.slots == 0)
        return tutti_shmem_fail(TUTTI_ERR_UNAVAILABLE, name,
                                "PE %d is on another node, which streams reach by the ring of the kernels: not with "
                                "TUTTI_SHMEM_RING=off",
                                pe);
    return tutti_shmem_stream_one(&call, TUTTI_SHMEM_DO_ASK, 0, name, stream);
}
