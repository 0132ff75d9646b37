/* Runs programs of the model: this rank's actions, and what its memory holds afterwards. */
#include "model_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tutti/tutti.h"

static void copy(struct model_run *run, void *to, const void *from, size_t bytes, int device)
{
    if (bytes == 0)
        return;
    if (!device || kit_plain)
        memcpy(to, from, bytes);
    else if (!CHECK(tutti_copy(to, from, bytes) == 0, "a copy of %zu bytes", bytes))
        run->failures++;
}

struct model_run *model_run_open(size_t arena)
{
    struct model_run *run = calloc(1, sizeof *run);
    if (!run)
        abort();
    run->room = arena;
    run->copy = malloc(arena);
    for (int k = 0; k < EVERY_KINDS; k++)
        every_buffer_open(&run->arena[k], (enum every_kind)k, arena);
    return run;
}

void model_run_close(struct model_run *run)
{
    for (int k = 0; k < EVERY_KINDS; k++)
        every_buffer_close(&run->arena[k]);
    free(run->copy);
    free(run);
}

const struct model_action *model_run_at(const struct model_run *run)
{
    return run->at;
}

int model_run_failures(const struct model_run *run)
{
    return run->failures;
}

/* ---- windows ---- */

static int is_device(const struct model_window *window, const struct every_buffer *memory)
{
    return window->flavour == MODEL_ALLOCATE_DEVICE || (memory->base && memory->kind == EVERY_DEVICE);
}

static void attach(struct model_run *run, const struct model *m, int w, int region)
{
    const struct model_region *what = &m->window[w].region[m->me][region];
    struct run_window *window = &run->window[w];
    every_buffer_open(&window->memory[region], what->kind, what->bytes + 16);
    window->base[region] = window->memory[region].base;
    copy(run, window->base[region], what->data, what->bytes, window->memory[region].kind == EVERY_DEVICE);
    if (m->window[w].flavour == MODEL_DYNAMIC)
        DO(MPI_Win_attach(window->win, window->base[region], (MPI_Aint)what->bytes));
}

static void addresses(struct model_run *run, const struct model *m, int w)
{
    struct run_window *window = &run->window[w];
    MPI_Aint mine[MODEL_REGIONS] = {0};
    for (int k = 0; k < m->window[w].regions[m->me]; k++)
        MPI_Get_address(window->base[k], &mine[k]);
    MPI_Allgather(mine, MODEL_REGIONS, MPI_AINT, window->address, MODEL_REGIONS, MPI_AINT, MPI_COMM_WORLD);
}

static void allocate(struct model_run *run, const struct model *m, int w)
{
    const struct model_window *what = &m->window[w];
    struct run_window *window = &run->window[w];
    const MPI_Aint bytes = (MPI_Aint)what->region[m->me][0].bytes;
    const int unit = what->unit[m->me];
    MPI_Info info = MPI_INFO_NULL;
    if (what->flavour == MODEL_ALLOCATE_DEVICE) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device");
    }
    if (what->flavour == MODEL_SHARED)
        DO(MPI_Win_allocate_shared(bytes, unit, info, window->comm, &window->base[0], &window->win));
    else
        DO(MPI_Win_allocate(bytes, unit, info, window->comm, &window->base[0], &window->win));
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    copy(run, window->base[0], what->region[m->me][0].data, (size_t)bytes, what->flavour == MODEL_ALLOCATE_DEVICE);
}

static void window_make(struct model_run *run, const struct model *m, int w)
{
    const struct model_window *what = &m->window[w];
    struct run_window *window = &run->window[w];
    memset(window, 0, sizeof *window);
    MPI_Comm_split(MPI_COMM_WORLD, 0, win_rank(m, what, m->me), &window->comm);
    MPI_Comm_set_errhandler(window->comm, MPI_ERRORS_RETURN);
    switch (what->flavour) {
    case MODEL_CREATE:
        attach(run, m, w, 0);
        DO(MPI_Win_create(window->base[0], (MPI_Aint)what->region[m->me][0].bytes, what->unit[m->me], MPI_INFO_NULL,
                          window->comm, &window->win));
        break;
    case MODEL_DYNAMIC:
        DO(MPI_Win_create_dynamic(MPI_INFO_NULL, window->comm, &window->win));
        for (int k = 0; k < what->regions[m->me]; k++)
            attach(run, m, w, k);
        addresses(run, m, w);
        break;
    default:
        allocate(run, m, w);
    }
    MPI_Win_set_errhandler(window->win, MPI_ERRORS_RETURN);
}

