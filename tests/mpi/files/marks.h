/* Bytes of a file that some rank writes. What others hold where the file has grown is the MPI's matter: MPICH writes
 * what its buffers hold into gaps behind the end. */
#ifndef TUTTI_TESTS_FILES_MARKS_H
#define TUTTI_TESTS_FILES_MARKS_H

#include <mpi.h>

/* Blocks of `length` elementary types, `step` blocks apart, from byte `begin` on. */
struct marks_view {
    MPI_Offset begin;
    MPI_Count etype; /* bytes */
    int length, step;
};
void marks_clear(void);
/* n elementary types of the view, from the first one on. */
void marks_add(const struct marks_view *view, MPI_Offset first, long long n);
/* Collective. Where the n elementary types of this rank begin in an ordered access. */
MPI_Offset marks_ordered(MPI_File file, long long n);
/* Collective. The marks of all ranks become one. */
void marks_meet(void);
int marks_has(MPI_Offset at);

#endif
