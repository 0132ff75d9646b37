/* Collectives that move data without reducing it, nonblocking and persistent ones too: device memory is staged through
 * pinned memory, packed. Plain and large counts from one text. */
#include <stdlib.h>

#include "core/log.h"
#include "mpi/moved.h"
#include "mpi/requests.h"

/* ---- who this rank is ---- */

struct party {
    int inter, rank, peers;
    int root; /* 1: it is the root of the call; 0: it sends to or receives from one; -1: it does neither */
};

static void party_of(MPI_Comm comm, int root, struct party *out)
{
    *out = (struct party){.rank = -1};
    if (comm == tutti_handles.no_comm || tutti_real.MPI_Comm_test_inter(comm, &out->inter) != MPI_SUCCESS)
        return;
    tutti_real.MPI_Comm_rank(comm, &out->rank);
    if (out->inter) {
        tutti_real.MPI_Comm_remote_size(comm, &out->peers);
        out->root = root == MPI_ROOT ? 1 : root == MPI_PROC_NULL ? -1 : 0;
    } else {
        tutti_real.MPI_Comm_size(comm, &out->peers);
        out->root = root == out->rank;
    }
}

static void neighbours_of(MPI_Comm comm, int *in, int *out)
{
    int kind = MPI_UNDEFINED, rank, weighted;
    *in = *out = 0;
    if (comm == tutti_handles.no_comm || tutti_real.MPI_Topo_test(comm, &kind) != MPI_SUCCESS)
        return;
    if (kind == MPI_CART) {
        tutti_real.MPI_Cartdim_get(comm, in);
        *in = *out = 2 * *in;
    } else if (kind == MPI_GRAPH) {
        tutti_real.MPI_Comm_rank(comm, &rank);
        tutti_real.MPI_Graph_neighbors_count(comm, rank, in);
        *out = *in;
    } else if (kind == MPI_DIST_GRAPH) {
        tutti_real.MPI_Dist_graph_neighbors_count(comm, in, out, &weighted);
    }
}

/* ---- sides ---- */

static struct tutti_side nothing(const void *buffer, MPI_Datatype type)
{
    return (struct tutti_side){.buffer = (void *)(uintptr_t)buffer, .type = type, .only = -1};
}

/* `n` times `count` elements, one after the other. */
static struct tutti_side even(const void *buffer, MPI_Count count, MPI_Datatype type, int n, int way)
{
    struct tutti_side side = nothing(buffer, type);
    side.n = n > 0;
    side.count = count > 0 && n > 0 ? count * n : count;
    side.way = way;
    return side;
}

/* The same as blocks, of which `only` goes in. */
static struct tutti_side even_but(const void *buffer, MPI_Count count, MPI_Datatype type, int n, int only)
{
    struct tutti_side side = nothing(buffer, type);
    side.n = n;
    side.count = count;
    side.way = TUTTI_SPAN_OUT;
    side.only = only;
    return side;
}

static struct tutti_side uneven(const void *buffer, const void *counts, const void *displs, MPI_Datatype type, int n,
                                int large, int way)
{
    struct tutti_side side = nothing(buffer, type);
    side.n = counts && displs ? n : 0;
    side.counts = counts;
    side.displs = displs;
    side.large = large;
    side.way = way;
    return side;
}

static struct tutti_side of_types(const void *buffer, const void *counts, const void *displs, const MPI_Datatype *types,
                                  int n, int large, int way)
{
    struct tutti_side side = uneven(buffer, counts, displs, tutti_handles.no_type, types ? n : 0, large, way);
    side.types = types;
    return side;
}

/* ---- the course of a call ---- */

static int failed(const struct tutti_exchange *exchange, int status)
{
    tutti_count(exchange->name, "failed", tutti_status_text(status));
    tutti_error("%s: staging device memory failed: %s", exchange->name, tutti_status_text(status));
    return tutti_fail_comm(exchange->comm, tutti_error_code(status));
}

/* Persistent calls too fetch what goes in at once, and again at each start: MPICH 4.0 looks at some buffers when the
 * request is made. */
static int open_both(struct tutti_exchange *exchange, const struct tutti_side *in, const struct tutti_side *out)
{
    exchange->out = (struct tutti_blocks){.n = 0};
    int status = tutti_blocks_open(&exchange->in, in);
    return status == TUTTI_OK ? tutti_blocks_open(&exchange->out, out) : status;
}

static void close_both(struct tutti_exchange *exchange)
{
    tutti_blocks_close(&exchange->in);
    tutti_blocks_close(&exchange->out);
}

static int end(struct tutti_exchange *exchange, int code, int status)
{
    if (status == TUTTI_OK && code == MPI_SUCCESS)
        status = tutti_blocks_out(&exchange->out);
    if (status == TUTTI_OK && (exchange->in.staged || exchange->out.staged))
        tutti_count(exchange->name, "staged", tutti_exchange_how(exchange));
    close_both(exchange);
    return status == TUTTI_OK ? code : failed(exchange, status);
}

/* Of a nonblocking or persistent call, which owns `exchange` from here on. */
static int started(struct tutti_exchange *exchange, int code, int status, const MPI_Request *request, int persistent)
{
    if (status == TUTTI_OK && code == MPI_SUCCESS && (exchange->in.staged || exchange->out.staged)) {
        tutti_count(exchange->name, "staged", tutti_exchange_how(exchange));
        return tutti_pending_exchange(*request, exchange, persistent);
    }
    if (status != TUTTI_OK)
        code = failed(exchange, status);
    close_both(exchange);
    free(exchange);
    return code;
}

static int no_memory(const char *name, MPI_Comm comm)
{
    const struct tutti_exchange none = {.name = name, .comm = comm};
    return failed(&none, TUTTI_ERR_MEMORY);
}

#define WIDTHS_OF "mpi/collect.inc"
#include "mpi/widths.inc"
