/* A pretended libnccl.so.2 of one rank, over the pretended driver: a call copies at once. Reads NCCL_SYM_CTAS at its
 * first call and keeps it, as NCCL does, and says at the end what it has seen. FAKE_NCCL_WINDOWS=0: no symmetric
 * memory. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#define EXPORT __attribute__((visibility("default")))
enum { FLOAT = 7, SUM = 0, SYMMETRIC = 1, WRONG = 4 };

struct comm {
    int ranks, windows;
    long calls[3];
};
struct id {
    char bytes[128];
};
static int ctas = -1;

EXPORT int ncclGetVersion(int *version);
EXPORT int ncclGetUniqueId(struct id *id);
EXPORT int ncclCommInitRank(struct comm **comm, int ranks, struct id id, int rank);
EXPORT int ncclCommDestroy(struct comm *comm);
EXPORT int ncclAllReduce(const void *in, void *out, size_t n, int type, int op, struct comm *comm, void *stream);
EXPORT int ncclReduce(const void *in, void *out, size_t n, int type, int op, int root, struct comm *comm, void *stream);
EXPORT int ncclReduceScatter(const void *in, void *out, size_t n, int type, int op, struct comm *comm, void *stream);
EXPORT const char *ncclGetErrorString(int error);
EXPORT int ncclMemAlloc(void **memory, size_t bytes);
EXPORT int ncclMemFree(void *memory);
EXPORT int ncclCommWindowRegister(struct comm *comm, void *memory, size_t bytes, void **window, int flags);
EXPORT int ncclCommWindowDeregister(struct comm *comm, void *window);

int ncclGetVersion(int *version)
{
    *version = 22807;
    return 0;
}
int ncclGetUniqueId(struct id *id)
{
    memset(id, 7, sizeof *id);
    return 0;
}
int ncclCommInitRank(struct comm **comm, int ranks, struct id id, int rank)
{
    if (ranks != 1 || rank != 0 || id.bytes[127] != 7)
        return WRONG;
    *comm = calloc(1, sizeof **comm);
    (*comm)->ranks = ranks;
    return 0;
}
int ncclCommDestroy(struct comm *comm)
{
    fprintf(stderr, "fake nccl: ctas %d, %ld allreduce, %ld reduce, %ld reduce_scatter, %d windows left\n", ctas,
            comm->calls[0], comm->calls[1], comm->calls[2], comm->windows);
    free(comm);
    return 0;
}

static int call(int which, const void *in, void *out, size_t n, int type, int op, struct comm *comm, void *stream)
{
    const char *text = getenv("NCCL_SYM_CTAS"), *nvls = getenv("NCCL_NVLS_ENABLE");
    if (ctas < 0)
        ctas = text ? atoi(text) : 0;
    if (type != FLOAT || op != SUM || !stream || !nvls || strcmp(nvls, "0") != 0)
        return WRONG;
    comm->calls[which]++;
    memmove(out, in, n * sizeof(float));
    return 0;
}
int ncclAllReduce(const void *in, void *out, size_t n, int type, int op, struct comm *comm, void *stream)
{
    return call(0, in, out, n, type, op, comm, stream);
}
int ncclReduce(const void *in, void *out, size_t n, int type, int op, int root, struct comm *comm, void *stream)
{
    return root == 0 ? call(1, in, out, n, type, op, comm, stream) : WRONG;
}
int ncclReduceScatter(const void *in, void *out, size_t n, int type, int op, struct comm *comm, void *stream)
{
    return call(2, in, out, n, type, op, comm, stream);
}
const char *ncclGetErrorString(int error)
{
    return error ? "pretended error" : "no error";
}
int ncclMemAlloc(void **memory, size_t bytes)
{
    return (int)cuMemAlloc((CUdeviceptr *)(void *)memory, bytes);
}
int ncclMemFree(void *memory)
{
    return (int)cuMemFree((CUdeviceptr)memory);
}
int ncclCommWindowRegister(struct comm *comm, void *memory, size_t bytes, void **window, int flags)
{
    const char *none = getenv("FAKE_NCCL_WINDOWS");
    if (!memory || !bytes || flags != SYMMETRIC)
        return WRONG;
    *window = none && strcmp(none, "0") == 0 ? NULL : memory;
    comm->windows += *window != NULL;
    return 0;
}
int ncclCommWindowDeregister(struct comm *comm, void *window)
{
    comm->windows -= window != NULL;
    return 0;
}
