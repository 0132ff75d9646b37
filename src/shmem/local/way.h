/* Chooses the way of a collective in stream order, by the rules of the sections shmem_stream and shmem_move. */
#ifndef TUTTI_SHMEM_LOCAL_WAY_H
#define TUTTI_SHMEM_LOCAL_WAY_H

#include <stddef.h>
#include <stdint.h>

enum tutti_stream_way { TUTTI_STREAM_CHANNEL, TUTTI_STREAM_BLOCK, TUTTI_STREAM_BLOCKS };
/* Collectives that reduce or move nothing have the section shmem_stream, those that move data shmem_move. */
enum tutti_stream_kind { TUTTI_STREAM_REDUCES, TUTTI_STREAM_MOVES, TUTTI_STREAM_KINDS };
/* Local. The way of a collective with `bytes` bytes a PE, by the rules that begin at `rules`. channel: 1 if its team
 * has a channel. */
enum tutti_stream_way tutti_shmem_stream_way(int rules, enum tutti_stream_kind kind, size_t bytes, int channel);
/* 1 if the rules in force choose a channel for some size of one kind. */
int tutti_shmem_stream_channels(void);
/* A number that is the same on two PEs if their rules of these sections are. */
uint32_t tutti_shmem_stream_rules(void);

#endif
