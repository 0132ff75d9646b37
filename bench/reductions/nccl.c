#include "bench/reductions/nccl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/common/gpu.h"
#include "core/types.h"
#include "device/device.h"
#include "team/control.h"

/* What is needed of nccl.h, whose numbers have not changed since NCCL 2.10 (windows: 2.27). */
typedef struct nccl_comm *nccl_comm;
typedef struct nccl_window *nccl_window;
typedef struct {
    char bytes[128];
} nccl_id;
enum { NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN };
enum { NCCL_I8, NCCL_U8, NCCL_I32, NCCL_U32, NCCL_I64, NCCL_U64, NCCL_F16, NCCL_F32, NCCL_F64, NCCL_BF16 };
enum { NCCL_WINDOW_SYMMETRIC = 1 };

struct nccl {
    void *library;
    int (*GetVersion)(int *);
    int (*GetUniqueId)(nccl_id *);
    int (*CommInitRank)(nccl_comm *, int, nccl_id, int);
    int (*CommDestroy)(nccl_comm);
    int (*AllReduce)(const void *, void *, size_t, int, int, nccl_comm, void *);
    int (*Reduce)(const void *, void *, size_t, int, int, int, nccl_comm, void *);
    int (*ReduceScatter)(const void *, void *, size_t, int, int, nccl_comm, void *);
    const char *(*GetErrorString)(int);
    /* NULL before 2.27: */
    int (*MemAlloc)(void **, size_t);
    int (*MemFree)(void *);
    int (*CommWindowRegister)(nccl_comm, void *, size_t, nccl_window *, int);
    int (*CommWindowDeregister)(nccl_comm, nccl_window);
    nccl_comm comm;
    nccl_window window[2];
};
static struct nccl copies[BENCH_NCCL_COPIES];
static void *symmetric[2];

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

int bench_nccl_knows(int type, int op)
{
    return type_of(type) >= 0 && op_of(op) >= 0;
}

/* A copy of a library that is loaded, as a library of its own: the loader tells files by their inodes. */
static void *load_again(void *library)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map)
        return NULL;
    int from = open(map->l_name, O_RDONLY | O_CLOEXEC), to = memfd_create("libnccl.so.2", MFD_CLOEXEC);
    struct stat file;
    void *again = NULL;
    int whole = from >= 0 && to >= 0 && fstat(from, &file) == 0;
    for (off_t left = whole ? file.st_size : 0; left > 0;) {
        ssize_t n = sendfile(to, from, NULL, (size_t)left);
        if (n <= 0) {
            whole = 0;
            break;
        }
        left -= n;
    }
    if (whole) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", to);
        again = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    return again;
}

static int find_calls(struct nccl *n, char *why, size_t size)
{
    int all = 1;
#define FIND(name) all &= (*(void **)(void *)&n->name = dlsym(n->library, "nccl" #name)) != NULL
    FIND(GetVersion);
    FIND(GetUniqueId);
    FIND(CommInitRank);
    FIND(CommDestroy);
    FIND(AllReduce);
    FIND(Reduce);
    FIND(ReduceScatter);
    FIND(GetErrorString);
    if (!all)
        snprintf(why, size, "libnccl.so.2 lacks functions that are needed");
    int enough = all;
    FIND(MemAlloc);
    FIND(MemFree);
    FIND(CommWindowRegister);
    FIND(CommWindowDeregister);
#undef FIND
    return enough;
}

static int possible(const struct bench_plan *plan, char *why, size_t size)
{
    if (!bench_on_cuda()) {
        snprintf(why, size, "NCCL needs the cuda device");
        return 0;
    }
    if (plan->collective == TUTTI_COLLECTIVE_SCAN || plan->collective == TUTTI_COLLECTIVE_EXSCAN) {
        snprintf(why, size, "NCCL has no such call");
        return 0;
    }
    if (!bench_nccl_knows(plan->type, plan->op)) {
        snprintf(why, size, "NCCL does not reduce %s of %s", tutti_op_name(plan->op), tutti_type_name(plan->type));
        return 0;
    }
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    struct nccl *n = &copies[BENCH_NCCL_USUAL];
    n->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!n->library) {
        snprintf(why, size, "%s", dlerror());
        return 0;
    }
    return find_calls(n, why, size);
}

