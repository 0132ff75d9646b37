/* Which names of the stub a program finds. Part of libtutti.so: needs nothing but libc. */
#ifndef TUTTI_MPI_STUB_NAMES_H
#define TUTTI_MPI_STUB_NAMES_H

/* When the library is loaded. every: the names of the calls, in the order of calls.inc. plain: Tutti is off in this
 * process, so that most calls which the MPI lacks are not supplied. */
void tutti_stub_names_open(const char *const *every, int plain);

#endif
