/* Random arguments of a partitioned collective, its buffers and images. */
#include "pcoll.h"

#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

int pcoll_kernels, pcoll_on_device;

static int draw(uint64_t *dice, int n)
{
    return (int)(random_next(dice) % (uint64_t)n);
}

static MPI_Datatype spaced_type(int spaced)
{
    MPI_Datatype type;
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * (1 + spaced), &type);
    MPI_Type_commit(&type);
    return type;
}

/* A number of partitions that divides the blocks. */
static int draw_partitions(uint64_t *dice, int length)
{
    int n = 1 + draw(dice, length);
    while (length % n != 0)
        n--;
    return n;
}

/* One side of a mover: block i has `elements[i]` ints. v: 0: one behind the other; 1: gaps between blocks; 2: and
 * types of their own. */
static void draw_side(struct pcoll_side *side, int length, int blocks, const int elements[], int v, uint64_t *own)
{
    const int spaced = draw(own, 2);
    size_t at = 0;
    side->used = 1;
    side->blocks = blocks;
    side->partitions = draw_partitions(own, length);
    side->memory = draw(own, 2) ? KIT_DEVICE : KIT_HOST;
    side->type = spaced_type(spaced);
    for (int i = 0; i < blocks; i++) {
        const int own_spaced = v == 2 ? draw(own, 2) : spaced;
        side->types[i] = spaced_type(own_spaced);
        side->extents[i] = sizeof(int) * (size_t)(1 + own_spaced);
        side->counts[i] = elements[i] / side->partitions;
        if (v)
            at += (size_t)draw(own, 3) * 2 * sizeof(int);
        at = (at + side->extents[i] - 1) / side->extents[i] * side->extents[i];
        side->displs[i] = (MPI_Aint)at;
        at += (size_t)elements[i] * side->extents[i];
    }
    side->bytes = at > 0 ? at : sizeof(int);
    for (int i = blocks; i < PC_RANKS; i++)
        side->types[i] = MPI_DATATYPE_NULL;
}

/* ---- movers ---- */

/* Lengths of blocks: the number that rank `from` sends to rank `to`. */
static int length_of(int kind, uint64_t seed, int length, int unit, int from, int to)
{
    uint64_t dice = seed;
    const int several[] = {0, 1, 1, 2, 3};
    switch (kind) {
    case PC_GATHERV:
    case PC_ALLGATHERV:
    case PC_NEIGHBOR_ALLGATHERV:
        dice += (uint64_t)from * 977;
        break;
    case PC_SCATTERV:
        dice += (uint64_t)to * 977;
        break;
    case PC_ALLTOALLV:
    case PC_ALLTOALLW:
    case PC_NEIGHBOR_ALLTOALLV:
    case PC_NEIGHBOR_ALLTOALLW:
        dice += (uint64_t)from * 977 + (uint64_t)to * 31;
        break;
    default:
        return length * unit;
    }
    return length * unit * several[draw(&dice, 5)];
}

static void neighbours_of(MPI_Comm comm, int ins[], int outs[], int *n)
{
    int dims = 0;
    MPI_Cartdim_get(comm, &dims);
    *n = 2 * dims;
    for (int d = 0; d < dims; d++)
        MPI_Cart_shift(comm, d, 1, &ins[2 * d], &ins[2 * d + 1]);
    memcpy(outs, ins, sizeof(int) * (size_t)*n);
}

