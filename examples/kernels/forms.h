/* What the two applications share, which communicate in several forms: a stream, NCCL where it is present, partitioned
 * calls that some MPIs' headers lack, and the table of times. */
#ifndef EXAMPLE_FORMS_H
#define EXAMPLE_FORMS_H

#include "kernels.h"

#include <dlfcn.h>
#include <tutti/mpix.h>
#include <tutti/tutti.h>

#include <tutti/device/prequest.h>

enum { FORM_BLOCKS = 512, FORM_THREADS = 256, REPEATS = 5 };

/* Open MPI 4.1's header lacks them. */
typedef int init_fn(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
typedef int range_fn(int, int, MPI_Request);

static __attribute__((unused)) void find(const char *name, void *call)
{
    void *const symbol = dlsym((void *)0, name);
    if (!symbol)
        stop(name, "Tutti is not there: start the program with tutti run");
    memcpy(call, &symbol, sizeof symbol);
}

static void must(int error, const char *call)
{
    if (error != MPI_SUCCESS)
        stop(call, "failed");
}

static void *memory(size_t bytes)
{
    void *device = NULL;
    if (tutti_alloc(bytes, &device) != 0)
        stop("tutti_alloc", "no memory");
    return device;
}

/* ---- the stream of the kernels ---- */

#ifdef __CUDACC__
static cudaStream_t stream;
#define LAUNCH(kernel, ...) kernel<<<FORM_BLOCKS, FORM_THREADS, 0, stream>>>(__VA_ARGS__)

static void synchronise(void)
{
    const cudaError_t status = cudaStreamSynchronize(stream);
    if (status != cudaSuccess)
        stop("a kernel", cudaGetErrorString(status));
}

static void stream_open(void)
{
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        stop("cudaStreamCreateWithFlags", "no stream");
}
#else
#define LAUNCH(kernel, ...) kernel(__VA_ARGS__)

static void synchronise(void)
{
}

static void stream_open(void)
{
}
#endif

/* ---- NCCL, opened at run time: the few of its names that are needed ---- */

#ifdef __CUDACC__
typedef struct {
    char bytes[128];
} nccl_id;
enum { NCCL_FLOAT = 7, NCCL_SUM = 0 };
static struct {
    int (*GetUniqueId)(nccl_id *);
    int (*CommInitRank)(void **, int, nccl_id, int);
    int (*CommDestroy)(void *);
    int (*GroupStart)(void);
    int (*GroupEnd)(void);
    int (*Send)(const void *, size_t, int, int, void *, cudaStream_t);
    int (*Recv)(void *, size_t, int, int, void *, cudaStream_t);
    int (*AllReduce)(const void *, void *, size_t, int, int, void *, cudaStream_t);
    void *comm;
} nccl;

/* Collective over all ranks. 1 if each of them has NCCL and a GPU of its own. */
static int nccl_open(int rank, int ranks)
{
    int device = 0, gpus = 0, can, all;
    void *const library = dlopen("libnccl.so.2", RTLD_NOW);
    cudaGetDevice(&device);
    cudaGetDeviceCount(&gpus);
    can = library != NULL && gpus >= ranks;
#define FIND_NCCL(name) can = can && (*(void **)&nccl.name = dlsym(library, "nccl" #name)) != NULL
    FIND_NCCL(GetUniqueId);
    FIND_NCCL(CommInitRank);
    FIND_NCCL(CommDestroy);
    FIND_NCCL(GroupStart);
    FIND_NCCL(GroupEnd);
    FIND_NCCL(Send);
    FIND_NCCL(Recv);
    FIND_NCCL(AllReduce);
#undef FIND_NCCL
    MPI_Allreduce(&can, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all)
        return 0;
    nccl_id id;
    memset(&id, 0, sizeof id);
    if (rank == 0)
        can = nccl.GetUniqueId(&id) == 0;
    MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    can = can && nccl.CommInitRank(&nccl.comm, ranks, id, rank) == 0;
    MPI_Allreduce(&can, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static void nccl_close(void)
{
    if (nccl.comm)
        nccl.CommDestroy(nccl.comm);
}
#else
static int nccl_open(int rank, int ranks)
{
    (void)rank, (void)ranks;
    return 0;
}

static void nccl_close(void)
{
}
#endif

/* ---- times ---- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Collective. The median over runs of the longest time of a rank, in us for each of the iterations. */
static double median_us(double *seconds, int runs, int iterations)
{
    double longest[REPEATS];
    MPI_Allreduce(seconds, longest, runs, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(longest, (size_t)runs, sizeof *longest, ascending);
    return longest[runs / 2] / iterations * 1e6;
}

static int number(int argc, char **argv, int at, int usual)
{
    return argc > at && atoi(argv[at]) > 0 ? atoi(argv[at]) : usual;
}

#endif
