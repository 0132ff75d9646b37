/* Profiling libraries behind the stub. Part of libtutti.so: needs nothing but libc. */
#ifndef TUTTI_MPI_STUB_NEXT_H
#define TUTTI_MPI_STUB_NEXT_H

/* 1 if the file name is that of an MPI's C library, and its rank among such names, the best first, into *rank (may
 * be NULL). */
enum { TUTTI_STUB_LIBRARIES = 4 };
int tutti_stub_is_mpi(const char *path, int *rank);

/* Fills, for each of `calls` names, the function of a profiling library that follows libtutti.so in the search order,
 * or NULL: see struct tutti_stub. `mpi`: a function of the MPI. Returns the path of the first such library, or NULL. */
const char *tutti_stub_next(const char *const names[], int calls, const void *mpi, void *wraps[], void *beneath[]);

#endif
