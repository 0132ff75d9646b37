/* Public copies, in host memory, of windows in device memory: MPI_WIN_SEPARATE of the standard. The real window is
 * made of the public copies, so that the MPI does all operations. When the owner synchronises the two copies, bytes
 * that have changed in one since the last time go to the other; `last` holds what both had then. So stores of the owner
 * and operations of other ranks may go to different bytes of a window at the same time, and unchanged bytes are never
 * written. */
#include <stdlib.h>
#include <string.h>

#include "dtype/places.h"
#include "mpi/real/door.h"
#include "mpi/rma/windows.h"

enum {
    BLOCK = 4096,   /* bytes that are compared at once */
    LOOK = 4 << 20, /* bytes of device memory that are copied to the host at once */
    RUNS = 4096,    /* runs of changed bytes that go to device memory at once */
    BY_COPIES = 4,  /* up to so many runs by a copy each */
    WINDOW_ALIGN = 4096
};

struct run {
    size_t at, bytes;
};

struct tutti_shadow {
    char *device;
    size_t bytes;
    char *public; /* the MPI reads and writes it at any time */
    char *last;
    struct run *run; /* that the public copy has changed */
    size_t runs, changed;
    struct tutti_shadow *next;
};

/* Of lists and their copies, by the address of the list: calls for several windows rarely wait for each other. Nothing
 * waits for a rank inside. */
enum { LOCKS = 8 };
static pthread_mutex_t locks[LOCKS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                       PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                       PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t *shadow_lock_of(struct tutti_shadow *const *list)
{
    const uint64_t mixed = (uint64_t)(uintptr_t)list * UINT64_C(0x9e3779b97f4a7c15);
    return &locks[mixed >> 32 & (LOCKS - 1)];
}

static char *shadow_copy_take(size_t bytes)
{
    void *memory = NULL;
    return posix_memalign(&memory, WINDOW_ALIGN, bytes) == 0 ? memory : NULL;
}

void tutti_shadow_close(struct tutti_shadow *list)
{
    while (list) {
        struct tutti_shadow *shadow = list;
        list = shadow->next;
        free(shadow->public);
        free(shadow->last);
        free(shadow->run);
        free(shadow);
    }
}

int tutti_shadow_open(struct tutti_shadow **list, void *device, size_t bytes)
{
    struct tutti_shadow *shadow = calloc(1, sizeof *shadow);
    if (!shadow)
        return TUTTI_ERR_MEMORY;
    shadow->device = device;
    shadow->bytes = bytes;
    shadow->public = shadow_copy_take(bytes);
    shadow->last = shadow_copy_take(bytes);
    shadow->run = malloc(RUNS * sizeof *shadow->run);
    int status = shadow->public && shadow->last && shadow->run ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        status = tutti_door.device->memory.copy_now(shadow->public, device, bytes);
    if (status != TUTTI_OK) {
        tutti_shadow_close(shadow);
        return status;
    }
    memcpy(shadow->last, shadow->public, bytes);
    pthread_mutex_lock(shadow_lock_of(list));
    shadow->next = *list;
    *list = shadow;
    pthread_mutex_unlock(shadow_lock_of(list));
    return TUTTI_OK;
}

struct tutti_shadow *tutti_shadow_take(struct tutti_shadow **list, const void *device)
{
    pthread_mutex_t *const lock = shadow_lock_of(list);
    pthread_mutex_lock(lock);
    while (*list && (*list)->device != device)
        list = &(*list)->next;
    struct tutti_shadow *shadow = *list;
    if (shadow) {
        *list = shadow->next;
        shadow->next = NULL;
    }
    pthread_mutex_unlock(lock);
    return shadow;
}

void *tutti_shadow_memory(const struct tutti_shadow *list)
{
    return list->public;
}

/* Many runs by one kernel: packed one behind the other, and unpacked by a type of their places. */
static int shadow_runs_by_kernel(struct tutti_shadow *shadow)
{
    static const struct tutti_description byte = {.form = TUTTI_FORM_BYTES, .bytes = 1};
    static const struct tutti_description *const bytes = &byte;
    uint64_t lengths[RUNS];
    int64_t offsets[RUNS];
    const struct tutti_plan *plan;
    struct tutti_places places;
    struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, shadow->changed);
    size_t at = 0;
    if (!bounce)
        return TUTTI_ERR_MEMORY;
    for (size_t i = 0; i < shadow->runs; i++) {
        lengths[i] = shadow->run[i].bytes;
        offsets[i] = (int64_t)shadow->run[i].at;
        memcpy((char *)bounce->memory + at, shadow->last + shadow->run[i].at, shadow->run[i].bytes);
        at += shadow->run[i].bytes;
    }
    const struct tutti_description what = {.form = TUTTI_FORM_INDEXED,
                                           .children = 1,
                                           .child = &bytes,
                                           .count = shadow->runs,
                                           .lengths = lengths,
                                           .offsets = offsets};
    int status = tutti_plan_build(&what, &plan);
    if (status == TUTTI_OK) {
        tutti_places_of(plan, 1, shadow->device, &places);
        status = tutti_packed_move(TUTTI_UNPACK, &places, plan, 1, shadow->device, 0, at, bounce->memory);
        tutti_plan_drop(plan);
    }
    tutti_bounce_give(bounce);
    return status;
}

