/* Packing launches by a kernel that stays on the GPU for a while (TUTTI_LINGER_US): it takes the next ones out of
 * pinned memory, without a launch. One block does small ones; copies of up to 16 MiB take several. One at a time, of
 * one stream. Private to src/dtype/. */
#ifndef TUTTI_DTYPE_PACK_STAY_H
#define TUTTI_DTYPE_PACK_STAY_H

#include "device/device.h"
#include "kernels/pack_args.h"

/* All zero at first, but for the memory. */
struct tutti_stay {
    struct tutti_pack_mail *mail; /* in mapped host memory, all zero; `seen` is how kernels see it */
    struct tutti_pack_answer *answer;
    void *mail_seen, *answer_seen;
    struct tutti_pack_relay *relay; /* in device memory, all zero */
    uint32_t sequence;              /* of the last mail */
    uint32_t number;                /* of the last launch that stays; 0: none was made */
    unsigned blocks;                /* of that launch */
    uint32_t started, relayed;      /* as in struct tutti_pack_stay: blocks of all launches, mails to several blocks */
    unsigned wide, lately;          /* the most blocks that one of the last launches wanted; how many it counts for */
    int may_be_there;               /* 1: that launch may serve further mails */
    int mailed;                     /* 1: the last mail holds a launch that may not have been begun */
    int off;                        /* 1: the device has no such kernel */
    int serves;                     /* 1: a kernel that is there takes a launch behind which none is to stay, too */
    _Alignas(struct tutti_pack_args) unsigned char args[TUTTI_PACK_FEW_BYTES]; /* of the launch that was mailed */
};

/* The least blocks with which such a kernel, which may have `most`, takes the launch; 0, or more than `most`: none
 * takes it. *bytes: of one run that it copies; 0: it does something else. */
unsigned tutti_stay_blocks(const struct tutti_pack_launch *launch, unsigned most, uint64_t *bytes);
/* A launch that is complete when its notice is there. most: blocks that the kernel may have. TUTTI_ERR_UNAVAILABLE: it
 * does not go this way, and nothing was done. *launched: 1 if a kernel was launched for it. */
int tutti_stay_launch(struct tutti_stay *stay, const struct tutti_device *device, struct tutti_stream *stream,
                      const struct tutti_pack_launch *launch, uint64_t linger_ns, unsigned most, int *launched);
/* Launches a kernel that begins with no work of its own and waits for a mail, in place of one that is there: for
 * launches like `launch`, behind which the host would wait. A failure is that of the next launch
 * too. A status. */
int tutti_stay_ahead(struct tutti_stay *stay, const struct tutti_device *device, struct tutti_stream *stream,
                     const struct tutti_pack_launch *launch, uint64_t linger_ns, unsigned most);
/* Launches afresh what was mailed to a kernel that had left. To be called while the notice of a launch is not there,
 * before the stream is asked whether it is idle. A status. */
int tutti_stay_check(struct tutti_stay *stay, const struct tutti_device *device, struct tutti_stream *stream);
/* The kernel leaves at once, so that what is put into the stream does not wait for it. No launch is under way. */
void tutti_stay_leave(struct tutti_stay *stay);

#endif
