/* For tests of a source of src/mpi by itself, without the library: what it links with, and handles that are any
 * numbers. Included by one source of a program. */
#ifndef TUTTI_TESTS_ALONE_H
#define TUTTI_TESTS_ALONE_H

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "mpi/real/door.h"
#include "mpi/real/handles.h"
#include "support/random.h"

struct tutti_handles tutti_handles;
struct tutti_next tutti_next;
#ifdef TUTTI_FRONT_OPENMPI
void *tutti_ompi_symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}
#endif

/* The handles that are none are of all ones. */
static inline void alone_handles(void)
{
    memset(&tutti_handles.no_request, 0xff, sizeof tutti_handles.no_request);
    memset(&tutti_handles.no_comm, 0xff, sizeof tutti_handles.no_comm);
}

#define ALONE(type, name, first, step)                                                                                 \
    static inline type name(uintptr_t i)                                                                               \
    {                                                                                                                  \
        type handle;                                                                                                   \
        const uintptr_t word = i * (step) + (uintptr_t)(first);                                                        \
        memset(&handle, 0, sizeof handle);                                                                             \
        memcpy(&handle, &word, sizeof handle < sizeof word ? sizeof handle : sizeof word);                             \
        return handle;                                                                                                 \
    }
ALONE(MPI_Request, alone_handle, 0x4c000000, 8)
ALONE(MPI_Comm, alone_comm, 0x44000000, 16)
ALONE(MPI_Datatype, alone_type, 0x4d000000, 16)
#undef ALONE

/* The number i of a request among the first n of alone_handle(); -1: it is none of them. */
static inline int alone_place(MPI_Request request, int n)
{
    for (int i = 0; i < n; i++) {
        if (alone_handle((uintptr_t)i) == request)
            return i;
    }
    return -1;
}

/* Random numbers below n. alone_state: the seed. */
static uint64_t alone_state;
static inline unsigned alone_draw(unsigned n)
{
    return (unsigned)(random_next(&alone_state) % n);
}

#endif
