/* What the two programs of Jacobi's method share: the plate, its result by one loop after the other, and runs. */
#ifndef EXAMPLE_PLATE_H
#define EXAMPLE_PLATE_H

#include "forms.h"

enum { UP = 0, DOWN = 1 };

/* A rank's part of the plate: rows 0 and rows + 1 are halos or edges, and so are columns 0 and side + 1. */
struct plate {
    int side, rows, first; /* first: row of the plate that is row 1 here */
    float *at[2];          /* by turns: what is there, and what becomes of it */
};

DEVICE void point(float *to, const float *from, int width, int i)
{
    to[i] = 0.25f * (from[i - width] + from[i - 1] + from[i + 1] + from[i + width]);
}

/* The edges: row 0 is hot, the last row and the columns are cold; inside anything. */
static float start(int row, int x, int side)
{
    return row == 0 ? 100.0f : row == side + 1 || x == 0 || x == side + 1 ? -20.0f : (float)((row * 13 + x * 7) % 17);
}

static int rank, ranks;
static const int up_tag = 1, down_tag = 2;

static int neighbour(int down)
{
    const int of = rank + (down ? 1 : -1);
    return of < 0 || of >= ranks ? MPI_PROC_NULL : of;
}

static float *row_of(const struct plate *p, int turn, int row)
{
    return p->at[turn] + (size_t)row * (size_t)(p->side + 2) + 1;
}

struct form {
    const char *name;
    void (*open)(const struct plate *);
    /* Iteration i: from at[i % 2] to at[(i + 1) % 2], and its halos. */
    void (*step)(const struct plate *, int i);
    void (*end)(void); /* waits until all is done */
    void (*close)(void);
};

static void nothing(void)
{
}

static void nothing_of(const struct plate *p)
{
    (void)p;
}

/* The halos of iteration i, by NCCL in the stream. */
static void nccl_exchange(const struct plate *p, int i)
{
#ifdef __CUDACC__
    const int turn = (i + 1) % 2;
    nccl.GroupStart();
    for (int down = 0; down < 2; down++) {
        const int peer = neighbour(down);
        if (peer == MPI_PROC_NULL)
            continue;
        nccl.Recv(row_of(p, turn, down ? p->rows + 1 : 0), (size_t)p->side, NCCL_FLOAT, peer, nccl.comm, stream);
        nccl.Send(row_of(p, turn, down ? p->rows : 1), (size_t)p->side, NCCL_FLOAT, peer, nccl.comm, stream);
    }
    if (nccl.GroupEnd() != 0)
        stop("ncclGroupEnd", "failed");
#else
    (void)p, (void)i;
#endif
}

static void fill(const struct plate *p, float *host)
{
    const int width = p->side + 2;
    for (int row = 0; row < p->rows + 2; row++)
        for (int x = 0; x < width; x++)
            host[row * width + x] = start(p->first + row - 1, x, p->side);
    for (int turn = 0; turn < 2; turn++)
        tutti_copy(p->at[turn], host, sizeof *host * (size_t)width * (size_t)(p->rows + 2));
}

/* The whole plate, by one loop after the other. */
static float *oracle(int side, int iterations)
{
    const int width = side + 2;
    const size_t points = (size_t)width * (size_t)width;
    float *const both = (float *)malloc(2 * points * sizeof(float));
    float *from = both, *to = both + points;
    for (int row = 0; row < width; row++)
        for (int x = 0; x < width; x++)
            from[row * width + x] = to[row * width + x] = start(row, x, side);
    for (int i = 0; i < iterations; i++) {
        for (int row = 1; row <= side; row++)
            for (int x = 1; x <= side; x++) {
                const float *const at = from + row * width + x;
                to[row * width + x] = 0.25f * (at[-width] + at[-1] + at[1] + at[width]);
            }
        float *const swap = from;
        from = to;
        to = swap;
    }
    if (from != both)
        memcpy(both, from, points * sizeof(float));
    return both;
}

static long wrong_points(const struct plate *p, const float *expected, float *host, int iterations)
{
    const int width = p->side + 2;
    long wrong = 0;
    tutti_copy(host, p->at[iterations % 2], sizeof *host * (size_t)width * (size_t)(p->rows + 2));
    for (int row = 1; row <= p->rows; row++)
        for (int x = 1; x <= p->side; x++)
            wrong += host[row * width + x] != expected[(p->first + row - 1) * width + x];
    return wrong;
}

/* Collective. Microseconds of an iteration; *wrong: points of all runs. */
static double run(const struct form *form, const struct plate *p, const float *expected, float *host, int iterations,
                  long *wrong)
{
    double seconds[REPEATS];
    form->open(p);
    for (int r = -1; r < REPEATS; r++) { /* the first run maps memory */
        fill(p, host);
        MPI_Barrier(MPI_COMM_WORLD);
        const double begun = MPI_Wtime();
        for (int i = 0; i < iterations; i++)
            form->step(p, i);
        form->end();
        if (r >= 0)
            seconds[r] = MPI_Wtime() - begun;
        *wrong += wrong_points(p, expected, host, iterations);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    form->close();
    return median_us(seconds, REPEATS, iterations);
}

/* This rank's rows of a plate of so many; collective. */
static struct plate plate_open(int side)
{
    struct plate p;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    p.side = side;
    p.first = side * rank / ranks + 1;
    p.rows = side * (rank + 1) / ranks + 1 - p.first;
    if (side / ranks < 2)
        stop("jacobi", "a rank needs two rows");
    for (int turn = 0; turn < 2; turn++)
        p.at[turn] = (float *)memory(sizeof(float) * (size_t)(p.side + 2) * (size_t)(p.rows + 2));
    return p;
}

static float *plate_host(const struct plate *p)
{
    float *const host = (float *)malloc(sizeof(float) * (size_t)(p->side + 2) * (size_t)(p->rows + 2));
    if (!host)
        stop("malloc", "no memory");
    return host;
}

/* Collective. Runs each form, "nccl" only where NCCL is there, and prints their microseconds of an iteration in one
 * line. Returns the wrong points of all runs. */
static long run_all(const char *title, const struct form forms[], int n, const struct plate *p, int iterations)
{
    float *const host = plate_host(p), *const expected = oracle(p->side, iterations);
    const int has_nccl = nccl_open(rank, ranks);
    long wrong = 0;
    if (rank == 0)
        printf("%s %d x %d, us of an iteration:", title, p->side, p->side);
    for (int f = 0; f < n; f++) {
        if (strcmp(forms[f].name, "nccl") == 0 && !has_nccl)
            continue;
        const double us = run(&forms[f], p, expected, host, iterations, &wrong);
        if (rank == 0)
            printf(" %s %.2f", forms[f].name, us);
    }
    if (rank == 0)
        printf("\n");
    nccl_close();
    free(host);
    free(expected);
    return wrong;
}

static void plate_close(const struct plate *p)
{
    for (int turn = 0; turn < 2; turn++)
        tutti_free(p->at[turn]);
}

#endif
