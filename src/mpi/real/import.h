/* Functions that the MPI imports from another library: a replacement is stored in the slot through which the MPI's
 * library calls one of them. Other libraries keep calling the original. */
#ifndef TUTTI_MPI_IMPORT_H
#define TUTTI_MPI_IMPORT_H

/* Calls of `name` by the library that defines `of` reach `replacement` from now on. Returns the function that they
 * reached before; NULL: the library does not import `name`, or its slot cannot be written. Local; one thread at a time,
 * while other threads may make such calls. */
void *tutti_import_replace(const void *of, const char *name, const void *replacement);
/* Undoes it, unless another library has replaced the replacement. */
void tutti_import_restore(const void *of, const char *name, const void *replacement, const void *before);

#endif
