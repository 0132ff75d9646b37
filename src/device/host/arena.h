/* Address space of the host device's memory. Two ranges of the same size: the program knows the addresses of the first;
 * kernels and copies use the second, at a fixed distance. In strict mode nothing is ever accessible in the first. */
#ifndef TUTTI_DEVICE_HOST_ARENA_H
#define TUTTI_DEVICE_HOST_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

enum {
    TUTTI_HOST_RANGE = 2, /* see range.c: bytes are those of its pieces up to now */
    TUTTI_HOST_IDLE       /* freed and kept for the next one of that size: no bytes, not accessible */
};

struct tutti_host_region {
    uint64_t id;
    char *base;   /* in the first range */
    size_t bytes; /* as asked for */
    size_t span;  /* whole pages, followed by an inaccessible page, if it is not pooled */
    int fd;       /* of the memory; -1: imported */
    int own;      /* 1: allocated here, 0: imported, TUTTI_HOST_RANGE, TUTTI_HOST_IDLE */
    int shared;   /* exported: peers may have it mapped for a while after it was freed */
    int gpu;      /* whose memory it is; imported: for which it was mapped. Of separate GPUs, see gpus.h */
    int program;  /* 1: the program's, not by a call of Tutti */
};

/* Reserves the ranges, once. TUTTI_OK, TUTTI_ERR_MEMORY, or in a child after fork TUTTI_ERR_UNAVAILABLE. */
int tutti_host_arena_open(void);
/* 1 in a child of a process that had opened the arena: it may not touch memory, streams or events of its parent. */
int tutti_host_forked(void);
/* 1 if a region exists and this is not a child after fork. One load. */
int tutti_host_arena_active(void);
/* The second address of memory of the device. NULL: the address is not in the first range. */
char *tutti_host_arena_alias(const void *pointer);
/* Most bytes of one region. */
size_t tutti_host_arena_most(void);
/* 1 if addresses are left for one more region of so many bytes. */
int tutti_host_arena_has(size_t bytes);
/* Maps `fd` (whose memory is there) from `offset` on as a new region and gives it an id; fd is kept where own,
 * otherwise stays the caller's. out->gpu and out->program are what the caller has put there. */
int tutti_host_region_map(int fd, size_t offset, size_t bytes, int own, struct tutti_host_region *out);
/* If many regions exist: a new small one, cleared, whose memory lies in a file with that of others (pool.h). No
 * inaccessible page follows it. 0: it is not small, there are few, strictness is asked for, or it was not possible. */
int tutti_host_region_pooled(size_t bytes, struct tutti_host_region *out);
/* Where its memory begins in region->fd. */
size_t tutti_host_region_offset(const struct tutti_host_region *region);
/* Without strictness small regions are kept when they are unmapped. Returns the last kept region of this size, with
 * another id and cleared. 1, or 0 if no region of this size is kept. */
int tutti_host_region_again(size_t bytes, struct tutti_host_region *out);
/* Lets go of what is kept. 1 if that was any. */
int tutti_host_arena_trim(void);
/* The region is exported: it is not kept when it is unmapped. 0 if the region no longer exists. */
int tutti_host_region_share(const struct tutti_host_region *region);
/* Unmaps the region that starts at `base`; own as in the mapping. TUTTI_ERR_ARGUMENT where none does. */
int tutti_host_region_unmap(const void *base, int own);
/* A region without memory, of `bytes` bytes at most, at a multiple of `align`; own: TUTTI_HOST_RANGE. */
int tutti_host_region_reserve(int gpu, size_t bytes, size_t align, char **base);
/* Maps `fd` at its present end, or takes the last bytes from `at` on away. An id for what was mapped.
 * TUTTI_ERR_ARGUMENT where `at` is not such a place. */
int tutti_host_region_extend(char *at, size_t bytes, int fd, uint64_t *id);
int tutti_host_region_cut(char *at, size_t bytes);
/* Copies the region that holds `pointer`; 1, or 0 if none does. */
int tutti_host_region_find(const void *pointer, struct tutti_host_region *out);
/* The same for some region of the GPU that is in use. */
int tutti_host_region_of(int gpu, struct tutti_host_region *out);
/* The address by which kernels and copies reach [pointer, pointer + bytes): in the second range for memory of the
 * device, itself for other memory. NULL if it is memory of the device that is not (wholly) allocated. */
void *tutti_host_reach(const void *pointer, size_t bytes);
/* The same where the bytes may be of several regions, and what lies between them is not touched. */
void *tutti_host_reach_over(const void *pointer, size_t bytes);

#endif
