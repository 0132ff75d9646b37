/* OpenSHMEM's header by its old path. */
#include "../shmem.h"
