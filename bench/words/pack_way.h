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

/* Times of the layouts COMMIT: of MPI_Type_commit with the library in front and of the MPI itself; of making,
 * committing and freeing a type, of both; what a type's first MPI_Pack takes longer than its second one. */
enum commit_way { COMMIT_TUTTI, COMMIT_PLAIN, COMMIT_ALL, COMMIT_PLAIN_ALL, COMMIT_FIRST, COMMIT_WAYS };
#define COMMIT_WAY_NAMES "tutti", "plain", "all", "plain_all", "first"

/* Names of descriptions, of one layout or another; each layout has some of them. */
#define PACK_DESCRIPTIONS                                                                                              \
    "v_hv_hv", "v_hv", "hi", "hib", "subarray", "vector", "hvector", "resized", "struct", "darray", "indexed",         \
        "indexed_block", "contiguous"

#endif
