/* OpenSHMEM's header, for programs that are compiled as they are: pkg-config tutti-openshmem and CMake's
 * tutti::openshmem put this folder into the compiler's way. */
#include <tutti/shmem_names.h>
