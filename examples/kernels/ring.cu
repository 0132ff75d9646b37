/* A pipeline round a ring: chunks of data go from PE 0 through all PEs and back to it. Each block of a kernel waits for
 * its chunks one after the other, works on each and puts it to the next PE with a signal, while later ones are still
 * under way.
 *
 *     nvcc -ccbin mpicxx --forward-unknown-to-host-compiler -arch=native ring.cu \
 *          $(pkg-config --cflags --libs tutti)
 *     mpicc -xc ring.cu $(pkg-config --cflags --libs tutti)                  (without a GPU)
 *     tutti run -n 4 ./a.out */
#include "kernels.h"

enum { CHUNKS = 64, CHUNK = 1024, COUNT = CHUNKS * CHUNK };

struct ring {
    long *data, *in;   /* data: what PE 0 sends; in: what comes */
    uint64_t *arrived; /* [chunk]: 1 when it is in `in` */
};

KERNEL pipeline(struct ring r)
{
    const int me = tshmem_my_pe(), next = (me + 1) % tshmem_n_pes();
    long *const out = me == 0 ? r.data : r.in;
    for (int c = block(); c < CHUNKS; c += blocks()) {
        if (me > 0)
            tshmem_signal_wait_until_block(&r.arrived[c], TSHMEM_CMP_EQ, 1);
        for (int i = thread(); i < CHUNK; i += threads())
            out[c * CHUNK + i] += (me + 1) * (i + c);
        block_sync();
        tshmem_long_put_signal_block(r.in + c * CHUNK, out + c * CHUNK, CHUNK, &r.arrived[c], 1, TSHMEM_SIGNAL_SET,
                                     next);
    }
    for (int c = block(); me == 0 && c < CHUNKS; c += blocks())
        tshmem_signal_wait_until_block(&r.arrived[c], TSHMEM_CMP_EQ, 1);
}

int main(void)
{
    begin();
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    struct ring r;
    static long data[COUNT];
    r.data = (long *)symmetric(sizeof data);
    r.in = (long *)symmetric(sizeof data);
    r.arrived = (uint64_t *)symmetric(CHUNKS * sizeof *r.arrived);
    for (int i = 0; i < COUNT; i++)
        data[i] = 7L * i - 1000;
    if (me == 0)
        tshmem_put(r.data, data, COUNT, me);
    RUN(pipeline, r);

    long wrong = 0;
    tshmem_get(data, r.in, COUNT, me);
    for (int i = 0; me == 0 && i < COUNT; i++)
        wrong += data[i] != 7L * i - 1000 + (long)pes * (pes + 1) / 2 * (i % CHUNK + i / CHUNK);
    return end("64 chunks round a ring of kernels", wrong);
}
