/* The progress engine: all open work that needs the host is a step, and every wait polls all steps. So a wait may need
 * any other step, of this rank or of the rank that it waits for.
 *
 * A step is a kind of work (sends through the MPI, nonblocking reductions ...) and counts how much of it is open. Its
 * poll() advances what can be advanced now and never waits. Several threads of the program may call it at once: a
 * thread that finds another one inside returns. Nothing here knows the MPI. */
#ifndef TUTTI_PROGRESS_ENGINE_H
#define TUTTI_PROGRESS_ENGINE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct tutti_step {
    const char *name; /* of what is under way, for reports */
    void (*poll)(void);
    /* Writes what the step waits for, as a text; NULL: no text. Called while it is open, never by poll(). */
    void (*where)(char *text, size_t size);
    atomic_int open;
    atomic_int added; /* of the engine */
    struct tutti_step *next;
};

/* Steps that are open, over all kinds. */
extern atomic_int tutti_progress_open;
static inline int tutti_progress_busy(void)
{
    return __builtin_expect(atomic_load_explicit(&tutti_progress_open, memory_order_relaxed) != 0, 0);
}
/* 1 if one thing is. */
static inline int tutti_progress_open_alone(void)
{
    return atomic_load_explicit(&tutti_progress_open, memory_order_relaxed) == 1;
}

/* Local, before the step's first tutti_step_open(); again does nothing. Safe from any thread. The step stays. */
void tutti_progress_add(struct tutti_step *step);
/* One more thing of this kind is under way; or one less. */
void tutti_step_open(struct tutti_step *step);
void tutti_step_close(struct tutti_step *step);
/* The same for a step that is opened and closed by these two alone, under one lock of the caller: in windows of
 * messages all but the first and the last cost no atomic operation. */
void tutti_step_open_locked(struct tutti_step *step);
void tutti_step_close_locked(struct tutti_step *step);
static inline int tutti_step_busy(const struct tutti_step *step)
{
    return __builtin_expect(atomic_load_explicit(&step->open, memory_order_relaxed) != 0, 0);
}

/* Polls all open steps, without waiting. Does nothing inside a poll. */
void tutti_progress_poll(void);
/* 1 if the calling thread is in a poll: what it calls must not wait. */
int tutti_progress_polling(void);

struct tutti_wait {
    int (*done)(void *with); /* 1: the wait is over; negative: a status, which ends the wait */
    void *with;
    const char *what; /* reported if the wait takes longer than TUTTI_STALL_SECONDS; NULL: such waits are normal */
    void (*describe)(const void *with, char *text, size_t size); /* writes the report's text, in place of `what` */
    long seconds;                                                /* then TUTTI_ERR_TIMEOUT; 0: no limit */
    int watched; /* 1: TUTTI_ERR_PEER where a process that it may need has died */
    /* Of waits in the rooms below the door: */
    int quiet;         /* 1: no steps are polled: kernels are running, or locks are held */
    unsigned spins;    /* done() is asked so often in a row; 0: once */
    unsigned every_us; /* done() costs much: not more often; 0: by TUTTI_WAIT */
    int crowded;       /* 1: there are more threads than cores: no spinning */
    /* Called once a round, for reports and limits of its own; *waited: how long the wait has lasted. A status ends the
     * wait. NULL: no call. */
    int (*look)(void *with, uint64_t *waited);
    void *look_with;
};
/* The one wait: polls all open steps until done() returns 1; in a fiber (fiber.h) lets the other fibers run instead.
 * TUTTI_OK, or why it ended. */
int tutti_progress_wait(const struct tutti_wait *wait);

/* 1 if the calling thread is in a wait that polls steps: it will poll again soon. */
int tutti_progress_waiting(void);
/* Work that peers wait for and whose end only a poll of this rank sees. The outermost wait of a thread ends when
 * nothing is owed, or 20 ms later. Begun by threads for which tutti_progress_waiting() is 1. */
extern atomic_int tutti_progress_owed;

/* ns that the calling thread has been in waits so far, without short ones and those in fibers. */
uint64_t tutti_progress_waited(void);

/* Sets the function that lets the MPI make progress in every wait: a wait may need a message that the MPI alone
 * carries. Local, before the first wait. */
void tutti_progress_mpi(void (*advance)(void));
/* Sets the function that returns, for watched waits, which process of this machine has died (0: none). Local,
 * before the first wait. */
void tutti_progress_watch(int (*dead)(void));

#endif
