/* The Laplace equation by Jacobi's method: the rows of the plate lie on the ranks in turn, and each iteration exchanges
 * the first and the last row of a rank with its neighbours. The same iterations in several forms of that halo exchange:
 *
 *   plain         a kernel, a synchronise, MPI_Sendrecv
 *   partitioned   blocks of the kernel mark parts of the two rows, and go on with the inner ones
 *   nccl          ncclSend and ncclRecv in the stream, if NCCL is there
 *
 *     nvcc -ccbin mpicxx --forward-unknown-to-host-compiler -arch=native jacobi.cu $(pkg-config --cflags --libs tutti)
 *     mpicc -xc jacobi.cu $(pkg-config --cflags --libs tutti)                (without a GPU)
 *     tutti run -n 4 ./a.out [SIDE [ITERATIONS]]                             (192 and 60: side of the plate) */
#include "forms.h"

enum { PARTS = 4, UP = 0, DOWN = 1 };

/* A rank's part of the plate: rows 0 and rows + 1 are halos or edges, and so are columns 0 and side + 1. */
struct plate {
    int side, rows, first; /* first: row of the plate that is row 1 here */
    float *at[2];          /* by turns: what is there, and what becomes of it */
};

/* What blocks mark of an iteration. */
struct marks {
    int has[2];               /* [UP], [DOWN]: there is a neighbour, and kernels mark */
    MPIX_Prequest request[2]; /* PARTS partitions of row 1, of row `rows` */
};

DEVICE void point(float *to, const float *from, int width, int i)
{
    to[i] = 0.25f * (from[i - width] + from[i - 1] + from[i + 1] + from[i + width]);
}

/* The rows that neighbours need come first, each in PARTS parts of neighbouring points. */
KERNEL iterate(float *to, const float *from, int side, int rows, struct marks m)
{
    const int width = side + 2;
    for (int task = block(); task < 2 * PARTS; task += blocks()) {
        const int down = task / PARTS, part = task % PARTS, row = down ? rows : 1, each = side / PARTS;
        for (int x = 1 + part * each + thread(); x <= (part + 1) * each; x += threads())
            point(to, from, width, row * width + x);
        if (m.has[down])
            MPIX_Pready_block(part, m.request[down]);
    }
    for (int i = block() * threads() + thread(); i < (rows - 2) * side; i += blocks() * threads())
        point(to, from, width, (2 + i / side) * width + 1 + i % side);
}

