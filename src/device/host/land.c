/* Copies into memory of the host, and a word behind them, in the order of a stream. */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/status.h"
#include "device/host/host.h"

struct landed {
    _Atomic uint32_t *word;
    uint32_t value;
};

static void host_landed(void *with)
{
    const struct landed *const landed = with;
    atomic_store_explicit(landed->word, landed->value, memory_order_release);
    free(with);
}

int tutti_host_land(struct tutti_stream *stream, void *to, const void *from, size_t bytes, void *word, uint32_t value)
{
    struct landed *const landed = malloc(sizeof *landed);
    if (!landed)
        return TUTTI_ERR_MEMORY;
    *landed = (struct landed){word, value};
    int status = tutti_host_copy(stream, to, from, bytes);
    if (status == TUTTI_OK)
        status = tutti_host_call(stream, host_landed, landed);
    if (status != TUTTI_OK)
        free(landed);
    return status;
}
