/* What a reduction kernel is given: plain C, the same bytes for every device. In a kernel the participants are GPUs;
 * the contributions are ranks', combined in rank order for every element. All pointers are device pointers of the
 * launching process (abort, done and where: mapped host memory). */
#ifndef TUTTI_KERNELS_ARGS_H
#define TUTTI_KERNELS_ARGS_H

#include <stddef.h>
#include <stdint.h>

/* The first epoch of a fresh channel follows this one: every run passes the wrap of the packets' flags. */
#define TUTTI_EPOCHS_BEFORE ((UINT64_C(1) << 31) - 256)

enum {
    TUTTI_MAX_GPUS = 16,          /* participants of one kernel */
    TUTTI_MAX_RANKS = 64,         /* contributions of one kernel */
    TUTTI_MAX_BLOCKS = 256,       /* thread blocks of one kernel */
    TUTTI_PEERS = TUTTI_MAX_GPUS, /* in place of a rank: all others */
    TUTTI_FLAG_PHASES = 2,
    TUTTI_FLOW_PHASES = 3,
    TUTTI_TICKS = 1 << 16, /* more than the blocks of any launch */
    TUTTI_SCRUB = 1 << 28  /* epochs between two cleanings of the packets' region, see flow.inc */
};

/* What a flow kernel does with the contributions. */
enum tutti_shape {
    TUTTI_SHAPE_ALL,      /* every rank gets everything (allreduce) */
    TUTTI_SHAPE_ROOT,     /* one rank gets everything (reduce) */
    TUTTI_SHAPE_SEGMENTS, /* every rank gets its segment (reduce-scatter) */
    TUTTI_SHAPE_THROUGH,  /* rank r gets ranks 0 to r combined (scan) */
    TUTTI_SHAPE_BEFORE,   /* rank r gets ranks 0 to r - 1 combined (exscan) */
    TUTTI_SHAPE_NOTHING   /* no rank gets data: a barrier */
};

/* Memory of a rank that kernels of its peers reach. */
enum tutti_place {
    TUTTI_PLACE_RESULT, /* that they store to */
    TUTTI_PLACE_SOURCE, /* that they load from; some store to it too */
    TUTTI_PLACES
};

/* The start of a channel, in device memory of its owner. Flags hold the epoch that the writer has reached and only grow
 * (compared as a signed difference, so that they survive the wrap); flag[phase][writer][block] is written by the block
 * of that number on GPU `writer`, and read by the owner's block of the same number. */
struct tutti_channel_flags {
    uint32_t flag[TUTTI_FLAG_PHASES][TUTTI_MAX_GPUS][TUTTI_MAX_BLOCKS];
    uint32_t finished; /* blocks of the owner's launches that have ended, counted without end */
    uint32_t left;     /* epoch of the last launch that one of the owner's blocks left early */
    uint32_t pad[62];
    /* Flow kernels. What each warp reads when a launch begins lies together: a warp reads it at once. */
    uint64_t ticks;  /* launches so far, times TUTTI_TICKS; see flow.inc */
    uint64_t owed;   /* epoch of the last launch that ended without the knowledge that all peers had begun it */
    uint64_t begun;  /* epoch of the launch that was begun last */
    uint32_t failed; /* not zero: a launch has left early; later launches leave too */
    uint32_t pad1;
    uint64_t token[TUTTI_MAX_GPUS]; /* epoch that each peer has begun */
    uint64_t pad3[12];
    /* epoch << 24 | chunks that have arrived; the words that a block polls lie in a line of their own */
    uint64_t mark[TUTTI_MAX_BLOCKS][TUTTI_FLOW_PHASES][TUTTI_MAX_GPUS];
    uint32_t ended; /* blocks that have ended in launches that report, modulo their number */
    uint32_t pad4;
    uint64_t running; /* kernels in C: the launch in stream order that is under way */
    uint64_t asked;   /* when one of this GPU's threads has looked into host memory last, in ns of its clock */
    uint32_t pad2[26];
    /* Where each peer's memory lies, as the owner's GPU reaches it; 0: it is not mapped. Low and high half of the
     * address, each behind the low half of the epoch: epoch << 32 | half. Written by the peer. */
    uint64_t place[TUTTI_PLACES][TUTTI_MAX_GPUS][2];
};

/* Why a flow kernel has left early, or what it has done is not to be believed. */
enum tutti_left {
    TUTTI_LEFT_NOT,
    TUTTI_LEFT_TOLD,     /* the abort word */
    TUTTI_LEFT_LATE,     /* its time was up */
    TUTTI_LEFT_TWICE,    /* another launch of the channel ran at the same time, in another stream */
    TUTTI_LEFT_TRUNCATED /* a message in stream order was longer than the receive */
};

/* How a flow kernel says that it has ended, besides `launch_number`. */
enum tutti_notice {
    TUTTI_NOTICE_EPOCH = 1, /* stores the low half of its epoch in *noticed: the arguments are the same in every such
                               launch, and the word is another one than before */
    TUTTI_NOTICE_NEAR = 2   /* the result lies in memory of this GPU: later work finds it without a fence over the
                               system */
};

