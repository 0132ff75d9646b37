/* Stacks of fibers, and switches to them and back (fiber.h). A fiber may continue on another thread than before. */
#ifndef TUTTI_PROGRESS_FIBER_SWITCH_H
#define TUTTI_PROGRESS_FIBER_SWITCH_H

#include "core/reasons.h"
#include "progress/fiber.h"

struct tutti_fiber_context;

struct tutti_fiber_stack {
    struct tutti_fiber fiber; /* first */
    struct tutti_fiber_stack *next;
    void (*run)(void *);
    void *with;
    int ended;
    enum tutti_reason reason; /* the thread's (core/reasons.h), while the fiber does not run */
    struct tutti_fiber_context *context;
};

/* Under the lock of fiber.c. take: one for a function, with all of `fiber` 0; NULL without memory. keep: of a fiber
 * that has ended; NULL: kept for the next one; otherwise the caller frees it. */
struct tutti_fiber_stack *tutti_fiber_stack_take(void (*run)(void *with), void *with);
struct tutti_fiber_stack *tutti_fiber_stack_keep(struct tutti_fiber_stack *stack);
/* All that are kept; forget: in a forked child, where they would continue on a thread of the parent. */
void tutti_fiber_stacks_free(void);
void tutti_fiber_stacks_forget(void);

void tutti_fiber_stack_free(struct tutti_fiber_stack *stack);
/* Runs the fiber on the calling thread, which is no fiber, until it yields or has ended. One thread at a time. */
void tutti_fiber_resume(struct tutti_fiber_stack *stack);

#endif
