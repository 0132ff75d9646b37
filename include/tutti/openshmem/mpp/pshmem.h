/* OpenSHMEM's interface of profiling, beside mpp/shmem.h. */
#include "../pshmem.h"
