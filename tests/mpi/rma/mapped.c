/* One-sided communication: windows that the ranks map, without another window beside them, so that an MPI which makes
 * no windows of a program's memory does too: of memory of the program, and of memory that MPI_Win_allocate gives.
 * Last, if the MPI makes windows, one in which a rank has host memory. Each
 * rank puts into the window of the next and gets from it: elements of 8 bytes to megabytes, with gaps on either side or
 * none, from and into memory of the host and of the device, in each kind of epoch. usage: mapped [ROUNDS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"
#include "tutti/tutti.h"

enum { MOST = 1 << 20, GAP = 3 }; /* 32-bit elements of a window; elements between two blocks */
enum epoch { FENCE, LOCK, LOCK_ALL, POSTED, EPOCHS };
static const char *const epochs[] = {"fence", "lock", "lock_all", "post and start"};

static MPI_Win win;
static MPI_Group next_group, previous_group;
static int next;
static uint64_t state, own_state; /* alike on all ranks; this rank's */
static uint32_t zeros[MOST];

/* n elements in blocks: all together, or with a gap behind each. */
struct layout {
    MPI_Datatype type;
    int block, gap, n;
};

static struct layout layout_make(int n, int gap)
{
    struct layout layout = {.block = n % 4 == 0 ? n / 4 : n, .gap = gap, .n = n};
    MPI_Type_vector(n / layout.block, layout.block, layout.block + gap, MPI_UINT32_T, &layout.type);
    MPI_Type_commit(&layout.type);
    return layout;
}

static size_t layout_at(const struct layout *layout, int i)
{
    return (size_t)(i / layout->block) * (size_t)(layout->block + layout->gap) + (size_t)(i % layout->block);
}

static uint32_t value_of(int rank, int round, int i)
{
    return (uint32_t)random_mix((uint64_t)rank * 1000003 + (uint64_t)round * 101 + (uint64_t)i);
}

/* Bytes of the window, or of an origin, to and from the host. */
static void copy(void *to, const void *from, size_t bytes)
{
    CHECK(tutti_copy(to, from, bytes) == 0, "tutti_copy");
}

/* Where the epoch begins for the target too, it uses its window until then: what comes earlier is lost. clears: bytes
 * of zeros, or NULL. */
static void epoch_begin(enum epoch kind, uint32_t *window, const uint32_t *clears)
{
    if (clears && (kind == FENCE || kind == POSTED)) {
        usleep((useconds_t)(random_next(&own_state) % 3 * 1000));
        copy(window, clears, MOST * sizeof *window);
    }
    if (kind == FENCE)
        MPI_Win_fence(0, win);
    else if (kind == LOCK)
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    else if (kind == LOCK_ALL)
        MPI_Win_lock_all(0, win);
    else {
        MPI_Win_post(previous_group, 0, win);
        MPI_Win_start(next_group, 0, win);
    }
}

