/* What the tests of teams share. */
#ifndef TUTTI_TESTS_TEAM_KIT_H
#define TUTTI_TESTS_TEAM_KIT_H

#include <stddef.h>
#include <stdint.h>

#include "support/check.h"
#include "support/threads.h"
#include "team/node.h"

/* A node and a team over all ranks; NULL team where that failed (counted). */
struct kit {
    struct tutti_node *node;
    struct tutti_team *team;
};
int kit_open(struct tutti_transport *transport, struct kit *kit);
void kit_close(struct kit *kit);

/* The record of an allreduce of `count` floats on device memory. */
struct tutti_arrival kit_call(uint64_t count);
/* Arrives and waits for all; returns the status of the wait. */
int kit_meet(struct tutti_team *team, uint64_t count);

/* Standard error goes to a buffer from begin to end; end returns what was written, the caller frees it. */
void kit_capture_begin(void);
char *kit_capture_end(void);

/* Entries of a folder whose names contain `text`. */
int kit_count_names(const char *folder, const char *text);
/* Open descriptors of this process. */
int kit_count_descriptors(void);
void kit_sleep_us(unsigned us);

#endif
