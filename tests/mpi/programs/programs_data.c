/* The memory of random programs: for each rank an arena of host memory and one of device memory, and a model of what
 * they must hold, to the last byte. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "programs.h"
#include "tutti/tutti.h"

const char *prog_memory_name(int memory)
{
    return memory == 0 ? "host" : memory == PROG_PINNED ? "pinned" : memory == PROG_MANAGED ? "managed" : "device";
}

/* The host reads and writes it. */
static int is_near(int memory)
{
    return memory == 0 || memory >= PROG_PINNED || kit_plain;
}

static void move(void *to, const void *from, size_t bytes, int memory)
{
    if (is_near(memory))
        memcpy(to, from, bytes);
    else
        CHECK(tutti_copy(to, from, bytes) == 0, "tutti_copy of %zu bytes", bytes);
}

/* What CUDA's driver calls so; NULL on other devices. */
static void *of_driver(const char *name)
{
    void *const driver = strcmp(tutti_device_name(), "cuda") == 0 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    return driver ? dlsym(driver, name) : NULL;
}

static void *managed(size_t bytes)
{
    enum { ATTACH_GLOBAL = 1 };
    unsigned long long address = 0;
    int (*alloc)(unsigned long long *, size_t, unsigned);
    *(void **)&alloc = of_driver("cuMemAllocManaged");
    if (!alloc)
        return aligned_alloc(256, (bytes + 255) / 256 * 256);
    int gpu; /* threads but the first one have none yet */
    if (tutti_device()->gpu.meet(&gpu) != 0 || tutti_device()->gpu.choose(gpu) != 0)
        return NULL;
    return alloc(&address, bytes, ATTACH_GLOBAL) == 0 ? (void *)(uintptr_t)address : NULL;
}

static void *room(size_t bytes, int memory)
{
    void *out = NULL;
    if (memory == 0 || kit_plain)
        out = aligned_alloc(256, (bytes + 255) / 256 * 256);
    else if (memory == PROG_MANAGED)
        out = managed(bytes);
    else if ((memory == PROG_PINNED ? tutti_device()->memory.alloc_pinned(bytes, &out) : tutti_alloc(bytes, &out)) != 0)
        out = NULL;
    if (!out) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", kit_rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return out;
}

void prog_run_open(struct prog_run *run, MPI_Comm base, int rank, size_t arena)
{
    run->base = base;
    run->rank = rank;
    run->bytes = arena;
    for (int m = 0; m < PROG_MEMORIES; m++) {
        run->arena[m] = room(arena, m);
        run->model[m] = room(arena, 0);
    }
    run->read = room(arena, 0);
    run->packed = room(arena, 0);
}

static void leave(void *memory, int number)
{
    int (*release)(unsigned long long) = NULL;
    if (number == PROG_MANAGED && !kit_plain)
        *(void **)&release = of_driver("cuMemFree_v2");
    if (release)
        CHECK(release((unsigned long long)(uintptr_t)memory) == 0, "cuMemFree");
    else if (number == 0 || number == PROG_MANAGED || kit_plain)
        free(memory);
    else if (number == PROG_PINNED)
        CHECK(tutti_device()->memory.free_pinned(memory) == 0, "pinned memory is not freed");
    else
        CHECK(tutti_free(memory) == 0, "tutti_free");
}

void prog_run_renew(struct prog_run *run)
{
    for (int m = 1; m < PROG_MEMORIES; m++) {
        leave(run->arena[m], m);
        run->arena[m] = room(run->bytes, m);
    }
}

void prog_run_close(struct prog_run *run)
{
    for (int m = 0; m < PROG_MEMORIES; m++) {
        leave(run->arena[m], m);
        free(run->model[m]);
    }
    free(run->read);
    free(run->packed);
}

