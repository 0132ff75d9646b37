/* OpenSHMEM's header of extensions, beside mpp/shmem.h. */
#include "../shmemx.h"
