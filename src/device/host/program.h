/* What a program calls on simulated GPUs, as it calls the runtime of real ones: Tutti is not asked and does not notice.
 * Some ask for separate ones (TUTTI_HOST_LINKS). For tests. Local; 0 or a negative status. */
#ifndef TUTTI_DEVICE_HOST_PROGRAM_H
#define TUTTI_DEVICE_HOST_PROGRAM_H

#include <stddef.h>

/* The status with which a process ends that broke a rule of gpus.h. */
enum { TUTTI_HOST_VIOLATED = 86 };

/* Which cards this process sees, and in which order: "2,0". Before anything else of the device is used. */
int tutti_host_program_see(const char *list);
/* Initialises the driver, as counting GPUs does: no GPU gets a context. Returns the number of GPUs. */
int tutti_host_program_count(void);
/* Makes the GPU the calling thread's, and a context on it. */
int tutti_host_program_set(int gpu);
/* Memory of the calling thread's GPU (0 if it has chosen none). */
int tutti_host_program_alloc(size_t bytes, void **device);
/* As the driver does, waits for kernels that wait for a step of the host, and keeps other threads back meanwhile. */
int tutti_host_program_free(void *device);
/* Between any two of host memory and memory of GPUs. */
int tutti_host_program_copy(void *to, const void *from, size_t bytes);
/* Ends the context of the calling thread's GPU: its memory, streams and mappings have gone. */
int tutti_host_program_reset(void);
/* 1: ranks are threads of this process, so no call is kept back while kernels wait: what a driver keeps back in the
 * process of one rank would stop the others there. Set before the device is used. */
extern int tutti_host_ranks_are_threads;
/* Violations of this process so far; gpu -1: on all GPUs. */
unsigned long tutti_host_violations(int gpu);

#endif
