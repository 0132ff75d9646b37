#include "mpi/bounce/early.h"

#include <string.h>

#include "core/counters.h"
#include "core/lives.h"
#include "mpi/type/datatypes.h"

enum {
    RECENT = 64, /* allocations before the newest one of which is known whether messages have named them */
    STAGED = 4   /* allocations whose last message was staged */
};

_Atomic(struct tutti_bounce *) tutti_early_memory;

/* One call at a time holds it: the memory, and all below. The device numbers allocations in the order in which they are
 * made. So the newest id that a message has named, and a bit for each of those before it, show which are new. */
static struct {
    atomic_int taken;
    unsigned life; /* of all GPUs: the memory is pinned for their contexts */
    uint64_t newest, named;
    uint64_t staged[STAGED];
    unsigned next;
    int packs;  /* 1: a second message was packed after a first one that was staged */
    int longer; /* 1: the last one of more than TUTTI_EARLY_MOVED bytes was staged */
} early_state;

static int early_take(void)
{
    return !atomic_load_explicit(&early_state.taken, memory_order_relaxed) &&
           !atomic_exchange_explicit(&early_state.taken, 1, memory_order_acquire);
}

static void early_give(void)
{
    atomic_store_explicit(&early_state.taken, 0, memory_order_release);
}

/* 1 if no message has named the allocation; one has from now on. 0 also for allocations that are too old to say. */
static int is_new(uint64_t id)
{
    if (id > early_state.newest) {
        const uint64_t by = id - early_state.newest;
        early_state.named = (by < RECENT ? early_state.named << by : 0) | 1;
        early_state.newest = id;
        return 1;
    }
    const uint64_t age = early_state.newest - id, bit = age < RECENT ? UINT64_C(1) << age : 0;
    const int before = !bit || (early_state.named & bit) != 0;
    early_state.named |= bit;
    return !before;
}

static uint64_t *find_staged(uint64_t id)
{
    for (int i = 0; i < STAGED; i++) {
        if (early_state.staged[i] == id)
            return &early_state.staged[i];
    }
    return NULL;
}

/* Bytes of an element of a predefined type without gaps; 0: another type. */
static size_t early_size(MPI_Datatype type)
{
    const struct tutti_type_row *const row = tutti_type_find(type);
    if (row)
        return row->type < TUTTI_TYPE_F32_I32 ? tutti_type_size(row->type) : 0;
    const struct tutti_layout *const layout = tutti_layout_of(type); /* such as MPI_CHARACTER */
    return layout && tutti_layout_is_bytes(layout) ? (size_t)layout->size : 0;
}

void tutti_early_try(struct tutti_early *early, const void *buffer, MPI_Count count, MPI_Datatype type, size_t most,
                     const struct tutti_memory *memory)
{
    const char *const from = buffer, *const base = memory->base;
    if (count <= 0 || count > TUTTI_EARLY_SENT || memory->kind != TUTTI_MEMORY_DEVICE || !memory->id || from < base)
        return;
    const size_t bytes = (size_t)count * early_size(type);
    if (bytes == 0 || bytes > most || from + bytes > base + memory->bytes || !early_take())
        return;
    struct tutti_bounce *const to = atomic_load_explicit(&tutti_early_memory, memory_order_relaxed);
    if ((is_new(memory->id) || find_staged(memory->id)) && to && (bytes <= TUTTI_EARLY_MOVED || early_state.longer) &&
        early_state.life == tutti_gpu_life(-1) &&
        tutti_door.device->memory.copy_begin(memory->gpu, to->memory, buffer, bytes, &early->copying) == TUTTI_OK) {
        tutti_count("early copies", TUTTI_OUTCOME_LAUNCHED, "before the way of their message was known");
        early->state = TUTTI_EARLY_BEGUN;
        early->id = memory->id;
        early->bytes = bytes;
        return;
    }
    early_give();
}

