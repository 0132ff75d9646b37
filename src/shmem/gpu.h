/* Operations of the host on heaps in memory of GPUs, as in struct tutti_shmem_kind: gpu.c, gpu_reduce.c. */
#ifndef TUTTI_SHMEM_GPU_H
#define TUTTI_SHMEM_GPU_H

#include "shmem/kind.h"
#include "shmem/wire/wire.h"

int tutti_shmem_gpu_copy(struct tutti_shmem *space, void *to, const void *from, size_t bytes, int later);
int tutti_shmem_gpu_element(struct tutti_shmem *space, void *to, const void *from, size_t bytes);
int tutti_shmem_gpu_blocks(struct tutti_shmem *space, void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst,
                           size_t block, size_t n, size_t bytes);
uint64_t tutti_shmem_gpu_amo(struct tutti_shmem *space, int operation, void *at, size_t bytes, uint64_t value,
                             uint64_t compare);
int tutti_shmem_gpu_put_signal(struct tutti_shmem *space, void *to, const void *from, size_t bytes, uint64_t *at,
                               uint64_t value, int operation, int later);
int tutti_shmem_gpu_quiet(struct tutti_shmem *space, int context);
int tutti_shmem_gpu_open_context(struct tutti_shmem *space, int context);
int tutti_shmem_gpu_move(struct tutti_shmem *space, const struct tutti_shmem_part *parts, size_t n);
int tutti_shmem_gpu_clear(struct tutti_shmem *space, void *at, size_t bytes);
int tutti_shmem_gpu_reduce(struct tutti_shmem *space, const struct tutti_shmem_job *job);
/* Usable in any stream of the GPU. Loads nothing, because kernels of the program may be waiting for work that
 * follows this call. Not for long double. */
struct tutti_stream;
int tutti_shmem_gpu_launch(struct tutti_shmem *space, struct tutti_stream *stream, const struct tutti_shmem_job *job);
int tutti_shmem_gpu_peek(struct tutti_shmem *space, struct tutti_shmem_peek *peek, const void *words, size_t bytes);
void tutti_shmem_gpu_forget(struct tutti_shmem *space, struct tutti_shmem_peek *peek);
/* gpu_agent.c */
extern const struct tutti_wire_local tutti_shmem_gpu_agent;
void *tutti_shmem_gpu_room(struct tutti_shmem *space, size_t bytes);
void tutti_shmem_gpu_give(struct tutti_shmem *space, void *memory);

#endif
