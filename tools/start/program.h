/* Facts about a program: which MPI it was linked to. */
#ifndef TUTTI_TOOLS_PROGRAM_H
#define TUTTI_TOOLS_PROGRAM_H

#include <limits.h>
#include <stddef.h>

/* Interfaces of MPI libraries, as bits. */
enum tool_abi {
    TOOL_ABI_OPENMPI = 1,  /* libmpi.so.40 */
    TOOL_ABI_MPICH = 2,    /* libmpich.so.12, libmpi.so.12 */
    TOOL_ABI_STANDARD = 4, /* libmpi_abi.so.1 */
    TOOL_ABI_UNKNOWN = 8   /* an MPI linked into the program: not known which */
};

struct tool_program {
    char path[PATH_MAX];        /* of the program itself */
    char library[64];           /* MPI library that it needs: "libmpi.so.40"; empty if it needs no MPI, as scripts do */
    char resolved[PATH_MAX];    /* where the loader finds that library now; empty if it does not */
    char other[PATH_MAX];       /* the same for a second MPI library of the interface; may be empty */
    char interpreter[PATH_MAX]; /* of a script */
    char sanitizer[PATH_MAX];   /* run-time library of a sanitizer that must be the first of all libraries; or empty */
    int abi;                    /* one of enum tool_abi, or 0: unknown */
    int inside;                 /* not 0: the MPI is linked statically; one of enum tool_abi */
};

/* Reads `name` (searched in PATH as a shell would). Refuses a program that does not exist or cannot be executed. */
void tool_program_read(const char *name, struct tool_program *out);
/* The file that a shell would execute for `name`. 1, or 0 if there is no such file. */
int tool_program_find(const char *name, char out[PATH_MAX]);
/* Interface of the library of this name, or 0. */
int tool_abi_of(const char *library);
/* The MPI that is linked statically into the program in this file; 0: there is no MPI. */
int tool_program_inside(const char *bytes, size_t size);

#endif
