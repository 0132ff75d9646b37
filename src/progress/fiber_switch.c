/* Fibers by ucontext. Switches by setjmp, which leaves the signal mask alone: no system call. Sanitizers get each stack
 * announced, and see swapcontext, which they support. A fiber continues on whichever thread resumes it, so no function
 * here keeps the address of a thread's variable over a switch. */
#undef _FORTIFY_SOURCE /* its longjmp takes another stack for an error */
#include "progress/fiber_switch.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

enum {
    STACK_BYTES = 8 << 20, /* as a thread's: drivers compile on it. Only what is touched is there */
    GUARD_BYTES = 4096,
    KEPT = 16 /* stacks that wait for their next fiber */
};

/* Where a stack continues. */
struct tutti_fiber_context {
    ucontext_t full;
    jmp_buf quick;
    void *bottom;
    size_t size;
    void *fiber, *fake; /* of sanitizers */
    int begun;
};

struct both {
    struct tutti_fiber_stack stack;
    struct tutti_fiber_context context;
};

static struct tutti_fiber_stack *idle;
static int kept;

/* Of the thread that resumes fibers: where it continues, and the fiber that it resumes. */
static struct tutti_fiber_context *home;
static struct tutti_fiber_stack *running;
static __thread struct tutti_fiber_stack *here;

/* ---- switching ---- */

__attribute__((noinline)) static void here_set(struct tutti_fiber_stack *stack)
{
    here = stack;
    __asm__ volatile("" ::: "memory");
}

struct tutti_fiber *tutti_fiber_here(void)
{
    return here ? &here->fiber : NULL;
}

const void *tutti_fiber_self(void)
{
    static __thread char thread;
    return here ? (const void *)here : &thread;
}

static void fiber_enter(void)
{
    struct tutti_fiber_stack *stack = running;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(NULL, (const void **)&home->bottom, &home->size);
#endif
    for (;;) { /* a stack that is kept continues here: a new context takes two system calls */
        stack->run(stack->with);
        tutti_fiber_catch_up();
        stack->ended = 1;
        tutti_fiber_yield();
    }
}

/* Continues at `to`; returns when another switch continues at `from`. */
static void leave_for(struct tutti_fiber_context *from, struct tutti_fiber_context *to, int first)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&from->fake, to->bottom, to->size);
    swapcontext(&from->full, &to->full);
    const int in_fiber = from != home; /* its thread may be another one now */
    __sanitizer_finish_switch_fiber(from->fake, in_fiber ? (const void **)&home->bottom : NULL,
                                    in_fiber ? &home->size : NULL);
    (void)first;
#elif defined(__SANITIZE_THREAD__)
    from->fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->fiber, 0);
    swapcontext(&from->full, &to->full);
    (void)first;
#else
    if (_setjmp(from->quick) != 0)
        return;
    if (first)
        setcontext(&to->full);
    _longjmp(to->quick, 1);
#endif
}

void tutti_fiber_yield(void)
{
    struct tutti_fiber_stack *const stack = here;
    if (stack)
        leave_for(stack->context, home, 0);
}

void tutti_fiber_resume(struct tutti_fiber_stack *stack)
{
    struct tutti_fiber_context mine, *const context = stack->context;
    const enum tutti_reason reason = tutti_why_take(TUTTI_REASON_NONE);
    const int first = !context->begun;
    mine.fake = NULL;
    home = &mine;
    running = stack;
    if (first) {
#if defined(__SANITIZE_THREAD__)
        context->fiber = __tsan_create_fiber(0);
#endif
        getcontext(&context->full);
        context->full.uc_stack.ss_sp = context->bottom;
        context->full.uc_stack.ss_size = STACK_BYTES;
        context->full.uc_link = NULL;
        makecontext(&context->full, fiber_enter, 0);
        context->begun = 1;
    }
    tutti_why_set(stack->reason);
    here_set(stack);
    leave_for(&mine, context, first);
    here_set(NULL);
    stack->reason = tutti_why_take(TUTTI_REASON_NONE);
    tutti_why_set(reason);
}

/* ---- stacks ---- */

static struct tutti_fiber_stack *stack_new(void)
{
    struct both *both = calloc(1, sizeof *both);
    void *at = both ? mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0)
                    : MAP_FAILED;
    if (at == MAP_FAILED) {
        free(both);
        return NULL;
    }
    (void)madvise(at, STACK_BYTES, MADV_NOHUGEPAGE); /* or each took a huge page */
    (void)mprotect(at, GUARD_BYTES, PROT_NONE);
    both->stack.context = &both->context;
    both->context.bottom = at;
    both->context.size = STACK_BYTES;
    return &both->stack;
}

void tutti_fiber_stack_free(struct tutti_fiber_stack *stack)
{
#if defined(__SANITIZE_THREAD__)
    if (stack->context->begun)
        __tsan_destroy_fiber(stack->context->fiber);
#endif
    munmap(stack->context->bottom, STACK_BYTES);
    free(stack);
}

struct tutti_fiber_stack *tutti_fiber_stack_take(void (*run)(void *with), void *with)
{
    struct tutti_fiber_stack *const stack = idle ? idle : stack_new();
    if (!stack)
        return NULL;
    if (idle) {
        idle = stack->next;
        kept--;
    }
    memset(&stack->fiber, 0, sizeof stack->fiber);
    stack->next = NULL;
    stack->run = run;
    stack->with = with;
    stack->ended = 0;
    stack->reason = TUTTI_REASON_NONE;
    return stack;
}

struct tutti_fiber_stack *tutti_fiber_stack_keep(struct tutti_fiber_stack *stack)
{
    if (kept == KEPT)
        return stack;
    stack->next = idle;
    idle = stack;
    kept++;
    return NULL;
}

void tutti_fiber_stacks_free(void)
{
    while (idle) {
        struct tutti_fiber_stack *const stack = idle;
        idle = stack->next;
        tutti_fiber_stack_free(stack);
    }
    kept = 0;
}

void tutti_fiber_stacks_forget(void)
{
    idle = NULL;
    kept = 0;
}
