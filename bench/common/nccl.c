#include "bench/common/nccl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/common/gpu.h"
#include "core/settings.h"
#include "device/device.h"

static struct bench_nccl copies[BENCH_NCCL_COPIES];
static void *symmetric[2];

const struct bench_nccl *bench_nccl(enum bench_nccl_copy copy)
{
    return &copies[copy];
}

/* A copy of a library that is loaded, as a library of its own: the loader distinguishes files by their inodes. */
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

static int find_calls(struct bench_nccl *n, char *why, size_t size)
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
    FIND(Broadcast);
    FIND(AllGather);
    FIND(Send);
    FIND(Recv);
    FIND(GroupStart);
    FIND(GroupEnd);
    FIND(GetErrorString);
    if (!all)
        snprintf(why, size, "libnccl.so.2 lacks functions that are needed");
    int enough = all;
    FIND(MemAlloc);
    FIND(MemFree);
    FIND(CommWindowRegister);
    FIND(CommWindowDeregister);
    FIND(CommInitRankConfig);
    FIND(AlltoAll);
    FIND(Gather);
    FIND(Scatter);
#undef FIND
    return enough;
}

/* Virtual nodes are nodes for NCCL too: ranks of one host identifier share a machine, others have sockets between them.
 * NCCL reads these settings when it makes its first communicator. */
static void split_host(const struct bench_plan *plan)
{
    const int each = (int)tutti_settings()->node_ranks;
    char host[64] = "", id[96];
    if (each == 0)
        return;
    (void)gethostname(host, sizeof host - 1);
    snprintf(id, sizeof id, "%s-tutti-%d", host, plan->node_rank / each);
    setenv("NCCL_HOSTID", id, 1);
    setenv("NCCL_NET", "Socket", 0);
    setenv("NCCL_MNNVL_ENABLE", "0", 0); /* NVLink between hosts */
}

static int nccl_possible(const struct bench_plan *plan, char *why, size_t size)
{
    if (!bench_on_cuda()) {
        snprintf(why, size, "NCCL needs the cuda device");
        return 0;
    }
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    split_host(plan);
    struct bench_nccl *n = &copies[BENCH_NCCL_USUAL];
    n->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!n->library) {
        snprintf(why, size, "%s", dlerror());
        return 0;
    }
    return find_calls(n, why, size);
}

/* 1 if no two ranks have the same GPU. */
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

/* The configuration of a communicator as NCCL 2.28 has it; later versions take it too. */
struct config {
    size_t size;
    unsigned magic, version;
    int blocking, cluster, least, most;
    const char *net;
    int split_share, traffic;
    const char *name;
    int collnet, policy, shrink_share, nvls, net_channels, central;
};
#define CONFIG_MAGIC 0xcafebeefu
enum { CONFIG_VERSION = 22800, POLICY_ZERO = 2, UNSET = INT_MIN };

static int make_with_engines(const struct bench_plan *plan, struct bench_nccl *n, bench_nccl_id id)
{
    struct config config = {.size = sizeof config, .magic = CONFIG_MAGIC, .version = CONFIG_VERSION};
    config.blocking = config.cluster = config.least = config.most = config.split_share = config.traffic = UNSET;
    config.collnet = config.shrink_share = config.nvls = config.net_channels = config.central = UNSET;
    config.policy = POLICY_ZERO;
    return n->CommInitRankConfig(&n->comm, plan->size, id, plan->rank, &config);
}

