/* Memory of a thread's stack. It is host memory as long as the thread runs, so no driver has to be asked about it. */
#ifndef TUTTI_CORE_STACK_H
#define TUTTI_CORE_STACK_H

#include <stdint.h>

enum { TUTTI_STACK_REACH = 1 << 20 };

int tutti_stack_holds_slow(uintptr_t at, uintptr_t frame);

/* Local. 1 if the address lies in a frame of the calling thread's stack, which the program has not left. 0: it lies
 * elsewhere, or nothing is known: farther than TUTTI_STACK_REACH bytes from the caller, or on a fiber. */
static inline int tutti_stack_holds(const void *pointer)
{
    const uintptr_t at = (uintptr_t)pointer, frame = (uintptr_t)__builtin_frame_address(0);
    return __builtin_expect(at - frame < TUTTI_STACK_REACH, 0) && tutti_stack_holds_slow(at, frame);
}

#endif
