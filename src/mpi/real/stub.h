/* What the stub (libtutti.so) and a front end (libtutti-openmpi.so and its like) say to each other. */
#ifndef TUTTI_MPI_STUB_H
#define TUTTI_MPI_STUB_H

#include <stddef.h>

enum { TUTTI_STUB_VERSION = 4 };

/* Half precision types, by number. */
enum { TUTTI_MPIX_FLOAT16, TUTTI_MPIX_BF16 };

struct tutti_stub {
    int version;             /* TUTTI_STUB_VERSION */
    int calls;               /* rows of the table: as many as calls.inc has, in its order */
    void *volatile *table;   /* where each PMPI_ entry of the stub jumps to; written by whole pointers, at any time */
    void *volatile *outer;   /* the same for the MPI_ entries */
    void *mpi;               /* handle of the MPI's library, for dlsym */
    const char *path;        /* of that library */
    const char *const *name; /* of each call */
    /* Of each call: the MPI_ function of a profiling library that lies between Tutti and the MPI in the search order;
     * NULL: no such library. `wraps`: it calls PMPI_x by name, which leads to the stub, so the MPI_ entry always jumps
     * to it. `beneath`: it finds PMPI_x by dlsym(RTLD_NEXT), which skips Tutti, so Tutti calls it in place of the MPI.
     */
    void *const *wraps;
    void *const *beneath;
};

/* Exported by every front end as tutti_front_open. Fills the table; returns 0, or a negative number and the reason in
 * `why`. */
typedef int tutti_front_open_fn(const struct tutti_stub *stub, char *why, size_t size);
/* Exported as tutti_front_mpix_type: the MPI's handle for a half precision type into *handle (`size` bytes); 0 or -1.
 */
typedef int tutti_front_mpix_type_fn(int which, void *handle, size_t size);
/* Exported as tutti_front_mpix_call: the function `name` of mpix.h, for a program whose handles have `size` bytes. NULL
 * if mpix.h has no such function. */
typedef void *tutti_front_mpix_call_fn(const char *name, size_t size);

#endif