/* What the public copy has changed goes to device memory. */
static int shadow_runs_out(struct tutti_shadow *shadow)
{
    int status = TUTTI_OK;
    if (shadow->runs > BY_COPIES) {
        status = shadow_runs_by_kernel(shadow);
    } else {
        for (size_t i = 0; i < shadow->runs && status == TUTTI_OK; i++)
            status = tutti_door.device->memory.copy_now(shadow->device + shadow->run[i].at,
                                                        shadow->last + shadow->run[i].at, shadow->run[i].bytes);
    }
    shadow->runs = shadow->changed = 0;
    return status;
}

static int shadow_run_add(struct tutti_shadow *shadow, size_t at)
{
    int status = TUTTI_OK;
    struct run *run = shadow->runs > 0 ? &shadow->run[shadow->runs - 1] : NULL;
    if (run && run->at + run->bytes == at) {
        run->bytes++;
    } else {
        if (shadow->runs == RUNS)
            status = shadow_runs_out(shadow);
        shadow->run[shadow->runs++] = (struct run){at, 1};
    }
    shadow->changed++;
    return status;
}

/* The bytes of one block; private: what device memory holds. The public copy is read once: another rank's operation may
 * change it meanwhile. */
static int shadow_match_block(struct tutti_shadow *shadow, size_t first, size_t n, const char *private)
{
    char now[BLOCK], *const public = shadow->public + first, *const last = shadow->last + first;
    int status = TUTTI_OK;
    memcpy(now, public, n);
    if (memcmp(now, last, n) == 0 && memcmp(private, last, n) == 0)
        return TUTTI_OK;
    for (size_t i = 0; i < n && status == TUTTI_OK; i++) {
        if (now[i] != last[i]) {
            last[i] = now[i];
            status = shadow_run_add(shadow, first + i);
        } else if (private[i] != last[i]) {
            last[i] = public[i] = private[i];
        }
    }
    return status;
}

static int shadow_match_piece(struct tutti_shadow *shadow, size_t first, size_t n, char *private)
{
    int status = tutti_door.device->memory.copy_now(private, shadow->device + first, n);
    for (size_t at = 0; at < n && status == TUTTI_OK; at += BLOCK)
        status = shadow_match_block(shadow, first + at, n - at < BLOCK ? n - at : BLOCK, private + at);
    return status == TUTTI_OK && shadow->runs > 0 ? shadow_runs_out(shadow) : status;
}

/* The lock is held. */
static int shadow_match_one(struct tutti_shadow *shadow)
{
    const size_t piece = shadow->bytes < LOOK ? shadow->bytes : LOOK;
    struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, piece);
    int status = bounce ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (size_t at = 0; at < shadow->bytes && status == TUTTI_OK; at += piece)
        status =
            shadow_match_piece(shadow, at, shadow->bytes - at < piece ? shadow->bytes - at : piece, bounce->memory);
    tutti_bounce_give(bounce);
    return status;
}

static int shadow_match_all(struct tutti_shadow **list, int checks)
{
    int status = TUTTI_OK;
    pthread_mutex_lock(shadow_lock_of(list));
    for (struct tutti_shadow *shadow = *list; shadow && status == TUTTI_OK; shadow = shadow->next)
        status = checks && !tutti_on_device(shadow->device) ? TUTTI_OK : shadow_match_one(shadow);
    pthread_mutex_unlock(shadow_lock_of(list));
    return status;
}

int tutti_shadow_match(struct tutti_shadow **list)
{
    return shadow_match_all(list, 0);
}

int tutti_shadow_end(struct tutti_shadow **list)
{
    return shadow_match_all(list, 1);
}
