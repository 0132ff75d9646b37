/* Rings of PEs that are threads of this process, each with a thread that serves it. */
#ifndef TUTTI_TESTS_SHMEM_PES_RING_H
#define TUTTI_TESTS_SHMEM_PES_RING_H

#include "shmem/proxy/proxy.h"
#include "shmem_device/pes.h"

enum pes_ring_how {
    PES_RING_NONE,
    PES_RING_FORCED, /* everything goes by it */
    PES_RING_CUT,    /* transfers do from some size on */
    PES_RING_NODES,  /* PEs are on nodes drawn, and reach those of their own; for others there is a wire, as of FAR */
    PES_RING_FAR,    /* no PE is reached, not even the own: there is a wire, which does things late and in any order */
    PES_RING_HOWS
};

struct pes_server {
    struct tutti_proxy proxy, near; /* near: as if all were mapped, for the wire */
    struct tshmem_state host, mapped;
    struct tutti_ring_server ring;
    uint64_t random;
    struct tutti_ring_request *later[24];
    int waiting;
};
extern struct pes_server pes_server[PROGRAM_PES];

/* Of all proxies made from now on: the wire of PES_RING_FAR, and who knows of dead processes. */
extern const struct tutti_path *pes_far;
extern int (*pes_dead)(void *);

/* After pes_open(). seed: of cutovers and delays. */
void pes_serve(struct pes *pes, enum pes_ring_how how, uint64_t slots, uint64_t seed);
/* Before pes_close(). What is left open is checked to be nothing, where `whole`. */
void pes_serve_end(struct pes *pes, int whole);

#endif
