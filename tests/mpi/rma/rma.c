/* One-sided communication: random valid programs on a window whose memory, and whose origin and result buffers, are of
 * the host or of a device by chance, beside the same program on a window of host memory. The window of a rank may be
 * empty. Dynamic windows have their memory detached and attached now and then. The MPI itself is the oracle: all
 * windows, all results and the bytes between the elements must be the same. usage: rma [PROGRAMS [far | late]]
 * far: the ranks are of several nodes. late: all windows are dynamic, and memory that other ranks attach cannot be
 * mapped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operations.h"
#include "tutti/tutti.h"

static struct kit_buffer memory[2]; /* of the window under test, and of the other */
static char *window_base[2];
static size_t window_bytes;
static int empty;   /* the rank whose window has no bytes; -1: none */
static int dynamic; /* the windows are: their memory is attached */
static int makes_dynamic;

/* ---- epochs ---- */

enum epoch { FENCE, LOCK, LOCK_EXCLUSIVE, LOCK_ALL, POSTED, EPOCH_KINDS };
static const char *const epochs[] = {"fence", "lock", "exclusive lock", "lock_all", "post and start"};

static void flush_window(MPI_Win win, int target, int how)
{
    switch (how) {
    case 1:
        MPI_Win_flush(target, win);
        break;
    case 2:
        MPI_Win_flush_all(win);
        break;
    case 3:
        MPI_Win_flush_local(target, win);
        break;
    case 4:
        MPI_Win_flush_local_all(win);
        break;
    default:
        break;
    }
}

/* The operations with one target (-1: all), and their requests. */
static void ops_make(const struct op *ops, int n, int w, MPI_Win win, int target, int passive, uint64_t how)
{
    MPI_Request requests[OPS];
    MPI_Status statuses[OPS];
    int open = 0;
    for (int i = 0; i < n; i++) {
        if (target >= 0 && ops[i].target != target)
            continue;
        requests[open] = MPI_REQUEST_NULL;
        const int code = operation_make(&ops[i], w, win, &requests[open]);
        CHECK(code == MPI_SUCCESS, "%s of %d elements: error class %d", call_names[ops[i].call], ops[i].count,
              kit_class(code));
        open += requests[open] != MPI_REQUEST_NULL;
        if (passive)
            flush_window(win, ops[i].target, ops[i].flush);
    }
    if (how % 2) {
        CHECK(MPI_Waitall(open, requests, statuses) == MPI_SUCCESS, "MPI_Waitall");
    } else {
        for (int i = 0; i < open; i++)
            CHECK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
    }
}

/* Bytes of the window that its owner alone changes, stored by the program itself. */
static void store(int w, const char *bytes)
{
    char *to = window_base[w] + OWN_AT;
    if (window_bytes == 0)
        return;
    if (memory[w].kind == KIT_HOST || kit_plain)
        memcpy(to, bytes, SHARED);
    else
        CHECK(tutti_copy(to, bytes, SHARED) == 0, "tutti_copy");
}

static void epoch_posted(const struct op *ops, int n, int w, MPI_Win win, uint64_t how)
{
    MPI_Group all;
    int flag = 0;
    MPI_Win_get_group(win, &all);
    CHECK(MPI_Win_post(all, 0, win) == MPI_SUCCESS, "MPI_Win_post");
    CHECK(MPI_Win_start(all, 0, win) == MPI_SUCCESS, "MPI_Win_start");
    ops_make(ops, n, w, win, -1, 0, how);
    CHECK(MPI_Win_complete(win) == MPI_SUCCESS, "MPI_Win_complete");
    if (how & 2)
        CHECK(MPI_Win_wait(win) == MPI_SUCCESS, "MPI_Win_wait");
    int code = MPI_SUCCESS;
    while (!(how & 2) && !flag && code == MPI_SUCCESS)
        code = MPI_Win_test(win, &flag);
    CHECK(code == MPI_SUCCESS, "MPI_Win_test");
    MPI_Group_free(&all);
}

static void epoch_run(enum epoch kind, const struct op *ops, int n, int w, MPI_Win win, uint64_t how, const char *own)
{
    switch (kind) {
    case FENCE:
        store(w, own);
        CHECK(MPI_Win_fence(how & 4 ? MPI_MODE_NOPRECEDE : 0, win) == MPI_SUCCESS, "MPI_Win_fence");
        ops_make(ops, n, w, win, -1, 0, how);
        CHECK(MPI_Win_fence(how & 8 ? MPI_MODE_NOSUCCEED : 0, win) == MPI_SUCCESS, "MPI_Win_fence");
        break;
    case LOCK:
    case LOCK_EXCLUSIVE:
        for (int target = 0; target < kit_size; target++) {
            CHECK(MPI_Win_lock(kind == LOCK ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win) == MPI_SUCCESS,
                  "MPI_Win_lock");
            if (target == kit_rank && kind == LOCK_EXCLUSIVE)
                store(w, own);
            ops_make(ops, n, w, win, target, 1, how);
            CHECK(MPI_Win_unlock(target, win) == MPI_SUCCESS, "MPI_Win_unlock");
        }
        break;
    case LOCK_ALL:
        CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS, "MPI_Win_lock_all");
        store(w, own);
        MPI_Win_sync(win);
        ops_make(ops, n, w, win, -1, 1, how);
        if (how & 4 && !OLD_MPICH) {
            MPI_Win_flush_all(win);
            MPI_Barrier(MPI_COMM_WORLD);
            CHECK(MPI_Win_sync(win) == MPI_SUCCESS, "MPI_Win_sync");
        }
        CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS, "MPI_Win_unlock_all");
        break;
    case POSTED:
        epoch_posted(ops, n, w, win, how);
        break;
    case EPOCH_KINDS:
        break;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (kind != FENCE && kind != POSTED) { /* the owner looks at its window */
        MPI_Win_lock(MPI_LOCK_SHARED, kit_rank, 0, win);
        MPI_Win_unlock(kit_rank, win);
    }
}