static void draw_mover(struct pcoll *c, uint64_t *dice, uint64_t *own)
{
    static const int lengths[] = {1, 12, 64}, units[] = {1, 3, 100, 2500};
    const int length = lengths[draw(dice, 3)], unit = units[draw(dice, 4)];
    const uint64_t seed = random_next(dice);
    const int kind = c->kind, w = kind == PC_ALLTOALLW || kind == PC_NEIGHBOR_ALLTOALLW;
    int ins[PC_RANKS], outs[PC_RANKS], send[PC_RANKS] = {0}, recv[PC_RANKS] = {0}, n = c->size, sends, receives;
    int v = kind == PC_GATHERV || kind == PC_SCATTERV || kind == PC_ALLGATHERV || kind == PC_ALLTOALLV ||
            kind == PC_NEIGHBOR_ALLGATHERV || kind == PC_NEIGHBOR_ALLTOALLV;
    v = w ? 2 : v;
    for (int i = 0; i < n; i++)
        ins[i] = outs[i] = i;
    if (kind >= PC_NEIGHBOR_ALLGATHER)
        neighbours_of(c->comm, ins, outs, &n);
    for (int i = 0; i < n; i++) {
        send[i] = outs[i] == MPI_PROC_NULL ? 0 : length_of(kind, seed, length, unit, c->rank, outs[i]);
        recv[i] = ins[i] == MPI_PROC_NULL ? 0 : length_of(kind, seed, length, unit, ins[i], c->rank);
    }
    sends = receives = n;
    if (kind == PC_GATHER || kind == PC_GATHERV || kind == PC_BCAST)
        sends = 1, send[0] = length_of(kind, seed, length, unit, c->rank, c->root);
    if (kind == PC_SCATTER || kind == PC_SCATTERV || kind == PC_BCAST)
        receives = 1, recv[0] = length_of(kind, seed, length, unit, c->root, c->rank);
    if (kind == PC_ALLGATHER || kind == PC_ALLGATHERV || kind == PC_NEIGHBOR_ALLGATHER ||
        kind == PC_NEIGHBOR_ALLGATHERV)
        sends = 1, send[0] = length_of(kind, seed, length, unit, c->rank, 0);
    for (int i = 0; i < n && !v && kind >= PC_NEIGHBOR_ALLGATHER; i++) /* also where there is no neighbour */
        send[i] = recv[i] = length * unit;
    const int scatters = kind == PC_SCATTER || kind == PC_SCATTERV, gathers = kind == PC_GATHER || kind == PC_GATHERV;
    draw_side(&c->send, length, sends, send, v && !gathers && sends > 1 ? v : 0, own);
    draw_side(&c->recv, length, receives, recv, v && !scatters ? v : 0, own);
    c->send.used = !((scatters || kind == PC_BCAST) && c->rank != c->root);
    c->recv.used = !(gathers && c->rank != c->root);
    const int may = (gathers || scatters) ? c->rank == c->root : kind >= PC_ALLGATHER && kind <= PC_ALLTOALLW;
    const int together = draw(dice, 3) == 0;
    c->in_place = may && ((gathers || scatters) ? draw(own, 3) == 0 : together);
    if (c->in_place && kind == PC_ALLTOALLW) /* what is sent is laid out as what is received */
        c->in_place = 0;
    if (c->in_place && kind >= PC_ALLTOALL) {
        if (kind == PC_ALLTOALLV) /* what two ranks exchange has one length */
            c->in_place = 0;
    }
}

/* ---- reductions ---- */

static void reduction_side(struct pcoll *c, struct pcoll_side *side, int partitions, int blocks, const int counts[],
                           size_t size)
{
    size_t at = 0;
    side->used = 1;
    side->partitions = partitions;
    side->blocks = blocks;
    side->type = c->op == MPI_OP_NULL ? c->pair.handle->type : MPI_2INT;
    for (int i = 0; i < blocks; i++) {
        side->counts[i] = counts[i];
        side->extents[i] = size;
        side->displs[i] = (MPI_Aint)at;
        at += (size_t)counts[i] * (size_t)partitions * size;
    }
    side->bytes = at > 0 ? at : size;
}

/* Sums of floating-point numbers: half of the reductions. */
static int depends_on_order(const struct kit_pair *pair)
{
    return oracle_floating(pair->handle->element) && (pair->op == TUTTI_OP_SUM || pair->op == TUTTI_OP_PROD);
}

