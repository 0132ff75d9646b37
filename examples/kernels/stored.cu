/* Partitioned messages that go from kernel to kernel: random messages round a ring. Where the kernels of a round store
 * the partitions in the receiver's buffer themselves, the hosts make no call until both kernels have ended. Arguments:
 * messages, seed. Status 1 too if no round went so, and TUTTI_TEST_EXPECT is set.
 *
 *     nvcc -ccbin mpicxx --forward-unknown-to-host-compiler -arch=native stored.cu $(pkg-config --cflags --libs tutti)
 *     mpicc -xc stored.cu $(pkg-config --cflags --libs tutti)           (without a GPU)
 *     tutti run -n 4 ./a.out */
#include "waiting.h"

#include <dlfcn.h>
#include <tutti/mpix.h>
#include <tutti/tutti.h>

#include <tutti/device/prequest.h>

enum { ROUNDS = 6, MOST = 48, FORMS = 5, TOTAL_MOST = 1 << 20 };

/* Open MPI 4.1's header lacks them. */
typedef int init_fn(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);

static init_fn *find(const char *name)
{
    union {
        void *symbol;
        init_fn *call;
    } found;
    found.symbol = dlsym((void *)0, name);
    if (!found.symbol)
        stop(name, "Tutti is not there: start the program with tutti run");
    return found.call;
}

static uint64_t dice;
static int draw(int n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (int)((dice >> 33) % (uint64_t)n);
}

/* One message of each rank, drawn alike on all. */
struct ring_message {
    int sends, receives; /* partitions */
    int total;           /* integers */
    int form, order, number;
};

BOTH int value(int rank, int number, int round, int i)
{
    return ((number * ROUNDS + round) * 64 + rank) * 1237 + i;
}

/* How a block marks partition p, which it has filled. */
DEVICE void mark(int p, int form, MPIX_Prequest request)
{
    if (form == 0)
        MPIX_Pready_block(p, request);
    block_sync(); /* the other forms mark what all threads of the block have stored */
    if (form == 1 && thread() < 32)
        MPIX_Pready_warp(p, request);
    if (thread() != 0)
        return;
    if (form == 2)
        MPIX_Pready(p, request);
    else if (form == 3)
        MPIX_Pready_range(p, p, request);
    else if (form == 4)
        MPIX_Pready_list(1, &p, request);
}

KERNEL fill(int *data, struct ring_message m, int rank, int round, MPIX_Prequest request)
{
    const int each = m.total / m.sends;
    for (int k = block(); k < m.sends; k += blocks()) {
        const int p = (k + m.order + round) % m.sends; /* in another order each round */
        for (int i = thread(); i < each; i += threads())
            data[p * each + i] = value(rank, m.number, round, p * each + i);
        mark(p, m.form, request);
    }
}

enum { PATIENCE_S = 15 }; /* a kernel that has waited so long gives up */

/* Waits for a partition. 0: it has not arrived. */
DEVICE int await(int p, MPIX_Prequest request)
{
    const uint64_t since = tutti_dev_clock_ns();
    int flag = 0;
    while (!flag) {
        MPIX_Parrived(request, p, &flag);
        if (!flag && tutti_dev_clock_ns() - since > PATIENCE_S * (uint64_t)1000000000)
            return 0;
    }
    return 1;
}

/* Waits for partitions; counts what is wrong in them. wrong: the count; 1 + the round and partition that did not
 * arrive. */
KERNEL take(const int *data, struct ring_message m, int rank, int round, MPIX_Prequest request, int *wrong)
{
    const int each = m.total / m.receives;
    for (int p = block(); p < m.receives; p += blocks()) {
        int bad = 0;
        if (thread() == 0 && !await(p, request)) {
            tutti_dev_grid_add((uint32_t *)wrong, 1);
            wrong[1] = 1 + (m.number * ROUNDS + round) * MOST + p;
        }
        block_sync();
        for (int i = thread(); i < each; i += threads())
            bad += ((const volatile int *)data)[p * each + i] != value(rank, m.number, round, p * each + i);
        if (bad)
            tutti_dev_grid_add((uint32_t *)wrong, (uint32_t)bad);
    }
}

