/* A pretended libnccl.so.2 of one rank, over the pretended driver: a call copies at once. Reads NCCL_SYM_CTAS at its
 * first call and keeps it, as NCCL does, and says at the end what it has seen. FAKE_NCCL_WINDOWS=0: no symmetric
 * memory. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#define EXPORT __attribute__((visibility("default")))
enum { BYTES = 1, FLOAT = 7, SUM = 0, SYMMETRIC = 1, WRONG = 4 };

struct comm {
    int ranks, windows;
    long calls[3];
    int engines; /* 1: copy engines are asked for */
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
EXPORT int ncclBroadcast(const void *in, void *out, size_t n, int type, int root, struct comm *comm, void *stream);
EXPORT int ncclAllGather(const void *in, void *out, size_t n, int type, struct comm *comm, void *stream);
EXPORT int ncclGather(const void *in, void *out, size_t n, int type, int root, struct comm *comm, void *stream);
EXPORT int ncclScatter(const void *in, void *out, size_t n, int type, int root, struct comm *comm, void *stream);
EXPORT int ncclAlltoAll(const void *in, void *out, size_t n, int type, struct comm *comm, void *stream);
EXPORT int ncclSend(const void *in, size_t n, int type, int peer, struct comm *comm, void *stream);
EXPORT int ncclRecv(void *out, size_t n, int type, int peer, struct comm *comm, void *stream);
EXPORT int ncclGroupStart(void);
EXPORT int ncclGroupEnd(void);
EXPORT int ncclCommInitRankConfig(struct comm **comm, int ranks, struct id id, int rank, void *config);
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
    const char *host = getenv("NCCL_HOSTID"), *net = getenv("NCCL_NET");
    fprintf(stderr, "fake nccl: host %s, net %s\n", host ? host : "of the machine", net ? net : "any");
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

static int move(const void *in, void *out, size_t n, int type, int root, struct comm *comm, void *stream)
{
    if (type != BYTES || root != 0 || !stream || (comm->engines && comm->windows != 2))
        return WRONG;
    memmove(out, in, n);
    return 0;
}
int ncclBroadcast(const void *in, void *out, size_t n, int type, int root, struct comm *comm, void *stream)
{
    return move(in, out, n, type, root, comm, stream);
}
int ncclAllGather(const void *in, void *out, size_t n, int type, struct comm *comm, void *stream)
{
    return move(in, out, n, type, 0, comm, stream);
}
int ncclGather(const void *in, void *out, size_t n, int type, int root, struct comm *comm, void *stream)
{
    return move(in, out, n, type, root, comm, stream);
}
int ncclScatter(const void *in, void *out, size_t n, int type, int root, struct comm *comm, void *stream)
{
    return move(in, out, n, type, root, comm, stream);
}
int ncclAlltoAll(const void *in, void *out, size_t n, int type, struct comm *comm, void *stream)
{
    return move(in, out, n, type, 0, comm, stream);
}

/* To and from itself: a group has one of each. */
static struct {
    const void *in;
    void *out;
    size_t n;
    int open;
} group;

int ncclGroupStart(void)
{
    group.open = 1;
    group.in = group.out = NULL;
    return 0;
}
int ncclSend(const void *in, size_t n, int type, int peer, struct comm *comm, void *stream)
{
    (void)comm;
    group.in = in;
    group.n = n;
    return group.open && type == BYTES && peer == 0 && stream ? 0 : WRONG;
}
int ncclRecv(void *out, size_t n, int type, int peer, struct comm *comm, void *stream)
{
    (void)comm;
    group.out = out;
    group.n = n;
    return group.open && type == BYTES && peer == 0 && stream ? 0 : WRONG;
}
int ncclGroupEnd(void)
{
    group.open = 0;
    if (!group.in || !group.out)
        return WRONG;
    memmove(group.out, group.in, group.n);
    return 0;
}
/* As much of the configuration as the bench sets: nccl.h of 2.28. */
int ncclCommInitRankConfig(struct comm **comm, int ranks, struct id id, int rank, void *config)
{
    unsigned magic, version;
    int policy;
    memcpy(&magic, (char *)config + 8, sizeof magic);
    memcpy(&version, (char *)config + 12, sizeof version);
    memcpy(&policy, (char *)config + 60, sizeof policy);
    if (magic != 0xcafebeef || version != 22800 || policy != 2)
        return WRONG;
    const int failed = ncclCommInitRank(comm, ranks, id, rank);
    if (!failed)
        (*comm)->engines = 1;
    return failed;
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
