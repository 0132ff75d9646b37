/* The shared tasks over the transport of threads: random programs of messages, copies and combinations, as schedules
 * with the dependencies that their data need and random ones besides, several at a time on each rank. Compared with the
 * plain execution of the program in its order. */
#include "sched/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "core/types.h"
#include "program.h"
#include "progress/engine.h"
#include "support/check.h"
#include "support/random.h"
#include "support/threads.h"

enum { SCHEDS = 3, RUNS = 2 };

/* One schedule of one rank. */
struct plan {
    const struct program *program;
    struct tutti_transport *transport;
    int first_tag, rank;
    struct tutti_sched *sched;
    int task[OPS][2], tasks;
    union {
        struct tutti_transfer_task transfer;
        struct tutti_copy_task copy;
        struct tutti_combine_task combine;
    } of[OPS][2];
    const void *in[OPS][3];
    memory at;
    uint64_t seed;
    int ends, begins, late[2 * OPS];
};

/* ---- the same as schedules ---- */

static int is_ready(void *with, uint64_t number)
{
    struct plan *plan = with;
    return plan->late[number] == 0 ? 1 : (plan->late[number]--, 0);
}

static void has_begun(void *with, uint64_t number)
{
    (void)number;
    ((struct plan *)with)->begins++;
}

static void has_ended(void *with, uint64_t number, enum tutti_task_end how)
{
    CHECK(how == TUTTI_TASK_DONE, "task %d has ended as %d", (int)number, (int)how);
    ((struct plan *)with)->ends++;
}

static const struct tutti_task_hooks hooks = {is_ready, has_begun, has_ended};

static int add_transfer(struct plan *plan, int i, int sends)
{
    const struct op *op = &plan->program->op[i];
    struct tutti_transfer_task *task = &plan->of[i][!sends].transfer;
    *task = (struct tutti_transfer_task){.user = {&hooks, plan},
                                         .transport = plan->transport,
                                         .memory = plan->at[sends ? op->x : op->y],
                                         .bytes = (size_t)plan->program->words * 8,
                                         .rank = sends ? op->to : op->rank,
                                         .tag = plan->first_tag + op->tag,
                                         .synchronous = op->synchronous};
    return (sends ? tutti_task_send : tutti_task_receive)(plan->sched, task, (uint64_t)plan->tasks);
}

static int add_local(struct plan *plan, int i)
{
    const struct op *op = &plan->program->op[i];
    const struct tutti_task_user user = {&hooks, plan};
    const size_t words = (size_t)plan->program->words;
    if (op->kind == COPY) {
        plan->of[i][0].copy = (struct tutti_copy_task){.user = user,
                                                       .job = {.direction = i % 2 ? TUTTI_PACK : TUTTI_UNPACK,
                                                               .memory = plan->at[i % 2 ? op->x : op->y],
                                                               .packed = plan->at[i % 2 ? op->y : op->x],
                                                               .bytes = words * 8}};
        return tutti_task_copy(plan->sched, &plan->of[i][0].copy, (uint64_t)plan->tasks);
    }
    for (int k = 0; k < op->n; k++)
        plan->in[i][k] = plan->at[op->inputs[k]];
    plan->of[i][0].combine = (struct tutti_combine_task){.user = user,
                                                         .type = TUTTI_TYPE_I64,
                                                         .op = TUTTI_OP_SUM,
                                                         .inputs = op->n,
                                                         .in = plan->in[i],
                                                         .out = plan->at[op->y],
                                                         .count = words};
    return tutti_task_combine(plan->sched, &plan->of[i][0].combine, (uint64_t)plan->tasks);
}

static void follow(struct plan *plan, int task, int before, enum tutti_task_after what)
{
    CHECK(tutti_sched_after(plan->sched, task, before, what) == TUTTI_OK, "an edge was refused");
}

/* Edges from earlier operations to side `side` of operation i. */
static void follow_earlier(struct plan *plan, int i, int side, uint64_t *at)
{
    const struct op *op = &plan->program->op[i];
    const int task = plan->task[i][side];
    int mine[BUFFERS], theirs[BUFFERS];
    program_touch(op, plan->rank, mine);
    for (int j = 0; j < i; j++) {
        const struct op *before = &plan->program->op[j];
        program_touch(before, plan->rank, theirs);
        int meets = 0;
        for (int b = 0; b < BUFFERS; b++)
            meets |= (mine[b] & 2 && theirs[b]) || (theirs[b] & 2 && mine[b]);
        for (int s = 0; s < 2; s++) {
            if (plan->task[j][s] < 0)
                continue;
            if (meets || random_next(at) % 16 == 0)
                follow(plan, task, plan->task[j][s], TUTTI_AFTER_END);
            else if ((op->kind == MESSAGE && before->kind == MESSAGE && s == side && op->tag == before->tag) ||
                     random_next(at) % 16 == 0) /* messages of one tag: in order */
                follow(plan, task, plan->task[j][s], TUTTI_AFTER_POST);
        }
    }
}

