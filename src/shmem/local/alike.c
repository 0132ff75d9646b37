#include "shmem/local/alike.h"

#include "core/status.h"
#include "progress/transport.h"

int tutti_shmem_alike(struct tutti_transport *all, int64_t mine)
{
    int64_t words[2] = {mine, -mine};
    return all->ops->allreduce(all, words, 2, TUTTI_COMBINE_MIN) == TUTTI_OK && words[0] == -words[1];
}
