/* Calls on host memory, before the process has met a GPU, take no lock and no memory besides what the MPI itself does,
 * but for new communicators, which take little: each call is made many times by its name and by the MPI's own address,
 * and allocations and locks of this thread are counted. The functions of libc that count are this program's: libraries
 * find them first. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kit.h"
#include "real_mpi.h"

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *at, size_t bytes);

static __thread long allocations, locks; /* of the thread that asks */

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    allocations++;
    return __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t bytes)
{
    allocations++;
    return __libc_calloc(n, bytes);
}

__attribute__((visibility("default"))) void *realloc(void *at, size_t bytes)
{
    allocations++;
    return __libc_realloc(at, bytes);
}

__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *lock)
{
    static int (*real)(pthread_mutex_t *);
    if (!real)
        *(void **)(void *)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    locks++;
    return real(lock);
}

#define CALLS(EACH)                                                                                                    \
    EACH(Isend)                                                                                                        \
    EACH(Irecv)                                                                                                        \
    EACH(Wait)                                                                                                         \
    EACH(Waitall)                                                                                                      \
    EACH(Send_init)                                                                                                    \
    EACH(Recv_init)                                                                                                    \
    EACH(Startall)                                                                                                     \
    EACH(Request_free)                                                                                                 \
    EACH(Probe)                                                                                                        \
    EACH(Mprobe)                                                                                                       \
    EACH(Recv)                                                                                                         \
    EACH(Mrecv)                                                                                                        \
    EACH(Iprobe)                                                                                                       \
    EACH(Sendrecv)                                                                                                     \
    EACH(Iallreduce)                                                                                                   \
    EACH(Allreduce)                                                                                                    \
    EACH(Bcast) EACH(Barrier) EACH(Put) EACH(Win_flush) EACH(Comm_dup) EACH(Comm_free) EACH(File_open) EACH(File_close)
static struct calls {
#define EACH(name) __typeof__(&MPI_##name) name;
    CALLS(EACH)
#undef EACH
} named, own;

enum { BYTES = 1024, TIMES = 50, WARM = 20, TAG = 3 };
static char in[BYTES], out[BYTES];
static MPI_Win win;
static MPI_Status status, both_statuses[2];

static void frugal_send_init(const struct calls *mpi)
{
    MPI_Request request;
    mpi->Send_init(in, 8, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &request);
    mpi->Request_free(&request);
}

static void frugal_recv_init(const struct calls *mpi)
{
    MPI_Request request;
    mpi->Recv_init(out, 8, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &request);
    mpi->Request_free(&request);
}

static void frugal_startall(const struct calls *mpi)
{
    static MPI_Request request[2][2]; /* by whose they are; they end with the process */
    MPI_Request *const both = request[mpi == &named];
    if (both[0] == 0) {
        mpi->Recv_init(out, BYTES, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &both[0]);
        mpi->Send_init(in, BYTES, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &both[1]);
    }
    mpi->Startall(2, both);
    mpi->Waitall(2, both, both_statuses);
}

static void frugal_exchange(const struct calls *mpi, int bytes)
{
    MPI_Request request[2];
    mpi->Irecv(out, bytes, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &request[0]);
    mpi->Isend(in, bytes, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &request[1]);
    mpi->Waitall(2, request, both_statuses);
}

static void frugal_isend(const struct calls *mpi)
{
    frugal_exchange(mpi, 8);
}

static void frugal_isend_1k(const struct calls *mpi)
{
    frugal_exchange(mpi, BYTES);
}

static void frugal_sendrecv(const struct calls *mpi)
{
    mpi->Sendrecv(in, 8, MPI_BYTE, kit_rank, TAG, out, 8, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &status);
}

static void frugal_probe(const struct calls *mpi)
{
    MPI_Request request;
    int flag;
    mpi->Iprobe(kit_rank, TAG, MPI_COMM_WORLD, &flag, &status);
    mpi->Isend(in, 8, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &request);
    mpi->Probe(kit_rank, TAG, MPI_COMM_WORLD, &status);
    mpi->Recv(out, 8, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &status);
    mpi->Wait(&request, &status);
}

static void frugal_mprobe(const struct calls *mpi)
{
    MPI_Request request;
    MPI_Message message;
    mpi->Isend(in, 8, MPI_BYTE, kit_rank, TAG, MPI_COMM_WORLD, &request);
    mpi->Mprobe(kit_rank, TAG, MPI_COMM_WORLD, &message, &status);
    mpi->Mrecv(out, 8, MPI_BYTE, &message, &status);
    mpi->Wait(&request, &status);
}