void model_run_windows(struct model_run *run, const struct model *m)
{
    for (int w = 0; w < m->windows; w++)
        window_make(run, m, w);
    model_run_own(run, m); /* the memory of some has been filled after they were made */
    MPI_Barrier(MPI_COMM_WORLD);
}

static void detach(struct model_run *run, const struct model *m, int w)
{
    struct run_window *window = &run->window[w];
    for (int k = 0; k < m->window[w].regions[m->me]; k++) {
        DO(MPI_Win_detach(window->win, window->base[k]));
        every_buffer_close(&window->memory[k]);
    }
}

void model_run_move(struct model_run *run, const struct model *m, int w)
{
    detach(run, m, w);
    for (int k = 0; k < m->window[w].regions[m->me]; k++)
        attach(run, m, w, k);
    addresses(run, m, w);
}

void model_run_end(struct model_run *run, const struct model *m)
{
    for (int w = 0; w < m->windows; w++) {
        struct run_window *window = &run->window[w];
        if (m->window[w].flavour == MODEL_DYNAMIC && m->number % 2 == 0)
            detach(run, m, w);
        DO(MPI_Win_free(&window->win));
        for (int k = 0; k < MODEL_REGIONS; k++)
            every_buffer_close(&window->memory[k]);
        MPI_Comm_free(&window->comm);
    }
}

/* ---- memory ---- */

static void differ(struct model_run *run, const struct model *m, const char *what, const char *is, const char *must,
                   size_t bytes)
{
    size_t at = 0;
    while (at < bytes && is[at] == must[at])
        at++;
    if (CHECK(at == bytes, "program %llu step %d: %s: byte %zu of %zu is %02x and must be %02x",
              (unsigned long long)m->number, m->step, what, at, bytes, (unsigned char)is[at < bytes ? at : 0],
              (unsigned char)must[at < bytes ? at : 0]))
        return;
    run->failures++;
}

static void look(struct model_run *run, const struct model *m, const struct model_action *action)
{
    const struct model_op *op = &m->op[action->a];
    const char *bytes = action->bytes;
    char text[400];
    model_text(m, action, text, sizeof text);
    for (int b = 0; b < MODEL_BUFFERS; b++) {
        const struct model_buffer *buffer = &op->buffer[b];
        const size_t n = buffer->end - buffer->begin;
        char *at = run->arena[buffer->kind].base + buffer->begin;
        if (!buffer->used)
            continue;
        copy(run, run->copy, at, n, run->arena[buffer->kind].kind == EVERY_DEVICE);
        differ(run, m, text, run->copy, bytes, n);
        copy(run, at, bytes + n, n, run->arena[buffer->kind].kind == EVERY_DEVICE);
        bytes += 2 * n;
    }
}

static void arenas_check(struct model_run *run, const struct model *m)
{
    for (int k = 0; k < EVERY_KINDS; k++) {
        char text[100];
        snprintf(text, sizeof text, "buffers of the origin, memory of kind %d", k);
        copy(run, run->copy, run->arena[k].base, m->arena_bytes, run->arena[k].kind == EVERY_DEVICE);
        differ(run, m, text, run->copy, m->arena[m->me][k], m->arena_bytes);
    }
}

