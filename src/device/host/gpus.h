/* Separate simulated GPUs (TUTTI_HOST_LINKS): as strict as real ones. Each GPU has memory of its own, and a context
 * once the program has made one. A kernel reaches memory of its own GPU, and that of another GPU only where a link
 * joins the two and access was enabled. Tutti works on a GPU only after the program has passed memory of it. What
 * breaks these rules is a violation: it is reported, counted, and makes the process end with status TUTTI_HOST_VIOLATED
 * in strict mode.
 *
 * Without the setting GPUs differ in name alone, and none of these functions does anything. A "GPU" is an ordinal of
 * this process; a "card" is the GPU's number on the machine, the same in all processes. */
#ifndef TUTTI_DEVICE_HOST_GPUS_H
#define TUTTI_DEVICE_HOST_GPUS_H

#include <stddef.h>
#include <stdint.h>

#include "device/host/arena.h"

enum { TUTTI_HOST_GPUS_MOST = 64 };

/* 1 if GPUs are separate. */
int tutti_host_separate(void);
/* Number of GPUs that this process sees. */
int tutti_host_gpus(void);
/* The card of a GPU of this process. */
int tutti_host_card(int gpu);
/* 1 if a link joins the two cards; a card reaches itself. */
int tutti_host_linked(int card, int other);

/* 0 until the first region exists, or a program that has separate GPUs has used one of them. */
extern uintptr_t tutti_host_awake;
void tutti_host_wake(void);
/* The driver is initialised, by the program or by tutti_device.open(): GPUs can be counted. */
void tutti_host_initialise(void);
int tutti_host_initialised(void);
/* The GPU that the calling thread has chosen, -1: none yet. */
int tutti_host_chosen(void);
/* The calling thread chooses the GPU, which gets a context. */
void tutti_host_choose(int gpu);
/* The program has passed memory of the GPU, or has asked Tutti for some there: from now on Tutti may work on it. */
void tutti_host_pass(int gpu);
/* Which life of the GPU's context this is: reset ends it. Streams and memory of an earlier life have gone. What the
 * program has passed memory of may be worked on after a reset too. */
unsigned tutti_host_life(int gpu);
void tutti_host_end_life(int gpu);
/* Tutti notices the end of the GPU's last life, as on a real one: when it looks at memory or works on the GPU. */
void tutti_host_notice(int gpu);
/* The same of all GPUs. */
void tutti_host_look(void);
/* 1 if some GPU has been reset in this process: frees of memory that is not there are no error then. */
int tutti_host_was_reset(void);

/* Tutti is about to do `what` on *gpu; -1 becomes the GPU that a real driver would take (the calling thread's, else one
 * that has a context, else 0). A violation where the program has not passed memory of it. */
void tutti_host_work_on(int *gpu, const char *what);
/* The same for pinned host memory, which takes any GPU that may be worked on. */
void tutti_host_work_on_any(const char *what);
/* Lets kernels of `gpu` reach memory that this process has on `owner`. 0 if no link joins them. */
int tutti_host_enable(int gpu, int owner);
/* 1 if kernels of `gpu` reach the region; otherwise a violation, which names the kernel and the pointer. */
int tutti_host_reaches(int gpu, const struct tutti_host_region *region, const char *what, const void *pointer);
/* A rule was broken on the GPU. */
void tutti_host_violation(int gpu, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
