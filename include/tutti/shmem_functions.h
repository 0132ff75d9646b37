/* OpenSHMEM's calls as functions of libtutti-openshmem: what <shmem.h> gives to programs that a compiler for the host
 * compiles. Comments of tutti/shmem.h say what each does. A tool may define functions of the same names, and call
 * pshmem_ ones (<pshmem.h>). shmem_init() and its like make static variables of the program symmetric, see
 * tutti_shmem_openshmem(). */
#ifndef TUTTI_SHMEM_FUNCTIONS_H
#define TUTTI_SHMEM_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "tutti/shmem_constants.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSHMEM_ROW(result, name, ...)       result shmem##name(__VA_ARGS__);
#define TSHMEM_ROW_NONE(result, name)       result shmem##name(void);
#define TSHMEM_ROW_WHOLE(result, name, ...) result name(__VA_ARGS__);
#define TSHMEM_ROW_WHOLE_NONE(result, name) result name(void);
#include "tutti/shmem_calls.def"
#include "tutti/shmem_old.def"
#undef TSHMEM_ROW
#undef TSHMEM_ROW_NONE
#undef TSHMEM_ROW_WHOLE
#undef TSHMEM_ROW_WHOLE_NONE
void shmem_global_exit(int) __attribute__((__noreturn__));
void shmem_pcontrol(int, ...);
/* shmem_sync() with PE_start, logPE_stride, PE_size and pSync. */
void tutti_openshmem_sync(int, int, int, long *);

#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
#include "tutti/shmem_overloads.h"
#else
#include "tutti/shmem_choices.h"
#endif

#endif
