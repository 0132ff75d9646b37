/* The 21 calls, and the plain counterparts of the movers. */
#include "pcoll.h"

const char *const pcoll_names[PC_KINDS] = {"Pbcast",
                                           "Pgather",
                                           "Pgatherv",
                                           "Pscatter",
                                           "Pscatterv",
                                           "Pallgather",
                                           "Pallgatherv",
                                           "Palltoall",
                                           "Palltoallv",
                                           "Palltoallw",
                                           "Pneighbor_allgather",
                                           "Pneighbor_allgatherv",
                                           "Pneighbor_alltoall",
                                           "Pneighbor_alltoallv",
                                           "Pneighbor_alltoallw",
                                           "Preduce",
                                           "Pallreduce",
                                           "Preduce_scatter",
                                           "Preduce_scatter_block",
                                           "Pscan",
                                           "Pexscan"};

/* Displacements as the call counts them. */
static const MPI_Aint *displs_of(const struct pcoll_side *side, MPI_Aint out[])
{
    for (int i = 0; i < side->blocks; i++)
        out[i] = side->displs[i] / (MPI_Aint)side->extents[i];
    return out;
}

int pcoll_init(struct pcoll *c, const void *in, void *out)
{
    struct pcoll_side *s = &c->send, *r = &c->recv;
    MPI_Aint sd[PC_RANKS], rd[PC_RANKS];
    MPI_Request *request = &c->request;
    const MPI_Info info = MPI_INFO_NULL;
    const MPI_Op op = c->op != MPI_OP_NULL ? c->op : c->kind >= PC_MOVERS ? kit_op(c->pair.op) : MPI_OP_NULL;
    displs_of(s, sd);
    displs_of(r, rd);
    switch (c->kind) {
    case PC_BCAST:
        return MPIX_Pbcast_init(out, r->partitions, r->counts[0], r->type, c->root, c->comm, info, request);
    case PC_GATHER:
        return MPIX_Pgather_init(in, s->partitions, s->counts[0], s->type, out, r->partitions, r->counts[0], r->type,
                                 c->root, c->comm, info, request);
    case PC_GATHERV:
        return MPIX_Pgatherv_init(in, s->partitions, s->counts[0], s->type, out, r->partitions, r->counts, rd, r->type,
                                  c->root, c->comm, info, request);
    case PC_SCATTER:
        return MPIX_Pscatter_init(in, s->partitions, s->counts[0], s->type, out, r->partitions, r->counts[0], r->type,
                                  c->root, c->comm, info, request);
    case PC_SCATTERV:
        return MPIX_Pscatterv_init(in, s->partitions, s->counts, sd, s->type, out, r->partitions, r->counts[0], r->type,
                                   c->root, c->comm, info, request);
    case PC_ALLGATHER:
        return MPIX_Pallgather_init(in, s->partitions, s->counts[0], s->type, out, r->partitions, r->counts[0], r->type,
                                    c->comm, info, request);
    case PC_ALLGATHERV:
        return MPIX_Pallgatherv_init(in, s->partitions, s->counts[0], s->type, out, r->partitions, r->counts, rd,
                                     r->type, c->comm, info, request);
    case PC_ALLTOALL:
        return MPIX_Palltoall_init(in, s->partitions, s->counts[0], s->type, out, r->partitions, r->counts[0], r->type,
                                   c->comm, info, request);
    case PC_ALLTOALLV:
        return MPIX_Palltoallv_init(in, s->partitions, s->counts, sd, s->type, out, r->partitions, r->counts, rd,
                                    r->type, c->comm, info, request);
    case PC_ALLTOALLW:
        return MPIX_Palltoallw_init(in, s->partitions, s->counts, s->displs, s->types, out, r->partitions, r->counts,
                                    r->displs, r->types, c->comm, info, request);
    case PC_NEIGHBOR_ALLGATHER:
        return MPIX_Pneighbor_allgather_init(in, s->partitions, s->counts[0], s->type, out, r->partitions, r->counts[0],
                                             r->type, c->comm, info, request);
    case PC_NEIGHBOR_ALLGATHERV:
        return MPIX_Pneighbor_allgatherv_init(in, s->partitions, s->counts[0], s->type, out, r->partitions, r->counts,
                                              rd, r->type, c->comm, info, request);
    case PC_NEIGHBOR_ALLTOALL:
        return MPIX_Pneighbor_alltoall_init(in, s->partitions, s->counts[0], s->type, out, r->partitions, r->counts[0],
                                            r->type, c->comm, info, request);
    case PC_NEIGHBOR_ALLTOALLV:
        return MPIX_Pneighbor_alltoallv_init(in, s->partitions, s->counts, sd, s->type, out, r->partitions, r->counts,
                                             rd, r->type, c->comm, info, request);
    case PC_NEIGHBOR_ALLTOALLW:
        return MPIX_Pneighbor_alltoallw_init(in, s->partitions, s->counts, s->displs, s->types, out, r->partitions,
                                             r->counts, r->displs, r->types, c->comm, info, request);
    case PC_REDUCE:
        return MPIX_Preduce_init(in, out, s->partitions, s->counts[0], s->type, op, c->root, c->comm, info, request);
    case PC_ALLREDUCE:
        return MPIX_Pallreduce_init(in, out, s->partitions, s->counts[0], s->type, op, c->comm, info, request);
    case PC_REDUCE_SCATTER:
        return MPIX_Preduce_scatter_init(in, out, s->partitions, s->counts, s->type, op, c->comm, info, request);
    case PC_REDUCE_SCATTER_BLOCK:
        return MPIX_Preduce_scatter_block_init(in, out, s->partitions, s->counts[0], s->type, op, c->comm, info,
                                               request);
    case PC_SCAN:
        return MPIX_Pscan_init(in, out, s->partitions, s->counts[0], s->type, op, c->comm, info, request);
    default:
        return MPIX_Pexscan_init(in, out, s->partitions, s->counts[0], s->type, op, c->comm, info, request);
    }
}

