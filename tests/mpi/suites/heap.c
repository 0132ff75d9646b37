/* Preloaded in front of Tutti under TUTTI_DEVICE=host: the heap of an unmodified program lies in memory of the
 * simulated GPU, so its MPI calls pass device memory. The heaps of the C library, the MPI and Tutti stay in host
 * memory.
 *
 *     LD_PRELOAD=heap.so:libtutti.so TUTTI_DEVICE=host HEAP_PART=70 HEAP_OWN=16384 program
 *
 *   HEAP_LEAST  allocations of fewer bytes stay in host memory (256)
 *   HEAP_PART   percent of the others that lie in device memory, drawn at random (100)
 *   HEAP_OWN    longer allocations are each an allocation of the device; shorter ones share one (none)
 *   HEAP_POOL   bytes of the shared allocation (512 MiB)
 *   HEAP_SEED   start of the draw (0); a rank adds its own number */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { HEADER = 64, CLASSES = 48, OWN_SLOTS = 1 << 16, RANGES = 512 };
enum { CLOSED, OPEN };

/* In front of each allocation in device memory. */
struct block {
    size_t bytes;
    int class;
    struct block *next;
};
_Static_assert(sizeof(struct block) <= HEADER, "an allocation stays aligned to 64 bytes");

/* Code of the program or of one of its libraries. */
struct range {
    uintptr_t from, to;
    int ours; /* its allocations may lie in device memory */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int inside __attribute__((tls_model("initial-exec")));
static atomic_int state;
static char *pool, *pool_at, *pool_end;
static struct block *spare[CLASSES];
static void *own[OWN_SLOTS]; /* blocks from HEAP_OWN bytes on, by their address; TOMBSTONE: freed */
static char TOMBSTONE[1];
static struct range ranges[RANGES];
static atomic_int number_of_ranges;
static size_t least = 256, own_from = SIZE_MAX, pool_bytes = (size_t)512 << 20, part = 100, seed;
static atomic_uint draws;
static atomic_ulong in_pool, in_own, in_host;
static int (*alloc_mem)(ptrdiff_t, void *, void *), (*free_mem)(void *);
static void *info_null;

static void *find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static void number(const char *name, size_t *value)
{
    const char *text = getenv(name);
    if (text)
        *value = strtoull(text, NULL, 0);
}

static int add_range(struct dl_phdr_info *object, size_t bytes, void *unused)
{
    static const char *const theirs[] = {"libc.so",    "ld-linux",   "libmpi",   "libopen-", "mca_",       "libmca",
                                         "libompi",    "libtutti",   "libpmi",   "libevent", "libhwloc",   "libuc",
                                         "libfabric",  "libpthread", "libdl",    "heap.so",  "linux-vdso", "libpsm",
                                         "libibverbs", "librdmacm",  "libxpmem", "libz",     "libudev",    "libmunge"};
    (void)bytes, (void)unused;
    int n = atomic_load(&number_of_ranges), ours = 1;
    const char *name = strrchr(object->dlpi_name, '/');
    name = name ? name + 1 : object->dlpi_name;
    for (size_t i = 0; i < sizeof(theirs) / sizeof(*theirs); i++)
        if (strncmp(name, theirs[i], strlen(theirs[i])) == 0)
            ours = 0;
    for (int i = 0; i < object->dlpi_phnum && n < RANGES; i++) {
        if (object->dlpi_phdr[i].p_type != PT_LOAD || !(object->dlpi_phdr[i].p_flags & PF_X))
            continue;
        const uintptr_t from = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
        int known = 0;
        for (int k = 0; k < n; k++)
            known |= ranges[k].from == from;
        if (!known)
            ranges[n++] = (struct range){from, from + object->dlpi_phdr[i].p_memsz, ours};
    }
    atomic_store(&number_of_ranges, n);
    return 0;
}

/* Whether the caller's allocations may lie in device memory. Libraries that were loaded since are added once. */
static int is_ours(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    for (int again = 0; again < 2; again++) {
        const int n = atomic_load(&number_of_ranges);
        for (int i = 0; i < n; i++)
            if (at >= ranges[i].from && at < ranges[i].to)
                return ranges[i].ours;
        pthread_mutex_lock(&lock);
        inside++;
        dl_iterate_phdr(add_range, NULL);
        inside--;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

static void *device_memory(size_t bytes)
{
    void *at = NULL;
    inside++;
    if (alloc_mem((ptrdiff_t)bytes, info_null, &at) != 0)
        at = NULL;
    inside--;
    return at;
}

/* After MPI_Init. */
static void open_heap(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    inside++;
    number("HEAP_LEAST", &least), number("HEAP_PART", &part), number("HEAP_OWN", &own_from),
        number("HEAP_POOL", &pool_bytes), number("HEAP_SEED", &seed);
    seed += rank ? 7919 * strtoul(rank, NULL, 0) : 0;
    *(void **)&alloc_mem = find("MPI_Alloc_mem");
    *(void **)&free_mem = find("MPI_Free_mem");
    info_null = find("ompi_mpi_info_null") ? find("ompi_mpi_info_null") : (void *)(intptr_t)0x1c000000; /* MPICH */
    inside--;
    pool = alloc_mem && free_mem ? device_memory(pool_bytes) : NULL;
    if (pool) {
        pool_at = pool, pool_end = pool + pool_bytes;
        atomic_store(&state, OPEN);
    }
}

static void close_heap(void)
{
    if (atomic_exchange(&state, CLOSED) == OPEN)
        fprintf(stderr, "heap: %lu in the pool, %lu of their own, %lu drawn for host memory\n", in_pool, in_own,
                in_host);
}

static size_t slot_of(const void *at)
{
    return ((uintptr_t)at >> 6) * 2654435761u % OWN_SLOTS;
}

/* Where a block is (AT is the block), or where it can be put (AT is NULL). NULL: none within half of the slots. The
 * caller holds the lock. */
static void **own_slot(const void *block, const void *at)
{
    size_t slot = slot_of(block);
    for (size_t seen = 0; seen < OWN_SLOTS / 2; seen++, slot = (slot + 1) % OWN_SLOTS) {
        if (own[slot] == at || (!at && own[slot] == TOMBSTONE))
            return &own[slot];
        if (!own[slot])
            return NULL;
    }
    return NULL;
}

static struct block *own_block(size_t bytes)
{
    struct block *b = device_memory(bytes + HEADER);
    if (!b)
        return NULL;
    pthread_mutex_lock(&lock);
    void **slot = own_slot(b, NULL);
    if (slot)
        *slot = b;
    pthread_mutex_unlock(&lock);
    if (slot)
        return atomic_fetch_add(&in_own, 1), b;
    inside++;
    free_mem(b);
    inside--;
    return NULL;
}

static struct block *pool_block(size_t bytes)
{
    int class = 0;
    while (class < CLASSES && (size_t)64 << class < bytes)
        class ++;
    const size_t room = ((size_t)64 << class) + HEADER;
    pthread_mutex_lock(&lock);
    struct block *b = spare[class];
    if (b)
        spare[class] = b->next;
    else if ((size_t)(pool_end - pool_at) >= room)
        b = (struct block *)pool_at, pool_at += room;
    pthread_mutex_unlock(&lock);
    if (b)
        b->class = class, atomic_fetch_add(&in_pool, 1);
    return b;
}

static void *take(size_t bytes, const void *caller)
{
    if (atomic_load(&state) != OPEN || inside || bytes < least || bytes >= (size_t)1 << 46 || !is_ours(caller))
        return NULL;
    uint32_t x = (uint32_t)(atomic_fetch_add(&draws, 1) + seed) * 2654435761u;
    x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
    if (x % 100 >= part)
        return atomic_fetch_add(&in_host, 1), NULL;
    struct block *b = bytes >= own_from ? own_block(bytes) : pool_block(bytes);
    if (!b)
        return NULL;
    b->bytes = bytes;
    return (char *)b + HEADER;
}

static int in_the_pool(const void *at)
{
    return pool && (const char *)at >= pool && (const char *)at < pool_end;
}

/* The block of an address that take() has returned; NULL: it is host memory. */
static struct block *block_of(void *at)
{
    struct block *b = at ? (struct block *)((char *)at - HEADER) : NULL;
    if (!b || in_the_pool(at) || own_from == SIZE_MAX || !pool)
        return in_the_pool(at) ? b : NULL;
    pthread_mutex_lock(&lock);
    const int known = own_slot(b, b) != NULL;
    pthread_mutex_unlock(&lock);
    return known ? b : NULL;
}

static void give(struct block *b)
{
    pthread_mutex_lock(&lock);
    if (in_the_pool(b)) {
        b->next = spare[b->class];
        spare[b->class] = b;
        pthread_mutex_unlock(&lock);
        return;
    }
    *own_slot(b, b) = TOMBSTONE;
    pthread_mutex_unlock(&lock);
    if (atomic_load(&state) != OPEN)
        return;
    inside++;
    free_mem(b);
    inside--;
}

void *malloc(size_t bytes)
{
    void *at = take(bytes, __builtin_return_address(0));
    return at ? at : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    size_t all;
    if (__builtin_mul_overflow(n, bytes, &all))
        return errno = ENOMEM, NULL;
    void *at = take(all, __builtin_return_address(0));
    return at ? memset(at, 0, all) : __libc_calloc(n, bytes);
}

void free(void *at)
{
    struct block *b = block_of(at);
    if (b)
        give(b);
    else
        __libc_free(at);
}

void *realloc(void *at, size_t bytes)
{
    struct block *b = block_of(at);
    if (at && !b)
        return __libc_realloc(at, bytes);
    if (b && bytes == 0)
        return give(b), NULL;
    void *new = take(bytes, __builtin_return_address(0));
    if (!new)
        new = __libc_malloc(bytes);
    if (new &&b)
        memcpy(new, at, b->bytes < bytes ? b->bytes : bytes), give(b);
    return new;
}

static void *aligned(size_t align, size_t bytes, const void *caller)
{
    void *at = align <= HEADER ? take(bytes, caller) : NULL;
    return at ? at : __libc_memalign(align, bytes);
}

void *memalign(size_t align, size_t bytes)
{
    return aligned(align, bytes, __builtin_return_address(0));
}
void *aligned_alloc(size_t align, size_t bytes)
{
    return aligned(align, bytes, __builtin_return_address(0));
}

int posix_memalign(void **at, size_t align, size_t bytes)
{
    void *new = aligned(align, bytes, __builtin_return_address(0));
    return new ? *at = new, 0 : ENOMEM;
}

size_t malloc_usable_size(void *at)
{
    struct block *b = block_of(at);
    size_t (*next)(void *);
    if (b)
        return b->bytes;
    *(void **)&next = dlsym(RTLD_NEXT, "malloc_usable_size");
    return next(at);
}

/* The heap is open from the end of MPI_Init to the beginning of MPI_Finalize. */
int MPI_Init(int *argc, char ***argv)
{
    int (*next)(int *, char ***);
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Init");
    inside++;
    const int error = next(argc, argv);
    inside--;
    open_heap();
    return error;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*next)(int *, char ***, int, int *);
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Init_thread");
    inside++;
    const int error = next(argc, argv, required, provided);
    inside--;
    open_heap();
    return error;
}

int MPI_Finalize(void)
{
    int (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Finalize");
    close_heap();
    inside++;
    const int error = next();
    inside--;
    return error;
}

/* Fortran: libmpi_mpifh calls PMPI_Init, or MPI_Init above. */
void mpi_init_(int *error)
{
    void (*next)(int *);
    *(void **)&next = dlsym(RTLD_NEXT, "mpi_init_");
    inside++;
    next(error);
    inside--;
    if (atomic_load(&state) != OPEN)
        open_heap();
}

void mpi_init_thread_(int *required, int *provided, int *error)
{
    void (*next)(int *, int *, int *);
    *(void **)&next = dlsym(RTLD_NEXT, "mpi_init_thread_");
    inside++;
    next(required, provided, error);
    inside--;
    if (atomic_load(&state) != OPEN)
        open_heap();
}

void mpi_finalize_(int *error)
{
    void (*next)(int *);
    *(void **)&next = dlsym(RTLD_NEXT, "mpi_finalize_");
    close_heap();
    inside++;
    next(error);
    inside--;
}
