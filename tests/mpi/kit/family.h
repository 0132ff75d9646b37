/* The blocking reductions behind one function, so that a test can go through all of them, in both widths of counts. */
#ifndef TUTTI_TESTS_FAMILY_H
#define TUTTI_TESTS_FAMILY_H

#include <mpi.h>
#include <stddef.h>

enum family_call {
    FAMILY_ALLREDUCE,
    FAMILY_REDUCE,
    FAMILY_REDUCE_SCATTER,
    FAMILY_REDUCE_SCATTER_BLOCK,
    FAMILY_SCAN,
    FAMILY_EXSCAN,
    FAMILY_REDUCE_LOCAL,
    FAMILY_CALLS
};
extern const char *const family_names[FAMILY_CALLS]; /* "MPI_Allreduce" ... */

struct family {
    enum family_call call;
    int large;         /* 1: the _c form; family_large() says whether there is one */
    int count;         /* REDUCE_SCATTER_BLOCK: of one segment; REDUCE_SCATTER: not used */
    const int *counts; /* REDUCE_SCATTER: one a rank of the group */
    int root;          /* REDUCE */
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm comm; /* not REDUCE_LOCAL */
};

/* 1 if the _c forms can be called: the MPI has them, or the library in front makes them. */
int family_large(void);
/* Makes the call and returns its code. */
int family_run(const struct family *f, const void *in, void *out);
/* The same by the MPI's own functions, without the library; plain counts. */
int family_real(const struct family *f, const void *in, void *out);
/* Calls counted under a name of either width. */
unsigned long long family_counted(enum family_call call, const char *word);

#endif
