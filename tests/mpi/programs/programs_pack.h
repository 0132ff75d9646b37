/* Messages of random programs that are sent or received as MPI_PACKED. */
#ifndef TUTTI_TESTS_PROGRAMS_PACK_H
#define TUTTI_TESTS_PROGRAMS_PACK_H

#include "programs.h"

/* What the MPI is given for an end: its elements, or their packed form, which is made here for a send. */
struct prog_given {
    void *at;
    MPI_Datatype type;
    int count;
};
struct prog_given prog_pack(struct prog_run *run, int req);
/* A packed receive has ended: unpacks the elements. */
void prog_unpack(struct prog_run *run, int req);
void prog_packs_free(struct prog_run *run);

#endif
