/* The kernels' side of a ring, written from its description (tutti/ring_state.h) alone: threads of this process make
 * requests. It is no copy of <tutti/device/ring.h>, which knows the address space. */
#ifndef TUTTI_TESTS_RING_KERNEL_H
#define TUTTI_TESTS_RING_KERNEL_H

#include "ring/ring.h"

struct kernel_request {
    uint64_t dest, source, bytes, value, compare, extra;
    unsigned operation, what, pe, size;
};

/* Both return 0 if the abort word was set while they waited. send: without a completion; call: until the request is
 * complete, with what it returns. */
int kernel_send(const struct tutti_ring_kernel_view *ring, const uint32_t *abort, const struct kernel_request *request);
int kernel_call(const struct tutti_ring_kernel_view *ring, const uint32_t *abort, const struct kernel_request *request,
                uint64_t *result);

#endif
