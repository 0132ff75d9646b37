/* Kernels that wait in a stream for a step of the host (ring/host_step.h). A GPU's driver may let calls that allocate,
 * free, load or map wait for such a kernel, which waits for the host: so does this device, and a step that needs such a
 * call stands still here too. Private to src/device/host/. */
#ifndef TUTTI_DEVICE_HOST_ASKED_H
#define TUTTI_DEVICE_HOST_ASKED_H

/* Local. One more such kernel runs, or one less. */
void tutti_host_asked(int more);
/* Local. Waits until none runs; what: the call, which is reported once if it waits for TUTTI_STALL_SECONDS. */
void tutti_host_asked_await(const char *what);

#endif
