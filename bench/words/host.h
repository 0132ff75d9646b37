/* The calls of `tutti bench host` as numbers, for the ranks and for the command. */
#ifndef TUTTI_BENCH_WORDS_HOST_H
#define TUTTI_BENCH_WORDS_HOST_H

enum host_call_id {
#define HOST_CALL(id, group, name) HOST_##id,
#include "bench/words/host_calls.def"
#undef HOST_CALL
    HOST_CALLS
};
enum host_group {
    HOST_LOCAL,
    HOST_COMMUNICATORS,
    HOST_REQUESTS,
    HOST_MESSAGES,
    HOST_COLLECTIVES,
    HOST_WINDOWS,
    HOST_FILES,
    HOST_GROUPS
};
#define HOST_GROUP_NAMES "local", "communicators", "requests", "messages", "collectives", "windows", "files"

#endif
