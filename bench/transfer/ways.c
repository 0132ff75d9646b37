/* The ways of the transfers: which there are, and their memory. */
#include <stdlib.h>
#include <string.h>

#include "bench/common/gpu.h"
#include "bench/common/place.h"
#include "bench/reductions/enqueue.h"
#include "bench/transfer/ways.h"
#include "bench/words/energy.h"
#include "device/device.h"
#include "tutti/tutti.h"

const char *transfer_way_name(int way)
{
    static const char *const names[TRANSFER_WAYS] = {
#define TRANSFER_WAY(id, name, text) name,
#include "bench/words/transfer_ways.def"
#undef TRANSFER_WAY
    };
    return names[way];
}

static int transfer_wants(const struct transfer *t, int way)
{
    return t->plan->ways >> way & 1;
}

/* ---- ranks ---- */

static void transfer_open_ring(struct transfer *t)
{
    const int n = t->left == t->right ? 1 : 2, from[2] = {t->left, t->right}, weights[2] = {1, 1};
    const int error =
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, from, weights, n, from, weights, MPI_INFO_NULL, 0, &t->comm);
    if (error != MPI_SUCCESS)
        bench_fail("MPI_Dist_graph_create_adjacent failed with error %d", error);
}

static void transfer_open_ranks(struct transfer *t)
{
    const int n = t->n = t->plan->size, r = t->rank = t->plan->rank;
    const int half = t->row->pair ? 1 : n / 2, of_pair = r < 2 * half && n > 1;
    t->peer = of_pair ? (r < half ? r + half : r - half) : -1;
    t->sends = r < half;
    t->left = (r + n - 1) % n;
    t->right = (r + 1) % n;
    t->comm = MPI_COMM_WORLD;
    if (t->row->ring)
        transfer_open_ring(t);
    t->counts = calloc((size_t)n, sizeof *t->counts);
    t->displs = calloc((size_t)n, sizeof *t->displs);
    if (!t->counts || !t->displs)
        bench_fail("out of memory");
    for (int way = 0; way < TRANSFER_WAYS; way++) {
        if (way == TRANSFER_WAY_TUTTI || way == TRANSFER_WAY_STAGED)
            bench_calls_linked(&t->mpi[way]);
        else
            bench_calls_own(&t->mpi[way]);
    }
}

/* ---- memory ---- */

enum { TRANSFER_PINNED_MOST = 256 << 20 };

static void transfer_open_memory(const struct transfer *t, struct transfer_memory *m)
{
    const size_t most = t->plan->most;
    m->scratch = bench_ordinary(TRANSFER_CHECK_FULL);
    for (int side = 0; side < 2; side++) {
        const int blocks = side ? t->row->out(t) : t->row->in(t);
        void *memory = NULL;
        m->bytes[side] = m->pinned[side] = (blocks > 0 ? (size_t)blocks : 1) * most;
        if (t->row->copies && m->pinned[side] > TRANSFER_PINNED_MOST)
            m->pinned[side] = most > TRANSFER_PINNED_MOST ? most : TRANSFER_PINNED_MOST;
        bench_must(tutti_alloc(m->bytes[side], &memory), "allocating device memory");
        m->device[side] = memory;
    }
}

/* NULL: it cannot be had. */
static char *transfer_pinned(size_t bytes)
{
    const struct tutti_device *device = tutti_device();
    void *memory = NULL;
    if (!device || !device->memory.alloc_pinned || device->memory.alloc_pinned(bytes, &memory) != 0)
        return NULL;
    return memory;
}

static int transfer_pin(struct transfer_memory *m)
{
    for (int side = 0; side < 2; side++) {
        if (!(m->host[side] = transfer_pinned(m->pinned[side])))
            return 0;
    }
    return 1;
}

/* 1 if the rank sends from host memory; side 1: receives into it. */
static int transfer_on_host(const struct transfer *t, int side)
{
    const unsigned of_side = side ? TRANSFER_HOST_RECV : TRANSFER_HOST_SEND;
    const unsigned of_rank = t->rank == 0 ? TRANSFER_HOST_ROOT : TRANSFER_HOST_OTHERS;
    return (t->what->host >> of_side | t->what->host >> of_rank) & 1;
}

