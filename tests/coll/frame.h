/* Shared by tests of collectives over a team of threads: a rank's team, stream and buffers, and how such a test starts.
 */
#ifndef TUTTI_TEST_COLL_FRAME_H
#define TUTTI_TEST_COLL_FRAME_H

#include "device/device.h"
#include "support/check.h"
#include "support/random.h"
#include "support/threads.h"
#include "team/team.h"

enum { FRAME_GUARD = 64, FRAME_LEFT = 0x5e }; /* bytes around a buffer; their value */

extern uint64_t frame_seed;
extern int frame_rounds;
extern size_t frame_most; /* bytes of the longest contribution */

struct frame {
    struct tutti_node *node;
    struct tutti_team *team;
    struct tutti_stream *stream; /* after frame_stream() */
    struct tutti_device capture; /* the team's device with the rules of a capture: frame_stream() */
    uint64_t dice;               /* of this rank alone */
    size_t room;                 /* bytes of each buffer */
    char *in, *out;              /* device */
    unsigned char *host, *kept, *expected;
};

/* A team over the transport, and buffers of `room` bytes. 0: failed, reported. */
int frame_open(struct frame *frame, struct tutti_transport *transport, size_t room);
/* Opens the team for calls in stream order, and a stream. 0: failed, reported. From here on the team's device refuses,
 * as a GPU does in a capture, to let a stream wait for an event that the call has not recorded. */
int frame_stream(struct frame *frame);
/* A call in stream order begins: with it, a graph. Local. */
void frame_capture(void);
/* Collective. */
void frame_close(struct frame *frame, struct tutti_transport *transport);
/* Copies `in` and `out` from these bytes. */
void frame_fill(const struct frame *frame, const unsigned char *in, const unsigned char *out);
/* The first byte at which device memory differs from `expected`, the former then being in `host`; room: none. */
size_t frame_differs(const struct frame *frame, const char *device, const unsigned char *expected);

/* The whole test: settings, rules, and `run` on RANKS threads. The exit status. */
int frame_main(const char *ranks, const char *name, const char *rules,
               int (*run)(struct tutti_transport *transport, void *unused));

#endif
