/* Kernels that wait in a stream for a step of the host (ring/host_step.h). A GPU's driver lets calls that free memory,
 * register host memory, map or load wait for such a kernel, and keeps back what other threads launch, copy or ask
 * meanwhile: so does this device, and a step that needs one of these calls never ends here either. Private to
 * src/device/host/. */
#ifndef TUTTI_DEVICE_HOST_ASKED_H
#define TUTTI_DEVICE_HOST_ASKED_H

/* Local. One more such kernel runs, or one less. */
void tutti_host_asked(int more);
/* Local. Waits until none runs; what: the call, which is reported once if it waits for TUTTI_STALL_SECONDS. */
void tutti_host_asked_await(const char *what);
/* Local, before all other work: waits while a call waits so. */
void tutti_host_asked_pass(void);

/* A kernel of a process waits for its turn on the GPU that it shares (TUTTI_HOST_TURNS_US). */
void tutti_host_take_turn(void);

#endif
