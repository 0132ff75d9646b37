/* Which addresses are known to be those of the calling thread's stack. The C library is not asked about the first
 * thread's: it would read the list of all mappings. With an argument under a limit of the stack of so many KiB, or of
 * none (0): the kernel places mappings by it, and without one from below. */
#include "core/stack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "support/check.h"

enum { FIBER_BYTES = 256 << 10, FAR_BYTES = TUTTI_STACK_REACH + (64 << 10) };
static int there, *elsewhere, from_fiber[3];
static ucontext_t here, fiber;
static int asked;

/* Libraries find this one before the C library's. */
__attribute__((visibility("default"))) int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes)
{
    int (*real)(pthread_t, pthread_attr_t *);
    *(void **)(void *)&real = dlsym(RTLD_NEXT, "pthread_getattr_np");
    asked++;
    return real(thread, attributes);
}

static __attribute__((noinline)) int holds(const void *pointer)
{
    return tutti_stack_holds(pointer);
}

static void in_fiber(void)
{
    int own = 0;
    from_fiber[0] = holds(&own); /* no stack of a thread: nothing is known */
    from_fiber[1] = holds(elsewhere);
    from_fiber[2] = holds(&there);
}

static void in_fiber_at(void *memory)
{
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = memory;
    fiber.uc_stack.ss_size = FIBER_BYTES;
    fiber.uc_link = &here;
    makecontext(&fiber, in_fiber, 0);
    swapcontext(&here, &fiber);
}

/* The first byte behind the stack. */
static const char *stack_end(void)
{
    pthread_attr_t attributes;
    void *begin = NULL;
    size_t bytes = 0;
    CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0 &&
              pthread_attr_getstack(&attributes, &begin, &bytes) == 0 && pthread_attr_destroy(&attributes) == 0,
          "where is the stack?");
    return (const char *)begin + bytes;
}

static void frames(const char *who)
{
    const char *const end = stack_end();
    int own = 0, few[64] = {0}, *const heap = malloc(sizeof *heap);
    void *const memory = malloc(FIBER_BYTES);
    CHECK(holds(&own) && holds(few) && holds(few + 63), "%s: variables of the caller", who);
    CHECK(!holds(heap) && !holds(&there) && !holds(NULL) && !holds((void *)(uintptr_t)frames), "%s: other memory", who);
    CHECK(holds(end - 1) && !holds(end) && !holds(end + 4096), "%s: the end of the stack", who);
    CHECK(!holds((void *)UINTPTR_MAX) && !holds((char *)&own - FAR_BYTES), "%s: no frames", who);
    if (memory) {
        elsewhere = &own;
        in_fiber_at(memory);
        CHECK(!from_fiber[0] && !from_fiber[1] && !from_fiber[2], "%s: in a fiber", who);
    }
    CHECK(holds(&own), "%s: behind a fiber", who);
    free(memory);
    free(heap);
}

static void *in_thread(void *of_main)
{
    frames("a thread");
    CHECK(!holds(of_main), "the stack of another thread");
    return NULL;
}

/* Deeper than the rule looks. */
static __attribute__((noinline)) void far_frames(const void *outer)
{
    volatile char deep[FAR_BYTES];
    deep[0] = deep[FAR_BYTES - 1] = 0;
    CHECK(!holds(outer), "farther than the rule looks");
    CHECK(holds((const void *)(uintptr_t)&deep[0]), "the frame of the caller");
}

/* This program once more under the limit. Returns if that is not permitted. */
static void run_again(char *program, rlim_t bytes)
{
    struct rlimit limit;
    char *const arguments[] = {program, NULL};
    if (getrlimit(RLIMIT_STACK, &limit) != 0)
        return;
    limit.rlim_cur = bytes ? bytes : RLIM_INFINITY;
    if (setrlimit(RLIMIT_STACK, &limit) == 0)
        execv("/proc/self/exe", arguments);
}

/* A fiber in memory as near to the first thread's stack as the kernel maps any by itself. */
static void near_fiber(void)
{
    enum { BELOW = 128 << 20 };
    char *const at = (char *)((uintptr_t)__builtin_frame_address(0) / 4096 * 4096 - BELOW);
    void *const memory =
        mmap(at, FIBER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == at) {
        in_fiber_at(memory);
        CHECK(!from_fiber[0] && !from_fiber[1] && !from_fiber[2], "in a fiber below the stack");
    }
    if (memory != MAP_FAILED)
        munmap(memory, FIBER_BYTES);
}

int main(int argc, char **argv)
{
    int own = 0;
    pthread_t thread;
    if (argc > 1) {
        run_again(argv[0], (rlim_t)strtoull(argv[1], NULL, 10) << 10);
        return CHECK_SKIP;
    }
    CHECK(holds(&own) && asked == 0, "the C library is asked about the first thread's stack");
    frames("the first thread");
    near_fiber();
    far_frames(&own);
    CHECK(pthread_create(&thread, NULL, in_thread, &own) == 0 && pthread_join(thread, NULL) == 0, "no thread");
    frames("the first thread again");
    return check_failed() != 0;
}
