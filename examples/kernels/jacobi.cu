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
#include "plate.h"

enum { PARTS = 4 };

/* What blocks mark of an iteration. */
struct marks {
    int has[2];               /* [UP], [DOWN]: there is a neighbour, and kernels mark */
    MPIX_Prequest request[2]; /* PARTS partitions of row 1, of row `rows` */
};

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

/* ---- forms ---- */

static void launch(const struct plate *p, int i, struct marks m)
{
    LAUNCH(iterate, p->at[(i + 1) % 2], p->at[i % 2], p->side, p->rows, m);
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
    struct marks none;
    memset(&none, 0, sizeof none);
    launch(p, i, none);
    nccl_exchange(p, i);
}

static const struct form forms[] = {
    {"plain", nothing_of, plain_step, synchronise, nothing},
    {"partitioned", partitioned_open, partitioned_step, synchronise, partitioned_close},
    {"nccl", nothing_of, nccl_step, synchronise, nothing},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

int main(int argc, char **argv)
{
    struct plate p;
    begin();
    p = plate_open((number(argc, argv, 1, 192) + PARTS - 1) / PARTS * PARTS);
    const int iterations = number(argc, argv, 2, 60);
    stream_open();
    const long wrong = run_all("jacobi", forms, FORMS, &p, iterations);
    plate_close(&p);
    return end("Jacobi's method in several forms", wrong);
}
