/* A process that loads libcuda late: its word is 0 before, also when other libraries come, and not 0 afterwards. A
 * forked child has no GPU. late_test LIBCUDA OTHER */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"

static int wrong;

static void expect(int active, int word, const char *when)
{
    const struct tutti_device *device = tutti_device();
    const int is = tutti_device_active(device);
    const int says = *atomic_load(&device->sign->at) != 0;
    if (is != active || (word >= 0 && says != word)) {
        fprintf(stderr, "%s: active %d, not %d; the word is %d\n", when, is, active, says);
        wrong++;
    }
}

int main(int argc, char **argv)
{
    if (argc < 3 || !tutti_device() || !tutti_device()->sign)
        return 2;
    expect(0, 0, "at first");
    expect(0, 0, "again");
    if (!dlopen(argv[2], RTLD_NOW))
        return 2;
    expect(0, 0, "with another library");
    if (!dlopen(argv[1], RTLD_NOW))
        return 2;
    expect(1, 1, "with libcuda");
    expect(1, 1, "with libcuda, again");
    const pid_t child = fork();
    if (child == 0) {
        expect(0, 0, "in a child");
        _exit(wrong);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return wrong || status;
}
