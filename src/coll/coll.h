/* Reductions over a team: choice by rule, then one algorithm. Used by src/mpi/. */
#ifndef TUTTI_COLL_COLL_H
#define TUTTI_COLL_COLL_H

#include <stddef.h>

#include "team/team.h"

struct tutti_reduce {
    const void *in; /* equal to out where in place */
    void *out;
    size_t count; /* elements */
    int type, op; /* a pair for which tutti_has_kernel() holds */
    int kind;     /* enum tutti_arrival_kind of this rank's buffers */
    int gpu;      /* DEVICE: GPU of the buffers, -1: any */
    int host_ok;  /* 1: the MPI can reduce this type itself. 0 (half precision that the MPI does not know): Tutti always
                     does.  The same on all ranks. */
};

/* What became of a call. */
enum tutti_taken {
    TUTTI_TAKEN,  /* done: the result is in `out` */
    TUTTI_PASSED, /* nothing was done: give the call to the MPI, staging device buffers; the same on all ranks with
                     device buffers */
};

/* Collective over the team's ranks; blocking. Device buffers must be ready (the program has synchronised, as for any
 * blocking MPI call); on return the result is visible to all later work. Returns a status; *taken and *why (static
 * text) are set on success alone. A rank with host buffers returns TUTTI_PASSED at once where host_ok. `why` names the
 * algorithm or the reason. */
int tutti_allreduce(struct tutti_team *team, const struct tutti_reduce *call, enum tutti_taken *taken,
                    const char **why);

/* Reads rules (the grammar of TUTTI_RULES) and says what is wrong with them; TUTTI_OK or TUTTI_ERR_SETTING. Local. */
int tutti_rules_check(const char *text, char *wrong, size_t size);
/* The default rules for a device, by its name, as text. Static. */
const char *tutti_rules_default(const char *device);
/* Name of the algorithm that the rules choose for a call, before it is known whether it can run. Local. */
const char *tutti_rules_choice(const char *collective, size_t bytes, int ranks, int gpus);

#endif
