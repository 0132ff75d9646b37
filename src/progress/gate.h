/* The gate between kernels that wait for kernels of other GPUs and calls that a GPU's driver may block while any kernel
 * runs: while thread A's kernel waits for a peer, thread B's release of memory waits for A's kernel, holding what the
 * peer's launch on the other side needs if it does the same. Kernels that wait are readers, such calls are writers; the
 * lock prefers readers, so that a call that is only waiting to be made never keeps a launch back which a peer's kernel
 * needs. One gate a process, for devices that need it (device.h, launch.waiting_begin). */
#ifndef TUTTI_PROGRESS_GATE_H
#define TUTTI_PROGRESS_GATE_H

/* Around launches of kernels that wait, until they have ended. In a fiber other fibers go on meanwhile. */
void tutti_gate_waiting_begin(void);
void tutti_gate_waiting_end(void);

/* Around a call that may be blocked. Waits until no kernel waits; returns at once if the caller holds the gate by
 * tutti_gate_apart_begin(). */
void tutti_gate_shut(void);
void tutti_gate_open(void);

/* Steps of the host (ring/host_step.h): a stream of this process waits for the host, or will. A GPU's driver lets calls
 * that free memory, register host memory or load code wait for the kernel that waits there, and keeps back the calls of
 * all other threads meanwhile. If the host waits for one of those threads, the kernel never ends. So no such call is
 * made while a step is known. more: 1: one step more; -1: the stream continues. captured: steps of graphs, which may be
 * launched at any time. */
void tutti_gate_step(int more);
void tutti_gate_captured(int more);
/* Local. 1: there are steps: the caller takes another way than such a call, or puts it off. */
int tutti_gate_closed(void);
/* As tutti_gate_shut(), around such calls: waits first until no stream waits, unless the calling thread polls or is
 * a fiber: steps may need it. */
void tutti_gate_shut_steps(void);

/* launch.apart_begin() and launch.apart_end(), see device.h. */
int tutti_gate_apart_begin(void);
void tutti_gate_apart_end(void);

#endif
