/* What a binding or a configure script does: no header, every name found by dlsym. Its static variables are symmetric.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* The function of that name, as this type. */
#define FIND(type, name)                                                                                               \
    ((union {                                                                                                          \
         void *symbol;                                                                                                 \
         __typeof__(type) call;                                                                                        \
     }){find(name)}                                                                                                    \
         .call)

static int got, sums[4];
static long sync_words[64];

static void *find(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (!symbol) {
        fprintf(stderr, "FAILED: dlsym finds no %s\n", name);
        exit(1);
    }
    return symbol;
}

int main(void)
{
    FIND(void (*)(void), "shmem_init")();
    const int me = FIND(int (*)(void), "shmem_my_pe")(), npes = FIND(int (*)(void), "_num_pes")();
    FIND(void (*)(int *, int, int), "shmem_int_p")(&got, 100 + me, (me + 1) % npes);
    FIND(void (*)(void), "pshmem_barrier_all")();
    int wrong = got != 100 + (me + npes - 1) % npes;
    sums[0] = me + 1;
    for (int i = 0; i < 64; i++) /* as other libraries' headers say */
        sync_words[i] = -1;
    FIND(void (*)(void), "shmem_barrier_all")();
    FIND(void (*)(int *, const int *, int, int, int, int, int *, long *), "shmem_int_sum_to_all")
    (&sums[1], &sums[0], 1, 0, 0, npes, &sums[2], sync_words);
    wrong |= sums[1] != npes * (npes + 1) / 2;
    FIND(void (*)(int, int, int, long *), "shmem_barrier")(0, 0, npes, sync_words);
    wrong |= sync_words[0] != -1 || sync_words[1] != -1 || sync_words[2] != -1;
    int *const heap = FIND(void *(*)(size_t), "shmalloc")(sizeof(int));
    FIND(void (*)(void *, const void *, size_t, int), "shmem_put32")(heap, &me, 1, (me + 1) % npes);
    FIND(void (*)(void), "shmem_barrier_all")();
    wrong |= *heap != (me + npes - 1) % npes;
    if (wrong)
        fprintf(stderr, "FAILED on PE %d: %d %d\n", me, got, sums[1]);
    FIND(void (*)(void *), "shfree")(heap);
    FIND(void (*)(void), "shmem_finalize")();
    return wrong;
}