/* 1 where no two ranks have the same GPU. */
static int gpus_differ(const struct bench_plan *plan)
{
    const struct tutti_device *device = tutti_device();
    unsigned char mine[16] = {0}, *all = calloc((size_t)plan->size, 16);
    int gpu = 0, differ = all != NULL;
    if (device->gpu.current(&gpu) != 0 || device->gpu.uuid(gpu, mine) != 0)
        differ = 0;
    if (!bench_all_agree(differ)) {
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

/* Collective. A communicator over all ranks. */
static int make_comm(const struct bench_plan *plan, struct nccl *n, char *why, size_t size)
{
    nccl_id id;
    memset(&id, 0, sizeof id);
    int failed = plan->rank == 0 ? n->GetUniqueId(&id) : 0;
    if (!bench_all_agree(!failed)) {
        snprintf(why, size, "ncclGetUniqueId failed on rank 0");
        return 0;
    }
    bench_mpi.Bcast(&id, (int)sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    failed = n->CommInitRank(&n->comm, plan->size, id, plan->rank);
    if (failed) {
        n->comm = NULL;
        snprintf(why, size, "ncclCommInitRank: %s", n->GetErrorString(failed));
    } else {
        snprintf(why, size, "ncclCommInitRank failed on another rank");
    }
    return bench_all_agree(!failed);
}

int bench_nccl_open(const struct bench_plan *plan, char *why, size_t size)
{
    snprintf(why, size, "another rank cannot open it");
    if (!bench_all_agree(possible(plan, why, size)))
        return 0;
    if (!gpus_differ(plan)) {
        snprintf(why, size, "NCCL needs a GPU for each rank");
        return 0;
    }
    return make_comm(plan, &copies[BENCH_NCCL_USUAL], why, size);
}

static int allocate(size_t bytes, char *why, size_t size)
{
    struct nccl *n = &copies[BENCH_NCCL_USUAL];
    if (!n->CommWindowRegister || !n->CommWindowDeregister || !n->MemAlloc || !n->MemFree) {
        snprintf(why, size, "this NCCL has no symmetric memory (2.27 and newer have)");
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        int failed = n->MemAlloc(&symmetric[i], bytes);
        if (failed) {
            symmetric[i] = NULL;
            snprintf(why, size, "ncclMemAlloc: %s", n->GetErrorString(failed));
            return 0;
        }
    }
    return 1;
}

/* Collective. Both buffers become windows of the copy, and a first call makes it read its settings. */
static int use_windows(struct nccl *n, size_t bytes, char *why, size_t size)
{
    int failed = 0;
    for (int i = 0; i < 2 && !failed; i++)
        failed = n->CommWindowRegister(n->comm, symmetric[i], bytes, &n->window[i], NCCL_WINDOW_SYMMETRIC);
    if (failed)
        snprintf(why, size, "ncclCommWindowRegister: %s", n->GetErrorString(failed));
    else if (!n->window[0] || !n->window[1])
        snprintf(why, size, "ncclCommWindowRegister made no window: these GPUs cannot share symmetric memory");
    if (!bench_all_agree(!failed && n->window[0] && n->window[1]))
        return 0;
    failed = n->AllReduce(symmetric[0], symmetric[1], 1, NCCL_F32, NCCL_SUM, n->comm, bench_gpu_stream());
    if (failed)
        snprintf(why, size, "ncclAllReduce over symmetric memory: %s", n->GetErrorString(failed));
    if (!failed)
        bench_gpu_sync();
    return bench_all_agree(!failed);
}

unsigned bench_nccl_symmetric(const struct bench_plan *plan, size_t bytes, void **in, void **out, char *why,
                              size_t size)
{
    struct nccl *usual = &copies[BENCH_NCCL_USUAL], *other = &copies[BENCH_NCCL_32_CTAS];
    snprintf(why, size, "another rank cannot use symmetric memory");
    if (!bench_all_agree(allocate(bytes, why, size)) || !use_windows(usual, bytes, why, size))
        return 0;
    *in = symmetric[0];
    *out = symmetric[1];
    setenv("NCCL_SYM_CTAS", "32", 1); /* the first copy has read its own by now */
    snprintf(why, size, "a second copy of libnccl.so.2 could not be loaded");
    other->library = load_again(usual->library);
    if (!bench_all_agree(other->library && find_calls(other, why, size)) || !make_comm(plan, other, why, size) ||
        !use_windows(other, bytes, why, size))
        return 1u << BENCH_NCCL_USUAL;
    return 1u << BENCH_NCCL_USUAL | 1u << BENCH_NCCL_32_CTAS;
}

void *bench_nccl_result(const struct bench_call *call, void *out)
{
    struct bench_part part = bench_part_of(call);
    return call->in_place ? (char *)out + part.begin * tutti_type_size(call->type) : out;
}

void bench_nccl_enqueue(const struct bench_call *call, const void *in, void *out, void *stream,
                        enum bench_nccl_copy copy)
{
    struct nccl *n = &copies[copy];
    int type = type_of(call->type), op = op_of(call->op), failed;
    const void *from = bench_in_place_here(call) ? out : in;
    if (call->collective == TUTTI_COLLECTIVE_ALLREDUCE)
        failed = n->AllReduce(from, out, call->count, type, op, n->comm, stream);
    else if (call->collective == TUTTI_COLLECTIVE_REDUCE)
        failed = n->Reduce(from, out, call->count, type, op, call->root, n->comm, stream);
    else
        failed = n->ReduceScatter(from, bench_nccl_result(call, out), call->count / (size_t)call->ranks, type, op,
                                  n->comm, stream);
    if (failed)
        bench_fail("NCCL's counterpart of %s: %s", bench_call_name(call), n->GetErrorString(failed));
}

void bench_nccl_close(void)
{
    for (int c = BENCH_NCCL_COPIES; c-- > 0;) {
        struct nccl *n = &copies[c];
        for (int i = 0; n->comm && i < 2; i++) {
            if (n->window[i])
                n->CommWindowDeregister(n->comm, n->window[i]);
        }
        if (n->comm)
            n->CommDestroy(n->comm);
        n->comm = NULL;
    }
    for (int i = 0; i < 2; i++) {
        if (symmetric[i])
            copies[BENCH_NCCL_USUAL].MemFree(symmetric[i]);
        symmetric[i] = NULL;
    }
}

void bench_nccl_version(char *text, size_t size)
{
    int version = 0;
    copies[BENCH_NCCL_USUAL].GetVersion(&version);
    snprintf(text, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}
