/* How a collective in stream order is done, by the rules of the sections shmem_stream and shmem_move. */
#ifndef TUTTI_SHMEM_LOCAL_WAY_H
#define TUTTI_SHMEM_LOCAL_WAY_H

#include <stddef.h>
#include <stdint.h>

enum tutti_stream_way { TUTTI_STREAM_CHANNEL, TUTTI_STREAM_BLOCK, TUTTI_STREAM_BLOCKS };
/* Those that reduce, or move nothing, and those that move data have a section each: shmem_stream, shmem_move. */
enum tutti_stream_kind { TUTTI_STREAM_REDUCES, TUTTI_STREAM_MOVES, TUTTI_STREAM_KINDS };
/* Local. The way of one with `bytes` bytes a PE, by the rules that begin at `rules`. channel:
 * 1 where its team has one. */
enum tutti_stream_way tutti_shmem_stream_way(int rules, enum tutti_stream_kind kind, size_t bytes, int channel);
/* 1 where the rules in force choose a channel for some size of one kind. */
int tutti_shmem_stream_channels(void);
/* A number that is equal where the sections' rules in force are. */
uint32_t tutti_shmem_stream_rules(void);

#endif