static void build(struct plan *plan, uint64_t *at)
{
    const struct program *p = plan->program;
    plan->sched = tutti_sched_new("test");
    for (int i = 0; i < p->n; i++) {
        const struct op *op = &p->op[i];
        plan->task[i][0] = plan->task[i][1] = -1;
        for (int side = 0; side < 2; side++) {
            const int here =
                op->kind == MESSAGE ? plan->rank == (side ? op->to : op->rank) : side == 0 && plan->rank == op->rank;
            if (!here)
                continue;
            const int task = op->kind == MESSAGE ? add_transfer(plan, i, side == 0) : add_local(plan, i);
            CHECK(task == plan->tasks, "task %d has place %d", plan->tasks, task);
            plan->task[i][side] = task;
            plan->tasks++;
            follow_earlier(plan, i, side, at);
        }
    }
}

static void start(struct plan *plan, int run, uint64_t *at)
{
    program_fill(plan->at, plan->seed + (uint64_t)run, plan->rank);
    plan->ends = plan->begins = 0;
    for (int t = 0; t < plan->tasks; t++)
        plan->late[t] = random_next(at) % 4 ? 0 : (int)(random_next(at) % 4);
    tutti_sched_start(plan->sched);
}

static void judge(const struct plan *plan, int run, memory *all)
{
    int wrong = 0;
    for (int r = 0; r < plan->program->ranks; r++)
        program_fill(all[r], plan->seed + (uint64_t)run, r);
    program_execute(plan->program, all);
    for (int b = 0; b < BUFFERS; b++)
        wrong += memcmp(all[plan->rank][b], plan->at[b], (size_t)plan->program->words * 8) != 0;
    CHECK(wrong == 0, "rank %d of %d, seed %llu, run %d: %d buffers are wrong", plan->rank, plan->program->ranks,
          (unsigned long long)plan->seed, run, wrong);
    CHECK(plan->begins == plan->tasks && plan->ends == plan->tasks, "%d tasks, %d begun, %d ended", plan->tasks,
          plan->begins, plan->ends);
}

/* Shared by the ranks of a run. */
struct shared {
    uint64_t seed;
    int rounds;
};

static void run_round(struct tutti_transport *t, uint64_t seed, struct plan *plan, memory *all)
{
    uint64_t at = seed, mine = random_mix(seed + (uint64_t)t->rank);
    const int plans = 1 + (int)(random_next(&at) % SCHEDS);
    for (int s = 0; s < plans; s++) {
        struct program *p = malloc(sizeof *p);
        program_draw(p, t->size, &at);
        memset(&plan[s], 0, sizeof plan[s]);
        plan[s].program = p;
        plan[s].transport = t;
        plan[s].first_tag = s * TAGS;
        plan[s].rank = t->rank;
        plan[s].seed = seed + (uint64_t)s;
        build(&plan[s], &mine);
    }
    for (int run = 0; run < RUNS; run++) {
        for (int s = 0; s < plans; s++)
            start(&plan[s], run, &mine);
        for (int s = 0; s < plans; s++)
            CHECK(tutti_sched_wait(plan[s].sched, "for a test", 0) == TUTTI_OK, "status %d",
                  tutti_sched_status(plan[s].sched));
        for (int s = 0; s < plans; s++)
            judge(&plan[s], run, all);
    }
    for (int s = 0; s < plans; s++) {
        tutti_sched_free(plan[s].sched);
        free((void *)(uintptr_t)plan[s].program);
    }
}

static int rank_main(struct tutti_transport *t, void *arg)
{
    struct shared *shared = arg;
    struct plan *plan = malloc(SCHEDS * sizeof *plan);
    memory *all = malloc(RANKS * sizeof *all);
    for (int round = 0; round < shared->rounds && check_failed() == 0; round++)
        run_round(t, random_mix(shared->seed + (uint64_t)round), plan, all);
    free(plan);
    free(all);
    return 0;
}

int main(void)
{
    const int rounds = (int)check_many("TUTTI_TEST_ROUNDS", 400);
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        struct shared *shared = calloc(1, sizeof *shared);
        shared->seed = check_seed() + (uint64_t)ranks * 1000000;
        shared->rounds = rounds / RANKS;
        tutti_threads_run(ranks, rank_main, shared);
        free(shared);
    }
    printf("tasks: %d programs, %ld checks, %ld failed, seed %llu\n", rounds, check_done(), check_failed(),
           (unsigned long long)check_seed());
    return check_failed() > 0 || tutti_progress_busy();
}
