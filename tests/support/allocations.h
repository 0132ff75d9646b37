/* Counts what a library of this project takes from the heap and gives back. A program that is linked with allocations.c
 * has malloc() and its kin in front of the C library's (glibc's alone): its own calls and those of all libraries pass
 * there. */
#ifndef TUTTI_TESTS_ALLOCATIONS_H
#define TUTTI_TESTS_ALLOCATIONS_H

struct allocations {
    long taken, given_back;
};

/* Local. From now on calls by the program and by libtutti*.so count, of all threads, from 0 on. How many of these
 * libraries are loaded. */
int allocations_begin(void);
/* Counts no more. */
struct allocations allocations_end(void);
/* Prints who called, since the last allocations_begin(): library and offset, as addr2line takes it. */
void allocations_tell(void);

#endif
