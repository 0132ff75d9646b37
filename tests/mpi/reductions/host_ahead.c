/* Ranks that bring host memory never wait for the others in a call that does not make them: they run many calls ahead
 * of a late rank with device memory, whose results are right all the same. */
#include <string.h>
#include <unistd.h>

#include "family.h"
#include "kit.h"

enum { COUNT = 40, ROUNDS = 300, SLOW = 60 };
static struct kit_buffer in, out, host_in, host_out;

/* `late` has device memory and comes late to every SLOW-th call. */
static void rounds(enum family_call call, int late)
{
    int on_device = kit_rank == late, root = late;
    struct kit_buffer *from = on_device ? &in : &host_in, *to = on_device ? &out : &host_out;
    long wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int mine[COUNT], want[COUNT], got[COUNT], first = 0, last = kit_size;
        if (call == FAMILY_SCAN)
            last = kit_rank + 1;
        if (call == FAMILY_EXSCAN)
            last = kit_rank;
        for (int i = 0; i < COUNT; i++) {
            mine[i] = kit_rank * 1000 + i * round;
            want[i] = (last - first) * i * round;
            for (int r = first; r < last; r++)
                want[i] += r * 1000;
        }
        if (on_device && round % SLOW == 1)
            usleep(20000);
        void *at = kit_put(to, 0, NULL, sizeof got);
        struct family f = {call, 0, COUNT, NULL, root, MPI_INT, MPI_SUM, MPI_COMM_WORLD};
        int error = family_run(&f, kit_put(from, 0, mine, sizeof mine), at);
        int gets = call == FAMILY_REDUCE ? kit_rank == root : call != FAMILY_EXSCAN || kit_rank > 0;
        memcpy(got, kit_get(to, NULL), sizeof got);
        wrong += error != MPI_SUCCESS || (gets && memcmp(got, want, sizeof got) != 0);
    }
    CHECK(wrong == 0, "%s, rank %d on device memory: %ld of %d calls are wrong", family_names[call], late, wrong,
          ROUNDS);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    kit_open(&in, KIT_DEVICE, COUNT * sizeof(int));
    kit_open(&out, KIT_DEVICE, COUNT * sizeof(int));
    kit_open(&host_in, KIT_HOST, COUNT * sizeof(int));
    kit_open(&host_out, KIT_HOST, COUNT * sizeof(int));
    for (int late = 0; late < kit_size; late += kit_size - 1) {
        rounds(FAMILY_REDUCE, late);
        rounds(FAMILY_SCAN, late);
        rounds(FAMILY_EXSCAN, late);
        rounds(FAMILY_ALLREDUCE, late);
        if (kit_size == 1)
            break;
    }
    kit_close(&in);
    kit_close(&out);
    kit_close(&host_in);
    kit_close(&host_out);
    return kit_end("ahead");
}
