/* Collectives that move data: up to three open at a time, or one that blocks. */
#include <stdlib.h>
#include <string.h>

#include "gpus.h"
#include "movers.h"

enum { CALLS = 3 };
enum kind { KIT_MOVERS(KIT_NUMBER) KINDS };
static const char *const names[KINDS] = {KIT_MOVERS(KIT_NAME)};

/* A list of blocks in one buffer, one behind the other with gaps, or (Alltoallw) each anywhere. */
struct blocks {
    int count[GPUS_RANKS], at[GPUS_RANKS], zeros[GPUS_RANKS];
    MPI_Datatype type[GPUS_RANKS];
    struct gpus_side side, each[GPUS_RANKS];
    int used;
};
struct collective {
    enum kind kind;
    int root, blocking;
    enum gpus_form form;
    size_t bytes[GPUS_RANKS][GPUS_RANKS]; /* from, to */
    uint64_t name;
    struct gpus_side one; /* where a rank has one block alone */
    struct blocks out, in;
    MPI_Request request;
};

static int has_lengths(enum kind kind)
{
    return kind == GATHERV || kind == SCATTERV || kind == ALLGATHERV || kind == ALLTOALLV || kind == ALLTOALLW;
}

static void draw_collective(struct collective *c, struct gpus_draw *draw, int number)
{
    *c = (struct collective){.request = MPI_REQUEST_NULL, .name = gpus_name * 4096 + 256 * (uint64_t)number};
    c->kind = (enum kind)gpus_below(draw, KINDS);
    if (c->kind == ALLTOALLW && !gpus_may(GPUS_blocks))
        c->kind = ALLTOALLV;
    c->root = (int)gpus_below(draw, (uint64_t)kit_size);
    c->form = gpus_form(draw);
    if (c->kind == ALLGATHERV) /* Open MPI 4.1: ranks whose send types differ in size choose different algorithms */
        c->form = GPUS_PLAIN;
    const size_t all = gpus_bytes(draw);
    for (int from = 0; from < kit_size; from++) {
        const size_t mine = gpus_bytes(draw);
        for (int to = 0; to < kit_size; to++) {
            const size_t own = gpus_below(draw, 8) ? gpus_bytes(draw) : 0;
            c->bytes[from][to] = !has_lengths(c->kind)                          ? all
                                 : c->kind == ALLTOALLV || c->kind == ALLTOALLW ? own
                                                                                : mine;
        }
    }
}

static uint64_t name_of(const struct collective *c, int from, int to)
{
    const int one = c->kind == BCAST || c->kind == ALLGATHER || c->kind == ALLGATHERV;
    return c->name + 16 * (uint64_t)from + (one ? 0 : (uint64_t)to);
}

/* Block `peer` of what this rank sends or gets. */
static size_t length_of(const struct collective *c, int sends, int peer)
{
    return sends ? c->bytes[kit_rank][peer] : c->bytes[peer][kit_rank];
}

static char *data_of(const struct collective *c, int sends, int peer)
{
    return sends ? gpus_data(name_of(c, kit_rank, peer), length_of(c, 1, peer))
                 : gpus_data(name_of(c, peer, kit_rank), length_of(c, 0, peer));
}

static void open_blocks(struct collective *c, struct blocks *b, int sends, int *with)
{
    const int gaps = has_lengths(c->kind) ? 3 : 0;
    size_t all = 0;
    b->used = 1;
    for (int peer = 0; peer < kit_size; peer++) {
        b->count[peer] = (int)length_of(c, sends, peer);
        b->at[peer] = (int)all;
        all += (size_t)b->count[peer] + (size_t)(peer + 1 < kit_size ? gaps : 0);
    }
    char *image = malloc(all + 1);
    memset(image, 0x5d, all + 1);
    for (int peer = 0; sends && peer < kit_size; peer++) {
        char *data = data_of(c, 1, peer);
        memcpy(image + b->at[peer], data, (size_t)b->count[peer]);
        free(data);
    }
    gpus_side_open(&b->side, GPUS_PLAIN, all, image, with);
    free(image);
}

static void close_blocks(struct collective *c, struct blocks *b, int sends)
{
    for (int peer = 0; !sends && peer < kit_size; peer++) {
        char *data = data_of(c, 0, peer);
        gpus_side_want(&b->side, (size_t)b->at[peer], data, (size_t)b->count[peer]);
        free(data);
    }
    gpus_side_close(&b->side, gpus_now);
}

static void open_each(struct collective *c, struct blocks *b, int sends, int *with)
{
    b->used = 2;
    for (int peer = 0; peer < kit_size; peer++) {
        struct gpus_side *side = &b->each[peer];
        char *data = sends ? data_of(c, 1, peer) : NULL;
        gpus_side_open(side, GPUS_BOTTOM, length_of(c, sends, peer), data, with);
        b->count[peer] = side->count;
        b->type[peer] = side->type;
        free(data);
    }
}

static void close_each(struct collective *c, struct blocks *b, int sends)
{
    for (int peer = 0; peer < kit_size; peer++) {
        char *data = data_of(c, sends, peer);
        gpus_side_want(&b->each[peer], 0, data, length_of(c, sends, peer));
        free(data);
        gpus_side_close(&b->each[peer], gpus_now);
    }
}

/* What this rank has: one block, a list that it sends, a list that it gets. */
static void parts_of(const struct collective *c, int *one, int *out, int *in)
{
    const int at_root = kit_rank == c->root;
    *one = c->kind != ALLTOALL && c->kind != ALLTOALLV && c->kind != ALLTOALLW;
    *out = c->kind == SCATTER || c->kind == SCATTERV ? at_root : !*one;
    *in = c->kind == GATHER || c->kind == GATHERV                         ? at_root
          : c->kind == BCAST || c->kind == SCATTER || c->kind == SCATTERV ? 0
                                                                          : 1;
}

