/* What all of src/mpi/ uses: the MPI's own calls, its predefined handles, and the state of the door. */
#include <dlfcn.h>
#include <stdio.h>

#include "mpi/real/door.h"

struct tutti_next tutti_next;
struct tutti_handles tutti_handles;
struct tutti_door tutti_door;
__thread int tutti_inside __attribute__((tls_model("initial-exec")));

static void *mpi;

#ifdef TUTTI_FRONT_OPENMPI
void *tutti_ompi_symbol(const char *name)
{
    /* A program linked with the MPI may own the copy that the MPI itself uses (copy relocation): global scope first. */
    void *symbol = dlsym(RTLD_DEFAULT, name);
    return symbol ? symbol : dlsym(mpi, name);
}
#endif

void *tutti_mpi_symbol(const char *name)
{
    char profiling[128];
    snprintf(profiling, sizeof profiling, "P%s", name);
    void *call = dlsym(mpi, profiling);
    return call ? call : dlsym(mpi, name);
}

static int find_handles(void)
{
    tutti_handles = (struct tutti_handles){
        .world = MPI_COMM_WORLD,
        .self = MPI_COMM_SELF,
        .no_comm = MPI_COMM_NULL,
        .byte = MPI_BYTE,
        .packed = MPI_PACKED,
        .int64 = MPI_INT64_T,
        .no_type = MPI_DATATYPE_NULL,
        .no_bytes = MPI_DATATYPE_NULL,
        .no_op = MPI_OP_NULL,
        .op_reads = MPI_NO_OP,
        .op_replaces = MPI_REPLACE,
        .min = MPI_MIN,
        .max = MPI_MAX,
        .sum = MPI_SUM,
        .bor = MPI_BOR,
        .no_request = MPI_REQUEST_NULL,
        .no_info = MPI_INFO_NULL,
        .errors_return = MPI_ERRORS_RETURN,
        .errors_are_fatal = MPI_ERRORS_ARE_FATAL,
    };
    return tutti_handles.world && tutti_handles.byte && tutti_handles.int64;
}

void tutti_real_from(void *library)
{
    mpi = library;
}

int tutti_real_open(const char *path, char *why, size_t size)
{
#define TUTTI_NEED(name, parameters)                                                                                   \
    *(void **)(void *)&tutti_next.name = tutti_mpi_symbol(#name);                                                      \
    if (!tutti_next.name) {                                                                                            \
        snprintf(why, size, "%s has no %s", path, #name);                                                              \
        return -1;                                                                                                     \
    }
#define TUTTI_MAY(name, parameters) *(void **)(void *)&tutti_next.name = tutti_mpi_symbol(#name);
#include "mpi/real/needs.def"
#undef TUTTI_NEED
#undef TUTTI_MAY
    if (!find_handles()) {
        snprintf(why, size, "%s has no MPI_COMM_WORLD or MPI_INT64_T", path);
        return -1;
    }
    return 0;
}
