/* NVSHMEM's launches of kernels whose blocks wait for each other, and modules that the program loads. On the host,
 * where CUDA's headers are. Included by nvshmem.h alone. */
#ifndef TUTTI_NVSHMEM_LAUNCH_H
#define TUTTI_NVSHMEM_LAUNCH_H

#if defined(TUTTI_NVSHMEM_CUDA) && defined(__cplusplus)

/* Local. *gridsize: how many blocks of that kernel run at once on the current GPU. */
TUTTI_NVSHMEM int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 block, void **args, size_t shared,
                                                            int *gridsize)
{
    int gpu = 0, processors = 0, blocks = 0;
    (void)args;
    if (cudaGetDevice(&gpu) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, gpu) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, func, (int)(block.x * block.y * block.z), shared) !=
            cudaSuccess)
        return NVSHMEMX_ERROR_INTERNAL;
    *gridsize = blocks * processors;
    return NVSHMEMX_SUCCESS;
}

/* All PEs make the call, which does not wait for the kernel. A cooperative launch: all blocks run at once. grid: where
 * it is (0, 0, 0), as many blocks as can. args: pointers to the kernel's arguments. */
TUTTI_NVSHMEM int nvshmemx_collective_launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
                                             cudaStream_t stream)
{
    int most = 0;
    const int status = nvshmemx_collective_launch_query_gridsize(func, block, args, shared, &most);
    if (status != NVSHMEMX_SUCCESS)
        return status;
    if (grid.x == 0 && grid.y == 0 && grid.z == 0)
        grid = dim3((unsigned)most, 1, 1);
    const size_t blocks = (size_t)grid.x * grid.y * grid.z;
    if (blocks == 0 || blocks > (size_t)most) {
        fprintf(stderr, "nvshmemx_collective_launch: a grid of %u x %u x %u blocks, of which %d can run at once\n",
                grid.x, grid.y, grid.z, most);
        return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
    }
    const cudaError_t failed = cudaLaunchCooperativeKernel(func, grid, block, args, shared, stream);
    if (failed == cudaSuccess)
        return NVSHMEMX_SUCCESS;
    fprintf(stderr, "nvshmemx_collective_launch: %s\n", cudaGetErrorString(failed));
    return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}

/* Local, while the address space is up. Gives the kernels of a module that the program has loaded their PE. The module
 * is made of one file that nvcc has compiled without -rdc=true, or NVRTC. Another one gives an error and a message. */
TUTTI_NVSHMEM int tutti_nvshmem_module(const char *call, CUresult found, CUdeviceptr at, size_t bytes,
                                       const struct tshmem_state *state)
{
    static const struct tshmem_state none = {};
    if (found != CUDA_SUCCESS || bytes != sizeof none) {
        fprintf(stderr,
                "%s: the module has no \"tshmem_state_here\" of %zu bytes: compile it from one file, with this "
                "<nvshmem.h> and without -rdc=true\n",
                call, sizeof none);
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    return cuMemcpyHtoD(at, state ? state : &none, sizeof none) == CUDA_SUCCESS ? NVSHMEMX_SUCCESS
                                                                                : NVSHMEMX_ERROR_INTERNAL;
}

#define TUTTI_NVSHMEM_MODULE(call, type, find, state)                                                                  \
    TUTTI_NVSHMEM int call(type module)                                                                                \
    {                                                                                                                  \
        CUdeviceptr at = 0;                                                                                            \
        size_t bytes = 0;                                                                                              \
        const CUresult found = find(&at, &bytes, module, "tshmem_state_here");                                         \
        return tutti_nvshmem_module(#call, found, at, bytes, state);                                                   \
    }
TUTTI_NVSHMEM_MODULE(nvshmemx_cumodule_init, CUmodule, cuModuleGetGlobal, tshmem_state_get())
TUTTI_NVSHMEM_MODULE(nvshmemx_cumodule_finalize, CUmodule, cuModuleGetGlobal, NULL)
#if CUDA_VERSION >= 12000
TUTTI_NVSHMEM_MODULE(nvshmemx_culibrary_init, CUlibrary, cuLibraryGetGlobal, tshmem_state_get())
TUTTI_NVSHMEM_MODULE(nvshmemx_culibrary_finalize, CUlibrary, cuLibraryGetGlobal, NULL)
#endif
#undef TUTTI_NVSHMEM_MODULE

#endif
#endif
