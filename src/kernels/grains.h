/* Packets, blocks and passes of flow kernels, as hosts and kernels count them; see flow.inc. */
#ifndef TUTTI_KERNELS_GRAINS_H
#define TUTTI_KERNELS_GRAINS_H

enum {
    TUTTI_LINE = 128,         /* bytes of an LL128 line, */
    TUTTI_LINE_DATA = 120,    /* and of data in it, of elements of up to 8 bytes */
    TUTTI_LL_GRAIN = 512,     /* blocks' parts begin at multiples of so many bytes: what a warp packs at once */
    TUTTI_LINES_GRAIN = 4,    /* LL128: of so many lines */
    TUTTI_FLOW_THREADS = 512, /* of a block, unless a launch has fewer */
    TUTTI_PASS_CHUNKS = 4,    /* chunks of 16 bytes that a thread of mapped_deep loads of each of two contributions */
    TUTTI_CHUNK = 16
};

#endif