struct tutti_kernel_args {
    uint64_t count;    /* elements of this launch */
    uint64_t slice;    /* elements of one GPU's slice (twoshot, direct); the last may be shorter or empty. Direct in
                          shape SEGMENTS: of this GPU's pieces together */
    uint32_t ranks;    /* contributions */
    uint32_t outs;     /* results to store */
    uint32_t gpus;     /* participants */
    uint32_t gpu;      /* this one */
    uint32_t locals;   /* contributions that this GPU holds (oneshot, twoshot: it pushes them) */
    uint32_t epoch;    /* of this launch: never zero, the same on all participants */
    uint32_t blocks;   /* as launched */
    uint32_t finished; /* value of `finished` (channel) after the last block of this launch */
    uint32_t shape;    /* direct: enum tutti_shape. ROOT: out[0] is the root's; THROUGH, BEFORE: out[r] is rank r's,
                          NULL if it gets nothing; SEGMENTS: out[p] is that of piece p. Others: ALL */
    uint32_t pad;
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
    uint64_t begin[TUTTI_MAX_RANKS]; /* direct, SEGMENTS: first element of each piece in the contributions, and its */
    uint64_t n[TUTTI_MAX_RANKS];     /* elements */
    void *window[TUTTI_MAX_GPUS];    /* start of each GPU's channel (struct tutti_channel_flags, then data) */
    const volatile uint32_t *abort;  /* not zero: leave at once */
    volatile uint32_t *done;         /* set to epoch by the last block, after all stores of the launch are visible;
                                        direct: NULL if the stream is waited for instead */
    volatile uint32_t *where; /* progress: phase << 16 | GPU waited for, written when a wait gets long; may be NULL */
    uint64_t timeout_ns; /* a wait inside the kernel ends after this long; it then behaves as if aborted. 0: never */
    /* Host device alone: called now and then by a waiting kernel; not zero: leave at once. */
    int (*host_wait)(void *host_wait_with);
    void *host_wait_with;
};

/* Mail for a kernel that stays after its launch's call (linger), in mapped host memory: one 64-byte line that the host
 * writes. A word is sequence << 32 | 32 bits, so that each proves itself: a command is there when all of them are of
 * its sequence. One command is under way at a time. */
enum tutti_mail_word {
    TUTTI_MAIL_IN, /* low half, high half */
    TUTTI_MAIL_IN_HIGH,
    TUTTI_MAIL_OUT,
    TUTTI_MAIL_OUT_HIGH,
    TUTTI_MAIL_COUNT,
    TUTTI_MAIL_SHAPE, /* enum tutti_shape | root << 8 */
    TUTTI_MAIL_NUMBER,
    TUTTI_MAIL_WHAT, /* enum tutti_mail_what */
    TUTTI_MAIL_WORDS
};
enum tutti_mail_what { TUTTI_MAIL_NONE, TUTTI_MAIL_CALL, TUTTI_MAIL_LEAVE };
struct tutti_mail {
    uint64_t word[TUTTI_MAIL_WORDS];
};

/* And what the kernel says, in the order in which it says it; `leaving` and `left` are the number of their launch. */
struct tutti_answer {
    uint32_t leaving; /* it will look into the mail once more */
    uint32_t served;  /* sequence of the last command that it has taken */
    uint32_t left;    /* a command after `served` was not taken, and will not be */
};

/* What a flow kernel is given. Flow kernels have one participant for each GPU, keep their epoch in device memory and
 * need nothing of the host but the launch: they may be put into any stream and captured in a graph, as long as all
 * participants launch the same ones in the same order, one after the other. A participant is a rank (`ranks` of them),
 * or, where ranks share GPUs, the leader of those on a GPU: it brings the contributions of all of them. Offsets are
 * bytes from the channel's start, the same in every window. */
