/* Extensions of MPI that Tutti offers. Include it after the MPI's own mpi.h. Nothing needs to be linked: without
 * libtutti.so in front of the program, what is here says so by its value.
 *
 * MPIX_C_FLOAT16 and MPIX_C_BF16 are MPI_Datatype handles for IEEE half precision and for bfloat16, two bytes an
 * element. They may be used from MPI_Init to MPI_Finalize: MPI_Allreduce takes them with SUM, PROD, MIN and MAX, on
 * host and on device memory; all other calls treat them as two bytes. They are MPI_DATATYPE_NULL where Tutti is not in
 * front of the MPI (also with TUTTI_DEVICE=none). An MPI that has such a handle of its own keeps its name; Tutti
 * reduces it as well. */
#ifndef TUTTI_MPIX_H
#define TUTTI_MPIX_H

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Local. The type of that number: 0 half precision, 1 bfloat16. */
static inline MPI_Datatype tutti_mpix_datatype(int which)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    union {
        void *symbol;
        int (*call)(int, void *, size_t);
    } find;
    find.symbol = dlsym((void *)0, "tutti_mpix_type"); /* the whole program's scope */
    if (find.symbol && find.call(which, &type, sizeof type) != 0)
        type = MPI_DATATYPE_NULL;
    return type;
}

#ifndef MPIX_C_FLOAT16
#define MPIX_C_FLOAT16 (tutti_mpix_datatype(0))
#endif
#ifndef MPIX_C_BF16
#define MPIX_C_BF16 (tutti_mpix_datatype(1))
#endif

#ifdef __cplusplus
}
#endif
#endif
