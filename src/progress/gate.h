/* The gate between kernels that wait for kernels of other GPUs and calls that a GPU's driver may block while any kernel
 * runs: while thread A's kernel waits for a peer, thread B's release of memory waits for A's kernel, holding what the
 * peer's launch on the other side needs if it does the same. Kernels that wait are readers, such calls are writers; the
 * lock prefers readers, so that a call that is only waiting to be made never keeps a launch back which a peer's kernel
 * needs. One gate a process, for devices that need it (device.h, launch.waiting_begin). */
#ifndef TUTTI_PROGRESS_GATE_H
#define TUTTI_PROGRESS_GATE_H

/* 1: no call is kept back. For tests whose ranks are threads of one process: what a driver keeps back in the process of
 * one rank would stop the others there. */
extern int tutti_gate_unused;

/* Around launches of kernels that wait, until they have ended. In a fiber other fibers go on meanwhile. */
void tutti_gate_waiting_begin(void);
void tutti_gate_waiting_end(void);

/* Around a call that may be blocked. Waits until no kernel waits; returns at once if the caller holds the gate by
 * tutti_gate_apart_begin(). */
void tutti_gate_shut(void);
void tutti_gate_open(void);

/* Steps of the host (ring/host_step.h): streams of this process that wait for the host, or will. A kernel that waits is
 * one that the driver's calls may wait for, and it needs the host: such calls wait until no stream waits, and a thread
 * that a step may need makes none. more: 1: a stream waits; -1: it continues. */
void tutti_gate_step(int more);
/* Local. 1: the calling thread may be one that a step needs (it polls, is a fiber, or is urgent), and some stream
 * waits. It takes another way than a call that may be blocked. */
int tutti_gate_closed(void);
/* Local. The calling thread holds what steps need: 1; -1: no more. */
void tutti_gate_urgent(int more);

/* launch.apart_begin() and launch.apart_end(), see device.h. */
int tutti_gate_apart_begin(void);
void tutti_gate_apart_end(void);

#endif
