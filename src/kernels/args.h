/* What a reduction kernel is given: plain C, the same bytes for every device. In a kernel the participants are GPUs;
 * the contributions are ranks', combined in rank order for every element. All pointers are device pointers of the
 * launching process (abort, done and where: mapped host memory). */
#ifndef TUTTI_KERNELS_ARGS_H
#define TUTTI_KERNELS_ARGS_H

#include <stdint.h>

enum {
    TUTTI_MAX_GPUS = 16,    /* participants of one kernel */
    TUTTI_MAX_RANKS = 64,   /* contributions of one kernel */
    TUTTI_MAX_BLOCKS = 128, /* thread blocks of one kernel */
    TUTTI_FLAG_PHASES = 2
};

/* The start of a channel, in device memory of its owner. Flags hold the epoch that the writer has reached and only grow
 * (compared as a signed difference, so that they survive the wrap); flag[phase][writer][block] is written by the block
 * of that number on GPU `writer`, and read by the owner's block of the same number. */
struct tutti_channel_flags {
    uint32_t flag[TUTTI_FLAG_PHASES][TUTTI_MAX_GPUS][TUTTI_MAX_BLOCKS];
    uint32_t finished; /* blocks of the owner's launches that have ended, counted without end */
    uint32_t left;     /* epoch of the last launch that one of the owner's blocks left early */
    uint32_t pad[62];
};

struct tutti_kernel_args {
    uint64_t count;      /* elements of this launch */
    uint64_t slice;      /* elements of one GPU's slice (twoshot, direct); the last may be shorter or empty */
    uint32_t ranks;      /* contributions */
    uint32_t outs;       /* results to store */
    uint32_t gpus;       /* participants */
    uint32_t gpu;        /* this one */
    uint32_t locals;     /* contributions that this GPU holds (oneshot, twoshot: it pushes them) */
    uint32_t epoch;      /* of this launch: never zero, the same on all participants */
    uint32_t blocks;     /* as launched */
    uint32_t finished;   /* value of `finished` (channel) after the last block of this launch */
    uint64_t slot_bytes; /* oneshot, twoshot: distance of two ranks' slots in a window */
    /* Byte offsets from the channel's start, the same in every window: slot 0; twoshot: the result region. A launch
     * that exchanges (oneshot, twoshot) may use those of the last but one, never those of the last: peers may still
     * read. */
    uint64_t slots;
    uint64_t result;
    uint16_t local[TUTTI_MAX_RANKS]; /* ranks whose contributions this GPU holds */
    /* Contribution of each rank: local ones and, in `direct`, all of them: the buffer itself. Others: filled in by the
     * kernel's own arithmetic (slot of the own window). */
    const void *in[TUTTI_MAX_RANKS];
    void *out[TUTTI_MAX_RANKS];
    void *window[TUTTI_MAX_GPUS];   /* start of each GPU's channel (struct tutti_channel_flags, then data) */
    const volatile uint32_t *abort; /* not zero: leave at once */
    volatile uint32_t *done;        /* set to epoch by the last block, after all stores of the launch are visible */
    volatile uint32_t *where; /* progress: phase << 16 | GPU waited for, written when a wait gets long; may be NULL */
    uint64_t timeout_ns; /* a wait inside the kernel ends after this long; it then behaves as if aborted. 0: never */
    /* Host device alone: called now and then by a waiting kernel; not zero: leave at once. */
    int (*host_wait)(void *host_wait_with);
    void *host_wait_with;
};

#endif