/* All ranks also pass device memory once, as programs do: a rank that never has cannot take part in calls on it. */
static void transfer_open_mixed(const struct transfer *t, struct transfer_memory *m)
{
    const int pinned = t->what->host >> TRANSFER_HOST_PINNED & 1;
    for (int side = 0; side < 2; side++) {
        if (!transfer_on_host(t, side))
            continue;
        m->mixed[side] = pinned ? transfer_pinned(m->bytes[side]) : bench_ordinary(m->bytes[side]);
        if (!m->mixed[side])
            bench_fail("no pinned memory");
    }
    if (t->what->host && t->mpi[TRANSFER_WAY_TUTTI].Bcast(m->device[0], 1, MPI_BYTE, 0, t->comm) != MPI_SUCCESS)
        bench_fail("MPI_Bcast failed");
}

static void transfer_close_mixed(const struct transfer *t, struct transfer_memory *m)
{
    for (int side = 0; side < 2; side++) {
        if (m->mixed[side] && t->what->host >> TRANSFER_HOST_PINNED & 1)
            tutti_device()->memory.free_pinned(m->mixed[side]);
        else
            free(m->mixed[side]);
    }
}

static void transfer_open_hand(const struct transfer *t, struct transfer_memory *m)
{
    m->is_pinned = transfer_pin(m);
    for (int side = 0; !m->is_pinned && side < 2; side++)
        m->host[side] = bench_ordinary(m->pinned[side]);
    bench_say(t->plan, "staging %s", m->is_pinned ? "pinned" : "ordinary");
}

/* ---- NCCL ---- */

static void transfer_open_nccl(const struct transfer *t, struct transfer_memory *m, int used[TRANSFER_WAYS])
{
    const struct bench_plan *plan = t->plan;
    const int graph = plan->order == BENCH_GRAPH, can_ce = t->row->engines;
    char why[256] = "", version[96];
    if (!(transfer_wants(t, TRANSFER_WAY_NCCL) || transfer_wants(t, TRANSFER_WAY_NCCL_GRAPH) ||
          transfer_wants(t, TRANSFER_WAY_NCCL_SYM) || transfer_wants(t, TRANSFER_WAY_NCCL_CE)) ||
        t->what->host)
        return;
    bench_must(tutti_copy(m->scratch, m->device[0], 1), "making the context that NCCL joins");
    if (!bench_nccl_open(plan, why, sizeof why)) {
        if (bench_on_cuda())
            bench_say(plan, "note no nccl: %s", why);
        return;
    }
    bench_nccl_version(version, sizeof version);
    bench_say(plan, "nccl %s", version);
    used[TRANSFER_WAY_NCCL] = transfer_wants(t, TRANSFER_WAY_NCCL);
    used[TRANSFER_WAY_NCCL_GRAPH] = graph && transfer_wants(t, TRANSFER_WAY_NCCL_GRAPH);
    const int sym = graph && transfer_wants(t, TRANSFER_WAY_NCCL_SYM);
    const int ce = can_ce && transfer_wants(t, TRANSFER_WAY_NCCL_CE);
    if (t->row->group == TRANSFER_MESSAGES || (!sym && !ce))
        return;
    void *in = NULL, *out = NULL;
    /* Symmetric memory has one size on all ranks. */
    size_t bytes[2];
    bench_mpi.Allreduce(m->bytes, bytes, 2, MPI_UNSIGNED_LONG, MPI_MAX, MPI_COMM_WORLD);
    const unsigned copies =
        bench_nccl_symmetric(plan, ce ? 1u << BENCH_NCCL_ENGINES : 0, bytes, &in, &out, why, sizeof why);
    m->symmetric[0] = in;
    m->symmetric[1] = out;
    used[TRANSFER_WAY_NCCL_SYM] = sym && copies >> BENCH_NCCL_USUAL & 1;
    used[TRANSFER_WAY_NCCL_CE] = ce && copies >> BENCH_NCCL_ENGINES & 1;
    if (!(copies >> BENCH_NCCL_USUAL & 1))
        bench_say(plan, "note no symmetric memory for NCCL: %s", why);
    else if (ce && !used[TRANSFER_WAY_NCCL_CE])
        bench_say(plan, "note no nccl_ce: %s", why);
}