static void frugal_iallreduce(const struct calls *mpi)
{
    MPI_Request request;
    mpi->Iallreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    mpi->Wait(&request, &status);
}

static void frugal_collectives(const struct calls *mpi)
{
    mpi->Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    mpi->Bcast(in, 8, MPI_BYTE, 0, MPI_COMM_WORLD);
    mpi->Barrier(MPI_COMM_WORLD);
}

static void frugal_put(const struct calls *mpi)
{
    mpi->Put(in, 8, MPI_BYTE, kit_rank, 0, 8, MPI_BYTE, win);
    mpi->Win_flush(kit_rank, win);
}

static void frugal_comm(const struct calls *mpi)
{
    MPI_Comm comm;
    mpi->Comm_dup(MPI_COMM_WORLD, &comm);
    mpi->Barrier(comm);
    mpi->Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm);
    mpi->Comm_free(&comm);
}

static void frugal_file(const struct calls *mpi)
{
    MPI_File file;
    CHECK(mpi->File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS, "no file");
    mpi->File_close(&file);
}

/* MPICH's ROMIO calls the MPI by its public names: calls that begin at the MPI's own address reach the library there,
 * and take more than those that begin in the library. */
#ifdef MPICH_VERSION
enum { OF_FILE = -1 };
#else
enum { OF_FILE = 0 };
#endif
enum { OF_COMM = 4, LOCKS_OF_COMM = 30, LOCKS_OF_FILE = 4 };

/* allocations, locks: of the library in each call. */
static const struct {
    const char *name;
    void (*make)(const struct calls *mpi);
    int allocations, locks;
} rows[] = {
    {"MPI_Send_init", frugal_send_init, 0, 0},
    {"MPI_Recv_init", frugal_recv_init, 0, 0},
    {"MPI_Startall", frugal_startall, 0, 0},
    {"MPI_Isend", frugal_isend, 0, 0},
    {"MPI_Isend of 1 KiB", frugal_isend_1k, 0, 0},
    {"MPI_Sendrecv", frugal_sendrecv, 0, 0},
    {"MPI_Probe", frugal_probe, 0, 0},
    {"MPI_Mprobe", frugal_mprobe, 0, 0},
    {"MPI_Iallreduce", frugal_iallreduce, 0, 0},
    {"MPI_Allreduce", frugal_collectives, 0, 0},
    {"MPI_Put", frugal_put, 0, 0},
    {"MPI_Comm_dup", frugal_comm, OF_COMM, LOCKS_OF_COMM},
    {"MPI_File_open", frugal_file, OF_FILE, LOCKS_OF_FILE},
};

/* Of many calls: allocations and locks. */
static void frugal_count(void (*make)(const struct calls *mpi), const struct calls *mpi, long count[2])
{
    for (int i = 0; i < WARM; i++)
        make(mpi);
    const long before[2] = {allocations, locks};
    for (int i = 0; i < TIMES; i++)
        make(mpi);
    count[0] = allocations - before[0];
    count[1] = locks - before[1];
}

int main(int argc, char **argv)
{
    void *memory;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
#define EACH(name)                                                                                                     \
    named.name = MPI_##name;                                                                                           \
    *(void **)(void *)&own.name = real_mpi_function("PMPI_" #name);
    CALLS(EACH)
#undef EACH
    MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock(MPI_LOCK_SHARED, kit_rank, 0, win);
    /* One in each call would be the library's: the MPI's progress takes a few now and then. */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        long with[2], without[2];
        frugal_count(rows[i].make, &own, without);
        frugal_count(rows[i].make, &named, with);
        CHECK(with[0] < without[0] + (rows[i].allocations + 1) * TIMES,
              "%s: %ld allocations in %d calls, %ld of the MPI itself", rows[i].name, with[0], TIMES, without[0]);
        CHECK(with[1] < without[1] + (rows[i].locks + 1) * TIMES, "%s: %ld locks in %d calls, %ld of the MPI itself",
              rows[i].name, with[1], TIMES, without[1]);
        if (check_setting("TUTTI_TEST_SHOW", 0))
            fprintf(stderr, "%-20s %ld %ld, without %ld %ld\n", rows[i].name, with[0], with[1], without[0], without[1]);
    }
    MPI_Win_unlock(kit_rank, win);
    MPI_Win_free(&win);
    CHECK(allocations > 0 && locks > 0, "%ld allocations, %ld locks were counted", allocations, locks);
    return kit_end("frugal");
}
