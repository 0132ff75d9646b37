/* How messages in stream order travel: the section message_stream of the rules. Private to p2p/. */
#ifndef TUTTI_P2P_STREAM_WAYS_H
#define TUTTI_P2P_STREAM_WAYS_H

#include <stddef.h>

enum tutti_stream_way {
    TUTTI_STREAM_RING, /* through the ring of the lane */
    TUTTI_STREAM_OFFER /* receives offer their buffers, sends look for an offer; the ring until there is one */
};

/* Local: the sides of a message need not agree. bytes: of the buffer. */
enum tutti_stream_way tutti_stream_way(size_t bytes);

#endif
