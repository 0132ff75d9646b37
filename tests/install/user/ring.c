/* A ring in the style of before version 1.3, also compiled as C++: a static variable goes from PE to PE. */
#include <mpp/shmem.h>
#include <stdio.h>

static long ring_word;

int main(void)
{
    shmem_init();
    const int me = _my_pe(), npes = _num_pes();
    long token = 1;
    if (me == 0)
        shmem_long_put(&ring_word, &token, 1, 1 % npes);
    shmem_long_wait_until(&ring_word, SHMEM_CMP_GE, 1);
    token = ring_word + 1;
    if (me != 0)
        shmem_put(&ring_word, &token, 1, (me + 1) % npes);
    shmem_barrier_all();
    if (me == 0)
        printf("ring of %d: %s\n", npes, ring_word == npes ? "right" : "wrong");
    const int wrong = me == 0 && ring_word != npes;
    shmem_finalize();
    return wrong;
}