static struct ring_message draw_message(int number)
{
    static const int units[] = {1, 3, 64, 400, 2000};
    struct ring_message m = {1 + draw(MOST), 1 + draw(MOST), 0, draw(2) ? 0 : draw(FORMS), draw(MOST), number};
    m.total = m.sends * m.receives * units[draw(5)];
    while (m.total > TOTAL_MOST)
        m.total -= m.total / 2 / (m.sends * m.receives) * (m.sends * m.receives);
    return m;
}

/* 1 if the kernels of all ranks store the partitions of this round: the hosts need not call MPI meanwhile. */
static int all_store(const struct ring_message *m, const MPIX_Prequest *sends)
{
    const size_t bytes = (size_t)(m->total / m->sends) * sizeof(int);
    const size_t most = m->form == 0   ? bytes
                        : m->form == 1 ? (size_t)TUTTI_PREQUEST_WARP_MOST
                                       : (size_t)TUTTI_PREQUEST_THREAD_MOST;
    int mine = bytes <= most && sends->round->to != 0, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static int run_message(const struct ring_message *m, int rank, int ranks, int *out, int *in, int *bad)
{
    const int left = (rank + ranks - 1) % ranks;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPIX_Prequest sends, receives;
    MPI_Info info;
    char text[16];
    int stored = 0;
    MPI_Info_create(&info);
    snprintf(text, sizeof text, "%d", 1 + draw(m->sends));
    MPI_Info_set(info, "tutti_transport_partitions", text);
    find("MPI_Psend_init")(out, m->sends, m->total / m->sends, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD,
                           draw(2) ? info : MPI_INFO_NULL, &requests[0]);
    find("MPI_Precv_init")(in, m->receives, m->total / m->receives, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &requests[1]);
    MPI_Info_free(&info);
    if (MPIX_Prequest_create(requests[0], &sends) != 0 || MPIX_Prequest_create(requests[1], &receives) != 0)
        stop("MPIX_Prequest_create", "failed");
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Startall(2, requests);
        MPIX_Pbuf_prepareall(2, requests);
        const int store = all_store(m, &sends);
        LAUNCH(0, fill, out, *m, rank, round, sends);
        if (!store)
            MPI_Waitall(2, requests, statuses);
        LAUNCH(1, take, in, *m, left, round, receives, bad);
        synchronise();
        if (store)
            MPI_Waitall(2, requests, statuses);
        stored += store;
    }
    MPIX_Prequest_free(&sends);
    MPIX_Prequest_free(&receives);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    return stored;
}

int main(int argc, char **argv)
{
    const int messages = argc > 1 ? atoi(argv[1]) : 24;
    dice = argc > 2 ? (uint64_t)atoi(argv[2]) : 1;
    begin();
    int rank, ranks, found[2] = {0, 0}, stored = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *const out = memory(TOTAL_MOST * sizeof(int)), *const in = memory(TOTAL_MOST * sizeof(int));
    int *const bad = (int *)symmetric(2 * sizeof(int)); /* what is wrong */
#ifdef __CUDACC__
    for (int i = 0; i < 2; i++)
        cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
#endif
    for (int i = 0; i < messages; i++) {
        const struct ring_message m = draw_message(i);
        stored += run_message(&m, rank, ranks, out, in, bad);
    }
    tutti_copy(found, bad, sizeof found);
    if (found[1])
        printf("rank %d: partition %d of message %d did not arrive in round %d\n", rank, (found[1] - 1) % MOST,
               (found[1] - 1) / MOST / ROUNDS, (found[1] - 1) / MOST % ROUNDS);
    if (rank == 0)
        printf("kernels have stored %d of %d rounds\n", stored, messages * ROUNDS);
    if (stored == 0 && getenv("TUTTI_TEST_EXPECT"))
        found[0]++;
    tutti_free(out);
    tutti_free(in);
    return end("partitions from kernel to kernel", found[0]);
}
