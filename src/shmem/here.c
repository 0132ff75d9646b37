#include "shmem/here.h"

struct tutti_shmem tutti_shmem_process;

static __thread const char *called_as; /* what the thread's calls are made for; NULL: themselves */

void tutti_shmem_as(const char *call)
{
    called_as = call;
}

const char *tutti_shmem_called(const char *call)
{
    return called_as ? called_as : call;
}