/* ---- programs ---- */

static size_t first_difference(const char *a, const char *b, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && a[at] == b[at])
        at++;
    return at;
}

static int same(struct kit_buffer *tested, struct kit_buffer *expected, size_t bytes, const char *what, int program,
                int step, const char *epoch)
{
    int guards[2];
    char *came = malloc(bytes);
    memcpy(came, kit_get(tested, &guards[0]), bytes);
    const size_t at = first_difference(came, kit_get(expected, &guards[1]), bytes);
    free(came);
    return CHECK(at == bytes && guards[0],
                 "program %d, epoch %d (%s): %s differs from host memory's from byte %zu on%s", program, step, epoch,
                 what, at, guards[0] ? "" : ", and a guard has changed");
}

static void fill(char *bytes, size_t n)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        const uint64_t word = draw(2) ? 0 : random_next(&state);
        memcpy(bytes + i, &word, 8);
    }
}

static int draw_target(void)
{
    const int target = (int)draw((uint64_t)kit_size);
    return target == empty ? (target + 1) % kit_size : target;
}

static int step_run(MPI_Win win[2], int program, int step, const int units[])
{
    struct op ops[OPS];
    const enum epoch kind = (enum epoch)draw_alike(EPOCH_KINDS);
    const int passive = kind == LOCK || kind == LOCK_EXCLUSIVE || kind == LOCK_ALL, most = (int)draw(OPS + 1);
    const uint64_t how = draw_alike(16);
    char *bytes = malloc(ARENA), own[SHARED];
    int n = 0, fine = 1;
    operations_begin();
    while (n < most && operation_draw(&ops[n], draw_target(), units, passive))
        n++;
    fill(own, sizeof own);
    for (int k = 0; k < 2; k++) {
        fill(bytes, ARENA);
        for (int w = 0; w < 2; w++)
            arena_base[w][k] = kit_put(&arena[w][k], 0, bytes, ARENA);
    }
    for (int w = 0; w < 2; w++)
        epoch_run(kind, ops, n, w, win[w], how, own);
    for (int k = 0; k < 2; k++)
        fine &= same(&arena[0][k], &arena[1][k], ARENA, k ? "origin memory of the device" : "origin memory of the host",
                     program, step, epochs[kind]);
    fine &= same(&memory[0], &memory[1], window_bytes, "the window", program, step, epochs[kind]);
    for (int i = 0; i < n; i++) {
        if (!fine)
            operation_show(&ops[i]);
        operation_close(&ops[i]);
    }
    free(bytes);
    MPI_Barrier(MPI_COMM_WORLD); /* no epoch begins while a rank looks at its window */
    return fine;
}

static void attributes(MPI_Win win, const char *base, size_t bytes, int unit)
{
    void *found = NULL;
    MPI_Aint *size;
    int flag = 0, *units;
    MPI_Win_get_attr(win, MPI_WIN_BASE, &found, &flag);
    CHECK(flag && found == (const void *)base, "MPI_WIN_BASE is %p, the window begins at %p", found,
          (const void *)base);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag);
    CHECK(flag && (size_t)*size == bytes, "MPI_WIN_SIZE is not %zu", bytes);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &units, &flag);
    CHECK(flag && *units == unit, "MPI_WIN_DISP_UNIT is not %d", unit);
}

/* Collective: where the memory of all ranks begins. */
static void attach(MPI_Win win, int w)
{
    MPI_Aint at;
    if (window_bytes > 0)
        CHECK(MPI_Win_attach(win, window_base[w], (MPI_Aint)window_bytes) == MPI_SUCCESS, "MPI_Win_attach of %s memory",
              memory[w].kind == KIT_HOST ? "host" : "device");
    MPI_Get_address(window_base[w], &at);
    MPI_Allgather(&at, 1, MPI_AINT, window_at[w], 1, MPI_AINT, MPI_COMM_WORLD);
}

static void detach(MPI_Win win, int w)
{
    if (window_bytes > 0)
        CHECK(MPI_Win_detach(win, window_base[w]) == MPI_SUCCESS, "MPI_Win_detach");
}