static void draw_reduction(struct pcoll *c, MPI_Op function, uint64_t *dice, uint64_t *own)
{
    static const int most[] = {1, 1, 5, 40, 600, 3000};
    int counts[PC_RANKS], partitions = 1 + draw(dice, draw(dice, 3) == 0 ? 64 : 8);
    const int longer = pcoll_on_device && draw(dice, 4) == 0; /* partitions of several slices */
    const int unit = longer ? 8000 + draw(dice, 30000) : 1 + draw(dice, most[draw(dice, 6)]),
              scatters = c->kind == PC_REDUCE_SCATTER,
              blocks = scatters || c->kind == PC_REDUCE_SCATTER_BLOCK ? c->size : 1;
    partitions = longer ? 1 + partitions % 4 : partitions;
    c->is_long = longer;
    c->op = draw(dice, 6) == 0 ? function : MPI_OP_NULL;
    c->pair = kit_pairs[draw(dice, kit_pair_count)];
    for (int wants = draw(dice, 2); wants && !depends_on_order(&c->pair);)
        c->pair = kit_pairs[draw(dice, kit_pair_count)];
    if (pcoll_on_device && draw(dice, 4)) { /* mostly types that kernels of programs combine */
        c->op = MPI_OP_NULL;
        while (c->pair.handle->element < TUTTI_TYPE_I32 || c->pair.handle->element > TUTTI_TYPE_F64)
            c->pair = kit_pairs[draw(dice, kit_pair_count)];
    }
    const size_t size = c->op == MPI_OP_NULL ? c->pair.handle->size : 2 * sizeof(int);
    for (int i = 0; i < PC_RANKS; i++)
        counts[i] = scatters ? draw(dice, unit + 1) : unit;
    reduction_side(c, &c->send, partitions, blocks, counts, size);
    reduction_side(c, &c->recv, partitions, 1, blocks > 1 ? &counts[c->rank] : counts, size);
    c->send.memory = draw(own, 3) ? KIT_DEVICE : KIT_HOST;
    c->recv.memory = draw(own, 3) ? c->send.memory : draw(own, 2) ? KIT_DEVICE : KIT_HOST;
    if (pcoll_on_device)
        c->send.memory = c->recv.memory = KIT_DEVICE;
    c->recv.used = c->kind != PC_REDUCE || c->rank == c->root;
    c->in_place = draw(dice, 3) == 0 && c->recv.used;
    if (c->in_place && c->recv.bytes < c->send.bytes)
        c->recv.bytes = c->send.bytes;
}

/* ---- life ---- */

static void side_open(struct pcoll_side *side)
{
    side->image = calloc(1, side->bytes);
    kit_open(&side->buffer, side->memory, side->bytes);
    side->data = kit_put(&side->buffer, 0, NULL, side->bytes);
}

void pcoll_open(struct pcoll *c, int kind, MPI_Comm comm, MPI_Op function, uint64_t *dice, uint64_t *own)
{
    memset(c, 0, sizeof *c);
    c->kind = kind;
    c->comm = comm;
    c->op = MPI_OP_NULL;
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_size(comm, &c->size);
    c->root = draw(dice, c->size);
    if (kind < PC_MOVERS)
        draw_mover(c, dice, own);
    else
        draw_reduction(c, function, dice, own);
    side_open(&c->send);
    side_open(&c->recv);
    const int scatters = kind == PC_SCATTER || kind == PC_SCATTERV;
    const int code = pcoll_init(c, c->in_place && !scatters ? MPI_IN_PLACE : c->send.data,
                                c->in_place && scatters ? MPI_IN_PLACE : c->recv.data);
    CHECK(code == MPI_SUCCESS, "MPIX_%s_init: error class %d", pcoll_names[kind], kit_class(code));
    c->by_kernels = pcoll_kernels && code == MPI_SUCCESS && draw(own, 4);
    if (c->by_kernels)
        CHECK(MPIX_Prequest_create(c->request, &c->device) == MPI_SUCCESS, "MPIX_Prequest_create of MPIX_%s_init",
              pcoll_names[kind]);
}

static void side_close(struct pcoll *c, struct pcoll_side *side)
{
    if (c->kind < PC_MOVERS) {
        MPI_Type_free(&side->type);
        for (int i = 0; i < side->blocks; i++)
            MPI_Type_free(&side->types[i]);
    }
    kit_close(&side->buffer);
    free(side->image);
}

void pcoll_close(struct pcoll *c)
{
    if (c->by_kernels && c->root % 2)
        CHECK(MPIX_Prequest_free(&c->device) == MPI_SUCCESS, "MPIX_Prequest_free");
    MPI_Request_free(&c->request); /* with its device request */
    side_close(c, &c->send);
    side_close(c, &c->recv);
}

static int side_again(struct pcoll_side *side)
{
    const size_t all = side->buffer.room + 2 * KIT_GUARD + KIT_OFFSET;
    void *const before = side->buffer.base, *after = NULL;
    if (side->memory != KIT_DEVICE || kit_plain)
        return 1;
    CHECK(tutti_free(before) == 0 && tutti_alloc(all, &after) == 0, "memory again");
    side->buffer.base = after;
    return after == before;
}

