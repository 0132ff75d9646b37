/* <nvshmem_host.h>: the calls of the host, which are in nvshmem.h here. */
#include "nvshmem.h"
