/* Transport: a group of ranks that can exchange host memory. Made by src/mpi/ over a communicator, and by the tests
 * over threads. All pointers are host pointers, sizes bytes. Functions return TUTTI_OK or a negative status. Collective
 * calls are made by all ranks in the same order. */
#ifndef TUTTI_TEAM_TRANSPORT_H
#define TUTTI_TEAM_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

enum tutti_combine { TUTTI_COMBINE_MIN, TUTTI_COMBINE_MAX, TUTTI_COMBINE_SUM, TUTTI_COMBINE_BAND, TUTTI_COMBINE_BOR };

struct tutti_transport {
    const struct tutti_transport_ops *ops;
    int rank, size;
    char label[64]; /* name of the communicator, for reports */
};

struct tutti_transport_ops {
    /* Collective. */
    int (*barrier)(struct tutti_transport *transport);
    /* Collective; every rank gives `bytes`, rank r's land at out + r * bytes. in may not overlap out. */
    int (*allgather)(struct tutti_transport *transport, const void *in, void *out, size_t bytes);
    /* Collective; block r of `in` (bytes each) goes to rank r, block r of `out` comes from rank r. */
    int (*alltoall)(struct tutti_transport *transport, const void *in, void *out, size_t bytes);
    /* Collective, in place over `count` words. */
    int (*allreduce)(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how);
    /* Local; lets messages of the program move while it waits in the library. Cheap, never blocks. */
    void (*progress)(struct tutti_transport *transport);
    /* Local; node of this rank as an integer that is equal for ranks of one machine. Collective over the transport. */
    int (*node_color)(struct tutti_transport *transport, int64_t *color);
};

#endif
