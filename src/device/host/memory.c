/* Memory of the host device: one memfd an allocation, shared with other processes by its descriptor. Small ones that no
 * process has asked for are used again (arena.h). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/counters.h"
#include "core/log.h"
#include "core/ordinary.h"
#include "core/settings.h"
#include "core/stack.h"
#include "core/status.h"
#include "device/host/asked.h"
#include "device/host/gpus.h"
#include "device/host/host.h"
#include "device/host/imports.h"

enum {
    POISON = 0xa5,
    ALIGNMENT = 4096,
    LOOK = 64 << 20,
    CARD_AT = 16,
    OFFSET_AT = 24
}; /* in the token: card of an export's GPU, where its memory begins in the file */

/* Free memory in bytes. fallocate would continue until the machine has no memory left. */
static size_t memory_available(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long kilobytes = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemAvailable: %llu", &kilobytes) == 1)
            break;
    }
    if (!file)
        return SIZE_MAX;
    fclose(file);
    return kilobytes ? (size_t)kilobytes << 10 : SIZE_MAX;
}

int tutti_host_memory(size_t bytes, int later, int *out)
{
    int failed, fd = memfd_create("tutti-device", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return TUTTI_ERR_SYSTEM;
    failed = ftruncate(fd, (off_t)bytes) != 0;
    while (!failed && !later && fallocate(fd, 0, 0, (off_t)bytes) != 0)
        failed = errno != EINTR; /* a signal of the program undoes it */
    failed = failed || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0;
    if (failed) {
        int status = errno == ENOSPC || errno == ENOMEM || errno == EFBIG ? TUTTI_ERR_MEMORY : TUTTI_ERR_SYSTEM;
        close(fd);
        return status;
    }
    *out = fd;
    return TUTTI_OK;
}

void tutti_host_poison(void *device, size_t bytes)
{
    if (!tutti_settings()->host_strict)
        return;
    char *const at = tutti_host_reach(device, bytes);
#ifdef MADV_POPULATE_WRITE /* half the time of a fault for each page; what the system does not do, the faults do */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)at + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)at + bytes) / page * page;
    if (end > first)
        madvise((void *)first, end - first, MADV_POPULATE_WRITE);
#endif
    memset(at, POISON, bytes);
}

int tutti_host_allocate(int gpu, size_t bytes, int how, void **device)
{
    struct tutti_host_region region = {.program = how == TUTTI_HOST_PROGRAMS};
    const int cleared = how == TUTTI_HOST_CLEARED;
    int fd = -1, status = tutti_host_arena_open();
    if (status != TUTTI_OK)
        return status;
    if (gpu < -1 || gpu >= tutti_host_gpus())
        return TUTTI_ERR_ARGUMENT;
    if (!region.program)
        tutti_host_work_on(&gpu, "memory");
    region.gpu = gpu;
    if (bytes == 0)
        bytes = 1;
    if (bytes > tutti_host_arena_most() || (bytes > LOOK && bytes > memory_available())) {
        tutti_error("host device: %zu bytes are more than %s", bytes,
                    bytes > tutti_host_arena_most() ? "TUTTI_HOST_ARENA_GB has room for" : "this machine has");
        return TUTTI_ERR_MEMORY;
    }
    if (tutti_host_region_again(bytes, &region) || tutti_host_region_pooled(bytes, &region)) {
        *device = region.base;
        return TUTTI_OK;
    }
    const size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    status = tutti_host_memory(whole, cleared, &fd);
    if (status != TUTTI_OK && tutti_host_arena_trim())
        status = tutti_host_memory(whole, cleared, &fd);
    if (status == TUTTI_OK)
        status = tutti_host_region_map(fd, 0, bytes, 1, &region);
    if (status != TUTTI_OK) {
        const char *hint = "";
        if (status == TUTTI_ERR_SYSTEM)
            hint = " (is the limit of open files reached? each allocation takes one)";
        else if (fd >= 0)
            hint = tutti_host_arena_has(bytes)
                       ? " (is vm.max_map_count reached? each allocation takes up to four mappings)"
                       : " (a larger TUTTI_HOST_ARENA_GB may help)";
        tutti_error("host device: %zu bytes could not be allocated: %s%s", bytes, tutti_status_text(status), hint);
        if (fd >= 0)
            close(fd);
        return status;
    }
    if (!cleared)
        tutti_host_poison(region.base, bytes);
    *device = region.base;
    return TUTTI_OK;
}

int tutti_host_alloc(int gpu, size_t bytes, void **device)
{
    enum { LARGE = 1 << 20 };
    if (bytes >= LARGE && tutti_settings()->host_mapping_us > 0)
        usleep((useconds_t)tutti_settings()->host_mapping_us);
    return tutti_host_allocate(gpu, bytes, TUTTI_HOST_TUTTIS, device);
}

int tutti_host_alloc_cleared(int gpu, size_t bytes, void **device)
{
    return tutti_host_allocate(gpu, bytes, TUTTI_HOST_CLEARED, device);
}

int tutti_host_free(void *device)
{
    if (tutti_host_forked())
        return TUTTI_ERR_UNAVAILABLE;
    struct tutti_host_region region;
    if (tutti_host_region_find(device, &region) && region.program)
        tutti_host_violation(region.gpu, "free of %p, which is the program's", device);
    int status = device ? tutti_host_region_unmap(device, 1) : TUTTI_OK;
    if (status != TUTTI_OK && tutti_host_was_reset())
        return TUTTI_OK; /* it went with its context */
    if (status != TUTTI_OK)
        tutti_error("host device: free of %p, which is not the start of an allocation", device);
    return status;
}

/* The allocation, or the piece of a range, that holds the address. */
static int memory_find(const void *pointer, struct tutti_host_region *out)
{
    return tutti_host_region_find(pointer, out) &&
           (out->own != TUTTI_HOST_RANGE || tutti_host_range_find(pointer, out));
}

/* Host memory of alloc_pinned() and map_host(): kernels reach it, and no other host memory. */
struct pinned {
    struct pinned *next;
    char *base;
    size_t bytes;
};
static struct pinned *all_pinned;
static pthread_mutex_t pinned_lock = PTHREAD_MUTEX_INITIALIZER;

static int pinned_add(void *base, size_t bytes)
{
    struct pinned *pinned = malloc(sizeof *pinned);
    if (!pinned)
        return 0;
    pthread_mutex_lock(&pinned_lock);
    *pinned = (struct pinned){all_pinned, base, bytes};
    all_pinned = pinned;
    pthread_mutex_unlock(&pinned_lock);
    tutti_ordinary_forget(base, bytes);
    return 1;
}

static void pinned_remove(const void *base)
{
    struct pinned **at = &all_pinned, *pinned;
    pthread_mutex_lock(&pinned_lock);
    while (*at && (*at)->base != base)
        at = &(*at)->next;
    if ((pinned = *at) != NULL)
        *at = pinned->next;
    pthread_mutex_unlock(&pinned_lock);
    free(pinned);
}

static int is_pinned(const void *pointer)
{
    const uintptr_t at = (uintptr_t)pointer;
    pthread_mutex_lock(&pinned_lock);
    const struct pinned *pinned = all_pinned;
    while (pinned && at - (uintptr_t)pinned->base >= pinned->bytes)
        pinned = pinned->next;
    pthread_mutex_unlock(&pinned_lock);
    return pinned != NULL;
}

void tutti_host_classify(const void *pointer, struct tutti_memory *out)
{
    struct tutti_host_region region;
    *out = (struct tutti_memory){.kind = TUTTI_MEMORY_HOST, .gpu = -1};
    if (tutti_stack_holds(pointer) || tutti_ordinary_holds(pointer))
        return;
    tutti_count("GPU driver", TUTTI_OUTCOME_ASKED, "what memory is");
    tutti_host_asked_pass();
    if (!memory_find(pointer, &region)) {
        if (is_pinned(pointer))
            out->kind = TUTTI_MEMORY_PINNED;
        else
            tutti_ordinary_note(pointer);
        return;
    }
    tutti_host_look();
    out->kind = TUTTI_MEMORY_DEVICE;
    out->id = region.id;
    out->base = region.base;
    out->bytes = region.bytes;
    if (!tutti_host_separate())
        return;
    out->gpu = region.gpu;
    if (region.program)
        tutti_host_pass(region.gpu);
}

int tutti_host_alloc_pinned(size_t bytes, void **host)
{
    void *at = NULL;
    tutti_host_work_on_any("pinned host memory");
    if (posix_memalign(&at, ALIGNMENT, bytes ? bytes : 1) != 0)
        return TUTTI_ERR_MEMORY;
    if (!pinned_add(at, bytes ? bytes : 1)) {
        free(at);
        return TUTTI_ERR_MEMORY;
    }
    *host = at;
    return TUTTI_OK;
}

int tutti_host_free_pinned(void *host)
{
    pinned_remove(host);
    free(host);
    return TUTTI_OK;
}

/* Host memory that GPUs have mapped. The mapping ends with the GPU that made it, for other GPUs too. */
struct host_mapping {
    struct host_mapping *next;
    const void *host;
    int gpu, uses;
    unsigned life; /* of the GPU */
};
static struct host_mapping *host_mappings;
static pthread_mutex_t host_mappings_lock = PTHREAD_MUTEX_INITIALIZER;

static struct host_mapping **host_mapping_find(const void *host)
{
    struct host_mapping **at = &host_mappings;
    while (*at && (*at)->host != host)
        at = &(*at)->next;
    return at;
}

static int host_mapping_add(int gpu, const void *host)
{
    struct host_mapping **at = host_mapping_find(host), *mapping = *at;
    if (mapping && mapping->life == tutti_host_life(mapping->gpu)) {
        mapping->uses++;
        if (mapping->gpu != gpu)
            tutti_host_violation(gpu, "mapped host memory on GPU %d at %p, which GPU %d has mapped: a reset ends both",
                                 gpu, host, mapping->gpu);
        return TUTTI_OK;
    }
    if (!mapping && !(mapping = calloc(1, sizeof *mapping)))
        return TUTTI_ERR_MEMORY;
    if (!*at)
        *at = mapping;
    mapping->host = host;
    mapping->gpu = gpu;
    mapping->uses = 1;
    mapping->life = tutti_host_life(gpu);
    /* cppcheck-suppress memleak ; it is in the list */
    return TUTTI_OK;
}

int tutti_host_map_host(int gpu, void *host, size_t bytes, void **device)
{
    if (gpu < 0)
        tutti_host_work_on_any("mapped host memory");
    else
        tutti_host_work_on(&gpu, "mapped host memory");
    *device = host;
    if (!pinned_add(host, bytes))
        return TUTTI_ERR_MEMORY;
    if (gpu < 0 || !tutti_host_separate())
        return TUTTI_OK;
    pthread_mutex_lock(&host_mappings_lock);
    const int status = host_mapping_add(gpu, host);
    pthread_mutex_unlock(&host_mappings_lock);
    return status;
}

int tutti_host_unmap_host(int gpu, void *host)
{
    (void)gpu;
    pinned_remove(host);
    pthread_mutex_lock(&host_mappings_lock);
    struct host_mapping **at = host_mapping_find(host), *mapping = *at;
    if (mapping && --mapping->uses == 0) {
        *at = mapping->next;
        free(mapping);
    }
    pthread_mutex_unlock(&host_mappings_lock);
    return TUTTI_OK;
}

/* The token names the process's memory at random, so that ids of two processes never look alike. */
static uint64_t process_nonce(void)
{
    static uint64_t nonce;
    uint64_t now = __atomic_load_n(&nonce, __ATOMIC_ACQUIRE);
    if (now != 0)
        return now;
    uint64_t fresh = 0, none = 0;
    if (getrandom(&fresh, sizeof fresh, 0) != (ssize_t)sizeof fresh || fresh == 0)
        fresh = (uint64_t)getpid() << 32 | 1;
    return __atomic_compare_exchange_n(&nonce, &none, fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? fresh : none;
}

int tutti_host_export(const void *device, struct tutti_export *out, int *fd)
{
    struct tutti_host_region region;
    tutti_count("GPU driver", TUTTI_OUTCOME_ASKED, "how memory is shared");
    if (!memory_find(device, &region) || !region.own)
        return TUTTI_ERR_NOT_EXPORTABLE;
    const int piece = region.span == 0; /* of a range, which is never kept */
    if (!piece && !tutti_host_region_share(&region))
        return TUTTI_ERR_NOT_EXPORTABLE;
    int copy = fcntl(region.fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return TUTTI_ERR_SYSTEM;
    *out = (struct tutti_export){
        .id = region.id, .base = (uint64_t)(uintptr_t)region.base, .bytes = region.bytes, .needs_fd = 1};
    uint64_t nonce = process_nonce();
    memcpy(out->token, &nonce, sizeof nonce);
    memcpy(out->token + sizeof nonce, &region.id, sizeof region.id);
    const int card = tutti_host_separate() ? tutti_host_card(region.gpu) : 0;
    memcpy(out->token + CARD_AT, &card, sizeof card);
    const uint64_t offset = tutti_host_region_offset(&region);
    memcpy(out->token + OFFSET_AT, &offset, sizeof offset);
    *fd = copy;
    return TUTTI_OK;
}

int tutti_host_is_own(const struct tutti_export *what)
{
    uint64_t owner;
    memcpy(&owner, what->token, sizeof owner);
    return owner == process_nonce();
}

/* The descriptor comes from another process: nothing about it is believed. */
int tutti_host_check_import(const struct tutti_export *what, int fd)
{
    struct stat about;
    uint64_t offset;
    memcpy(&offset, what->token + OFFSET_AT, sizeof offset);
    if (fd < 0 || fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size < 0 || what->bytes == 0 ||
        (uint64_t)about.st_size < offset || (uint64_t)about.st_size - offset < what->bytes) {
        tutti_error("host device: a peer's descriptor does not hold the %llu bytes that it names",
                    (unsigned long long)what->bytes);
        return TUTTI_ERR_ARGUMENT;
    }
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK)) {
        tutti_error("host device: a peer's memory is not sealed against shrinking");
        return TUTTI_ERR_ARGUMENT;
    }
    return TUTTI_OK;
}

static int can_map(int gpu, int card)
{
    if (card >= 0 && card < TUTTI_HOST_GPUS_MOST && tutti_host_linked(tutti_host_card(gpu), card))
        return 1;
    tutti_info("host device: GPU %d cannot map memory of card %d: no link joins them", gpu, card);
    return 0;
}

int tutti_host_import(int gpu, const struct tutti_export *what, int fd, void **base)
{
    struct tutti_host_region region = {.gpu = -1};
    uint64_t offset;
    int card, status = tutti_host_check_import(what, fd);
    memcpy(&card, what->token + CARD_AT, sizeof card);
    memcpy(&offset, what->token + OFFSET_AT, sizeof offset);
    tutti_host_work_on(&gpu, "a peer's memory");
    region.gpu = gpu;
    if (status == TUTTI_OK && tutti_host_separate() && !can_map(gpu, card))
        status = TUTTI_ERR_DEVICE;
    if (status == TUTTI_OK && !tutti_host_import_can(gpu, what))
        status = TUTTI_ERR_UNAVAILABLE;
    static atomic_int joined;
    const int us = tutti_settings()->host_mapping_us, again = tutti_settings()->host_joined_us;
    if (us > 0)
        usleep((useconds_t)(atomic_exchange(&joined, 1) && again > 0 ? again : us));
    if (status == TUTTI_OK)
        status = tutti_host_region_map(fd, offset, what->bytes, 0, &region);
    if (status == TUTTI_OK) {
        tutti_host_import_add(gpu, what, region.base);
        *base = region.base;
    }
    return status;
}

int tutti_host_release(int gpu, const struct tutti_export *what, void *base)
{
    (void)gpu;
    (void)what;
    tutti_host_import_end(base);
    const int status = tutti_host_region_unmap(base, 0);
    return status != TUTTI_OK && tutti_host_was_reset() ? TUTTI_OK : status;
}

int tutti_host_reach_memory(int gpu, const void *device)
{
    struct tutti_host_region region;
    if (!memory_find(device, &region))
        return TUTTI_ERR_ARGUMENT;
    if (!tutti_host_separate() || region.gpu == gpu)
        return TUTTI_OK;
    tutti_host_work_on(&gpu, "access to another GPU's memory");
    return tutti_host_enable(gpu, region.gpu) ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE;
}
