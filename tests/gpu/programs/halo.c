/* The halo of a field in three dimensions, as solvers on a grid exchange it: MPI_Type_vector for the faces of each
 * dimension, MPI_Isend, MPI_Irecv and MPI_Waitall, dimension after dimension, so that edges and corners come too.
 *
 *     halo [ROUNDS]
 *
 * The result is compared with the same exchange of ordinary memory, cell by cell. Beside it the faces are copied by
 * hand: to pinned memory, by the MPI, and back. Nothing here knows of Tutti. With HALO_CUDA the field lies in memory of
 * cudaMalloc, on GPU (rank modulo GPUs); otherwise in that of MPI_Alloc_mem. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X, Y, Z, DIMENSIONS, REPEATS = 7 };

struct field {
    int n[DIMENSIONS]; /* cells with the halo */
    int width;         /* of the halo */
    size_t cells;
    MPI_Comm comm; /* a periodic grid */
    MPI_Datatype face[DIMENSIONS];
    int lower[DIMENSIONS], upper[DIMENSIONS];
    double *packed[4]; /* by hand: faces to send and those received, in pinned memory */
    size_t face_cells[DIMENSIONS];
};

#ifdef HALO_CUDA
#include <cuda_runtime.h>

static void cuda(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "error: %s\n", cudaGetErrorString(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void choose(int rank)
{
    int n = 1;
    cuda(cudaGetDeviceCount(&n));
    cuda(cudaSetDevice(rank % n));
}

static double *take(size_t bytes)
{
    void *memory = NULL;
    cuda(cudaMalloc(&memory, bytes));
    return memory;
}

static void give(double *memory)
{
    cuda(cudaFree(memory));
}

static double *take_pinned(size_t bytes)
{
    void *memory = NULL;
    cuda(cudaMallocHost(&memory, bytes));
    return memory;
}

static void give_pinned(double *memory)
{
    cuda(cudaFreeHost(memory));
}

static void copy(void *to, const void *from, size_t bytes)
{
    cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

/* The face that begins at layer `first` of dimension d, out of the field or into it. */
static void copy_face(const struct field *f, double *data, int d, int first, double *packed, int into)
{
    int extent[DIMENSIONS] = {f->n[X], f->n[Y], f->n[Z]}, begin[DIMENSIONS] = {0, 0, 0};
    extent[d] = f->width;
    begin[d] = first;
    struct cudaMemcpy3DParms parms = {.kind = cudaMemcpyDefault};
    struct cudaPitchedPtr whole =
        make_cudaPitchedPtr(data, (size_t)f->n[X] * sizeof *data, (size_t)f->n[X], (size_t)f->n[Y]);
    struct cudaPitchedPtr part =
        make_cudaPitchedPtr(packed, (size_t)extent[X] * sizeof *data, (size_t)extent[X], (size_t)extent[Y]);
    struct cudaPos at = make_cudaPos((size_t)begin[X] * sizeof *data, (size_t)begin[Y], (size_t)begin[Z]);
    parms.extent = make_cudaExtent((size_t)extent[X] * sizeof *data, (size_t)extent[Y], (size_t)extent[Z]);
    parms.srcPtr = into ? part : whole;
    parms.dstPtr = into ? whole : part;
    *(into ? &parms.dstPos : &parms.srcPos) = at;
    cuda(cudaMemcpy3DAsync(&parms, 0));
}

static void wait_for_copies(void)
{
    cuda(cudaStreamSynchronize(0));
}
#else
static void choose(int rank)
{
    (void)rank;
}

static double *take(size_t bytes)
{
    void *memory = NULL;
    MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
    return memory;
}

static void give(double *memory)
{
    MPI_Free_mem(memory);
}

static double *take_pinned(size_t bytes)
{
    return malloc(bytes);
}

static void give_pinned(double *memory)
{
    free(memory);
}

static void copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void copy_face(const struct field *f, double *data, int d, int first, double *packed, int into)
{
    int extent[DIMENSIONS] = {f->n[X], f->n[Y], f->n[Z]}, begin[DIMENSIONS] = {0, 0, 0};
    extent[d] = f->width;
    begin[d] = first;
    for (int z = 0; z < extent[Z]; z++) {
        for (int y = 0; y < extent[Y]; y++) {
            double *row =
                data + ((size_t)(z + begin[Z]) * (size_t)f->n[Y] + (size_t)(y + begin[Y])) * (size_t)f->n[X] + begin[X];
            memcpy(into ? row : packed, into ? packed : row, (size_t)extent[X] * sizeof *row);
            packed += extent[X];
        }
    }
}

static void wait_for_copies(void)
{
}
#endif

static void open_field(struct field *f, MPI_Comm grid, const int edge[DIMENSIONS], int width)
{
    f->comm = grid;
    f->width = width;
    for (int d = 0; d < DIMENSIONS; d++)
        f->n[d] = edge[d] + 2 * width;
    f->cells = (size_t)f->n[X] * (size_t)f->n[Y] * (size_t)f->n[Z];
    MPI_Type_vector(f->n[Y] * f->n[Z], width, f->n[X], MPI_DOUBLE, &f->face[X]);
    MPI_Type_vector(f->n[Z], width * f->n[X], f->n[X] * f->n[Y], MPI_DOUBLE, &f->face[Y]);
    MPI_Type_vector(1, width * f->n[X] * f->n[Y], 1, MPI_DOUBLE, &f->face[Z]);
    size_t most = 0;
    for (int d = 0; d < DIMENSIONS; d++) {
        MPI_Type_commit(&f->face[d]);
        MPI_Cart_shift(grid, d, 1, &f->lower[d], &f->upper[d]);
        f->face_cells[d] = f->cells / (size_t)f->n[d] * (size_t)width;
        most = f->face_cells[d] > most ? f->face_cells[d] : most;
    }
    for (int i = 0; i < 4; i++)
        f->packed[i] = take_pinned(most * sizeof(double));
}

static void close_field(struct field *f)
{
    for (int d = 0; d < DIMENSIONS; d++)
        MPI_Type_free(&f->face[d]);
    for (int i = 0; i < 4; i++)
        give_pinned(f->packed[i]);
}

/* The distance of neighbouring layers of dimension d, in cells. */
static size_t layer(const struct field *f, int d)
{
    return d == X ? 1 : d == Y ? (size_t)f->n[X] : (size_t)f->n[X] * (size_t)f->n[Y];
}

static void exchange(const struct field *f, double *data)
{
    for (int d = 0; d < DIMENSIONS; d++) {
        MPI_Request requests[4];
        const size_t step = layer(f, d), width = (size_t)f->width, n = (size_t)f->n[d];
        MPI_Irecv(data, 1, f->face[d], f->lower[d], 2 * d, f->comm, &requests[0]);
        MPI_Irecv(data + (n - width) * step, 1, f->face[d], f->upper[d], 2 * d + 1, f->comm, &requests[1]);
        MPI_Isend(data + (n - 2 * width) * step, 1, f->face[d], f->upper[d], 2 * d, f->comm, &requests[2]);
        MPI_Isend(data + width * step, 1, f->face[d], f->lower[d], 2 * d + 1, f->comm, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
}

static void exchange_by_hand(const struct field *f, double *data)
{
    for (int d = 0; d < DIMENSIONS; d++) {
        MPI_Request requests[4];
        const int cells = (int)f->face_cells[d], width = f->width, n = f->n[d];
        copy_face(f, data, d, n - 2 * width, f->packed[0], 0);
        copy_face(f, data, d, width, f->packed[1], 0);
        MPI_Irecv(f->packed[2], cells, MPI_DOUBLE, f->lower[d], 2 * d, f->comm, &requests[0]);
        MPI_Irecv(f->packed[3], cells, MPI_DOUBLE, f->upper[d], 2 * d + 1, f->comm, &requests[1]);
        wait_for_copies();
        MPI_Isend(f->packed[0], cells, MPI_DOUBLE, f->upper[d], 2 * d, f->comm, &requests[2]);
        MPI_Isend(f->packed[1], cells, MPI_DOUBLE, f->lower[d], 2 * d + 1, f->comm, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        copy_face(f, data, d, 0, f->packed[2], 1);
        copy_face(f, data, d, n - width, f->packed[3], 1);
        wait_for_copies();
    }
}

/* Cells that are wrong after an exchange of new data. */
static long wrong_cells(const struct field *f, double *data, void (*way)(const struct field *, double *), int round)
{
    int rank = 0;
    MPI_Comm_rank(f->comm, &rank);
    double *want = malloc(f->cells * sizeof *want), *got = malloc(f->cells * sizeof *got);
    for (size_t i = 0; i < f->cells; i++)
        want[i] = (double)((i * 2654435761u + (size_t)rank * 40503u + (size_t)round * 69069u) % 1000003u);
    copy(data, want, f->cells * sizeof *data);
    way(f, data);
    exchange(f, want);
    copy(got, data, f->cells * sizeof *data);
    long wrong = 0;
    for (size_t i = 0; i < f->cells; i++)
        wrong += memcmp(&want[i], &got[i], sizeof *want) != 0;
    free(want);
    free(got);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, f->comm);
    return wrong;
}

/* Microseconds of one exchange on the slowest rank. */
static double timed(const struct field *f, double *data, void (*way)(const struct field *, double *), int rounds)
{
    MPI_Barrier(f->comm);
    double start = MPI_Wtime();
    for (int i = 0; i < rounds; i++)
        way(f, data);
    double took = (MPI_Wtime() - start) * 1e6 / rounds;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, f->comm);
    return took;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static long run(MPI_Comm grid, const int edge[DIMENSIONS], int width, int rounds)
{
    struct field f;
    int rank = 0;
    MPI_Comm_rank(grid, &rank);
    open_field(&f, grid, edge, width);
    double *data = take(f.cells * sizeof *data), types[REPEATS], hand[REPEATS];
    long wrong = 0;
    for (int round = 0; round < 3; round++)
        wrong += wrong_cells(&f, data, exchange, round) + wrong_cells(&f, data, exchange_by_hand, round);
    for (int i = 0; i < REPEATS; i++) {
        types[i] = timed(&f, data, exchange, rounds);
        hand[i] = timed(&f, data, exchange_by_hand, rounds);
    }
    qsort(types, REPEATS, sizeof *types, ascending);
    qsort(hand, REPEATS, sizeof *hand, ascending);
    const double ours = types[REPEATS / 2], by_hand = hand[REPEATS / 2];
    if (rank == 0)
        printf("halo: %dx%dx%d width %d: %ld wrong, %.1f us (by hand %.1f, ratio %.2f)\n", edge[X], edge[Y], edge[Z],
               width, wrong, ours, by_hand, by_hand / ours);
    give(data);
    close_field(&f);
    return wrong;
}

int main(int argc, char **argv)
{
    static const int edges[][DIMENSIONS] = {{8, 8, 8}, {33, 17, 5}, {64, 64, 64}, {128, 128, 128}, {256, 256, 128}};
    int ranks = 1, rank = 0, dims[DIMENSIONS] = {0, 0, 0}, periods[DIMENSIONS] = {1, 1, 1};
    const int rounds = argc > 1 ? atoi(argv[1]) : 20;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    choose(rank);
    MPI_Comm grid;
    MPI_Dims_create(ranks, DIMENSIONS, dims);
    MPI_Cart_create(MPI_COMM_WORLD, DIMENSIONS, dims, periods, 0, &grid);
    long wrong = 0;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        for (int width = 1; width <= 2; width++)
            wrong += run(grid, edges[i], width, rounds);
    }
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return wrong != 0;
}
