/* OpenSHMEM's header, for programs that are compiled as they are: pkg-config tutti-openshmem, CMake's
 * tutti::tutti-openshmem and oshcc put this folder into the compiler's way. */
#if defined(__CUDACC__) || defined(TSHMEM_KERNELS) /* the calls are of kernels, too */
#include <tutti/shmem_names.h>
#else
#include <tutti/shmem_functions.h>
#endif
