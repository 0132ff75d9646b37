/* Tutti: GPUs under any MPI. Programs need none of this: preload libtutti.so. These calls are for programs that use
 * device memory without naming a GPU interface, such as tests and benchmarks, and for asking what the library does.
 *
 * All calls are local and safe from any thread. Sizes are bytes. Unless said otherwise a call returns 0 or a negative
 * status, whose text tutti_status_text() gives, and sets outputs on success alone. Link with -ltutti-core. */
#ifndef TUTTI_TUTTI_H
#define TUTTI_TUTTI_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TUTTI_API __attribute__((visibility("default")))

/* "0.1.0" */
TUTTI_API const char *tutti_version(void);
/* Text of a status; static. */
TUTTI_API const char *tutti_status_text(int status);

/* Name of the device in use: "cuda", "host", or "none". Static. */
TUTTI_API const char *tutti_device_name(void);
/* Allocates device memory, 256-byte aligned, on the calling thread's current GPU; freed with tutti_free. With the host
 * device in strict mode the program itself cannot load or store it: use tutti_copy(). NULL: tutti_free() does nothing.
 */
TUTTI_API int tutti_alloc(size_t bytes, void **device);
TUTTI_API int tutti_free(void *device);
/* Copies between any two of host and device memory; done on return. */
TUTTI_API int tutti_copy(void *to, const void *from, size_t bytes);
/* Chooses the GPU of the calling thread, by ordinal of this process. */
TUTTI_API int tutti_gpu_set(int gpu);
/* Number of GPUs of this process, or a negative status. */
TUTTI_API int tutti_gpu_count(void);
/* 1 if `pointer` is device memory, 0 otherwise. */
TUTTI_API int tutti_is_device(const void *pointer);

/* Streams: work that is done in the order in which it was put in, while the program continues. For programs that name
 * no GPU interface; others use the streams of their own, see tutti/mpix.h.
 *
 * Makes a stream on the calling thread's current GPU. The handle is what the device's own interface calls a stream: a
 * cudaStream_t with device "cuda". */
TUTTI_API int tutti_stream_create(void **stream);
/* Frees a stream of tutti_stream_create(), once no communicator uses it any more. NULL: does nothing. */
TUTTI_API int tutti_stream_destroy(void *stream);
/* Waits until everything that was put into the stream is done. */
TUTTI_API int tutti_stream_sync(void *stream);
/* Copies between any two of host and device memory, in stream order: the call returns before the copy is done, so
 * both stay untouched until tutti_stream_sync() or later work of the stream. */
TUTTI_API int tutti_stream_copy(void *stream, void *to, const void *from, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