int pcoll_again(struct pcoll *c, uint64_t *own)
{
    int same = 1;
    if (draw(own, 6) == 0)
        same &= side_again(&c->send);
    if (draw(own, 6) == 0)
        same &= side_again(&c->recv);
    return same;
}

/* ---- rounds ---- */

/* In place the contribution lies in the receive buffer, and is laid out as that is. */
static struct pcoll_side *contribution(struct pcoll *c)
{
    const int scatters = c->kind == PC_SCATTER || c->kind == PC_SCATTERV;
    return c->kind == PC_BCAST || (c->in_place && !scatters) ? &c->recv : &c->send;
}

static void fill_mover(struct pcoll *c, uint64_t seed)
{
    struct pcoll_side *from = contribution(c);
    const int scatters = c->kind == PC_SCATTER || c->kind == PC_SCATTERV;
    random_bytes(c->send.image, seed * 31 + (uint64_t)kit_rank, c->send.bytes);
    random_bytes(c->recv.image, seed * 37 + (uint64_t)kit_rank, c->recv.bytes);
    kit_put(&c->send.buffer, 0, c->send.image, c->send.bytes);
    kit_put(&c->recv.buffer, 0, c->recv.image, c->recv.bytes);
    (void)from;
    pcoll_plain(c, c->in_place && !scatters ? MPI_IN_PLACE : c->send.image,
                c->in_place && scatters ? MPI_IN_PLACE : c->recv.image);
}

static size_t elements_of(const struct pcoll_side *side)
{
    size_t n = 0;
    for (int i = 0; i < side->blocks; i++)
        n += (size_t)side->counts[i] * (size_t)side->partitions;
    return n;
}

/* Of a program's function: maps x -> a x + b, combined from the left. */
static void fill_maps(unsigned *out, uint64_t seed, int rank, size_t n)
{
    random_bytes(out, seed + (uint64_t)rank * 1000003, n * 2 * sizeof *out);
}

static void expect_maps(const struct pcoll *c, uint64_t seed, const int which[], int ranks, size_t first, size_t n,
                        unsigned *out)
{
    const size_t all = first + n;
    unsigned *in = malloc((all + 1) * 2 * sizeof *in);
    (void)c;
    for (int r = 0; r < ranks; r++) {
        fill_maps(in, seed, which[r], all);
        for (size_t i = 0; i < n; i++) {
            const unsigned *b = &in[2 * (first + i)], a[2] = {out[2 * i], out[2 * i + 1]};
            out[2 * i] = r == 0 ? b[0] : a[0] * b[0];
            out[2 * i + 1] = r == 0 ? b[1] : a[0] * b[1] + a[1];
        }
    }
    free(in);
}

static void fill_reduction(struct pcoll *c, uint64_t seed)
{
    int which[PC_RANKS], all[PC_RANKS];
    MPI_Group group, world;
    const struct oracle_case of =
        c->op == MPI_OP_NULL ? kit_case(&c->pair, ORACLE_HARD, seed) : (struct oracle_case){.seed = seed};
    const size_t n = elements_of(&c->send), mine = elements_of(&c->recv);
    size_t first = 0;
    for (int r = 0; r < c->size; r++)
        all[r] = r;
    MPI_Comm_group(c->comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, c->size, all, world, which);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    for (int i = 0; c->send.blocks > 1 && i < c->rank; i++)
        first += (size_t)c->send.counts[i] * (size_t)c->send.partitions;
    if (c->op == MPI_OP_NULL)
        oracle_fill(c->send.image, &of, kit_rank, 0, n);
    else
        fill_maps((unsigned *)(void *)c->send.image, seed, kit_rank, n);
    random_bytes(c->recv.image, seed * 37, c->recv.bytes);
    if (c->in_place) {
        memcpy(c->recv.image, c->send.image, c->send.bytes);
        memset(c->recv.image + n * c->send.extents[0], 7, c->recv.bytes - n * c->send.extents[0]);
    }
    kit_put(&c->send.buffer, 0, c->send.image, c->send.bytes);
    kit_put(&c->recv.buffer, 0, c->recv.image, c->recv.bytes);
    const int depth = c->kind == PC_SCAN ? c->rank + 1 : c->kind == PC_EXSCAN ? c->rank : c->size;
    if (!c->recv.used || depth == 0 || mine == 0)
        return;
    if (c->op != MPI_OP_NULL) {
        expect_maps(c, seed, which, depth, first, mine, (unsigned *)(void *)c->recv.image);
    } else if (c->kind == PC_SCAN || c->kind == PC_EXSCAN) {
        char *room = malloc((size_t)depth * mine * c->send.extents[0]);
        const void *in[PC_RANKS];
        for (int r = 0; r < depth; r++) {
            in[r] = room + (size_t)r * mine * c->send.extents[0];
            oracle_fill((void *)(uintptr_t)in[r], &of, which[r], 0, mine);
        }
        oracle_reduce(c->recv.image, &of, depth, in, mine);
        free(room);
    } else {
        kit_expect_of(c->recv.image, &of, c->size, which, first, mine);
    }
}