static void epoch_end(enum epoch kind)
{
    if (kind == FENCE) {
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    } else if (kind == LOCK) {
        MPI_Win_unlock(next, win);
    } else if (kind == LOCK_ALL) {
        MPI_Win_unlock_all(win);
    } else {
        MPI_Win_complete(win);
        MPI_Win_wait(win);
    }
    if (kind == LOCK || kind == LOCK_ALL)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* What lies in `memory`, by the layout, was made by this rank in this round. */
static void elements_check(const uint32_t *memory, const struct layout *layout, int rank, int round, const char *what,
                           enum epoch kind)
{
    int i = 0;
    while (i < layout->n && memory[layout_at(layout, i)] == value_of(rank, round, i))
        i++;
    CHECK(i == layout->n, "%s of %d elements, gap %d, %s: element %d is wrong", what, layout->n, layout->gap,
          epochs[kind], i);
}

static void round_run(uint32_t *window, uint32_t *device, uint32_t *host, uint32_t *scratch, int round)
{
    const int sizes[] = {2, 4, 100, 4096, 60000, MOST / 2};
    const int n = sizes[random_next(&state) % 6], on_device = (int)(random_next(&state) % 2);
    const enum epoch kind = (enum epoch)(random_next(&state) % EPOCHS);
    struct layout mine = layout_make(n, random_next(&state) % 2 ? GAP : 0);
    struct layout there = layout_make(n, random_next(&state) % 2 ? GAP : 0);
    uint32_t *origin = on_device ? device : host;
    const int previous = (kit_rank + kit_size - 1) % kit_size;
    memset(scratch, 0, MOST * sizeof *scratch);
    for (int i = 0; i < n; i++)
        scratch[layout_at(&mine, i)] = value_of(kit_rank, round, i);
    copy(origin, scratch, MOST * sizeof *scratch);
    MPI_Barrier(MPI_COMM_WORLD);
    epoch_begin(kind, window, zeros);
    MPI_Put(origin, 1, mine.type, next, 4, 1, there.type, win);
    epoch_end(kind);
    copy(scratch, window, MOST * sizeof *scratch);
    elements_check(scratch + 4, &there, previous, round, "MPI_Put", kind);
    MPI_Barrier(MPI_COMM_WORLD);
    epoch_begin(kind, window, NULL);
    MPI_Get(origin, 1, mine.type, next, 4, 1, there.type, win);
    epoch_end(kind);
    copy(scratch, origin, MOST * sizeof *scratch);
    elements_check(scratch, &mine, kit_rank, round, "MPI_Get", kind);
    MPI_Type_free(&mine.type);
    MPI_Type_free(&there.type);
}

/* ---- datatypes of more pieces than a plan takes ---- */

enum { PIECES = 70000, APART = 8 };

static int piece_at(int i)
{
    return APART * i + (int)(random_mix((uint64_t)i) % APART);
}

static MPI_Datatype long_type(void)
{
    MPI_Datatype type;
    int *at = malloc(PIECES * sizeof *at);
    for (int i = 0; i < PIECES; i++)
        at[i] = piece_at(i);
    MPI_Type_create_indexed_block(PIECES, 1, at, MPI_UINT32_T, &type);
    MPI_Type_commit(&type);
    free(at);
    return type;
}

/* Word i of `memory` is what `scratch` had, but in the places of the type, which have what `rank` has put there. */
static void long_check(const uint32_t *memory, uint32_t *scratch, int rank, int times, const char *what)
{
    int wrong = 0;
    for (int i = 0; i < PIECES; i++)
        scratch[piece_at(i)] = (uint32_t)times * value_of(rank, 1, i);
    for (int i = 0; i < MOST; i++)
        wrong += memory[i] != scratch[i];
    CHECK(wrong == 0, "%s of %d pieces: %d words are wrong", what, PIECES, wrong);
}

/* A put from elements one behind the other, a sum of both kinds, and a get. */
static void long_types(uint32_t *window, uint32_t *device, uint32_t *scratch)
{
    MPI_Datatype type = long_type();
    const int previous = (kit_rank + kit_size - 1) % kit_size;
    uint32_t *came = malloc(MOST * sizeof *came);
    for (int i = 0; i < MOST; i++)
        scratch[i] = i < PIECES ? value_of(kit_rank, 1, i) : 0;
    copy(device, scratch, MOST * sizeof *scratch);
    copy(window, zeros, sizeof zeros);
    MPI_Win_fence(0, win);
    CHECK(MPI_Put(device, PIECES, MPI_UINT32_T, next, 0, 1, type, win) == MPI_SUCCESS, "MPI_Put of a long type");
    MPI_Win_fence(0, win);
    copy(came, window, MOST * sizeof *came);
    memset(scratch, 0, MOST * sizeof *scratch);
    long_check(came, scratch, previous, 1, "MPI_Put");
    MPI_Win_fence(0, win);
    CHECK(MPI_Accumulate(device, PIECES, MPI_UINT32_T, next, 0, 1, type, MPI_SUM, win) == MPI_SUCCESS,
          "MPI_Accumulate of a long type");
    MPI_Win_fence(0, win);
    copy(came, window, MOST * sizeof *came);
    long_check(came, scratch, previous, 2, "MPI_Accumulate");
    memset(scratch, 0x5a, MOST * sizeof *scratch);
    copy(device, scratch, MOST * sizeof *scratch);
    MPI_Win_fence(0, win);
    CHECK(MPI_Get(device, 1, type, next, 0, 1, type, win) == MPI_SUCCESS, "MPI_Get of a long type");
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    copy(came, device, MOST * sizeof *came);
    long_check(came, scratch, kit_rank, 2, "MPI_Get");
    free(came);
    MPI_Type_free(&type);
}

/* Each rank adds to a word of every window, the own one too, by a get and a put under an exclusive lock. The get is
 * complete after its flush. */
static void locked_counts(uint32_t *window, uint32_t *device)
{
    enum { TIMES = 40 };
    uint32_t count;
    copy(window, zeros, sizeof count);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES * kit_size; i++) {
        const int target = (kit_rank + i) % kit_size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Get(device, 1, MPI_UINT32_T, target, 0, 1, MPI_UINT32_T, win);
        MPI_Win_flush(target, win);
        copy(&count, device, sizeof count);
        count++;
        MPI_Put(&count, 1, MPI_UINT32_T, target, 0, 1, MPI_UINT32_T, win);
        MPI_Win_unlock(target, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kit_rank, 0, win);
    copy(&count, window, sizeof count);
    MPI_Win_unlock(kit_rank, win);
    CHECK(count == (uint32_t)(TIMES * kit_size), "%u is the count of %d ranks, each %d times", count, kit_size, TIMES);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Collective. Rank 0 has host memory in the window, the others have device memory. */
static uint32_t *window_mixed(void)
{
    const size_t bytes = MOST * sizeof(uint32_t);
    void *memory = kit_rank == 0 ? malloc(bytes) : NULL;
    if (kit_rank != 0)
        CHECK(tutti_alloc(bytes, &memory) == 0, "tutti_alloc");
    CHECK(MPI_Win_create(memory, (MPI_Aint)bytes, sizeof(uint32_t), MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS,
          "MPI_Win_create");
    return memory;
}

static void mixed(uint32_t *device, uint32_t *host, uint32_t *scratch, int rounds)
{
    uint32_t *window = window_mixed();
    for (int round = 0; round < rounds; round++)
        round_run(window, device, host, scratch, round);
    locked_counts(window, device);
    MPI_Win_free(&win);
    if (kit_rank == 0)
        free(window);
    else
        tutti_free(window);
}

/* Collective. The window's memory. */
static uint32_t *window_make(int allocate)
{
    const MPI_Aint bytes = MOST * sizeof(uint32_t);
    void *memory = NULL, *base = NULL;
    int *model = NULL, *flavor = NULL, flag = 0;
    if (allocate) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_memory_alloc_kinds", "system,cuda:device");
        CHECK(MPI_Win_allocate(bytes, sizeof(uint32_t), info, MPI_COMM_WORLD, &memory, &win) == MPI_SUCCESS,
              "MPI_Win_allocate");
        MPI_Info_free(&info);
    } else {
        CHECK(tutti_alloc((size_t)bytes, &memory) == 0, "tutti_alloc");
        CHECK(MPI_Win_create(memory, bytes, sizeof(uint32_t), MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS,
              "MPI_Win_create");
    }
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag && *model == MPI_WIN_UNIFIED, "the window is not mapped");
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == (allocate ? MPI_WIN_FLAVOR_ALLOCATE : MPI_WIN_FLAVOR_CREATE), "the window's flavor");
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == memory, "MPI_WIN_BASE");
    return memory;
}

