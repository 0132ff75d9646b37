#include "shmem/here.h"

struct tutti_shmem tutti_shmem_process;

static __thread const char *called_as; /* the name that errors give to this thread's calls; NULL: the call's own name */

void tutti_shmem_as(const char *call)
{
    called_as = call;
}

const char *tutti_shmem_called(const char *call)
{
    return called_as ? called_as : call;
}
