#include "progress/engine.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "progress/fiber.h"
#include "progress/helper.h"
#include "progress/pause.h"

enum {
    COUNTED_ROUNDS = 4, /* behind which a wait counts as one */
    SPINS = 64,         /* rounds without giving the core away */
    LOOK_ROUNDS = 32,   /* between looks at the clock */
    LOOK_NS = 5000000,  /* between looks after peers */
    SLEEP_US = 100,
    NAP_MOST_US = 1000, /* of waits that look themselves */
    OWED_NS = 20000000  /* how long a wait that is over polls for what is owed */
};
static const uint64_t second = 1000000000;
static const uint64_t grace = 2000000000; /* what needs nothing more of a dead peer ends before */

atomic_int tutti_progress_open, tutti_progress_owed;

static _Atomic(struct tutti_step *) first;
static int (*dead_process)(void);
static void (*mpi_progress)(void);
static __thread int polling;
/* Steps whose poll this thread is in: where one waits, the others go on, and not itself. */
struct frame {
    const struct tutti_step *step;
    const struct frame *up;
};
static __thread const struct frame *frames;

void tutti_progress_add(struct tutti_step *step)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (atomic_load_explicit(&step->added, memory_order_acquire))
        return;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&step->added)) {
        step->next = atomic_load(&first);
        atomic_store(&first, step);
        atomic_store_explicit(&step->added, 1, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}

void tutti_step_open(struct tutti_step *step)
{
    atomic_fetch_add_explicit(&step->open, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&tutti_progress_open, 1, memory_order_seq_cst);
    tutti_helper_opened();
}

void tutti_step_close(struct tutti_step *step)
{
    atomic_fetch_sub_explicit(&tutti_progress_open, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&step->open, 1, memory_order_release);
}

void tutti_step_open_locked(struct tutti_step *step)
{
    const int open = atomic_load_explicit(&step->open, memory_order_relaxed);
    atomic_store_explicit(&step->open, open + 1, memory_order_relaxed);
    if (open > 0)
        return;
    atomic_fetch_add_explicit(&tutti_progress_open, 1, memory_order_seq_cst);
    tutti_helper_opened();
}

void tutti_step_close_locked(struct tutti_step *step)
{
    const int open = atomic_load_explicit(&step->open, memory_order_relaxed);
    if (open == 1)
        atomic_fetch_sub_explicit(&tutti_progress_open, 1, memory_order_relaxed);
    atomic_store_explicit(&step->open, open - 1, memory_order_release);
}

void tutti_progress_watch(int (*dead)(void))
{
    dead_process = dead;
}

void tutti_progress_mpi(void (*advance)(void))
{
    mpi_progress = advance;
}

int tutti_progress_polling(void)
{
    return polling;
}

static void engine_leave(const struct frame *frame)
{
    frames = frame->up;
    polling = 0;
}

static int engine_entered(const struct tutti_step *step)
{
    const struct frame *frame = frames;
    while (frame && frame->step != step)
        frame = frame->up;
    return frame != NULL;
}

void tutti_progress_poll(void)
{
    if (polling || !tutti_progress_busy() || tutti_fiber_here()) /* steps call the MPI, the engine's thread does not */
        return;
    __attribute__((cleanup(engine_leave))) struct frame frame = {NULL, frames}; /* also when an exception leaves it */
    polling = 1;
    if (!tutti_helper_here())
        atomic_store_explicit(&tutti_helper_others,
                              atomic_load_explicit(&tutti_helper_others, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    for (struct tutti_step *step = atomic_load_explicit(&first, memory_order_acquire); step; step = step->next) {
        if (!tutti_step_busy(step) || (frame.up && engine_entered(step)))
            continue;
        frame.step = step;
        frames = &frame;
        step->poll();
    }
}

/* Negative: in a fiber, which may be on another thread now. */
static void engine_restore(const int *before)
{
    if (*before >= 0)
        polling = *before;
}

/* What else is open, since it may be the cause of the stall. */
static void say_stall(const struct tutti_wait *wait)
{
    char text[512] = "", what[320] = "";
    size_t used = 0;
    for (const struct tutti_step *step = atomic_load(&first); step; step = step->next) {
        char place[160] = "";
        int open = atomic_load(&step->open);
        if (open == 0 || used >= sizeof text)
            continue;
        if (step->where)
            step->where(place, sizeof place);
        int n = snprintf(text + used, sizeof text - used, "%s%d of %s%s%s", used ? ", " : "; under way here: ", open,
                         step->name, place[0] ? ": " : "", place);
        used += n > 0 ? (size_t)n : 0;
    }
    if (wait->describe)
        wait->describe(wait->with, what, sizeof what);
    tutti_warn("waiting for %ld s: %s%s", tutti_settings()->stall_seconds, wait->describe ? what : wait->what, text);
}

/* The clock of one wait. */
struct watch {
    uint64_t start, next, dead_since;
    int reported;
};

static int engine_look(const struct tutti_wait *wait, struct watch *watch)
{
    const uint64_t now = tutti_now_ns();
    if (now < watch->next)
        return TUTTI_OK;
    watch->next = now + LOOK_NS;
    watch->start = watch->start ? watch->start : now;
    if ((wait->what || wait->describe) && !watch->reported &&
        now - watch->start > (uint64_t)tutti_settings()->stall_seconds * second) {
        watch->reported = 1;
        say_stall(wait);
    }
    if (wait->seconds > 0 && now - watch->start > (uint64_t)wait->seconds * second)
        return TUTTI_ERR_TIMEOUT;
    const int dead = wait->watched && dead_process ? dead_process() : 0;
    watch->dead_since = !dead ? 0 : watch->dead_since ? watch->dead_since : now;
    if (!dead || now - watch->dead_since <= grace)
        return TUTTI_OK;
    tutti_error("process %d has died: %s", dead, wait->what ? wait->what : "a call may need it");
    return TUTTI_ERR_PEER;
}

/* Asks what is waited for, `spins` times. */
static int engine_is_done(const struct tutti_wait *wait)
{
    int done = wait->done(wait->with);
    for (unsigned spin = 1; spin < wait->spins && !done; spin++) {
        tutti_pause();
        done = wait->done(wait->with);
    }
    return done;
}

/* Once a round: the wait's own look, and the engine's. */
static int look_round(const struct tutti_wait *wait, struct watch *watch, unsigned round, uint64_t *waited)
{
    *waited = round < SPINS ? 0 : TUTTI_YIELD_AFTER_NS + 1;
    const int status = wait->look ? wait->look(wait->look_with, waited) : TUTTI_OK;
    if (status != TUTTI_OK || (round % LOOK_ROUNDS != 0 && !wait->every_us))
        return status;
    return engine_look(wait, watch);
}

/* The waits of this thread that have ended, and the one that has not. One inside another does not count. */
static _Thread_local uint64_t waited_ns, waits_since;

uint64_t tutti_progress_waited(void)
{
    return waited_ns + (waits_since ? tutti_now_ns() - waits_since : 0);
}

/* Not 0: when a wait that counts has begun. */
static uint64_t counted_begin(void)
{
    if (waits_since || tutti_fiber_here())
        return 0;
    waits_since = tutti_now_ns();
    return waits_since;
}

static void counted_end(const uint64_t *since)
{
    if (*since == 0)
        return;
    waited_ns += tutti_now_ns() - *since;
    waits_since = 0;
}

/* Waits of this thread in which steps are polled, one inside the other; not those of fibers. */
static _Thread_local int waits;

int tutti_progress_waiting(void)
{
    return waits > 0;
}

/* The last of these waits is over, and the thread may not poll for long. */
static void waits_end(const int *counts)
{
    if (!*counts || --waits > 0 || atomic_load_explicit(&tutti_progress_owed, memory_order_relaxed) == 0)
        return;
    const uint64_t until = tutti_now_ns() + OWED_NS;
    while (atomic_load_explicit(&tutti_progress_owed, memory_order_relaxed) > 0 && tutti_now_ns() < until) {
        tutti_progress_poll();
        tutti_pause();
    }
}

int tutti_progress_wait(const struct tutti_wait *wait)
{
    struct watch watch = {.start = 0};
    const int in_fiber = tutti_fiber_here() != NULL;
    const int advance = !wait->quiet, mpi = advance && mpi_progress && !in_fiber;
    __attribute__((cleanup(engine_restore), unused)) const int before = in_fiber ? -1 : polling;
    __attribute__((cleanup(counted_end), unused)) uint64_t counted = 0;
    if (advance && !in_fiber)
        polling = 0; /* a step that must wait after all: the others, which have locks of their own, go on */
    __attribute__((cleanup(waits_end), unused)) const int counts = advance && !in_fiber;
    if (counts)
        waits++;
    for (unsigned round = 1;; round++) {
        uint64_t waited;
        if (round == COUNTED_ROUNDS)
            counted = counted_begin();
        if (advance)
            tutti_progress_poll();
        const int done = engine_is_done(wait);
        if (done)
            return done > 0 ? TUTTI_OK : done;
        if (mpi)
            mpi_progress();
        const int status = look_round(wait, &watch, round, &waited);
        if (status != TUTTI_OK)
            return status;
        if (wait->every_us)
            tutti_nap(wait->every_us);
        else
            tutti_pause_by(waited, wait->crowded, wait->look ? NAP_MOST_US : SLEEP_US);
    }
}
