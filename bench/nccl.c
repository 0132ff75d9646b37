#include "nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/types.h"
#include "device/device.h"

/* What is needed of nccl.h, whose numbers have not changed since NCCL 2.10. */
typedef struct nccl_comm *nccl_comm;
typedef struct {
    char bytes[128];
} nccl_id;
enum { NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN };
enum { NCCL_I8, NCCL_U8, NCCL_I32, NCCL_U32, NCCL_I64, NCCL_U64, NCCL_F16, NCCL_F32, NCCL_F64, NCCL_BF16 };

static struct {
    int (*GetVersion)(int *);
    int (*GetUniqueId)(nccl_id *);
    int (*CommInitRank)(nccl_comm *, int, nccl_id, int);
    int (*CommDestroy)(nccl_comm);
    int (*AllReduce)(const void *, void *, size_t, int, int, nccl_comm, void *);
    const char *(*GetErrorString)(int);
    int (*StreamSynchronize)(void *); /* of the CUDA driver */
    nccl_comm comm;
    int type, op;
} nccl;

static int type_of(int type)
{
    switch (type) {
#define IS(id)                                                                                                         \
    case TUTTI_TYPE_##id:                                                                                              \
        return NCCL_##id;
        IS(I8)
        IS(U8)
        IS(I32)
        IS(U32)
        IS(I64)
        IS(U64)
        IS(F16)
        IS(F32)
        IS(F64)
        IS(BF16)
#undef IS
    }
    return -1;
}

static int op_of(int op)
{
    return op == TUTTI_OP_SUM    ? NCCL_SUM
           : op == TUTTI_OP_PROD ? NCCL_PROD
           : op == TUTTI_OP_MAX  ? NCCL_MAX
           : op == TUTTI_OP_MIN  ? NCCL_MIN
                                 : -1;
}

static int open_libraries(char *why, size_t size)
{
    void *library = dlopen("libnccl.so.2", RTLD_NOW);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library || !driver) {
        snprintf(why, size, "%s", !library ? "libnccl.so.2 was not found" : "libcuda.so.1 is not loaded");
        return 0;
    }
    int all = 1;
#define FIND(from, field, name) all &= (*(void **)(void *)&nccl.field = dlsym(from, name)) != NULL
    FIND(library, GetVersion, "ncclGetVersion");
    FIND(library, GetUniqueId, "ncclGetUniqueId");
    FIND(library, CommInitRank, "ncclCommInitRank");
    FIND(library, CommDestroy, "ncclCommDestroy");
    FIND(library, AllReduce, "ncclAllReduce");
    FIND(library, GetErrorString, "ncclGetErrorString");
    FIND(driver, StreamSynchronize, "cuStreamSynchronize");
#undef FIND
    if (!all)
        snprintf(why, size, "libnccl.so.2 lacks functions that are needed");
    return all;
}

static int possible(const struct bench_plan *plan, char *why, size_t size)
{
    const struct tutti_device *device = tutti_device();
    nccl.type = type_of(plan->type);
    nccl.op = op_of(plan->op);
    if (!device || strcmp(device->name, "cuda") != 0) {
        snprintf(why, size, "NCCL needs the cuda device");
        return 0;
    }
    if (nccl.type < 0 || nccl.op < 0) {
        snprintf(why, size, "NCCL does not reduce %s of %s", tutti_op_name(plan->op), tutti_type_name(plan->type));
        return 0;
    }
    return open_libraries(why, size);
}

static int all_agree(int mine)
{
    int all = 0;
    bench_mpi.Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* 1 where no two ranks have the same GPU. */
static int gpus_differ(const struct bench_plan *plan)
{
    const struct tutti_device *device = tutti_device();
    unsigned char mine[16] = {0}, *all = calloc((size_t)plan->size, 16);
    int gpu = 0, differ = all != NULL;
    if (device->current(&gpu) != 0 || device->uuid(gpu, mine) != 0)
        differ = 0;
    if (!all_agree(differ)) {
        free(all);
        return 0;
    }
    bench_mpi.Allgather(mine, 16, MPI_BYTE, all, 16, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < plan->size; r++) {
        for (int s = 0; s < r; s++)
            differ &= memcmp(all + 16 * r, all + 16 * s, 16) != 0;
    }
    free(all);
    return differ;
}

int bench_nccl_open(const struct bench_plan *plan, char *why, size_t size)
{
    snprintf(why, size, "another rank cannot open it");
    if (!all_agree(possible(plan, why, size)))
        return 0;
    if (!gpus_differ(plan)) {
        snprintf(why, size, "NCCL needs a GPU for each rank");
        return 0;
    }
    nccl_id id;
    memset(&id, 0, sizeof id);
    int failed = plan->rank == 0 ? nccl.GetUniqueId(&id) : 0;
    if (!all_agree(!failed)) {
        snprintf(why, size, "ncclGetUniqueId failed on rank 0");
        return 0;
    }
    bench_mpi.Bcast(&id, (int)sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    failed = nccl.CommInitRank(&nccl.comm, plan->size, id, plan->rank);
    if (failed)
        snprintf(why, size, "ncclCommInitRank: %s", nccl.GetErrorString(failed));
    else
        snprintf(why, size, "ncclCommInitRank failed on another rank");
    return all_agree(!failed);
}

void bench_nccl_allreduce(const void *in, void *out, size_t count)
{
    int failed = nccl.AllReduce(in, out, count, nccl.type, nccl.op, nccl.comm, NULL);
    if (failed)
        bench_fail("ncclAllReduce: %s", nccl.GetErrorString(failed));
    failed = nccl.StreamSynchronize(NULL);
    if (failed)
        bench_fail("cuStreamSynchronize after ncclAllReduce: error %d", failed);
}

void bench_nccl_close(void)
{
    if (nccl.comm)
        nccl.CommDestroy(nccl.comm);
    nccl.comm = NULL;
}

void bench_nccl_version(char *text, size_t size)
{
    int version = 0;
    nccl.GetVersion(&version);
    snprintf(text, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}
