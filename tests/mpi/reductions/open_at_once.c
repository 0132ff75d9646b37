/* Nonblocking calls on device memory, thousands open at once, and persistent sends that are staged. Each needs pinned
 * memory, requests, tags. The process has taken the mappings that a process may have (65,530 by default) but half as
 * many as there are calls: calls with a mapping each would not find them. Arguments: how many, and which ("reduce",
 * "bcast", "sends"; all without). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kit.h"

enum { COUNT = 4 };

static struct kit_buffer in, out;
static MPI_Request *requests;
static MPI_Status *statuses;
static int n = 4000;

/* Mappings that this process may have, and has. */
static long mappings_most(void)
{
    long most = 0;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    if (!file || fscanf(file, "%ld", &most) != 1)
        most = 0;
    if (file)
        fclose(file);
    return most;
}

static long mappings(void)
{
    long lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    for (int c; file && (c = getc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

/* Takes all mappings but `left`: pages of which each second one is protected otherwise. */
static void take_mappings(long left)
{
    enum { MOST = 1 << 20 };
    const long most = mappings_most(), pages = most - mappings() - left, page = sysconf(_SC_PAGESIZE);
    if (most <= 0 || most > MOST)
        kit_skip("open_at_once", "a process may have too many mappings here to run out of them");
    char *at = mmap(NULL, (size_t)(pages * page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int failed = at == MAP_FAILED;
    for (long i = 1; i < pages && !failed; i += 2)
        failed = mprotect(at + i * page, (size_t)page, PROT_READ) != 0;
    CHECK(!failed && most - mappings() < left + left / 8, "the mappings of this process could not be taken");
}

static int *fill(void)
{
    int *values = malloc((size_t)n * COUNT * sizeof *values);
    for (int i = 0; i < n * COUNT; i++)
        values[i] = i + kit_rank;
    return values;
}

static void wait_all(const char *what, int failed)
{
    CHECK(failed == 0, "%d of %d calls of %s failed", failed, n, what);
    const int code = MPI_Waitall(n, requests, statuses);
    CHECK(code == MPI_SUCCESS, "MPI_Waitall of %s: error class %d", what, kit_class(code));
}

static void reduce(void)
{
    int failed = 0, wrong = 0, *values = fill();
    const size_t bytes = (size_t)n * COUNT * sizeof *values;
    const int *send = kit_put(&in, 0, values, bytes);
    int *receive = kit_put(&out, 0, NULL, bytes);
    for (int i = 0; i < n; i++)
        failed += MPI_Iallreduce(send + i * COUNT, receive + i * COUNT, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                 &requests[i]) != MPI_SUCCESS;
    wait_all("MPI_Iallreduce", failed);
    const int *got = (const int *)(const void *)kit_get(&out, NULL);
    for (int i = 0; i < n * COUNT; i++)
        wrong += got[i] != i * kit_size + kit_size * (kit_size - 1) / 2;
    CHECK(wrong == 0, "MPI_Iallreduce: %d results are wrong", wrong);
    free(values);
}

static void broadcast(void)
{
    int failed = 0, wrong = 0, *values = fill();
    int *at = kit_put(&in, 0, values, (size_t)n * COUNT * sizeof *values);
    if (kit_rank == 0) /* the calls of the others stay open until all are */
        for (int r = 1; r < kit_size; r++)
            MPI_Recv(NULL, 0, MPI_INT, r, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        failed += MPI_Ibcast(at + i * COUNT, COUNT, MPI_INT, 0, MPI_COMM_WORLD, &requests[i]) != MPI_SUCCESS;
    if (kit_rank > 0)
        MPI_Send(NULL, 0, MPI_INT, 0, 8, MPI_COMM_WORLD);
    wait_all("MPI_Ibcast", failed);
    const int *got = (const int *)(const void *)kit_get(&in, NULL);
    for (int i = 0; i < n * COUNT; i++)
        wrong += got[i] != i;
    CHECK(wrong == 0, "MPI_Ibcast: %d elements are wrong", wrong);
    free(values);
}

/* Persistent sends and receives, short ones, of which the first and the last are started. */
static void sends(void)
{
    int failed = 0, *values = fill();
    const int next = (kit_rank + 1) % kit_size, before = (kit_rank + kit_size - 1) % kit_size;
    int *send = kit_put(&in, 0, values, (size_t)n * COUNT * sizeof *values);
    for (int i = 0; i < n; i++)
        failed += MPI_Send_init(send + i * COUNT, COUNT, MPI_INT, next, 7, MPI_COMM_WORLD, &requests[i]) != MPI_SUCCESS;
    CHECK(failed == 0, "%d of %d calls of MPI_Send_init failed", failed, n);
    for (int k = 0; k < 2 && failed == 0; k++) {
        const int which = k ? n - 1 : 0;
        int *receive = kit_put(&out, 0, NULL, COUNT * sizeof *values);
        MPI_Start(&requests[which]);
        MPI_Recv(receive, COUNT, MPI_INT, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[which], MPI_STATUS_IGNORE);
        const int *got = (const int *)(const void *)kit_get(&out, NULL);
        CHECK(got[COUNT - 1] == which * COUNT + COUNT - 1 + before, "message %d: %d has come", which, got[COUNT - 1]);
    }
    for (int i = 0; i < n; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
    }
    free(values);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    n = argc > 1 ? atoi(argv[1]) : n;
    const char *which = argc > 2 ? argv[2] : "all";
    const int all = strcmp(which, "all") == 0;
    requests = malloc((size_t)n * sizeof *requests);
    statuses = malloc((size_t)n * sizeof *statuses);
    for (int i = 0; i < n; i++)
        requests[i] = MPI_REQUEST_NULL;
    kit_open(&in, KIT_DEVICE, (size_t)n * COUNT * sizeof(int));
    kit_open(&out, KIT_DEVICE, (size_t)n * COUNT * sizeof(int));
    take_mappings(n / 2);
    if (all || strcmp(which, "reduce") == 0)
        reduce();
    if (all || strcmp(which, "bcast") == 0)
        broadcast();
    if (all || strcmp(which, "sends") == 0)
        sends();
    kit_close(&in);
    kit_close(&out);
    free(statuses);
    free(requests);
    return kit_end("open_at_once");
}
