/* Lives that do not go by the book.
 *
 *   life fork        children in the middle of calls: one that ends at once, one that runs a program, one that looks at
 *                    device memory; the parent continues
 *   life exit        ends by exit() without MPI_Finalize
 *   life _exit       ends by _exit() without MPI_Finalize
 *   life late-free   frees device memory and communicators after MPI_Finalize has been called, allocates before
 * MPI_Init */
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit.h"
#include "tutti/tutti.h"

enum { COUNT = 3000 };
static struct kit_buffer in, out;

static void reduce(const char *when)
{
    int mine[COUNT], want[COUNT];
    for (int i = 0; i < COUNT; i++) {
        mine[i] = kit_rank + i;
        want[i] = kit_size * (kit_size - 1) / 2 + kit_size * i;
    }
    void *to = kit_put(&out, 0, NULL, sizeof mine);
    int error = MPI_Allreduce(kit_put(&in, 0, mine, sizeof mine), to, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(&out, NULL), want, sizeof want) == 0, "%s: class %d", when,
          kit_class(error));
}

static char *given; /* device memory by MPI_Alloc_mem; a child may not free it */

static void give(void)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_memory_alloc_kinds", "system,any:device");
    CHECK(MPI_Alloc_mem(4096, info, &given) == MPI_SUCCESS && (kit_plain || tutti_is_device(given)),
          "MPI_Alloc_mem of device memory");
    MPI_Info_free(&info);
}

static void child(int kind)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        if (kind == 0)
            exit(0);
        if (kind == 1) {
            unsetenv("LD_PRELOAD");
            execlp("true", "true", (char *)NULL);
            _exit(3);
        }
        char bytes[16] = {0};
        void *memory = NULL;
        int device = kit_plain || tutti_is_device(in.base + 64), other = tutti_is_device(bytes);
        if (tutti_alloc(100, &memory) == 0) /* may work or say no; must not hang or harm the parent */
            tutti_free(memory);
        if (!kit_plain && (MPI_Free_mem(given) == MPI_SUCCESS || tutti_free(given) == 0))
            _exit(5);
        _exit(other == 0 && (device == 0 || device == 1) ? 0 : 4);
    }
    int status = -1;
    pid_t ended;
    do
        ended = waitpid(pid, &status, 0);
    while (ended == -1 && errno == EINTR);
    CHECK(pid > 0 && ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "child of kind %d: pid %d, waited for %d (%s), status %x", kind, (int)pid, (int)ended,
          ended == pid ? "no error" : strerror(errno), (unsigned)status);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "fork";
    void *early = NULL;
    if (strcmp(mode, "late-free") == 0 && !check_setting("TUTTI_TEST_PLAIN", 0))
        CHECK(tutti_alloc(4096, &early) == 0, "tutti_alloc before MPI_Init");
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    kit_open(&in, KIT_DEVICE, COUNT * sizeof(int));
    kit_open(&out, KIT_DEVICE, COUNT * sizeof(int));
    reduce("at first");
    if (strcmp(mode, "fork") == 0) {
        give();
        for (int i = 0; i < 9; i++) {
            child(i % 3);
            reduce("after a child");
        }
        CHECK(MPI_Free_mem(given) == MPI_SUCCESS, "MPI_Free_mem after children have tried it");
        kit_close(&in);
        kit_close(&out);
        return kit_end("life");
    }
    if (strcmp(mode, "late-free") == 0) {
        int finalized = 0, status = kit_end("life");
        MPI_Finalized(&finalized);
        kit_close(&in);
        kit_close(&out);
        if (early)
            CHECK(tutti_free(early) == 0, "tutti_free after MPI_Finalize");
        return status || !finalized || check_failed() > 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "leaving, %ld failed\n", check_failed());
    if (strcmp(mode, "_exit") == 0)
        _exit(check_failed() ? 9 : 0);
    exit(check_failed() ? 9 : 0);
}