/* A side as the plain call counts it. */
struct plain_side {
    int n, counts[PC_RANKS], displs[PC_RANKS], bytes[PC_RANKS];
    MPI_Aint places[PC_RANKS];
};

static struct plain_side plain_of(const struct pcoll_side *side)
{
    struct plain_side out = {0};
    for (int i = 0; i < side->blocks; i++) {
        out.counts[i] = (int)side->counts[i] * side->partitions;
        out.displs[i] = (int)(side->displs[i] / (MPI_Aint)side->extents[i]);
        out.bytes[i] = (int)side->displs[i];
        out.places[i] = side->displs[i];
    }
    out.n = out.counts[0];
    return out;
}

static void plain_neighbours(struct pcoll *c, const void *in, void *out, const struct plain_side *a,
                             const struct plain_side *b)
{
    const MPI_Datatype st = c->send.type, rt = c->recv.type;
    MPI_Request request;
    int code = MPI_SUCCESS;
    if (c->kind == PC_NEIGHBOR_ALLGATHER)
        code = MPI_Ineighbor_allgather(in, a->n, st, out, b->n, rt, c->comm, &request);
    else if (c->kind == PC_NEIGHBOR_ALLGATHERV)
        code = MPI_Ineighbor_allgatherv(in, a->n, st, out, b->counts, b->displs, rt, c->comm, &request);
    else if (c->kind == PC_NEIGHBOR_ALLTOALL)
        code = MPI_Ineighbor_alltoall(in, a->n, st, out, b->n, rt, c->comm, &request);
    else if (c->kind == PC_NEIGHBOR_ALLTOALLV)
        code = MPI_Ineighbor_alltoallv(in, a->counts, a->displs, st, out, b->counts, b->displs, rt, c->comm, &request);
    else
        code = MPI_Ineighbor_alltoallw(in, a->counts, a->places, c->send.types, out, b->counts, b->places,
                                       c->recv.types, c->comm, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(code == MPI_SUCCESS, "the plain call fails: class %d", kit_class(code));
}

void pcoll_plain(struct pcoll *c, const void *in, void *out)
{
    const struct plain_side a = plain_of(&c->send), b = plain_of(&c->recv);
    const MPI_Datatype st = c->send.type, rt = c->recv.type;
    switch (c->kind) {
    case PC_BCAST:
        MPI_Bcast(out, b.n, rt, c->root, c->comm);
        return;
    case PC_GATHER:
        MPI_Gather(in, a.n, st, out, b.n, rt, c->root, c->comm);
        return;
    case PC_GATHERV:
        MPI_Gatherv(in, a.n, st, out, b.counts, b.displs, rt, c->root, c->comm);
        return;
    case PC_SCATTER:
        MPI_Scatter(in, a.n, st, out, b.n, rt, c->root, c->comm);
        return;
    case PC_SCATTERV:
        MPI_Scatterv(in, a.counts, a.displs, st, out, b.n, rt, c->root, c->comm);
        return;
    case PC_ALLGATHER:
        MPI_Allgather(in, a.n, st, out, b.n, rt, c->comm);
        return;
    case PC_ALLGATHERV:
        MPI_Allgatherv(in, a.n, st, out, b.counts, b.displs, rt, c->comm);
        return;
    case PC_ALLTOALL:
        MPI_Alltoall(in, a.n, st, out, b.n, rt, c->comm);
        return;
    case PC_ALLTOALLV:
        MPI_Alltoallv(in, a.counts, a.displs, st, out, b.counts, b.displs, rt, c->comm);
        return;
    case PC_ALLTOALLW:
        MPI_Alltoallw(in, a.counts, a.bytes, c->send.types, out, b.counts, b.bytes, c->recv.types, c->comm);
        return;
    default:
        plain_neighbours(c, in, out, &a, &b);
    }
}
