/* Bursts of small blocking reductions with kernels that stay (TUTTI_LINGER_US): sizes, data, types, operators and calls
 * change, ranks pause, the device is waited for, another thread allocates and frees memory. Every result is looked at.
 *
 *   linger CALLS */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kit.h"
#include "tutti/tutti.h"

enum { MOST = 2048 };

static atomic_int over;
static int (*synchronize)(void);

static void *allocate(void *with)
{
    (void)with;
    while (!atomic_load(&over)) {
        const struct timespec pause = {0, 3000000};
        void *memory = NULL;
        if (tutti_alloc(1 << 20, &memory) == 0)
            tutti_free(memory);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static int value(uint64_t call, int rank, size_t i)
{
    return (int)(random_mix(call * 64 + (uint64_t)rank + (i << 32)) % 1000);
}

/* kind: 0 float sum, 1 int sum, 2 int max. Small whole numbers: float is exact. */
static int expected(int kind, uint64_t call, int ranks, size_t i)
{
    int all = 0;
    for (int r = 0; r < ranks; r++) {
        int one = value(call, r, i);
        all = kind == 2 ? (one > all ? one : all) : all + one;
    }
    return all;
}

static void one_call(uint64_t *random, uint64_t call, struct kit_buffer *in, struct kit_buffer *out)
{
    const uint64_t what = random_next(random) % 20;
    const int kind = what == 0 ? 1 : what == 1 ? 2 : 0, reduce = random_next(random) % 10 == 0;
    const int in_place = !reduce && random_next(random) % 4 == 0,
              root = (int)(random_next(random) % (uint64_t)kit_size);
    const size_t count = 1 + random_next(random) % MOST, bytes = count * 4;
    MPI_Datatype type = kind == 0 ? MPI_FLOAT : MPI_INT;
    MPI_Op op = kind == 2 ? MPI_MAX : MPI_SUM;
    union {
        float f[MOST];
        int i[MOST];
    } data;
    for (size_t i = 0; i < count; i++) {
        if (kind == 0)
            data.f[i] = (float)value(call, kit_rank, i);
        else
            data.i[i] = value(call, kit_rank, i);
    }
    void *to = kit_put(out, 0, in_place ? &data : NULL, bytes);
    const void *from = in_place ? MPI_IN_PLACE : kit_put(in, 0, &data, bytes);
    int error = reduce ? MPI_Reduce(from, to, (int)count, type, op, root, MPI_COMM_WORLD)
                       : MPI_Allreduce(from, to, (int)count, type, op, MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS, "call %llu: error class %d", (unsigned long long)call, kit_class(error));
    if (reduce && kit_rank != root)
        return;
    int guards;
    memcpy(&data, kit_get(out, &guards), bytes);
    size_t bad = 0;
    while (bad < count && (kind == 0 ? (int)data.f[bad] : data.i[bad]) == expected(kind, call, kit_size, bad))
        bad++;
    CHECK(bad == count && guards, "call %llu, kind %d, reduce %d, in place %d, %zu elements: element %zu is wrong",
          (unsigned long long)call, kind, reduce, in_place, count, bad);
}

/* Nothing but calls in between, so that kernels are met while they stay: the vector is reduced over and over. */
static void burst(uint64_t *random, struct kit_buffer *in, struct kit_buffer *out)
{
    int data[16], guards;
    const int calls = 2 + (int)(random_next(random) % 6);
    for (int i = 0; i < 16; i++)
        data[i] = i + 1;
    char *a = kit_put(in, 0, data, sizeof data), *b = kit_put(out, 0, NULL, sizeof data);
    for (int c = 0; c < calls; c++) {
        CHECK(MPI_Allreduce(a, b, 16, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS, "call %d of a burst", c);
        char *other = a;
        a = b;
        b = other;
    }
    memcpy(data, kit_get(calls % 2 ? out : in, &guards), sizeof data);
    int times = 1;
    for (int c = 0; c < calls; c++)
        times *= kit_size;
    for (int i = 0; i < 16; i++)
        CHECK(data[i] == (i + 1) * times, "a burst of %d calls: element %d is %d", calls, i, data[i]);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SERIALIZED);
    const uint64_t calls = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000;
    struct kit_buffer in, out;
    pthread_t thread;
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)(void *)&synchronize = dlsym(library, "cuCtxSynchronize");
    kit_open(&in, KIT_DEVICE, MOST * 4);
    kit_open(&out, KIT_DEVICE, MOST * 4);
    uint64_t random = kit_seed, own = kit_seed + (uint64_t)kit_rank + 1;
    CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0, "no thread");
    for (uint64_t call = 0; call < calls; call++) {
        if (random_next(&own) % 8 == 0) {
            const struct timespec pause = {0, (long)(random_next(&own) % 60000)};
            nanosleep(&pause, NULL);
        }
        if (synchronize && random_next(&own) % 50 == 0)
            synchronize();
        if (random_next(&random) % 3 == 0)
            burst(&random, &in, &out);
        else
            one_call(&random, call, &in, &out);
    }
    atomic_store(&over, 1);
    pthread_join(thread, NULL);
    kit_close(&in);
    kit_close(&out);
    return kit_end("linger");
}