/* ---- all ---- */

/* 1 if a way that is wanted puts calls into a stream. */
static int transfer_in_stream(const struct transfer *t)
{
    const struct bench_energy_plan *energy = &t->plan->energy;
    return t->plan->order != BENCH_HOST || (energy->trials && energy->ways >> ENERGY_STREAM & 1 && t->row->enqueue);
}

void transfer_open(struct transfer *t, struct transfer_memory *m, int used[TRANSFER_WAYS])
{
    const struct bench_plan *plan = t->plan;
    char why[256];
    transfer_open_ranks(t);
    transfer_open_memory(t, m);
    transfer_open_mixed(t, m);
    if ((transfer_in_stream(t) || bench_on_cuda()) && !bench_gpu_open(why, sizeof why))
        bench_fail("%s", why);
    if (transfer_in_stream(t)) {
        transfer_enqueue_symbol(t->row->call);
        if (!bench_enqueue_open(why, sizeof why))
            bench_fail("calls in stream order: %s", why);
        t->ordered = bench_enqueue_comm();
    }
    used[TRANSFER_WAY_TUTTI] = 1;
    if (plan->order == BENCH_HOST) {
        used[TRANSFER_WAY_HAND] = transfer_wants(t, TRANSFER_WAY_HAND);
        used[TRANSFER_WAY_STAGED] = transfer_wants(t, TRANSFER_WAY_STAGED);
        used[TRANSFER_WAY_PLAIN] = transfer_wants(t, TRANSFER_WAY_PLAIN) && bench_on_host();
        used[TRANSFER_WAY_NATIVE] =
            transfer_wants(t, TRANSFER_WAY_NATIVE) && !t->what->host && bench_mpi_takes_device();
    }
    if (used[TRANSFER_WAY_HAND])
        transfer_open_hand(t, m);
    for (int side = 0; used[TRANSFER_WAY_PLAIN] && side < 2; side++)
        m->ordinary[side] = bench_ordinary(m->bytes[side]);
    transfer_open_nccl(t, m, used);
    for (int way = 0; way < TRANSFER_WAYS; way++) {
        if (used[way])
            bench_say(plan, "way %s", transfer_way_name(way));
    }
}

void transfer_close(struct transfer *t, struct transfer_memory *m)
{
    bench_nccl_close();
    bench_enqueue_close();
    bench_gpu_close();
    for (int side = 0; side < 2; side++) {
        tutti_free(m->device[side]);
        if (m->is_pinned)
            tutti_device()->memory.free_pinned(m->host[side]);
        else
            free(m->host[side]);
        free(m->ordinary[side]);
    }
    transfer_close_mixed(t, m);
    free(m->scratch);
    if (t->row->ring)
        MPI_Comm_free(&t->comm);
    free(t->counts);
    free(t->displs);
}

void transfer_size(struct transfer *t, const struct transfer_memory *m, size_t bytes)
{
    const size_t k = 1024, places = (m->pinned[0] < m->pinned[1] ? m->pinned[0] : m->pinned[1]) / bytes;
    t->bytes = bytes;
    t->count = (int)bytes;
    t->places = places < 1 ? 1 : places > (size_t)t->what->window ? t->what->window : (int)places;
    t->loops = t->what->id != TRANSFER_LATENCY ? 1 : bytes <= 8 * k ? 20 : bytes <= 256 * k ? 5 : 1;
    for (int r = 0; r < t->n; r++) {
        t->counts[r] = t->count;
        t->displs[r] = r * t->count;
    }
}

void transfer_share_how(const struct transfer *t, char *text, size_t size)
{
    int mine = strcmp(text, "-") == 0 ? t->n : t->rank, first = 0;
    if (!t->what->host)
        return;
    bench_mpi.Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    bench_mpi.Bcast(text, (int)size, MPI_CHAR, first < t->n ? first : 0, MPI_COMM_WORLD);
}
