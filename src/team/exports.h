/* The names under which this rank's allocations are known to its peers (struct tutti_export). */
#ifndef TUTTI_TEAM_EXPORTS_H
#define TUTTI_TEAM_EXPORTS_H

#include "device/device.h"

struct tutti_exports;

/* NULL: no memory. */
struct tutti_exports *tutti_exports_new(void);
void tutti_exports_free(struct tutti_exports *exports);

/* Name of the allocation that holds `pointer`; status as export_memory's, kept by the allocation's id. */
int tutti_exports_name(struct tutti_exports *exports, const struct tutti_device *device, const void *pointer,
                       uint64_t id, struct tutti_export *out);
/* 1 if tutti_exports_name() has been asked for the allocation of this id, also if that failed. */
int tutti_exports_has(struct tutti_exports *exports, uint64_t id);
/* Forgets names of allocations that are there no more, and says which: at most `most` ids. Looks at all names, or at
 * the next `few`. */
unsigned tutti_exports_gone(struct tutti_exports *exports, const struct tutti_device *device, unsigned few,
                            uint64_t ids[], unsigned most);
/* Names that were made so far. */
uint64_t tutti_exports_named(struct tutti_exports *exports);

#endif