/* 1 if the one block of this rank is what it gets. */
static int one_comes(const struct collective *c)
{
    return c->kind == SCATTER || c->kind == SCATTERV || (c->kind == BCAST && kit_rank != c->root);
}

static char *one_data(const struct collective *c, size_t *bytes)
{
    const int from = c->kind == BCAST || one_comes(c) ? c->root : kit_rank;
    const int to = c->kind == GATHER || c->kind == GATHERV ? c->root : kit_rank;
    *bytes = c->kind == BCAST ? c->bytes[0][0] : c->bytes[from][to];
    return gpus_data(name_of(c, from, to), *bytes);
}

static void open_all(struct collective *c)
{
    int one, out, in, with = GPUS_HOST - 1;
    parts_of(c, &one, &out, &in);
    if (one) {
        size_t bytes;
        char *data = one_data(c, &bytes);
        gpus_side_open(&c->one, c->form, bytes, one_comes(c) ? NULL : data, &with);
        free(data);
    }
    if (out)
        (c->kind == ALLTOALLW ? open_each : open_blocks)(c, &c->out, 1, &with);
    if (in)
        (c->kind == ALLTOALLW ? open_each : open_blocks)(c, &c->in, 0, &with);
}

static void close_all(struct collective *c)
{
    int one, out, in;
    parts_of(c, &one, &out, &in);
    gpus_say("%s%s from or to %d", c->blocking ? "" : "I", names[c->kind], c->root);
    if (one) {
        size_t bytes;
        char *data = one_data(c, &bytes);
        gpus_side_want(&c->one, 0, data, bytes);
        free(data);
        gpus_side_close(&c->one, gpus_now);
    }
    if (out)
        (c->kind == ALLTOALLW ? close_each : close_blocks)(c, &c->out, 1);
    if (in)
        (c->kind == ALLTOALLW ? close_each : close_blocks)(c, &c->in, 0);
}

/* The call, blocking or not: `call` and `icall` with the same arguments. */
#define START(call, icall, ...)                                                                                        \
    (c->blocking ? call(__VA_ARGS__, MPI_COMM_WORLD) : icall(__VA_ARGS__, MPI_COMM_WORLD, &c->request))

static int start_one(struct collective *c)
{
    struct gpus_side *one = &c->one;
    struct blocks *in = &c->in, *out = &c->out;
    const int each = (int)c->bytes[0][0];
    switch (c->kind) {
    case BCAST:
        return START(MPI_Bcast, MPI_Ibcast, one->buffer, one->count, one->type, c->root);
    case GATHER:
        return START(MPI_Gather, MPI_Igather, one->buffer, one->count, one->type, in->side.buffer, each, MPI_BYTE,
                     c->root);
    case GATHERV:
        return START(MPI_Gatherv, MPI_Igatherv, one->buffer, one->count, one->type, in->side.buffer, in->count, in->at,
                     MPI_BYTE, c->root);
    case SCATTER:
        return START(MPI_Scatter, MPI_Iscatter, out->side.buffer, each, MPI_BYTE, one->buffer, one->count, one->type,
                     c->root);
    case SCATTERV:
        return START(MPI_Scatterv, MPI_Iscatterv, out->side.buffer, out->count, out->at, MPI_BYTE, one->buffer,
                     one->count, one->type, c->root);
    case ALLGATHER:
        return START(MPI_Allgather, MPI_Iallgather, one->buffer, one->count, one->type, in->side.buffer, each,
                     MPI_BYTE);
    default:
        return START(MPI_Allgatherv, MPI_Iallgatherv, one->buffer, one->count, one->type, in->side.buffer, in->count,
                     in->at, MPI_BYTE);
    }
}

static int start(struct collective *c)
{
    struct blocks *in = &c->in, *out = &c->out;
    const int each = (int)c->bytes[0][0];
    switch (c->kind) {
    case ALLTOALL:
        return START(MPI_Alltoall, MPI_Ialltoall, out->side.buffer, each, MPI_BYTE, in->side.buffer, each, MPI_BYTE);
    case ALLTOALLV:
        return START(MPI_Alltoallv, MPI_Ialltoallv, out->side.buffer, out->count, out->at, MPI_BYTE, in->side.buffer,
                     in->count, in->at, MPI_BYTE);
    case ALLTOALLW:
        return START(MPI_Alltoallw, MPI_Ialltoallw, MPI_BOTTOM, out->count, out->zeros, out->type, MPI_BOTTOM,
                     in->count, in->zeros, in->type);
    default:
        return start_one(c);
    }
}

void gpus_collectives(struct gpus_draw *draw)
{
    static struct collective calls[CALLS];
    const int many = gpus_may(GPUS_nonblocking) ? (int)gpus_below(draw, CALLS + 1) : 0, n = many ? many : 1;
    for (int i = 0; i < n; i++) {
        draw_collective(&calls[i], draw, i);
        calls[i].blocking = !many;
        open_all(&calls[i]);
    }
    for (int i = 0; i < n; i++) {
        gpus_say("%s%s from or to %d", many ? "I" : "", names[calls[i].kind], calls[i].root);
        const int error = start(&calls[i]);
        CHECK(error == MPI_SUCCESS, "%s: error %d", gpus_now, error);
    }
    for (int i = 0; i < n; i++)
        MPI_Wait(&calls[i].request, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        close_all(&calls[i]);
}
