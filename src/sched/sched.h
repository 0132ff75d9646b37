/* Schedules: tasks with dependencies, brought on by the progress engine. Built once by one thread, then started as
 * often as wanted, each time when the run before has ended. A task is posted when all that it comes after has been
 * posted or has ended, is polled until it has ended itself, and runs on whatever thread polls: never two of one
 * schedule at a time. Tasks that could be posted are asked in the order in which they became so. */
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

/* None of these may wait, nor start or end a schedule. */
struct tutti_task_ops {
    const char *name; /* what it does, for reports */
    int (*post)(void *with, uint64_t number);
    int (*poll)(void *with, uint64_t number); /* NULL where post() never returns RUNS */
    /* The schedule ends before this task, which runs, has. It is not polled again. NULL: nothing to do. */
    void (*cancel)(void *with, uint64_t number);
};

/* What of another task a task comes after. */
enum tutti_task_after { TUTTI_AFTER_POST, TUTTI_AFTER_END };

struct tutti_sched;

/* Local. name: a text that stays. NULL without memory. */
struct tutti_sched *tutti_sched_new(const char *name);
/* Of one that does not run; takes NULL. */
void tutti_sched_free(struct tutti_sched *sched);

/* The task's place, from 0 on, or TUTTI_ERR_MEMORY. ops and with stay. */
int tutti_sched_add(struct tutti_sched *sched, const struct tutti_task_ops *ops, void *with, uint64_t number);
/* `task` comes after `before`, which was added before it: so there is no cycle. A status. */
int tutti_sched_after(struct tutti_sched *sched, int task, int before, enum tutti_task_after what);
/* Instead of waiting: called once in every run, when it has ended, by the thread that found out. It may start or free
 * the schedule; nobody else may free it then. It may not wait. */
void tutti_sched_then(struct tutti_sched *sched, void (*ended)(void *with, int status), void *with);

/* Local. Posts what can be posted; the engine does the rest. Of one that does not run. */
void tutti_sched_start(struct tutti_sched *sched);
/* 1 where it does not run. */
int tutti_sched_done(const struct tutti_sched *sched);
/* How the last run has ended. */
int tutti_sched_status(const struct tutti_sched *sched);
/* Ends the run with `status`, which is negative; nothing where it does not run any more. */
void tutti_sched_cancel(struct tutti_sched *sched, int status);
/* Brings everything on until it has ended. what: see struct tutti_wait; watched: a death in the node ends the wait, and
 * the run. Its status. */
int tutti_sched_wait(struct tutti_sched *sched, const char *what, int watched);

#endif