/* Collective. A communicator over all ranks. */
static int make_comm(const struct bench_plan *plan, struct bench_nccl *n, char *why, size_t size)
{
    bench_nccl_id id;
    memset(&id, 0, sizeof id);
    int failed = plan->rank == 0 ? n->GetUniqueId(&id) : 0;
    if (!bench_all_agree(!failed)) {
        snprintf(why, size, "ncclGetUniqueId failed on rank 0");
        return 0;
    }
    bench_mpi.Bcast(&id, (int)sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    failed = n == &copies[BENCH_NCCL_ENGINES] ? make_with_engines(plan, n, id)
                                              : n->CommInitRank(&n->comm, plan->size, id, plan->rank);
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
    if (!bench_all_agree(nccl_possible(plan, why, size)))
        return 0;
    if (!gpus_differ(plan)) {
        snprintf(why, size, "NCCL needs a GPU for each rank");
        return 0;
    }
    return make_comm(plan, &copies[BENCH_NCCL_USUAL], why, size);
}

static int nccl_allocate(const size_t bytes[2], char *why, size_t size)
{
    struct bench_nccl *n = &copies[BENCH_NCCL_USUAL];
    if (!n->CommWindowRegister || !n->CommWindowDeregister || !n->MemAlloc || !n->MemFree) {
        snprintf(why, size, "this NCCL has no symmetric memory (2.27 and newer have)");
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        int failed = n->MemAlloc(&symmetric[i], bytes[i]);
        if (failed) {
            symmetric[i] = NULL;
            snprintf(why, size, "ncclMemAlloc: %s", n->GetErrorString(failed));
            return 0;
        }
    }
    return 1;
}

/* Collective. Both buffers become windows of the copy, and a first call makes it read its settings. */
static int use_windows(struct bench_nccl *n, const size_t bytes[2], char *why, size_t size)
{
    int failed = 0;
    for (int i = 0; i < 2 && !failed; i++)
        failed = n->CommWindowRegister(n->comm, symmetric[i], bytes[i], &n->window[i], NCCL_WINDOW_SYMMETRIC);
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

/* Collective. A second copy of the library, with a setting of its own. */
static int open_32_ctas(const struct bench_plan *plan, const size_t bytes[2], char *why, size_t size)
{
    struct bench_nccl *n = &copies[BENCH_NCCL_32_CTAS];
    setenv("NCCL_SYM_CTAS", "32", 1); /* the first copy has read its own by now */
    snprintf(why, size, "a second copy of libnccl.so.2 could not be loaded");
    n->library = load_again(copies[BENCH_NCCL_USUAL].library);
    return bench_all_agree(n->library && find_calls(n, why, size)) && make_comm(plan, n, why, size) &&
           use_windows(n, bytes, why, size);
}

/* Collective. A second communicator of the first copy. */
static int open_engines(const struct bench_plan *plan, const size_t bytes[2], char *why, size_t size)
{
    struct bench_nccl *n = &copies[BENCH_NCCL_ENGINES];
    int version = 0;
    *n = copies[BENCH_NCCL_USUAL];
    n->comm = NULL;
    n->window[0] = n->window[1] = NULL;
    n->GetVersion(&version);
    snprintf(why, size, "this NCCL does not use copy engines (2.28 and newer do)");
    return bench_all_agree(version >= CONFIG_VERSION && n->CommInitRankConfig) && make_comm(plan, n, why, size) &&
           use_windows(n, bytes, why, size);
}

unsigned bench_nccl_symmetric(const struct bench_plan *plan, unsigned wanted, const size_t bytes[2], void **in,
                              void **out, char *why, size_t size)
{
    unsigned can = 1u << BENCH_NCCL_USUAL;
    snprintf(why, size, "another rank cannot use symmetric memory");
    if (!bench_all_agree(nccl_allocate(bytes, why, size)) || !use_windows(&copies[BENCH_NCCL_USUAL], bytes, why, size))
        return 0;
    *in = symmetric[0];
    *out = symmetric[1];
    if (wanted >> BENCH_NCCL_32_CTAS & 1 && open_32_ctas(plan, bytes, why, size))
        can |= 1u << BENCH_NCCL_32_CTAS;
    if (wanted >> BENCH_NCCL_ENGINES & 1 && open_engines(plan, bytes, why, size))
        can |= 1u << BENCH_NCCL_ENGINES;
    return can;
}

void bench_nccl_must(int error, const char *call)
{
    if (error)
        bench_fail("%s: %s", call, copies[BENCH_NCCL_USUAL].GetErrorString(error));
}

void bench_nccl_close(void)
{
    for (int c = BENCH_NCCL_COPIES; c-- > 0;) {
        struct bench_nccl *n = &copies[c];
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
    const int used = snprintf(text, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    const int each = (int)tutti_settings()->node_ranks;
    if (each > 0 && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ", NCCL_NET=%s between nodes of %d rank%s", getenv("NCCL_NET"), each,
                 each == 1 ? "" : "s");
}
