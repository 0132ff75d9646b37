/* The time of MPI_Type_commit. Each type is made and freed again, so that nothing of an earlier one remains. MPIs do
 * much of their work when a type is made and freed, so all three are also timed together. */
#include "bench/pack/pack.h"
#include "core/clock.h"
#include "tutti/tutti.h"

enum { MOST = 15, LEAST = 3, ROOM_MOST = 64 << 20 };

struct once {
    double commit, whole;
};

/* Memory of all layouts that are packed. */
static struct {
    size_t room, bytes;
    void *memory, *message;
} buffers;

static void memory_reserve(void **memory, size_t *room, size_t bytes)
{
    if (*room >= bytes)
        return;
    tutti_free(*memory);
    *memory = NULL;
    bench_must(tutti_alloc(bytes, memory), "allocating device memory");
    *room = bytes;
}

static double us_since(uint64_t start)
{
    return (double)(tutti_now_ns() - start) * 1e-3;
}

static struct once commit_once(const struct pack_layout *layout, const char *description, int plain)
{
    struct once took;
    const double own = pack_list_us;
    const uint64_t start = tutti_now_ns();
    MPI_Datatype type = layout->make(layout, description, buffers.memory);
    const uint64_t made = tutti_now_ns();
    int error = plain ? bench_mpi.Type_commit(&type) : MPI_Type_commit(&type);
    took.commit = us_since(made);
    pack_mpi(error, "MPI_Type_commit");
    pack_mpi(MPI_Type_free(&type), "MPI_Type_free");
    took.whole = us_since(start) - (pack_list_us - own);
    return took;
}

/* The cost of the first use of a type above that of the second one. */
static double first_use(const struct pack_layout *layout, const char *description)
{
    double took[2];
    MPI_Datatype type = layout->make(layout, description, buffers.memory);
    pack_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
    for (int i = 0; i < 2; i++) {
        int position = 0;
        const uint64_t start = tutti_now_ns();
        pack_mpi(MPI_Pack(layout->absolute ? MPI_BOTTOM : buffers.memory, 1, type, buffers.message, (int)layout->bytes,
                          &position, MPI_COMM_SELF),
                 "MPI_Pack");
        took[i] = us_since(start);
    }
    pack_mpi(MPI_Type_free(&type), "MPI_Type_free");
    return took[0] - took[1];
}

void pack_commit_measure(const struct bench_plan *plan, const struct pack_layout *layout, const char *description,
                         struct bench_figures out[COMMIT_WAYS])
{
    double samples[COMMIT_WAYS][MOST];
    long n = 0;
    const int used = layout->room <= ROOM_MOST;
    if (used) {
        memory_reserve(&buffers.memory, &buffers.room, layout->room);
        memory_reserve(&buffers.message, &buffers.bytes, layout->bytes);
    }
    const uint64_t start = tutti_now_ns();
    commit_once(layout, description, 0);
    while (n < MOST && (n < LEAST || us_since(start) < plan->seconds * 1e6)) {
        const double first = used ? first_use(layout, description) : 0;
        samples[COMMIT_FIRST][n] = first > 0 ? first : 0;
        commit_once(layout, description, 1); /* caches are as after a first use, in any case */
        const struct once plain = commit_once(layout, description, 1), ours = commit_once(layout, description, 0);
        samples[COMMIT_TUTTI][n] = ours.commit;
        samples[COMMIT_PLAIN][n] = plain.commit;
        samples[COMMIT_ALL][n] = ours.whole;
        samples[COMMIT_PLAIN_ALL][n] = plain.whole;
        n++;
    }
    for (int way = 0; way < COMMIT_WAYS; way++)
        out[way] = bench_figures_of(samples[way], n);
    if (!used)
        out[COMMIT_FIRST].iterations = 0;
}

void pack_commit_end(void)
{
    tutti_free(buffers.memory);
    tutti_free(buffers.message);
    buffers.memory = buffers.message = NULL;
    buffers.room = buffers.bytes = 0;
}
