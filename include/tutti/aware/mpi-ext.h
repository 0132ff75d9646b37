/* For programs that ask when they are compiled whether the MPI takes device memory. With -I of this folder, this file
 * takes the place of the MPI's <mpi-ext.h>. It includes that file, if the MPI has one, and changes one macro: that of
 * an Open MPI built without CUDA is 0, so such programs leave out their paths for device pointers, or do not compile. A
 * program compiled so needs Tutti in front when it runs, unless it also asks MPIX_Query_cuda_support(). */
#if defined(__GNUC__)
#pragma GCC system_header /* #include_next is an extension */
#endif
#ifndef TUTTI_AWARE_MPI_EXT_H
#define TUTTI_AWARE_MPI_EXT_H

#include <mpi.h>

#if defined(__has_include_next)
#if __has_include_next(<mpi-ext.h>)
#include_next <mpi-ext.h>
#endif
#endif

#undef MPIX_CUDA_AWARE_SUPPORT
#define MPIX_CUDA_AWARE_SUPPORT 1

#endif
