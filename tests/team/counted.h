/* A device that holds no memory and only keeps count: allocations are numbers, which are made and freed by a word, and
 * what is mapped of a peer's is written down. For tests of ranks that are threads. */
#ifndef TUTTI_TESTS_TEAM_COUNTED_H
#define TUTTI_TESTS_TEAM_COUNTED_H

#include "device/device.h"

enum { COUNTED_IDS = 20000, COUNTED_BYTES = 4096 }; /* bytes of each */
enum { COUNTED_JOINED_NS = 777 };                   /* the device's share.joined_ns() */

/* Without streams, kernels or copies. Allocations of alloc() have numbers from the end on. */
extern const struct tutti_device counted_device;

/* Allocation `id`, of 1 to COUNTED_IDS - 1, and how it is named. */
const void *counted_address(uint64_t id);
struct tutti_export counted_name(uint64_t id);
void counted_free(uint64_t id);
/* 1 if a peer has it mapped; how many are. */
int counted_is_mapped(uint64_t id);
int counted_mapped(void);
/* The next `n` imports fail. */
void counted_refuse(int n);
int counted_refuses(void); /* how many are left of them */
/* The program resets GPU 0 during the next import. */
void counted_reset_meanwhile(void);

#endif
