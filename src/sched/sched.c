#include "sched/sched.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "progress/engine.h"

enum { NONE = -1 };

struct task {
    const struct tutti_task_ops *ops;
    void *with;
    uint64_t number;
    int follows[2];  /* first edge, by enum tutti_task_after */
    int needs, left; /* tasks that it comes after; of them, in this run, those still to come */
};

struct edge {
    int task, next;
};

struct tutti_sched {
    const char *name;
    void (*then)(void *with, int status);
    void *with;
    struct task *task;
    struct edge *edge;
    int *ready, *running; /* tasks to be posted; to be polled. Room for all */
    int tasks, tasks_room, edges, edges_room;
    /* Of a run; under the lock. */
    int n_ready, n_running, left, status;
    struct tutti_sched *next;
    atomic_int runs;
};

static void poll_all(void);
static void sched_where(char *text, size_t size);
static struct tutti_step step = {.name = "schedules", .poll = poll_all, .where = sched_where};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the runs of all schedules */
static struct tutti_sched *all;                          /* those that run, in order of their starts */

/* ---- building ---- */

struct tutti_sched *tutti_sched_new(const char *name)
{
    struct tutti_sched *sched = calloc(1, sizeof *sched);
    if (!sched)
        return NULL;
    sched->name = name;
    return sched;
}

void tutti_sched_free(struct tutti_sched *sched)
{
    if (!sched)
        return;
    free(sched->task);
    free(sched->edge);
    free(sched->ready);
    free(sched->running);
    free(sched);
}

void tutti_sched_then(struct tutti_sched *sched, void (*ended)(void *with, int status), void *with)
{
    sched->then = ended;
    sched->with = with;
}

static int sched_widen(void *array, int room, size_t each)
{
    void *wider, *old;
    memcpy(&old, array, sizeof old);
    if ((wider = realloc(old, (size_t)room * each)) != NULL)
        memcpy(array, &wider, sizeof wider);
    return wider != NULL;
}

int tutti_sched_add(struct tutti_sched *sched, const struct tutti_task_ops *ops, void *with, uint64_t number)
{
    if (sched->tasks == sched->tasks_room) {
        const int room = sched->tasks_room ? 2 * sched->tasks_room : 16;
        if (!sched_widen(&sched->task, room, sizeof *sched->task) ||
            !sched_widen(&sched->ready, room, sizeof *sched->ready) ||
            !sched_widen(&sched->running, room, sizeof *sched->running))
            return TUTTI_ERR_MEMORY;
        sched->tasks_room = room;
    }
    sched->task[sched->tasks] = (struct task){.ops = ops, .with = with, .number = number, .follows = {NONE, NONE}};
    return sched->tasks++;
}

int tutti_sched_after(struct tutti_sched *sched, int task, int before, enum tutti_task_after what)
{
    if (before < 0 || before >= task || task >= sched->tasks)
        return TUTTI_ERR_ARGUMENT;
    if (sched->edges == sched->edges_room) {
        const int room = sched->edges_room ? 2 * sched->edges_room : 32;
        if (!sched_widen(&sched->edge, room, sizeof *sched->edge))
            return TUTTI_ERR_MEMORY;
        sched->edges_room = room;
    }
    sched->edge[sched->edges] = (struct edge){task, sched->task[before].follows[what]};
    sched->task[before].follows[what] = sched->edges++;
    sched->task[task].needs++;
    return TUTTI_OK;
}

/* ---- a run; the lock is held ---- */

static void make_ready(struct tutti_sched *sched, int task)
{
    if (--sched->task[task].left == 0)
        sched->ready[sched->n_ready++] = task;
}

static void free_followers(struct tutti_sched *sched, int task, enum tutti_task_after what)
{
    for (int e = sched->task[task].follows[what]; e != NONE; e = sched->edge[e].next) {
        make_ready(sched, sched->edge[e].task);
    }
}

static void task_ended(struct tutti_sched *sched, int task)
{
    sched->left--;
    free_followers(sched, task, TUTTI_AFTER_END);
}

/* 1 where something was begun. */
static int post_ready(struct tutti_sched *sched)
{
    int kept = 0, moved = 0;
    for (int i = 0; i < sched->n_ready; i++) { /* it may grow meanwhile */
        const int at = sched->ready[i];
        struct task *task = &sched->task[at];
        const int answer = sched->status == TUTTI_OK ? task->ops->post(task->with, task->number) : TUTTI_TASK_LATER;
        if (answer == TUTTI_TASK_LATER) {
            sched->ready[kept++] = at;
            continue;
        }
        if (answer < 0) {
            sched->status = answer;
            continue;
        }
        moved = 1;
        free_followers(sched, at, TUTTI_AFTER_POST);
        if (answer == TUTTI_TASK_ENDED)
            task_ended(sched, at);
        else
            sched->running[sched->n_running++] = at;
    }
    sched->n_ready = kept;
    return moved;
}

/* 1 where something has ended. */
static int poll_running(struct tutti_sched *sched)
{
    int kept = 0, moved = 0;
    for (int i = 0; i < sched->n_running; i++) {
        const int at = sched->running[i];
        struct task *task = &sched->task[at];
        const int answer = sched->status == TUTTI_OK ? task->ops->poll(task->with, task->number) : TUTTI_TASK_RUNS;
        if (answer == TUTTI_TASK_ENDED) {
            moved = 1;
            task_ended(sched, at);
        } else if (answer < 0) {
            sched->status = answer;
        } else {
            sched->running[kept++] = at;
        }
    }
    sched->n_running = kept;
    return moved;
}

