/* Beside mpp/pshmem.h. */
#include "../pshmemx.h"
