/* Libraries of kernels beside this program, which nvcc makes where it is. */
#ifndef TUTTI_BENCH_HELPER_H
#define TUTTI_BENCH_HELPER_H

#include <stddef.h>

/* The symbol of the library `name`, which stays open. NULL with the reason in `why`. */
const void *bench_helper(const char *name, const char *symbol, char *why, size_t size);

#endif
