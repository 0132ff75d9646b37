/* The interface of profiling of <shmemx.h>, which has no calls of its own. */
#include "pshmem.h"
#include "shmemx.h"
