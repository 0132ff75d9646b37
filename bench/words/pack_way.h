/* The ways and layouts of `tutti bench pack` as numbers, for the rank and for the command. */
#ifndef TUTTI_BENCH_PACK_WAY_H
#define TUTTI_BENCH_PACK_WAY_H

enum pack_way {
#define PACK_WAY(id, name, text) PACK_##id,
#include "bench/words/pack_ways.def"
#undef PACK_WAY
    PACK_WAYS
};

/* ARTICLE: parts of a cube of bytes. BLOCKS: blocks of one length and distance. DDTBENCH: access patterns of
 * applications. COMMIT: the time of MPI_Type_commit alone. */
enum pack_kind { PACK_ARTICLE, PACK_STRIDED, PACK_DDTBENCH, PACK_COMMIT };

/* Names of descriptions, of one layout or another; each layout has some of them. */
#define PACK_DESCRIPTIONS                                                                                              \
    "v_hv_hv", "v_hv", "hi", "hib", "subarray", "vector", "hvector", "resized", "struct", "darray", "indexed",         \
        "indexed_block", "contiguous"

#endif
