/* Reductions of integers: sums of all ranks, of those before, of each rank's segment. */
#include <stdlib.h>
#include <string.h>

#include "gpus.h"

enum { CALLS = 3 };
enum kind { ALLREDUCE, REDUCE, SCAN, EXSCAN, SEGMENT_BLOCKS, SEGMENTS, KINDS };
static const char *const names[KINDS] = {"Allreduce",     "Reduce", "Scan", "Exscan", "Reduce_scatter_block",
                                         "Reduce_scatter"};
struct reduction {
    enum kind kind;
    int root, blocking, in_place, segment[GPUS_RANKS];
    size_t ints; /* of a contribution */
    uint64_t name;
    struct gpus_side send, receive;
    MPI_Request request;
};

static void draw_reduction(struct reduction *r, struct gpus_draw *draw, int number)
{
    *r = (struct reduction){.request = MPI_REQUEST_NULL, .name = gpus_name * 4096 + 256 * (uint64_t)number};
    r->kind = (enum kind)gpus_below(draw, KINDS);
    r->root = (int)gpus_below(draw, (uint64_t)kit_size);
    r->in_place = gpus_in(draw, GPUS_inplace, 4) && (r->kind == ALLREDUCE || r->kind == SCAN);
    const int each = 1 + (int)(gpus_bytes(draw) / sizeof(int));
    for (int rank = 0; rank < kit_size; rank++) {
        r->segment[rank] = r->kind == SEGMENTS ? (int)gpus_below(draw, (uint64_t)each + 1) : each;
        r->ints += (size_t)r->segment[rank];
    }
    if (r->kind < SEGMENT_BLOCKS)
        r->ints = (size_t)each;
}

static int *contribution(const struct reduction *r, int rank)
{
    int *data = (int *)(void *)gpus_data(r->name + (uint64_t)rank, r->ints * sizeof(int));
    for (size_t i = 0; i < r->ints; i++)
        data[i] &= 0xffffff;
    return data;
}

static int *result(const struct reduction *r)
{
    const int first = 0, end = r->kind == SCAN ? kit_rank + 1 : r->kind == EXSCAN ? kit_rank : kit_size;
    int *sum = calloc(r->ints + 1, sizeof *sum);
    for (int rank = first; rank < end; rank++) {
        int *data = contribution(r, rank);
        for (size_t i = 0; i < r->ints; i++)
            sum[i] += data[i];
        free(data);
    }
    return sum;
}

/* What this rank gets: `ints` from `first` of the result on. */
static void share(const struct reduction *r, size_t *first, size_t *ints)
{
    *first = 0;
    *ints = (r->kind == REDUCE && kit_rank != r->root) || (r->kind == EXSCAN && kit_rank == 0) ? 0 : r->ints;
    if (r->kind < SEGMENT_BLOCKS)
        return;
    for (int rank = 0; rank < kit_rank; rank++)
        *first += (size_t)r->segment[rank];
    *ints = (size_t)r->segment[kit_rank];
}

static void open_sides(struct reduction *r)
{
    size_t first, ints;
    int with = GPUS_HOST - 1;
    int *mine = contribution(r, kit_rank);
    share(r, &first, &ints);
    if (!r->in_place)
        gpus_side_open(&r->send, GPUS_INTS, r->ints * sizeof(int), (char *)mine, &with);
    gpus_side_open(&r->receive, GPUS_INTS, ints * sizeof(int), r->in_place ? (char *)mine : NULL, &with);
    free(mine);
}

static void close_sides(struct reduction *r)
{
    size_t first, ints;
    gpus_say("%s%s of %zu ints, root %d", r->blocking ? "" : "I", names[r->kind], r->ints, r->root);
    int *sum = result(r);
    share(r, &first, &ints);
    gpus_side_want(&r->receive, 0, (char *)(sum + first), ints * sizeof(int));
    free(sum);
    gpus_side_close(&r->receive, gpus_now);
    if (!r->in_place)
        gpus_side_close(&r->send, gpus_now);
}

#define START(call, icall, ...)                                                                                        \
    (r->blocking ? call(__VA_ARGS__, MPI_COMM_WORLD) : icall(__VA_ARGS__, MPI_COMM_WORLD, &r->request))

static int start(struct reduction *r)
{
    const void *in = r->in_place ? MPI_IN_PLACE : r->send.buffer;
    void *out = r->receive.buffer;
    const int n = (int)r->ints;
    switch (r->kind) {
    case ALLREDUCE:
        return START(MPI_Allreduce, MPI_Iallreduce, in, out, n, MPI_INT, MPI_SUM);
    case REDUCE:
        return START(MPI_Reduce, MPI_Ireduce, in, out, n, MPI_INT, MPI_SUM, r->root);
    case SCAN:
        return START(MPI_Scan, MPI_Iscan, in, out, n, MPI_INT, MPI_SUM);
    case EXSCAN:
        return START(MPI_Exscan, MPI_Iexscan, in, out, n, MPI_INT, MPI_SUM);
    case SEGMENT_BLOCKS:
        return START(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in, out, r->segment[0], MPI_INT, MPI_SUM);
    default:
        return START(MPI_Reduce_scatter, MPI_Ireduce_scatter, in, out, r->segment, MPI_INT, MPI_SUM);
    }
}

void gpus_reductions(struct gpus_draw *draw)
{
    static struct reduction calls[CALLS];
    const int many = gpus_may(GPUS_nonblocking) ? (int)gpus_below(draw, CALLS + 1) : 0, n = many ? many : 1;
    for (int i = 0; i < n; i++) {
        draw_reduction(&calls[i], draw, i);
        calls[i].blocking = !many;
        open_sides(&calls[i]);
    }
    for (int i = 0; i < n; i++) {
        gpus_say("%s%s of %zu ints, root %d", many ? "I" : "", names[calls[i].kind], calls[i].ints, calls[i].root);
        const int error = start(&calls[i]);
        CHECK(error == MPI_SUCCESS, "%s: error %d", gpus_now, error);
    }
    for (int i = 0; i < n; i++)
        MPI_Wait(&calls[i].request, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        close_sides(&calls[i]);
}
