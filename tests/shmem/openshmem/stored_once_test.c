/* A put stores each element of its ends once: a PE that has waited for an element may store to it at once, and must not
 * find its own value overwritten. A process makes the copy step by step. Another one looks at the destination after
 * each instruction, takes away what has arrived, and counts how often it comes. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shmem/host.h"
#include "support/check.h"

enum { MOST = 1200, EDGE = 64 };

struct shared {
    unsigned char to[MOST], from[MOST];
};

/* The element at `at`: 1 if all of it is there, and then it is taken away. */
static int arrived(unsigned char *at, size_t width)
{
    size_t full = 0;
    for (size_t i = 0; i < width; i++)
        full += at[i] != 0;
    if (full == width)
        memset(at, 0, width);
    return full == width;
}

/* One copy of n elements of `width` bytes to to[at], from an address that is not aligned alike. */
static void one(struct shared *shared, size_t at, size_t width, size_t n)
{
    int times[MOST] = {0}, status;
    unsigned char *const to = shared->to + at;
    memset(shared->to, 0, MOST);
    memset(shared->from, 0x5a, MOST);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(CHECK_SKIP);
        raise(SIGSTOP);
        tutti_shmem_copy_host(to, shared->from + 2, n * width);
        _exit(0);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        for (size_t i = 0; i < n; i++)
            times[i] += arrived(to + i * width, width);
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0)
            break;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIP)
        _exit(CHECK_SKIP); /* processes may not be traced here */
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the copy ends with status %#x", status);
    for (size_t i = 0; i < n; i++) {
        const int edge = (i + 1) * width <= EDGE || (n - i) * width <= EDGE;
        CHECK(edge ? times[i] == 1 : times[i] >= 1, "element %zu of %zu of %zu bytes is stored %d times", i, n, width,
              times[i]);
    }
}

int main(void)
{
    static const size_t counts[] = {1, 2, 3, 5, 8, 9, 16, 17, 33, 64, 100};
    struct shared *const shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return CHECK_SKIP;
    for (size_t width = 2; width <= 8; width *= 2)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (size_t at = 0; at < 16; at += width)
                one(shared, at, width, counts[i]);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