void prog_fill(const struct prog *p, uint64_t name, char *out, size_t bytes)
{
    uint64_t state = random_mix(p->seed + random_mix(p->number * 65537 + name));
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = random_next(&state);
        memcpy(out + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

/* What lies in the arena where nothing has been put. */
static void empty(const struct prog_run *run, int memory, size_t from, size_t bytes)
{
    unsigned char *at = (unsigned char *)run->model[memory];
    unsigned add = (unsigned)(run->p->number * 7 + (unsigned)memory);
    for (size_t i = from; i < from + bytes; i++)
        at[i] = (unsigned char)(i * 29 + (i >> 8) + add);
}

void prog_data_begin(struct prog_run *run)
{
    const struct prog *p = run->p;
    for (int m = 0; m < PROG_MEMORIES; m++)
        empty(run, m, 0, p->used[run->rank][m] + PROG_GUARD);
    for (int r = 0; r < p->reqs; r++) {
        const struct prog_req *req = &p->req[r];
        if (req->type != PROG_SENDS || req->rank != run->rank || p->end[req->end].persistent)
            continue;
        const struct prog_end *end = &p->end[req->end];
        prog_fill(p, (uint64_t)r, run->packed, end->n * prog_element_bytes[end->side.layout.element]);
        prog_data_expect(run, &end->side, 0, end->n, run->packed);
    }
    for (int c = 0; c < p->colls; c++) {
        if (!p->coll[c].persistent)
            prog_coll_prepare(run, c);
    }
    for (int m = 0; m < PROG_MEMORIES; m++)
        move(run->arena[m], run->model[m], p->used[run->rank][m] + PROG_GUARD, m);
}

char *prog_place(const struct prog_run *run, const struct prog_side *side)
{
    return run->arena[side->memory] + side->place - side->lowest;
}

void *prog_address(const struct prog_run *run, const struct prog_side *side)
{
    return side->used && !side->bottom ? prog_place(run, side) : MPI_BOTTOM;
}

MPI_Datatype prog_type_of(struct prog_run *run, const struct prog_side *side)
{
    if (!side->used)
        return MPI_BYTE;
    MPI_Datatype type = prog_layout_type(&side->layout);
    if (side->bottom) {
        MPI_Datatype inner = type;
        MPI_Aint address;
        MPI_Get_address(prog_place(run, side), &address);
        MPI_Type_create_hindexed(1, &(int){1}, &address, inner, &type);
        MPI_Type_commit(&type);
        if (side->layout.family != PROG_NAMED)
            MPI_Type_free(&inner);
    }
    if (side->bottom || side->layout.family != PROG_NAMED)
        run->types[run->type_count++] = type;
    return type;
}

void prog_type_done(struct prog_run *run)
{
    if (run->p->kinds.may[PROG_freetypes] || run->at >= run->p->steps) {
        while (run->type_count)
            MPI_Type_free(&run->types[--run->type_count]);
    }
}

void prog_data_expect(struct prog_run *run, const struct prog_side *side, int block, size_t n, const char *packed)
{
    prog_side_copy(side, block, n, run->model[side->memory] + side->place, (char *)(uintptr_t)packed, 1);
}

void prog_data_reset(struct prog_run *run, const struct prog_side *side)
{
    empty(run, side->memory, side->place, side->bytes);
}

void prog_data_store(struct prog_run *run, const struct prog_side *side)
{
    if (side->bytes)
        move(run->arena[side->memory] + side->place, run->model[side->memory] + side->place, side->bytes, side->memory);
}

void prog_data_adopt(struct prog_run *run, const struct prog_side *side)
{
    if (side->bytes)
        move(run->model[side->memory] + side->place, run->arena[side->memory] + side->place, side->bytes, side->memory);
}

/* Compares bytes of an arena; says the first that differs. */
static void compare(struct prog_run *run, int memory, size_t from, size_t bytes, const char *what)
{
    const char *model = run->model[memory] + from;
    move(run->read, run->arena[memory] + from, bytes, memory);
    if (prog_check(run, memcmp(run->read, model, bytes) == 0, "%s", what))
        return;
    size_t first = 0, wrong = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (run->read[i] != model[i] && wrong++ == 0)
            first = i;
    }
    fprintf(stderr, "  %s memory, bytes %zu..%zu of the arena: %zu differ, the first at %zu: %02x, not %02x\n",
            prog_memory_name(memory), from, from + bytes, wrong, from + first, (unsigned char)run->read[first],
            (unsigned char)model[first]);
}

void prog_data_check(struct prog_run *run, const struct prog_side *side, const char *what)
{
    enum { AROUND = 32 };
    if (side->used)
        compare(run, side->memory, side->place - AROUND, side->bytes + 2 * AROUND, what);
}

void prog_data_end(struct prog_run *run)
{
    for (int m = 0; m < PROG_MEMORIES; m++)
        compare(run, m, 0, run->p->used[run->rank][m] + PROG_GUARD, "all of the memory at the end of the program");
}
