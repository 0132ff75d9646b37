/* libtutti-openshmem: OpenSHMEM's names as functions, for programs compiled with <shmem.h>, for configure scripts,
 * dlsym and bindings. Each is strong as pshmem_NAME, and weak as shmem_NAME, so that a tool for profiling can take its
 * place. The library is apart from libtutti-core, so that in an MPI program no name of another OpenSHMEM changes
 * its meaning. */
#ifndef OPENSHMEM_NAMES_H
#define OPENSHMEM_NAMES_H

#include "tutti/shmem.h"

#include "tutti/openshmem/pshmem.h"

/* Functions are called by their own names here, not by those that choose a type. */
#undef shmem_sync
#undef shmem_signal_set
#undef shmem_signal_add
#undef shmem_wait_until

#define TUTTI_WEAK_ALIAS(of) __attribute__((weak, alias(of)))

#endif
