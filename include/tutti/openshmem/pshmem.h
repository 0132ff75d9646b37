/* OpenSHMEM's interface of profiling: each call of <shmem.h> that is a function by the name pshmem_... too. A tool that
 * defines shmem_long_put() itself reaches the library's by pshmem_long_put(). What does not begin with shmem_ has a p
 * in front: pstart_pes(). The names without a type are macros in C and inline functions in C++; they call the typed
 * ones, which a tool may replace. */
#ifndef TUTTI_PSHMEM_H
#define TUTTI_PSHMEM_H

#include <tutti/shmem_functions.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TSHMEM_ROW(result, name, ...)       result pshmem##name(__VA_ARGS__);
#define TSHMEM_ROW_NONE(result, name)       result pshmem##name(void);
#define TSHMEM_ROW_WHOLE(result, name, ...) result p##name(__VA_ARGS__);
#define TSHMEM_ROW_WHOLE_NONE(result, name) result p##name(void);
#include <tutti/shmem_calls.def>
#include <tutti/shmem_old.def>
#undef TSHMEM_ROW
#undef TSHMEM_ROW_NONE
#undef TSHMEM_ROW_WHOLE
#undef TSHMEM_ROW_WHOLE_NONE
void pshmem_global_exit(int) __attribute__((__noreturn__));
void pshmem_pcontrol(int, ...);

#ifdef __cplusplus
}
#endif

#endif
