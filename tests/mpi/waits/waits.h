/* Shared by the files of waits.c. One rank, the owner, begins something that needs its progress, the traffic, and then
 * waits in another call. The other rank, the peer, completes its part of the traffic, and then does what the wait
 * needs. */
#ifndef TUTTI_TESTS_WAITS_H
#define TUTTI_TESTS_WAITS_H

#include "kit.h"

enum { WAITS_MOST = 3, WAITS_ROOM = 3 << 20, WAITS_LONG = 1 << 20 };

/* What is drawn of one round, the same on both ranks. */
struct waits_round {
    int owner, n, on_device, gaps, polls, way, how; /* way, how: of the traffic's own */
    int bytes[WAITS_MOST];
    uint64_t seed;
};
extern struct waits_round waits_now;
/* A number below n, the same on both ranks if both ask alike. */
int waits_drawn(int n);
/* Bytes of message i of the round. */
const char *waits_contents(int i, size_t bytes);

struct waits_row {
    const char *name;
    void (*waits)(int peer);  /* of the owner */
    void (*lets)(int owner);  /* of the peer */
    void (*first)(int owner); /* of the peer, before its part of the traffic; NULL: nothing */
    int in_window;            /* 1: a call of windows, in which MPICH advances no nonblocking collective of its own */
};
extern const struct waits_row waits_messages[], waits_collectives[];
extern const int waits_message_count, waits_collective_count;

/* Called in this order. The peer's `sends` begins when the owner's `begins` has ended, `before` earlier. NULL:
 * nothing. */
struct waits_traffic {
    const char *name;
    int ways, hows;            /* 0: none are drawn */
    void (*before)(int owner); /* of the peer */
    void (*begins)(int peer);  /* of the owner */
    void (*sends)(int owner);  /* of the peer: its part is complete on return */
    void (*ends)(int peer);    /* of the owner, behind its wait: completes the traffic, and checks */
    void (*after)(int owner);  /* of the peer */
    int is_collective;
};
extern const struct waits_traffic waits_traffics[];
extern const int waits_traffic_count;

/* Collective over two ranks: what the rows need. */
extern MPI_Comm waits_comm;   /* of the waits */
extern MPI_Win waits_windows; /* the null handle: this MPI makes none */
void waits_open(int with_windows);
void waits_close(void);
void waits_traffic_open(void);
void waits_traffic_close(void);

#endif
