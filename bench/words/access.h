/* The accesses, their ways and synchronisations as numbers, for the ranks and for the command. */
#ifndef TUTTI_BENCH_WORDS_ACCESS_H
#define TUTTI_BENCH_WORDS_ACCESS_H

enum access_id {
#define ACCESS(id, name, call, group, text) ACCESS_##id,
#include "bench/words/accesses.def"
#undef ACCESS
    ACCESSES
};

enum access_way {
#define ACCESS_WAY(id, name, text) ACCESS_WAY_##id,
#include "bench/words/access_ways.def"
#undef ACCESS_WAY
    ACCESS_WAYS
};

enum access_group { ACCESS_FILES, ACCESS_WINDOWS };

/* What ends an operation on a window. */
enum access_sync { ACCESS_FENCE, ACCESS_LOCK, ACCESS_FLUSH, ACCESS_PSCW, ACCESS_SYNCS };
#define ACCESS_SYNC_NAMES "fence", "lock", "flush", "pscw"

/* What of a way is timed: one access; of a window also many operations that end together. */
enum access_part { ACCESS_ONE, ACCESS_MANY, ACCESS_PARTS };

#endif