/* The edges: row 0 is hot, the last row and the columns are cold; inside anything. */
static float start(int row, int x, int side)
{
    return row == 0                                      ? 100.0f
           : row == side + 1 || x == 0 || x == side + 1 ? -20.0f
                                                         : (float)((row * 13 + x * 7) % 17);
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

/* ---- forms ---- */

struct form {
    const char *name;
    void (*open)(const struct plate *);
    /* Iteration i: from at[i % 2] to at[(i + 1) % 2], and its halos. */
    void (*step)(const struct plate *, int i);
    void (*end)(void); /* waits until all is done */
    void (*close)(void);
};

static void launch(const struct plate *p, int i, struct marks m)
{
    LAUNCH(iterate, p->at[(i + 1) % 2], p->at[i % 2], p->side, p->rows, m);
}

static void nothing(void)
{
}

static void nothing_of(const struct plate *p)
{
    (void)p;
}

static void plain_step(const struct plate *p, int i)
{
    const int turn = (i + 1) % 2, up = neighbour(UP), down = neighbour(DOWN);
    struct marks none;
    memset(&none, 0, sizeof none);
    launch(p, i, none);
    synchronise();
    MPI_Sendrecv(row_of(p, turn, 1), p->side, MPI_FLOAT, up, up_tag, row_of(p, turn, p->rows + 1), p->side, MPI_FLOAT,
                 down, up_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row_of(p, turn, p->rows), p->side, MPI_FLOAT, down, down_tag, row_of(p, turn, 0), p->side, MPI_FLOAT,
                 up, down_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Requests of each turn: sends first. */
static struct {
    MPI_Request request[4];
    int n, sends;
    struct marks marks;
} turns[2];

static void partitioned_open(const struct plate *p)
{
    init_fn *psend, *precv;
    find("MPI_Psend_init", &psend);
    find("MPI_Precv_init", &precv);
    MPI_Info info; /* a row travels as one */
    MPI_Info_create(&info);
    MPI_Info_set(info, "tutti_transport_partitions", "1");
    memset(turns, 0, sizeof turns);
    for (int turn = 0; turn < 2; turn++) {
        for (int down = 0; down < 2; down++) {
            const int peer = neighbour(down), tag = 10 + 2 * turn + down;
            if (peer == MPI_PROC_NULL)
                continue;
            MPI_Request *const r = &turns[turn].request[turns[turn].n++];
            must(psend(row_of(p, turn, down ? p->rows : 1), PARTS, p->side / PARTS, MPI_FLOAT, peer, tag,
                       MPI_COMM_WORLD, info, r),
                 "MPI_Psend_init");
            must(MPIX_Prequest_create(*r, &turns[turn].marks.request[down]), "MPIX_Prequest_create");
            turns[turn].marks.has[down] = 1;
        }
        turns[turn].sends = turns[turn].n;
        for (int down = 0; down < 2; down++) {
            const int peer = neighbour(down), tag = 10 + 2 * turn + !down;
            if (peer != MPI_PROC_NULL)
                must(precv(row_of(p, turn, down ? p->rows + 1 : 0), 1, p->side, MPI_FLOAT, peer, tag, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &turns[turn].request[turns[turn].n++]),
                     "MPI_Precv_init");
        }
    }
    MPI_Info_free(&info);
}

/* No synchronise: the next kernel follows in the stream, and reads halos that have arrived. A neighbour overwrites a
 * halo two iterations later, which it prepares with this rank's next start: by then the sends of the blocks that have
 * read the halo are complete. */
static void partitioned_step(const struct plate *p, int i)
{
    const int turn = (i + 1) % 2;
    MPI_Status statuses[4];
    must(MPI_Startall(turns[turn].n, turns[turn].request), "MPI_Startall");
    must(MPIX_Pbuf_prepareall(turns[turn].n, turns[turn].request), "MPIX_Pbuf_prepareall");
    launch(p, i, turns[turn].marks);
    must(MPI_Waitall(turns[turn].n, turns[turn].request, statuses), "MPI_Waitall");
}

static void partitioned_close(void)
{
    for (int turn = 0; turn < 2; turn++) {
        for (int down = 0; down < 2; down++) {
            if (turns[turn].marks.has[down])
                must(MPIX_Prequest_free(&turns[turn].marks.request[down]), "MPIX_Prequest_free");
        }
        for (int i = 0; i < turns[turn].n; i++)
            must(MPI_Request_free(&turns[turn].request[i]), "MPI_Request_free");
    }
}

static void nccl_step(const struct plate *p, int i)
{
#ifdef __CUDACC__
    const int turn = (i + 1) % 2;
    struct marks none;
    memset(&none, 0, sizeof none);
    launch(p, i, none);
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

static const struct form forms[] = {
    {"plain", nothing_of, plain_step, synchronise, nothing},
    {"partitioned", partitioned_open, partitioned_step, synchronise, partitioned_close},
    {"nccl", nothing_of, nccl_step, synchronise, nothing},
};
enum { FORMS = sizeof forms / sizeof forms[0], FORM_NCCL = 2 };

/* ---- runs ---- */

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

int main(int argc, char **argv)
{
    struct plate p;
    long wrong = 0;
    begin();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    p.side = (number(argc, argv, 1, 192) + PARTS - 1) / PARTS * PARTS;
    const int iterations = number(argc, argv, 2, 60);
    p.first = p.side * rank / ranks + 1;
    p.rows = p.side * (rank + 1) / ranks + 1 - p.first;
    if (p.side / ranks < 2)
        stop("jacobi", "a rank needs two rows");
    const size_t bytes = sizeof(float) * (size_t)(p.side + 2) * (size_t)(p.rows + 2);
    for (int turn = 0; turn < 2; turn++)
        p.at[turn] = (float *)memory(bytes);
    float *const host = (float *)malloc(bytes), *const expected = oracle(p.side, iterations);
    stream_open();
    const int has_nccl = nccl_open(rank, ranks);
    if (rank == 0)
        printf("jacobi %d x %d, us of an iteration:", p.side, p.side);
    for (int f = 0; f < FORMS; f++) {
        if (f == FORM_NCCL && !has_nccl)
            continue;
        const double us = run(&forms[f], &p, expected, host, iterations, &wrong);
        if (rank == 0)
            printf(" %s %.2f", forms[f].name, us);
    }
    if (rank == 0)
        printf("\n");
    nccl_close();
    for (int turn = 0; turn < 2; turn++)
        tutti_free(p.at[turn]);
    free(host);
    free(expected);
    return end("Jacobi's method in several forms", wrong);
}
