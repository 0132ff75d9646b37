/* Device memory of sequences: one allocation, or with TUTTI_TEST_LIVES one for each place of communicators, which this
 * rank frees and allocates again while its other streams and its peers' are at work. On CUDA such memory is of every
 * kind that a program may have. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_graph.h"
#include "device/host/program.h"
#include "sequences.h"
#include "tutti/tutti.h"

enum kind { OF_TUTTI, OF_PROGRAM, OF_POOL, OF_RANGE, KINDS };

static struct home {
    enum kind kind;
    char *at;
    size_t bytes;
} homes[SEQ_SLOTS];
static size_t home_bytes;
static long lives, same; /* allocations behind the first ones, and those at the address of the one before */
static char *kept;       /* host */

#define FINE(call)                                                                                                     \
    do {                                                                                                               \
        int status_ = (call);                                                                                          \
        if (!CHECK(status_ == 0, "%s: %d", #call, status_))                                                            \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
    } while (0)

int seq_lives(void)
{
    return (int)check_setting("TUTTI_TEST_LIVES", 0);
}

/* How many kinds of memory are drawn. */
static unsigned kinds_drawn(void)
{
    const int kinds = seq_graphs() ? KINDS : OF_PROGRAM + 1;
    return (unsigned)(seq_lives() < kinds ? seq_lives() : kinds);
}

/* ---- CUDA's kinds, as cuda.h has them ---- */

typedef unsigned long long address;
static struct driver {
    int (*Alloc)(address *at, size_t bytes);
    int (*Free)(address at);
    int (*PoolCreate)(void **pool, const void *prop);
    int (*PoolAlloc)(address *at, size_t bytes, void *pool, void *stream);
    int (*PoolFree)(address at, void *stream);
    int (*Granule)(size_t *bytes, const void *prop, int option);
    int (*Create)(address *handle, size_t bytes, const void *prop, address flags);
    int (*Release)(address handle);
    int (*Reserve)(address *at, size_t bytes, size_t align, address wanted, address flags);
    int (*Unreserve)(address at, size_t bytes);
    int (*Map)(address at, size_t bytes, size_t offset, address handle, address flags);
    int (*Unmap)(address at, size_t bytes);
    int (*Access)(address at, size_t bytes, const void *access, size_t n);
    int (*Device)(int *device);
} driver;
static void *pool, *pool_stream;
enum { PINNED = 1, OF_DEVICE = 1, DESCRIPTOR = 1, READ_WRITE = 3, NON_BLOCKING = 1 };

/* CUmemAllocationProp, whose first members CUmemPoolProps has too, and CUmemAccessDesc. */
struct allocation {
    int type, handles, location, device;
    void *none;
    unsigned char rest[72];
};
struct access {
    int location, device, flags;
};

static struct allocation cuda_allocation(void)
{
    struct allocation what = {.type = PINNED, .handles = DESCRIPTOR, .location = OF_DEVICE};
    FINE(driver.Device(&what.device));
    return what;
}

static void cuda_find(void)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    static const struct {
        const char *name;
        size_t at;
    } names[] = {
#define ENTRY(field, name) {name, offsetof(struct driver, field)}
        ENTRY(Alloc, "cuMemAlloc_v2"),
        ENTRY(Free, "cuMemFree_v2"),
        ENTRY(PoolCreate, "cuMemPoolCreate"),
        ENTRY(PoolAlloc, "cuMemAllocFromPoolAsync"),
        ENTRY(PoolFree, "cuMemFreeAsync"),
        ENTRY(Granule, "cuMemGetAllocationGranularity"),
        ENTRY(Create, "cuMemCreate"),
        ENTRY(Release, "cuMemRelease"),
        ENTRY(Reserve, "cuMemAddressReserve"),
        ENTRY(Unreserve, "cuMemAddressFree"),
        ENTRY(Map, "cuMemMap"),
        ENTRY(Unmap, "cuMemUnmap"),
        ENTRY(Access, "cuMemSetAccess"),
        ENTRY(Device, "cuCtxGetDevice"),
#undef ENTRY
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *const entry = library ? dlsym(library, names[i].name) : NULL;
        if (!CHECK(entry != NULL, "the driver lacks %s", names[i].name))
            MPI_Abort(MPI_COMM_WORLD, 1);
        memcpy((char *)&driver + names[i].at, &entry, sizeof entry);
    }
    const struct allocation what = cuda_allocation();
    FINE(driver.PoolCreate(&pool, &what));
    CU(cu.StreamCreate(&pool_stream, NON_BLOCKING));
}

static void range_open(struct home *home)
{
    const struct allocation what = cuda_allocation();
    const struct access access = {OF_DEVICE, what.device, READ_WRITE};
    address at = 0, handle = 0;
    size_t granule = 0;
    FINE(driver.Granule(&granule, &what, 0));
    home->bytes = (home->bytes + granule - 1) / granule * granule;
    FINE(driver.Create(&handle, home->bytes, &what, 0));
    FINE(driver.Reserve(&at, home->bytes, 0, 0, 0));
    FINE(driver.Map(at, home->bytes, 0, handle, 0));
    FINE(driver.Access(at, home->bytes, &access, 1));
    FINE(driver.Release(handle));
    home->at = (char *)(uintptr_t)at;
}

/* ---- homes ---- */

static void home_open(struct home *home, enum kind kind)
{
    void *memory = NULL;
    address at = 0;
    *home = (struct home){.kind = kind, .bytes = home_bytes};
    if (kind == OF_RANGE) {
        range_open(home);
        return;
    }
    if (kind == OF_POOL) {
        FINE(driver.PoolAlloc(&at, home->bytes, pool, pool_stream));
        CU(cu.StreamSynchronize(pool_stream));
    } else if (kind == OF_PROGRAM && seq_graphs()) {
        FINE(driver.Alloc(&at, home->bytes));
    } else if (kind == OF_PROGRAM) {
        FINE(tutti_host_program_alloc(home->bytes, &memory));
    } else {
        FINE(tutti_alloc(home->bytes, &memory));
    }
    home->at = memory ? memory : (char *)(uintptr_t)at;
}

static void home_close(const struct home *home)
{
    const address at = (address)(uintptr_t)home->at;
    if (home->kind == OF_RANGE) {
        FINE(driver.Unmap(at, home->bytes));
        FINE(driver.Unreserve(at, home->bytes));
    } else if (home->kind == OF_POOL) {
        FINE(driver.PoolFree(at, pool_stream));
        CU(cu.StreamSynchronize(pool_stream));
    } else if (home->kind == OF_PROGRAM && seq_graphs()) {
        FINE(driver.Free(at));
    } else if (home->kind == OF_PROGRAM) {
        FINE(tutti_host_program_free(home->at));
    } else {
        FINE(tutti_free(home->at));
    }
}

void seq_memory_open(size_t bytes)
{
    home_bytes = bytes;
    for (int s = 0; s < (seq_lives() ? SEQ_SLOTS : 1); s++)
        home_open(&homes[s], OF_TUTTI);
    if (seq_lives() && seq_graphs())
        cuda_find();
    kept = seq_lives() ? malloc(bytes) : NULL;
}

char *seq_memory_at(int slot)
{
    return homes[seq_lives() ? slot : 0].at;
}

void seq_memory_renew(int slot, size_t used, uint64_t *own)
{
    struct home *const home = &homes[slot];
    const char *const before = home->at;
    const enum kind kind = seq_dice(own, 2) ? home->kind : (enum kind)seq_dice(own, kinds_drawn());
    if (used > 0)
        FINE(tutti_copy(kept, home->at, used));
    home_close(home);
    home_open(home, kind);
    if (used > 0)
        FINE(tutti_copy(home->at, kept, used));
    lives++;
    same += home->at == before;
}

void seq_memory_close(void)
{
    for (int s = 0; s < (seq_lives() ? SEQ_SLOTS : 1); s++)
        home_close(&homes[s]);
    if (seq_lives())
        printf("rank %d: %ld allocations, %ld of them where the one before was\n", kit_rank, lives, same);
    free(kept);
}