static void errors(const uint32_t *host)
{
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    CHECK(kit_class(MPI_Put(host, 1, MPI_UINT32_T, next, MOST, 1, MPI_UINT32_T, win)) == MPI_ERR_RMA_RANGE,
          "a put behind the window");
    MPI_Win_unlock(next, win);
    CHECK(kit_class(MPI_Put(host, 1, MPI_UINT32_T, next, 0, 1, MPI_UINT32_T, win)) == MPI_ERR_RMA_SYNC,
          "a put outside an epoch");
}

int main(int argc, char **argv)
{
    uint32_t *device = NULL;
    MPI_Group all;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int rounds = argc > 1 ? atoi(argv[1]) : 40;
    if (kit_plain)
        kit_skip("rma_mapped", "the library is not there");
    const size_t bytes = MOST * sizeof(uint32_t);
    const int previous = (kit_rank + kit_size - 1) % kit_size;
    state = random_mix(kit_seed);
    own_state = random_mix(kit_seed + (uint64_t)kit_rank + 1);
    next = (kit_rank + 1) % kit_size;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &next, &next_group);
    MPI_Group_incl(all, 1, &previous, &previous_group);
    CHECK(tutti_alloc(bytes, (void **)&device) == 0, "tutti_alloc");
    uint32_t *host = malloc(bytes), *scratch = malloc(bytes);
    for (int allocate = 0; allocate < 2; allocate++) {
        uint32_t *window = window_make(allocate);
        for (int round = 0; round < rounds / 2; round++)
            round_run(window, device, host, scratch, round);
        if (!allocate)
            long_types(window, device, scratch);
        locked_counts(window, device);
        errors(host);
        MPI_Win_free(&win);
        if (!allocate)
            tutti_free(window);
    }
    if (kit_makes_windows())
        mixed(device, host, scratch, rounds);
    tutti_free(device);
    free(host);
    free(scratch);
    MPI_Group_free(&all);
    MPI_Group_free(&next_group);
    MPI_Group_free(&previous_group);
    return kit_end("rma_mapped");
}
