/* The heat equation on a plate whose rows lie on the PEs in turn: one kernel makes all steps. In each step the blocks
 * that have the first and the last row of their PE compute these first and put them into the neighbours' halos, with a
 * signal that says of which step they are; they wait for nothing but the halos that they read.
 *
 *     nvcc -ccbin mpicxx --forward-unknown-to-host-compiler -arch=native heat.cu \
 *          $(pkg-config --cflags --libs tutti)
 *     mpicc -xc heat.cu $(pkg-config --cflags --libs tutti)                  (without a GPU)
 *     tutti run -n 4 ./a.out */
#include "kernels.h"

enum { ROWS = 32, COLUMNS = 128, STEPS = 100, WIDTH = COLUMNS + 2, PLATE = (ROWS + 2) * WIDTH };

enum { ABOVE, BELOW };

struct heat {
    double *plate[2];  /* by turns: what is there, and what becomes of it; with a halo of one point around */
    uint64_t *arrived; /* [ABOVE], [BELOW]: step of the halo row from that neighbour */
};

/* A row of points, by all threads of the block; the same order of additions everywhere, so the bits are the same. */
DEVICE void compute(double *to, const double *from, int row)
{
    for (int x = 1 + thread(); x <= COLUMNS; x += threads()) {
        const double *const at = from + row * WIDTH + x;
        to[row * WIDTH + x] = 0.25 * (at[-WIDTH] + at[-1] + at[1] + at[WIDTH]);
    }
}

KERNEL diffuse(struct heat h)
{
    const int me = tshmem_my_pe(), last = tshmem_n_pes() - 1;
    for (int step = 1; step <= STEPS; step++) {
        const double *const from = h.plate[(step + 1) % 2];
        double *const to = h.plate[step % 2];
        const uint64_t before = (uint64_t)step - 1, now = (uint64_t)step;
        if (block() == 0) {
            if (me > 0)
                tshmem_signal_wait_until_block(&h.arrived[ABOVE], TSHMEM_CMP_GE, before);
            compute(to, from, 1);
            block_sync();
            if (me > 0) /* what is in our row 1 is below the rows of the PE above */
                tshmem_double_put_signal_block(to + (ROWS + 1) * WIDTH, to + WIDTH, WIDTH, &h.arrived[BELOW], now,
                                               TSHMEM_SIGNAL_SET, me - 1);
        }
        if (block() == blocks() - 1) {
            if (me < last)
                tshmem_signal_wait_until_block(&h.arrived[BELOW], TSHMEM_CMP_GE, before);
            compute(to, from, ROWS);
            block_sync();
            if (me < last)
                tshmem_double_put_signal_block(to, to + ROWS * WIDTH, WIDTH, &h.arrived[ABOVE], now, TSHMEM_SIGNAL_SET,
                                               me + 1);
        }
        for (int row = 2 + block(); row < ROWS; row += blocks())
            compute(to, from, row);
        /* A neighbour overwrites a halo two steps later, which it begins when our next step's row has arrived there:
         * by then the block that sent it has read the halo. So only the blocks of this PE wait for each other. */
        grid_sync();
    }
}

/* Row 0 and the row below the last are the edges of the plate: one hot, one cold. */
static double start(int row, int x, int rows)
{
    return row == 0 ? 100.0 : row == rows + 1 ? -20.0 : (double)((row * 13 + x * 7) % 17);
}

/* The whole plate, by one loop after the other. */
static double *oracle(int rows)
{
    double *const plate = (double *)malloc(2 * sizeof(double) * (size_t)(rows + 2) * WIDTH);
    double *from = plate, *to = plate + (size_t)(rows + 2) * WIDTH;
    for (int row = 0; row < rows + 2; row++)
        for (int x = 0; x < WIDTH; x++)
            from[row * WIDTH + x] = to[row * WIDTH + x] = start(row, x, rows);
    for (int step = 1; step <= STEPS; step++) {
        for (int row = 1; row <= rows; row++)
            for (int x = 1; x <= COLUMNS; x++) {
                const double *const at = from + row * WIDTH + x;
                to[row * WIDTH + x] = 0.25 * (at[-WIDTH] + at[-1] + at[1] + at[WIDTH]);
            }
        double *const swap = from;
        from = to;
        to = swap;
    }
    return plate; /* STEPS is even: the last one is here */
}

int main(void)
{
    begin();
    const int me = tshmem_my_pe(), rows = ROWS * tshmem_n_pes();
    struct heat h;
    static double plate[PLATE];
    for (int row = 0; row < ROWS + 2; row++)
        for (int x = 0; x < WIDTH; x++)
            plate[row * WIDTH + x] = start(me * ROWS + row, x, rows);
    for (int i = 0; i < 2; i++) {
        h.plate[i] = (double *)symmetric(sizeof plate);
        tshmem_put(h.plate[i], plate, PLATE, me);
    }
    h.arrived = (uint64_t *)symmetric(2 * sizeof *h.arrived);
    RUN(diffuse, h);

    long wrong = 0;
    double *const expected = oracle(rows);
    tshmem_get(plate, h.plate[STEPS % 2], PLATE, me);
    for (int row = 1; row <= ROWS; row++)
        for (int x = 1; x <= COLUMNS; x++)
            wrong += plate[row * WIDTH + x] != expected[(me * ROWS + row) * WIDTH + x];
    free(expected);
    return end("heat, 100 steps in a kernel", wrong);
}
