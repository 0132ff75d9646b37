/* Private to the shared tasks: calls of their users' functions. */
#ifndef TUTTI_SCHED_HOOKS_H
#define TUTTI_SCHED_HOOKS_H

#include "sched/tasks.h"

/* 1, 0 or a status, as ready() of the hooks. */
static inline int tutti_task_ready(const struct tutti_task_user *user, uint64_t number)
{
    return user->hooks && user->hooks->ready ? user->hooks->ready(user->with, number) : 1;
}

static inline void tutti_task_end(const struct tutti_task_user *user, uint64_t number, enum tutti_task_end how)
{
    if (user->hooks && user->hooks->ended)
        user->hooks->ended(user->with, number, how);
}

/* What post() returns of a task that has begun (answer RUNS or ENDED), or has failed to, with its memory `lost`. */
static inline int tutti_task_begin(const struct tutti_task_user *user, uint64_t number, int answer,
                                   enum tutti_task_end failure)
{
    if (answer >= 0 && user->hooks && user->hooks->begun)
        user->hooks->begun(user->with, number);
    if (answer != TUTTI_TASK_RUNS)
        tutti_task_end(user, number, answer < 0 ? failure : TUTTI_TASK_DONE);
    return answer;
}

/* What poll() returns; done: 1, 0 or a status, with which the memory is as `failure` says. */
static inline int tutti_task_poll(const struct tutti_task_user *user, uint64_t number, int done,
                                  enum tutti_task_end failure)
{
    if (done == 0)
        return TUTTI_TASK_RUNS;
    tutti_task_end(user, number, done < 0 ? failure : TUTTI_TASK_DONE);
    return done < 0 ? done : TUTTI_TASK_ENDED;
}

#endif
