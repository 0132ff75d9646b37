/* What a program is: which MPI it was linked to. */
#ifndef TUTTI_TOOLS_PROGRAM_H
#define TUTTI_TOOLS_PROGRAM_H

#include <limits.h>
#include <stddef.h>

/* Interfaces of MPI libraries, as bits. */
enum tool_abi {
    TOOL_ABI_OPENMPI = 1,  /* libmpi.so.40 */
    TOOL_ABI_MPICH = 2,    /* libmpich.so.12, libmpi.so.12 */
    TOOL_ABI_STANDARD = 4, /* libmpi_abi.so.1 */
    TOOL_ABI_UNKNOWN = 8   /* of an MPI inside a program: not known which it is */
};

struct tool_program {
    char path[PATH_MAX];        /* of the program itself */
    char library[64];           /* MPI library it needs: "libmpi.so.40"; empty where it needs none, as scripts do */
    char resolved[PATH_MAX];    /* where the loader finds that library now; empty where it does not */
    char other[PATH_MAX];       /* the same for a second MPI library of the same interface; empty where there is none */
    char interpreter[PATH_MAX]; /* of a script */
    char sanitizer[PATH_MAX];   /* run-time library of a sanitizer that must be the first of all libraries; or empty */
    int abi;                    /* one of enum tool_abi, or 0 where it is not known */
    int inside;                 /* not 0: the MPI is linked statically; one of enum tool_abi */
};

/* Looks at `name` (searched in PATH as a shell would). Refuses what is not there or cannot be executed. */
void tool_program_read(const char *name, struct tool_program *out);
/* The file that a shell would execute for `name`. 1, or 0 where there is none. */
int tool_program_find(const char *name, char out[PATH_MAX]);
/* Interface of the library of this name, or 0. */
int tool_abi_of(const char *library);
/* The MPI that is linked statically into the program whose file is given; 0: none. */
int tool_program_inside(const char *bytes, size_t size);

#endif
