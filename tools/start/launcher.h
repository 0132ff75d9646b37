/* The MPIs of this machine and their launchers. */
#ifndef TUTTI_TOOLS_LAUNCHER_H
#define TUTTI_TOOLS_LAUNCHER_H

#include <limits.h>

#include "tools/common/text.h"
#include "tools/start/program.h"

enum tool_family { TOOL_OPENMPI, TOOL_MPICH, TOOL_IMPI, TOOL_FAMILIES };

struct tool_mpi {
    enum tool_family family;
    char version[32];
    char launcher[PATH_MAX];
    char prefix[PATH_MAX];    /* the launcher lies in prefix/bin */
    char libraries[PATH_MAX]; /* folder of its libraries; empty: none was found beside the launcher */
    int abi;                  /* interfaces that its libraries offer, bits of enum tool_abi */
    int listed;               /* 1: found through PATH; 0: named by the user or found beside the program's library */
};

enum { TOOL_MPIS = 16 };
struct tool_mpis {
    struct tool_mpi mpi[TOOL_MPIS];
    int n;
};

/* "openmpi", "mpich", "impi": as --mpi takes it */
const char *tool_family_name(enum tool_family family);
/* "Open MPI", "MPICH", "Intel MPI" */
const char *tool_family_title(enum tool_family family);
/* "openmpi", "mpich", "mpiabi": as front ends and programs of the bench are called */
const char *tool_abi_name(int abi);
const char *tool_abi_title(int abi);

/* All MPIs whose launchers are in PATH, in its order. Starts each launcher once, for its version. */
void tool_mpis_find(struct tool_mpis *out);
/* The MPI to start `program` with. `wanted`: a family's name, a launcher, a folder, or NULL for the program's own.
 * Refuses an MPI that does not fit. Points into *mpis, which it may extend. `guessed` becomes 1 if only the order of
 * PATH decided. */
const struct tool_mpi *tool_mpi_choose(struct tool_mpis *mpis, const struct tool_program *program, const char *wanted,
                                       int *guessed);

#endif
