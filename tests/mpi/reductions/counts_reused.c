/* A program may use its array of counts for something else once it has made a persistent reduce-scatter of it: each
 * start takes the counts that were given, on host and on device memory, in both widths. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kit.h"

enum { EACH = 40, MOST = 8, STARTS = 4 };

static void run(enum kit_kind kind, int large)
{
    struct kit_buffer in, out;
    int sent[EACH * MOST], counts[MOST], guards, code;
    MPI_Count large_counts[MOST];
    MPI_Request request;
    char what[80];
    snprintf(what, sizeof what, "%s memory%s", kind == KIT_DEVICE ? "device" : "host", large ? ", large counts" : "");
    int (*init)(const void *, void *, const int[], MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *);
    int (*init_c)(const void *, void *, const MPI_Count[], MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *);
    *(void **)&init = dlsym(RTLD_DEFAULT, "MPI_Reduce_scatter_init"); /* the library has it where the MPI has not */
    *(void **)&init_c = dlsym(RTLD_DEFAULT, "MPI_Reduce_scatter_init_c");
    if (!CHECK(init && init_c, "MPI_Reduce_scatter_init was not found"))
        return;
    for (int r = 0; r < kit_size; r++)
        large_counts[r] = counts[r] = EACH - r;
    kit_open(&in, kind, sizeof sent);
    kit_open(&out, kind, sizeof sent);
    void *from = kit_put(&in, 0, NULL, sizeof sent), *to = kit_put(&out, 0, NULL, sizeof sent);
    code = large ? init_c(from, to, large_counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request)
                 : init(from, to, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    CHECK(code == MPI_SUCCESS, "%s: error class %d", what, kit_class(code));
    for (int start = 0; start < STARTS; start++) {
        int first = 0, mine = EACH - kit_rank, i = 0;
        for (int r = 0; r < kit_size; r++) {
            large_counts[r] = counts[r] = start % 2 ? 1 : 0;
            first += r < kit_rank ? EACH - r : 0;
        }
        for (int k = 0; k < EACH * MOST; k++)
            sent[k] = k + 1000 * start;
        kit_put(&in, 0, sent, sizeof sent);
        kit_put(&out, 0, NULL, sizeof sent);
        code = MPI_Start(&request);
        CHECK(code == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "%s: error class %d", what,
              kit_class(code));
        const int *got = (const int *)(const void *)kit_get(&out, &guards);
        while (i < mine && got[i] == kit_size * (first + i + 1000 * start))
            i++;
        CHECK(i == mine && guards, "%s, start %d: integer %d of %d is %d, not %d", what, start, i, mine, got[i],
              kit_size * (first + i + 1000 * start));
    }
    MPI_Request_free(&request);
    kit_close(&in);
    kit_close(&out);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain)
        kit_skip("counts_reused", "needs the library in front");
    for (int large = 0; large < 2; large++) {
        run(KIT_DEVICE, large);
        run(KIT_HOST, large);
    }
    return kit_end("counts_reused");
}