static void cancel_tasks(struct tutti_sched *sched)
{
    for (int i = 0; i < sched->n_running; i++) {
        const struct task *task = &sched->task[sched->running[i]];
        if (task->ops->cancel)
            task->ops->cancel(task->with, task->number);
    }
    sched->n_running = 0;
}

/* As far as it goes now. 1 where the run has ended. */
static int sched_advance(struct tutti_sched *sched)
{
    while (sched->status == TUTTI_OK && sched->left > 0) {
        int moved = post_ready(sched);
        moved |= poll_running(sched);
        if (!moved)
            break;
    }
    if (sched->status != TUTTI_OK)
        cancel_tasks(sched);
    return sched->left == 0 || sched->status != TUTTI_OK;
}

static void sched_list(struct tutti_sched *sched)
{
    struct tutti_sched **at = &all;
    while (*at && *at != sched)
        at = &(*at)->next;
    if (*at)
        *at = sched->next;
}

/* Without a callback the waiting thread may free it at once; with a callback the callback alone frees it. */
static void sched_leave(struct tutti_sched *sched)
{
    sched_list(sched);
    tutti_step_close(&step);
    if (!sched->then)
        atomic_store_explicit(&sched->runs, 0, memory_order_release);
}

/* ---- after the lock ---- */

static void call_back(struct tutti_sched *ended)
{
    while (ended) {
        struct tutti_sched *next = ended->next;
        void (*const then)(void *, int) = ended->then;
        void *const with = ended->with;
        const int status = ended->status;
        atomic_store_explicit(&ended->runs, 0, memory_order_release);
        then(with, status);
        ended = next;
    }
}

/* Gives the lock back. ended: the run has ended. */
static void sched_unlock(struct tutti_sched *sched, int ended)
{
    const int calls = ended && sched->then;
    if (ended)
        sched_leave(sched);
    if (calls)
        sched->next = NULL;
    pthread_mutex_unlock(&lock);
    if (calls)
        call_back(sched);
}

static void poll_all(void)
{
    struct tutti_sched *ended = NULL, **end = &ended;
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    for (struct tutti_sched *sched = all, *next; sched; sched = next) {
        next = sched->next;
        if (!sched_advance(sched))
            continue;
        const int calls = sched->then != NULL;
        sched_leave(sched);
        if (calls) {
            *end = sched;
            end = &sched->next;
            sched->next = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    call_back(ended);
}

void tutti_sched_start(struct tutti_sched *sched)
{
    tutti_progress_add(&step);
    pthread_mutex_lock(&lock);
    sched->status = TUTTI_OK;
    sched->left = sched->tasks;
    sched->n_ready = sched->n_running = 0;
    for (int t = 0; t < sched->tasks; t++) {
        struct task *task = &sched->task[t];
        task->left = task->needs;
        if (task->needs == 0)
            sched->ready[sched->n_ready++] = t;
    }
    atomic_store_explicit(&sched->runs, 1, memory_order_relaxed);
    struct tutti_sched **end = &all;
    while (*end)
        end = &(*end)->next;
    sched->next = NULL;
    *end = sched;
    tutti_step_open(&step);
    sched_unlock(sched, sched_advance(sched));
}

int tutti_sched_done(const struct tutti_sched *sched)
{
    return !atomic_load_explicit(&sched->runs, memory_order_acquire);
}

int tutti_sched_status(const struct tutti_sched *sched)
{
    return sched->status;
}

void tutti_sched_cancel(struct tutti_sched *sched, int status)
{
    pthread_mutex_lock(&lock);
    struct tutti_sched *at = all;
    while (at && at != sched)
        at = at->next;
    if (at) {
        sched->status = status;
        cancel_tasks(sched);
    }
    sched_unlock(sched, at != NULL);
}

static int sched_is_done(void *with)
{
    return tutti_sched_done(with);
}

int tutti_sched_wait(struct tutti_sched *sched, const char *what, int watched)
{
    const int status = tutti_progress_wait(
        &(const struct tutti_wait){.done = sched_is_done, .with = sched, .what = what, .watched = watched});
    if (status != TUTTI_OK)
        tutti_sched_cancel(sched, status);
    return sched->status;
}

/* The first task that has not ended. The lock is held. */
static int first_task(const struct tutti_sched *sched)
{
    return sched->n_running > 0 ? sched->running[0] : sched->n_ready > 0 ? sched->ready[0] : NONE;
}

const void *tutti_sched_at(const struct tutti_sched *sched)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return NULL;
    const int at = first_task(sched);
    const void *with = at == NONE ? NULL : sched->task[at].with;
    pthread_mutex_unlock(&lock);
    return with;
}

static void describe_run(const struct tutti_sched *sched, char *text, size_t size)
{
    const int at = first_task(sched);
    if (at != NONE)
        snprintf(text, size, "%s, %d of %d tasks left, at %s %llu", sched->name, sched->left, sched->tasks,
                 sched->task[at].ops->name, (unsigned long long)sched->task[at].number);
}

void tutti_sched_where(const struct tutti_sched *sched, char *text, size_t size)
{
    text[0] = '\0';
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    describe_run(sched, text, size);
    pthread_mutex_unlock(&lock);
}

/* Of the oldest schedule. */
static void sched_where(char *text, size_t size)
{
    text[0] = '\0';
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    if (all)
        describe_run(all, text, size);
    pthread_mutex_unlock(&lock);
}