int model_run_check(struct model_run *run, const struct model *m, const char *when, int passive)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (passive)
        model_run_own(run, m);
    for (int w = 0; w < m->windows; w++) {
        struct run_window *window = &run->window[w];
        const struct model_window *what = &m->window[w];
        for (int k = 0; k < what->regions[m->me]; k++) {
            const struct model_region *region = &what->region[m->me][k];
            char text[160];
            snprintf(text, sizeof text, "after %s, window %d of flavour %d, region %d in memory of kind %d", when, w,
                     (int)what->flavour, k, (int)region->kind);
            copy(run, run->copy, window->base[k], region->bytes, is_device(what, &window->memory[k]));
            differ(run, m, text, run->copy, region->data, region->bytes);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int all = 0;
    MPI_Allreduce(&run->failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all == 0;
}

void model_run_own(struct model_run *run, const struct model *m)
{
    for (int w = 0; w < m->windows; w++) {
        DO(MPI_Win_lock(MPI_LOCK_SHARED, win_rank(m, &m->window[w], m->me), 0, run->window[w].win));
        DO(MPI_Win_unlock(win_rank(m, &m->window[w], m->me), run->window[w].win));
    }
}

/* ---- actions ---- */

static MPI_Group group_of(const struct model *m, const struct model_window *what, MPI_Win win, int set)
{
    int ranks[MODEL_RANKS], n = 0;
    MPI_Group all, some;
    for (int r = 0; r < m->ranks; r++) {
        if (set >> r & 1)
            ranks[n++] = win_rank(m, what, r);
    }
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, n, ranks, &some);
    MPI_Group_free(&all);
    return some;
}

static void act_post(struct model_run *run, const struct model *m, const struct model_action *a)
{
    const MPI_Win win = run->window[a->a].win;
    MPI_Group group = group_of(m, &m->window[a->a], win, a->b);
    if (a->what == MODEL_POST)
        DO(MPI_Win_post(group, 0, win));
    else
        DO(MPI_Win_start(group, 0, win));
    MPI_Group_free(&group);
}

static void act_wait(struct model_run *run, const struct model *m, const struct model_action *a)
{
    int done = 0;
    if (!a->b) {
        DO(MPI_Win_wait(run->window[a->a].win));
        return;
    }
    while (!done && run->failures == 0)
        DO(MPI_Win_test(run->window[a->a].win, &done));
}

static void act_store(struct model_run *run, const struct model_action *a, const struct model *m)
{
    const struct run_window *window = &run->window[a->a];
    copy(run, window->base[a->b] + a->c, a->bytes, (size_t)a->d, is_device(&m->window[a->a], &window->memory[a->b]));
}

/* The calls of passive epochs. */
static void act_passive(struct model_run *run, const struct model *m, const struct model_action *a)
{
    const MPI_Win win = run->window[a->a].win;
    const int target = win_rank(m, &m->window[a->a], a->b);
    switch (a->what) {
    case MODEL_LOCK:
        DO(MPI_Win_lock(a->c, target, a->d, win));
        break;
    case MODEL_UNLOCK:
        DO(MPI_Win_unlock(target, win));
        break;
    case MODEL_LOCK_ALL:
        DO(MPI_Win_lock_all(a->b, win));
        break;
    case MODEL_UNLOCK_ALL:
        DO(MPI_Win_unlock_all(win));
        break;
    case MODEL_FLUSH:
        if (a->c)
            DO(MPI_Win_flush_local(target, win));
        else
            DO(MPI_Win_flush(target, win));
        break;
    case MODEL_FLUSH_ALL:
        if (a->c)
            DO(MPI_Win_flush_local_all(win));
        else
            DO(MPI_Win_flush_all(win));
        break;
    default:
        DO(MPI_Win_sync(win));
    }
}

static void act(struct model_run *run, const struct model *m, const struct model_action *a)
{
    switch (a->what) {
    case MODEL_BARRIER:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    case MODEL_FENCE:
        DO(MPI_Win_fence(a->b, run->window[a->a].win));
        break;
    case MODEL_POST:
    case MODEL_START:
        act_post(run, m, a);
        break;
    case MODEL_COMPLETE:
        DO(MPI_Win_complete(run->window[a->a].win));
        break;
    case MODEL_WAIT:
        act_wait(run, m, a);
        break;
    case MODEL_OPERATE:
        model_run_operate(run, m, a->a);
        break;
    case MODEL_REQUESTS:
        model_run_requests(run, m, m->list + a->a, a->b, a->c);
        break;
    case MODEL_LOOK:
        look(run, m, a);
        break;
    case MODEL_STORE:
        act_store(run, a, m);
        break;
    case MODEL_SLEEP:
        usleep((useconds_t)a->a);
        break;
    default:
        act_passive(run, m, a);
    }
}

void model_run_step(struct model_run *run, const struct model *m)
{
    for (int k = 0; k < EVERY_KINDS; k++)
        copy(run, run->arena[k].base, m->first[k], m->arena_bytes, run->arena[k].kind == EVERY_DEVICE);
    for (int i = 0; i < m->actions; i++) {
        run->at = &m->action[i];
        if (run->at->rank == MODEL_NONE || run->at->rank == m->me)
            act(run, m, run->at);
    }
    run->at = NULL;
    for (int i = 0; i < m->ops && m->number % 2 == 0; i++) {
        const struct model_op *op = &m->op[i];
        for (int b = 0; b <= MODEL_BUFFERS && op->origin == m->me; b++) {
            if (b == MODEL_BUFFERS || op->buffer[b].used)
                model_layout_free(b == MODEL_BUFFERS ? &op->to : &op->buffer[b].layout, &run->type[i][b]);
        }
    }
    arenas_check(run, m);
}