/* Collective. */
static void window_make(MPI_Win *win, int w, int unit)
{
    memset(window_at[w], 0, sizeof window_at[w]);
    if (dynamic) {
        CHECK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win) == MPI_SUCCESS, "MPI_Win_create_dynamic");
        attach(*win, w);
    } else {
        CHECK(MPI_Win_create(window_base[w], (MPI_Aint)window_bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, win) ==
                  MPI_SUCCESS,
              "MPI_Win_create");
    }
    MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN);
    if (!dynamic && window_bytes > 0)
        attributes(*win, window_base[w], window_bytes, unit);
}

/* Collective. The memory of the windows moves to another place, of any kind. */
static void attach_again(MPI_Win win[2])
{
    const enum kit_kind kinds[2] = {memory[0].kind == KIT_HOST || draw(3) > 0 ? memory[0].kind : KIT_HOST, KIT_HOST};
    char *contents = malloc(WINDOW);
    for (int w = 0; w < 2; w++) {
        detach(win[w], w);
        memcpy(contents, kit_get(&memory[w], NULL), window_bytes);
        kit_close(&memory[w]);
        kit_open(&memory[w], kinds[w], WINDOW);
        window_base[w] = kit_put(&memory[w], 0, contents, window_bytes);
        attach(win[w], w);
    }
    free(contents);
}

static void program_run(int number)
{
    MPI_Win win[2];
    int units[RANKS], fine = 1;
    shared_state = random_mix(kit_seed + (uint64_t)number * 1000);
    state = random_mix(shared_state + (uint64_t)kit_rank + 1);
    dynamic = makes_dynamic && (draw_alike(3) == 0 || cannot_map);
    for (int r = 0; r < kit_size; r++)
        units[r] = dynamic ? 1 : 1 << draw_alike(4);
    const int mixed = (int)draw_alike(5); /* 0: no window in device memory, 1, 2: all, otherwise some */
    const int device = mixed == 1 || mixed == 2 || (mixed > 2 && draw(2));
    char *contents = malloc(WINDOW);
    fill(contents, WINDOW);
    empty = kit_size > 1 && draw_alike(4) == 0 ? (int)draw_alike((uint64_t)kit_size) : -1;
    window_bytes = empty == kit_rank ? 0 : WINDOW;
    for (int w = 0; w < 2; w++) {
        kit_open(&memory[w], w == 0 && device ? KIT_DEVICE : KIT_HOST, WINDOW);
        window_base[w] = kit_put(&memory[w], 0, contents, window_bytes);
        window_make(&win[w], w, units[kit_rank]);
    }
    for (int step = 0; step < EPOCHS && fine; step++) {
        int mine = step_run(win, number, step, units);
        MPI_Allreduce(&mine, &fine, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (dynamic && draw_alike(3) == 0)
            attach_again(win);
    }
    for (int w = 0; w < 2; w++) {
        if (dynamic && draw_alike(2))
            detach(win[w], w);
        MPI_Win_free(&win[w]);
        kit_close(&memory[w]);
    }
    free(contents);
}

/* Collective. 0: this MPI makes no dynamic windows. */
static int try_dynamic(void)
{
    MPI_Win win;
    if (MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win) != MPI_SUCCESS)
        return 0;
    MPI_Win_free(&win);
    return 1;
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int programs = argc > 1 ? atoi(argv[1]) : 20;
    const int mapped = argc <= 2;
    const int late = cannot_map = argc > 2 && strcmp(argv[2], "late") == 0;
    if (kit_size > RANKS)
        kit_skip("rma", "too many ranks");
    if (!kit_makes_windows())
        kit_skip("rma", "this MPI makes no windows here");
    makes_dynamic = try_dynamic();
    /* With cards, origins lie on another GPU than the window. */
    const int cards = kit_plain || !getenv("TUTTI_TEST_CARDS") ? 0 : atoi(getenv("TUTTI_TEST_CARDS"));
    if (cards > 0)
        tutti_gpu_set((kit_rank + 1) % cards);
    for (int w = 0; w < 2; w++) {
        kit_open(&arena[w][0], KIT_HOST, ARENA);
        kit_open(&arena[w][1], w == 0 ? KIT_DEVICE : KIT_HOST, ARENA);
    }
    if (cards > 0)
        tutti_gpu_set(kit_rank % cards);
    for (int number = 0; number < programs; number++)
        program_run(number);
    if (late && !kit_plain)
        owner_computes();
    if (!kit_plain && mapped)
        CHECK(kit_counted("MPI_Put", "mapped window") > 0 && kit_counted("MPI_Get_accumulate", "mapped window") > 0,
              "no window was mapped");
    if (!kit_plain && late)
        CHECK(kit_counted("MPI_Put", "attached memory that this rank could not map") > 0 &&
                  kit_counted("MPI_Fetch_and_op", "attached memory that this rank could not map") > 0,
              "no memory was read and written by its owner");
    if (!kit_plain)
        CHECK(kit_counted("MPI_Put", "staged") > 0 && kit_counted("MPI_", "refused") == 0,
              "puts are not counted as staged");
    for (int w = 0; w < 2; w++) {
        kit_close(&arena[w][0]);
        kit_close(&arena[w][1]);
    }
    return kit_end("rma");
}
