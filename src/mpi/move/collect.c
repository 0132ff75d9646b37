/* Collectives that move data without reducing it, nonblocking and persistent ones too: device memory is staged through
 * pinned memory, packed. Plain and large counts from one text. */
#include <stdlib.h>

#include "core/log.h"
#include "mpi/bounce/blocks.h"
#include "mpi/comm/neighbours.h"
#include "mpi/move/moved.h"
#include "mpi/move/requests.h"
#include "mpi/real/errors.h"

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

/* From each neighbour; as blocks where some are nobody. */
static struct tutti_side around(const int *peers, const void *buffer, MPI_Count count, MPI_Datatype type, int n)
{
    int all_there = 1;
    for (int i = 0; i < n; i++)
        all_there &= peers[i] != MPI_PROC_NULL;
    if (all_there)
        return even(buffer, count, type, n, TUTTI_SPAN_OUT);
    struct tutti_side side = even_but(buffer, count, type, n, -1);
    side.peers = peers;
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
    tutti_count(exchange->name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
    tutti_error("%s: staging device memory failed: %s", exchange->name, tutti_status_text(status));
    return tutti_fail_comm(exchange->comm, tutti_error_code(status));
}

/* Persistent calls too fetch what goes in at once, and again at each start: an MPI may look at it when the request is
 * made (quirks.h). */
static int open_sides(struct tutti_exchange *exchange, const struct tutti_side *in, const struct tutti_side *out)
{
    exchange->out = (struct tutti_blocks){.n = 0};
    int status = tutti_blocks_open(&exchange->in, in);
    if (status == TUTTI_OK)
        status = tutti_blocks_open(&exchange->out, out);
    return status;
}

/* Where the program gave one buffer twice the MPI is given one memory twice, so that it finds that too. `own`: this
 * rank's block, of a side that has several. */
static void keep_alias(struct tutti_exchange *exchange, const struct tutti_side *in, const struct tutti_side *out,
                       int own)
{
    struct tutti_blocks *from = &exchange->in, *to = &exchange->out;
    if (in->type != out->type || in->types != out->types)
        return;
    if (in->counts == out->counts) {
        if (in->buffer == out->buffer) {
            from->buffer = to->buffer;
            from->types = to->types;
        }
    } else if (!in->counts && own < to->n && to->block[own].bytes > 0 && (char *)in->buffer == to->block[own].at) {
        from->buffer = to->memory + to->block[own].place;
    } else if (!out->counts && own < from->n && from->block[own].bytes > 0 &&
               (char *)out->buffer == from->block[own].at) {
        to->buffer = from->memory + from->block[own].place;
    }
}

static int open_both(struct tutti_exchange *exchange, const struct tutti_side *in, const struct tutti_side *out)
{
    int rank = 0, status = open_sides(exchange, in, out);
    if (unlikely(tutti_quirks.refuses_alias) && status == TUTTI_OK && exchange->in.staged && exchange->out.staged &&
        tutti_real.MPI_Comm_rank(exchange->comm, &rank) == MPI_SUCCESS)
        keep_alias(exchange, in, out, rank);
    return status;
}

/* The same where there are neighbours, whose list is not needed any more then. */
static int open_around(struct tutti_exchange *exchange, const struct tutti_side *in, const struct tutti_side *out,
                       struct tutti_neighbours *list, int listed)
{
    int status = listed == TUTTI_OK ? open_sides(exchange, in, out) : listed;
    tutti_neighbours_close(list);
    return status;
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
        tutti_count(exchange->name, TUTTI_OUTCOME_STAGED, tutti_exchange_how(exchange));
    close_both(exchange);
    return status == TUTTI_OK ? code : failed(exchange, status);
}

/* Of a nonblocking or persistent call, which owns `exchange` from here on. */
static int started(struct tutti_exchange *exchange, int code, int status, const MPI_Request *request, int persistent)
{
    if (status == TUTTI_OK && code == MPI_SUCCESS && (exchange->in.staged || exchange->out.staged)) {
        tutti_count(exchange->name, TUTTI_OUTCOME_STAGED, tutti_exchange_how(exchange));
        return tutti_collective_put(*request, exchange, persistent);
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

#define WIDTHS_OF "mpi/move/collect.inc"
#include "mpi/real/widths.inc"
