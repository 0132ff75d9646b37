/* The operations of the CUDA device that may wait for running kernels, prepared apart from kernels that wait. Contracts
 * in device/device.h. */
#ifndef TUTTI_DEVICE_CUDA_GATE_H
#define TUTTI_DEVICE_CUDA_GATE_H

#include "device/device.h"

int tutti_cuda_prepare(int gpu, uint32_t kernels, int type, int op);
int tutti_cuda_gated_prepare_shmem(int gpu, int type);
int tutti_cuda_gated_prepare_lane(int gpu);
int tutti_cuda_gated_prepare_meet(int gpu);
int tutti_cuda_gated_prepare_pack(int gpu, int all, size_t *room);

int tutti_cuda_gated_alloc(int gpu, size_t bytes, void **device);
int tutti_cuda_gated_free(void *device);
int tutti_cuda_gated_alloc_pinned(size_t bytes, void **host);
int tutti_cuda_gated_free_pinned(void *host);
int tutti_cuda_gated_map_host(int gpu, void *host, size_t bytes, void **device);
int tutti_cuda_gated_unmap_host(int gpu, void *host);
int tutti_cuda_gated_export(const void *device, struct tutti_export *out, int *fd);
int tutti_cuda_gated_import(int gpu, const struct tutti_export *what, int fd, void **base);
int tutti_cuda_gated_release(int gpu, const struct tutti_export *what, void *base);
int tutti_cuda_gated_reach_memory(int gpu, const void *pointer);
int tutti_cuda_gated_range_open(int gpu, size_t bytes, void **base);
int tutti_cuda_gated_range_add(int gpu, void *at, size_t bytes);
int tutti_cuda_gated_range_import(int gpu, const struct tutti_export *what, int fd, void *at);
int tutti_cuda_gated_range_cut(int gpu, void *at);
int tutti_cuda_gated_range_close(int gpu, void *base);
int tutti_cuda_gated_stream_create(int gpu, struct tutti_stream **out);
int tutti_cuda_gated_stream_destroy(struct tutti_stream *stream);
struct tutti_cuda_context;
int tutti_cuda_gated_make_beside(struct tutti_cuda_context *context);
int tutti_cuda_gated_launch_prepare(struct tutti_stream *stream, const struct tutti_launch *launch,
                                    struct tutti_prepared **out);
void tutti_cuda_gated_launch_drop(struct tutti_prepared *prepared);
int tutti_cuda_gated_keep_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch,
                               struct tutti_prepared **out);

#endif