void pcoll_fill(struct pcoll *c, uint64_t seed)
{
    if (c->kind < PC_MOVERS)
        fill_mover(c, seed);
    else
        fill_reduction(c, seed);
    /* What is not marked must not be read: other bytes until then. */
    struct pcoll_side *from = contribution(c);
    for (int i = 0; from == &c->send && c->send.used && i < from->blocks; i++) {
        const size_t bytes = (size_t)from->counts[i] * (size_t)from->partitions * from->extents[i];
        char *garbage = malloc(bytes + 1);
        memset(garbage, 0x5a, bytes);
        tutti_copy(from->data + from->displs[i], garbage, bytes);
        free(garbage);
    }
}

void pcoll_produce(struct pcoll *c, int p)
{
    struct pcoll_side *from = contribution(c);
    for (int i = 0; from == &c->send && i < from->blocks; i++) {
        const size_t bytes = (size_t)from->counts[i] * from->extents[i];
        const size_t at = (size_t)from->displs[i] + (size_t)p * bytes;
        if (bytes > 0)
            tutti_copy(from->data + at, from->image + at, bytes);
    }
}

static size_t differs(const struct pcoll *c, const char *a, const char *b, size_t bytes)
{
    size_t i = 0;
    if (c->kind >= PC_MOVERS && c->op == MPI_OP_NULL) {
        const size_t n = bytes / c->recv.extents[0];
        return oracle_differ(c->pair.handle->element, a, b, n, c->pair.handle->group == TUTTI_GROUP_PAIR) *
                   c->recv.extents[0] +
               (bytes - n * c->recv.extents[0]);
    }
    while (i < bytes && a[i] == b[i])
        i++;
    return i;
}

void pcoll_check(struct pcoll *c, int p, const char *what)
{
    const struct pcoll_side *to = &c->recv;
    if (!to->used)
        return;
    if (p < 0) {
        int guards = 1;
        const char *got = kit_get(&c->recv.buffer, &guards);
        const size_t bytes = c->kind >= PC_MOVERS ? elements_of(to) * to->extents[0] : to->bytes;
        const size_t at = c->kind == PC_EXSCAN && c->rank == 0 ? bytes : differs(c, got, to->image, bytes);
        CHECK(at == bytes && guards, "MPIX_%s_init: %s: byte %zu of %zu is wrong (guards %d, in place %d, %s %s)",
              pcoll_names[c->kind], what, at, bytes, guards, c->in_place,
              c->kind >= PC_MOVERS && c->op == MPI_OP_NULL ? c->pair.handle->name : "-",
              c->kind >= PC_MOVERS && c->op == MPI_OP_NULL ? oracle_op_name(c->pair.op) : "-");
        return;
    }
    for (int i = 0; i < to->blocks && !(c->kind == PC_EXSCAN && c->rank == 0); i++) {
        const size_t bytes = (size_t)to->counts[i] * to->extents[i], at = (size_t)to->displs[i] + (size_t)p * bytes;
        char *got = malloc(bytes + 1);
        if (bytes > 0)
            tutti_copy(got, to->data + at, bytes);
        const size_t wrong = differs(c, got, to->image + at, bytes);
        CHECK(wrong == bytes, "MPIX_%s_init: %s: byte %zu of block %d, partition %d is wrong", pcoll_names[c->kind],
              what, wrong, i, p);
        free(got);
    }
}
