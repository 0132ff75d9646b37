/* Schedules and jobs: the two forms of work that proceeds while the program does something else.
 *
 * - What meets peers in kernels or in shared memory is a *job* (worker.h): one blocking function on a worker fiber. It
 *   never uses the transport, since the engine's thread does not call the MPI.
 * - What uses the transport is a *schedule*: tasks with dependencies, run by the progress engine. No task waits.
 * - A call over several nodes alternates between jobs among the ranks of the node and schedules of messages among the
 * leaders.
 *
 * Shared tasks are in tasks.h: send, receive, copy, combine.
 *
 * A schedule is built once by one thread, then started as often as wanted, each time after the run before has ended. A
 * task is posted when all tasks that it comes after have been posted or have ended. It is then polled until it has
 * ended. Tasks run on the thread that polls; two tasks of one schedule never run at a time. Tasks that can be posted
 * are asked in the order in which they became so. */
#ifndef TUTTI_SCHED_SCHED_H
#define TUTTI_SCHED_SCHED_H

#include <stddef.h>
#include <stdint.h>

/* What post() and poll() return, besides negative statuses, which end the schedule. */
enum tutti_task_answer {
    TUTTI_TASK_LATER, /* post(): nothing was begun; it is asked again */
    TUTTI_TASK_RUNS,
    TUTTI_TASK_ENDED
};

/* None of these may wait, nor start or end a schedule. A task that works on the host works on a piece of
 * bounded size, since other schedules make no progress meanwhile. */
struct tutti_task_ops {
    const char *name; /* what it does, for reports */
    int (*post)(void *with, uint64_t number);
    int (*poll)(void *with, uint64_t number); /* NULL where post() never returns RUNS */
    /* The run ends before this task, which runs, has ended. It is not polled again. NULL: nothing to do. */
    void (*cancel)(void *with, uint64_t number);
};

/* What of another task a task comes after. */
enum tutti_task_after { TUTTI_AFTER_POST, TUTTI_AFTER_END };

struct tutti_sched;

/* Local. name: a text that stays. NULL without memory. */
struct tutti_sched *tutti_sched_new(const char *name);
/* Frees a schedule that does not run. NULL does nothing. */
void tutti_sched_free(struct tutti_sched *sched);

/* The task's place, from 0 on, or TUTTI_ERR_MEMORY. ops and with stay. */
int tutti_sched_add(struct tutti_sched *sched, const struct tutti_task_ops *ops, void *with, uint64_t number);
/* `task` comes after `before`, which was added before it: so there is no cycle. A status. */
int tutti_sched_after(struct tutti_sched *sched, int task, int before, enum tutti_task_after what);
/* Sets a callback, for callers that do not wait: the thread that notices the end of a run calls it once. The callback
 * may start or free the schedule; no other thread may free it then. It may not wait. */
void tutti_sched_then(struct tutti_sched *sched, void (*ended)(void *with, int status), void *with);

/* Local. Posts what can be posted; the engine does the rest. Of one that does not run. */
void tutti_sched_start(struct tutti_sched *sched);
/* 1 if no run is under way. */
int tutti_sched_done(const struct tutti_sched *sched);
/* How the last run has ended. */
int tutti_sched_status(const struct tutti_sched *sched);
/* Ends the run with `status`, which is negative; nothing where it does not run any more. */
void tutti_sched_cancel(struct tutti_sched *sched, int status);
/* Writes how far the run is, and its first task that has not ended, as a text. Empty while another thread polls,
 * and after the run. */
void tutti_sched_where(const struct tutti_sched *sched, char *text, size_t size);
/* What the first task that has not ended was added with; NULL: none, or another thread polls. */
const void *tutti_sched_at(const struct tutti_sched *sched);
/* Polls all steps until the run has ended. what: see struct tutti_wait; watched: a death in the node ends the wait, and
 * the run. Its status. */
int tutti_sched_wait(struct tutti_sched *sched, const char *what, int watched);

#endif