int tutti_early_open(struct tutti_early *early, struct tutti_stage *stage, const void *buffer, MPI_Count count,
                     MPI_Datatype type, const struct tutti_there *there)
{
    const int way = TUTTI_STAGE_IN | TUTTI_STAGE_PACKED | TUTTI_STAGE_BRIEF;
    if (early->state == TUTTI_EARLY_NONE)
        return tutti_stage_open_at(stage, buffer, count, type, way, there);
    const size_t size = early_size(type);
    memset(stage, 0, sizeof *stage);
    stage->memory = atomic_load_explicit(&tutti_early_memory, memory_order_relaxed)->memory;
    stage->host = stage->memory;
    stage->given = stage->type = type;
    stage->staged = stage->prefix = stage->solid = 1;
    stage->way = way;
    stage->user = (char *)(uintptr_t)buffer;
    stage->count = count;
    stage->size = stage->true_extent = size;
    stage->extent = (MPI_Count)size;
    stage->bytes = (size_t)count * size;
    return TUTTI_OK;
}

int tutti_early_await(struct tutti_early *early, struct tutti_stage *stage)
{
    if (early->state != TUTTI_EARLY_BEGUN)
        return TUTTI_OK;
    early->state = TUTTI_EARLY_DONE;
    return tutti_door.device->memory.copy_end(&early->copying) == TUTTI_OK ? TUTTI_OK : tutti_stage_in(stage);
}

int tutti_early_fill(struct tutti_early *early, struct tutti_stage *stage)
{
    if (early->state != TUTTI_EARLY_BEGUN)
        return TUTTI_OK;
    early->state = TUTTI_EARLY_DONE;
    if (tutti_door.device->memory.copy_end(&early->copying) != TUTTI_OK || !stage->staged || !stage->solid)
        return tutti_stage_in(stage);
    memcpy(stage->memory, atomic_load_explicit(&tutti_early_memory, memory_order_relaxed)->memory, stage->bytes);
    return TUTTI_OK;
}

void tutti_early_end(struct tutti_early *early)
{
    if (likely(early->state == TUTTI_EARLY_NONE))
        return;
    if (early->state == TUTTI_EARLY_BEGUN) { /* for nothing: its messages go another way now */
        uint64_t *const at = find_staged(early->id);
        early_state.packs = 1;
        early_state.longer &= early->bytes <= TUTTI_EARLY_MOVED;
        if (at)
            *at = 0;
        tutti_door.device->memory.copy_end(&early->copying);
    }
    early->state = TUTTI_EARLY_NONE;
    early_give();
}

/* The memory of early copies is held. After resets of GPUs it is taken again. */
static void take_memory(void)
{
    struct tutti_bounce *const old = atomic_load_explicit(&tutti_early_memory, memory_order_relaxed);
    if (old && early_state.life == tutti_gpu_life(-1))
        return;
    tutti_bounce_give(old);
    struct tutti_bounce *const made = tutti_bounce_take(&tutti_bounce_pinned, -1, TUTTI_EARLY_SENT);
    early_state.life = tutti_gpu_life(-1);
    atomic_store_explicit(&tutti_early_memory, made, memory_order_relaxed);
}

void tutti_early_learn(const struct tutti_early *early, const struct tutti_stage *stage,
                       const struct tutti_there *there)
{
    const int mine = early->state != TUTTI_EARLY_NONE;
    if (!mine && (stage->ordinary || !tutti_door.device->memory.copy_begin || !early_take()))
        return;
    /* Longer ones may be packed from the second message on. */
    const int next = !mine || !early_state.packs || stage->bytes <= TUTTI_ENDPOINT_SHORT_BYTES;
    early_state.longer |= stage->bytes > TUTTI_EARLY_MOVED && stage->bytes <= TUTTI_EARLY_SENT;
    if (there->memory.id && next && !find_staged(there->memory.id))
        early_state.staged[early_state.next++ % STAGED] = there->memory.id;
    if (mine)
        return;
    (void)is_new(there->memory.id);
    take_memory();
    early_give();
}

void tutti_early_close(void)
{
    struct tutti_bounce *const memory = atomic_load(&tutti_early_memory);
    if (!early_take()) /* a refused call has left a message there, which the MPI may still read */
        return;
    atomic_store(&tutti_early_memory, NULL);
    tutti_bounce_give(memory);
    memset(early_state.staged, 0, sizeof early_state.staged);
    early_state.newest = early_state.named = 0;
    early_state.packs = early_state.longer = 0;
    early_give();
}
