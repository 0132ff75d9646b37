/* OpenSHMEM's header by its old path. */
#include <tutti/shmem_names.h>
