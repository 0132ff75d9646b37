/* The transfers, their ways and figures as numbers, for the ranks and for the command. */
#ifndef TUTTI_BENCH_WORDS_TRANSFER_H
#define TUTTI_BENCH_WORDS_TRANSFER_H

enum transfer_id {
#define TRANSFER(id, name, call, group, figure, text) TRANSFER_##id,
#include "bench/words/transfers.def"
#undef TRANSFER
    TRANSFERS
};

enum transfer_way {
#define TRANSFER_WAY(id, name, text) TRANSFER_WAY_##id,
#include "bench/words/transfer_ways.def"
#undef TRANSFER_WAY
    TRANSFER_WAYS
};

/* Which buffers lie in host memory: bit ID of --host-memory. PINNED: in pinned memory. */
enum transfer_host {
#define TRANSFER_HOST(id, name) TRANSFER_HOST_##id,
#include "bench/words/transfer_hosts.def"
#undef TRANSFER_HOST
    TRANSFER_HOSTS
};

enum { TRANSFER_FRESH_MOST = 200 }; /* first calls that are timed by themselves */

enum transfer_group { TRANSFER_MESSAGES, TRANSFER_MOVERS };
enum transfer_figure { TRANSFER_TIME, TRANSFER_BYTES, TRANSFER_RATE };

/* What of a way is timed: the call, and of a nonblocking one also the call with computation inside, of which COMPUTE is
 * the time of the computation alone, START that of the call which starts it, WAIT that of MPI_Wait, and LEFT that of
 * all but the computation. */
enum transfer_part {
    TRANSFER_PURE,
    TRANSFER_OVERALL,
    TRANSFER_COMPUTE,
    TRANSFER_START,
    TRANSFER_WAIT,
    TRANSFER_LEFT,
    TRANSFER_PARTS
};

#endif
