/* The same test by calls in the order of a stream, where SHMEM_ON_STREAM is defined: each is put into a stream of the
 * program, which is waited for. */
#ifndef TUTTI_TESTS_SHMEM_ON_STREAM_H
#define TUTTI_TESTS_SHMEM_ON_STREAM_H

#include "shmem/kit.h"

#ifdef SHMEM_ON_STREAM
static void *on_stream; /* of the test */
#define IN_ORDER(call, ...) in_order(call##_on_stream(__VA_ARGS__, on_stream))
static inline int in_order(int status)
{
    const int done = tutti_stream_sync(on_stream);
    return status != 0 ? status : done;
}
/* 0 if there is no such stream: the heaps are host memory. */
static inline int order_begin(void)
{
    return tutti_stream_create(&on_stream) == 0 && tshmem_quiet_on_stream(on_stream) == 0;
}
static inline void order_end(void)
{
    tutti_stream_destroy(on_stream);
}
static inline void order_quiet(void)
{
    in_order(tshmem_quiet_on_stream(on_stream));
}
#else
#define IN_ORDER(call, ...) call(__VA_ARGS__)
static inline int order_begin(void)
{
    return 1;
}
static inline void order_end(void)
{
}
static inline void order_quiet(void)
{
    tshmem_quiet();
}
#endif

#endif
