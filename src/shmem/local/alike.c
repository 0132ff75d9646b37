#include "progress/transport.h"
#include "shmem/space.h"

int tutti_shmem_alike(struct tutti_transport *transport, int64_t mine)
{
    int64_t words[2] = {mine, -mine};
    return transport->ops->allreduce(transport, words, 2, TUTTI_COMBINE_MIN) == TUTTI_OK && words[0] == -words[1];
}