struct tutti_flow_args {
    /* What a small call looks at lies together: parameters come in lines, too. */
    const void *in; /* move_ll: the block that is repeated, see `chunk` */
    void *out;      /* move_ll: where the longest run of it is put together */
    uint64_t count; /* elements of the contribution; SEGMENTS: not used. move_direct: bytes of the longest run that
                       goes through the windows. move_ll: bytes of the block that is repeated */
    uint32_t ranks, rank, root;
    uint32_t shape;         /* enum tutti_shape */
    uint32_t blocks;        /* as launched */
    uint32_t launch_number; /* not zero: the last block stores it in *done when all is stored */
    uint32_t notice;        /* of enum tutti_notice */
    uint32_t tells;         /* 1: stores tokens at its peers when it begins, in every shape */
    uint32_t early;         /* 1: the stream's next work may take multiprocessors as soon as all blocks have begun; 0:
                               when this launch needs none any more that others keep, see flow.inc */
    uint32_t over;          /* 1: the result lies over contributions: all of a block's are read before it stores any */
    uint32_t contributions; /* of the call, combined in their order: more than `ranks` where leaders take part */
    uint32_t number;        /* of `in` among them */
    uint32_t locals;        /* contributions of this participant: `in`, and from 1 on begin[] with the numbers n[] */
    uint32_t outs;          /* results that it stores: `out`, and from 1 on result[] */
    uint32_t few;           /* move_ll, move_ll128: 1: each thread sends and receives one unit at most */
    uint32_t reached;       /* mapped_deep: 1: all peers have mapped this rank's buffers, see `there` */
    uint64_t region;        /* where the region of the kernel's protocol begins */
    uint64_t stride;        /* bytes by which what a launch of odd epoch uses lies further on; see flow.inc */
    uint64_t room;          /* bytes of one slot */
    volatile uint32_t *done;
    volatile uint32_t *noticed; /* mapped host memory */
    void *window[TUTTI_MAX_GPUS];
    uint64_t begin[TUTTI_MAX_GPUS]; /* SEGMENTS: first element of each rank's segment in `in`, and its elements. Kernels
                                       that move data: address of what goes to each rank, and its bytes. Leaders:
                                       address and number of each contribution of theirs */
    uint64_t n[TUTTI_MAX_GPUS];
    uint64_t slice;                   /* elements of a rank's slice, if there are slices. Kernels that move data:
                                         bytes of a run that are worth a block */
    uint64_t chunk;                   /* elements that a block moves at once, where it works in chunks. move_ll: bytes
                                         of the longest run that repeats a block; 0: none does */
    uint64_t depth;                   /* chunks under way in a block, or lane. Kernels that move data: blocks that
                                         a run is cut for at most */
    uint64_t packets, packets_stride; /* region and stride of LL packets, of every kernel */
    uint64_t timeout_ns;
    const volatile uint32_t *abort;
    volatile uint32_t *where;
    volatile uint32_t *failed; /* mapped host memory: enum tutti_left, stored where a launch leaves early */
    const volatile struct tutti_mail *mail; /* linger: whose first command is of sequence `expected` */
    volatile struct tutti_answer *answer;
    uint64_t linger_ns; /* how long it stays after a call; 0: not at all */
    uint32_t expected, pad;
    /* Host device alone: of a channel, in bytes; called now and then by a waiting kernel, not zero: leave at once. */
    uint64_t bytes;
    int (*host_wait)(void *host_wait_with);
    void *host_wait_with;
    /* Kernels that move data: address of the run from each rank, and its bytes. Leaders: address of each result. */
    uint64_t result[TUTTI_MAX_GPUS];
    uint64_t result_n[TUTTI_MAX_GPUS];
    /* This rank's memory as rank r has it mapped; 0: rank r has not. move_direct: result[r]. mapped, mapped_deep,
     * pipeline_direct: `in` and `out`, of result_n[r] bytes; move_split_direct: the message. Of these four all
     * addresses are 0 if one is. move_step: marks, see move_step.inc. */
    uint64_t there[TUTTI_PLACES][TUTTI_MAX_GPUS];
    /* Host device alone: where kernels reach memory of the device whose address they are given late; NULL: nowhere. */
    void *(*host_reach)(const void *device, size_t bytes);
};

/* 1 if the kernel of this position in kernels.def moves data. */
enum tutti_kernel_position {
#define TUTTI_KERNEL(id, name, args, part) TUTTI_KERNEL_AT_##id,
#include "kernels/kernels.def"
#undef TUTTI_KERNEL
    TUTTI_KERNELS_AT_ALL
};
static inline int tutti_kernel_moves(int kernel)
{
    return kernel >= TUTTI_KERNEL_AT_MOVE_LL && kernel < TUTTI_KERNELS_AT_ALL;
}

/* What an atomic makes of a word. */
enum tutti_amo_what {
    TUTTI_AMO_FETCH,        /* what it was */
    TUTTI_AMO_SET,          /* the value; what was there is not looked at */
    TUTTI_AMO_SWAP,         /* the value */
    TUTTI_AMO_COMPARE_SWAP, /* the value, where it was what is expected */
    TUTTI_AMO_COMBINE       /* what it was, combined with the value by the kernel's operator */
};

/* One atomic on one word, which other GPUs, and the host where it can, may change at the same time. The word is an
 * element of the kernel's type, of 4 or 8 bytes, aligned to its size. Values are its bits. */
struct tutti_amo_args {
    void *at;
    uint64_t value, expected;
    uint32_t what;           /* enum tutti_amo_what */
    uint32_t launch_number;  /* stored in *done when the atomic is done */
    volatile uint64_t *was;  /* mapped host memory: gets the old value of the word; NULL: not wanted */
    volatile uint32_t *done; /* mapped host memory; NULL: the stream is waited for instead */
};

/* Elements of one side that are combined with those of the other: to = from op to. No other kernel changes them
 * meanwhile. */
struct tutti_update_item {
    const void *from;
    void *to;
    uint64_t n;
};

/* Updates: each block makes one item. */
struct tutti_update_args {
    struct tutti_update_item item;         /* of a launch of one block */
    const struct tutti_update_item *items; /* mapped host memory, as many as there are blocks; NULL: `item` */
    volatile uint32_t *done; /* mapped host memory: one block stores launch_number when its elements are there; NULL:
                                the stream is waited for instead */
    uint32_t launch_number;
    uint32_t pad;
};

#endif
