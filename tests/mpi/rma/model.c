/* One-sided communication: random valid RMA programs on windows of every flavour, several at once, in memory of the
 * host, of a device, pinned and managed, with origins, compare buffers and results in any of these. What all memory
 * must hold is worked out by the model (model.h), not by an MPI.
 *
 *   model [PROGRAMS [FLAVOURS]]     FLAVOURS: a set of bits by enum model_flavour (all)
 *
 * In the environment: TUTTI_TEST_SEED, TUTTI_TEST_FIRST=n begins with program n, TUTTI_TEST_ONLY=n runs program n
 * alone, PROGRAMS times, TUTTI_TEST_TEXT=1 prints the step that fails, TUTTI_TEST_PATIENCE seconds after which a
 * program counts as hanging (60). */
#include "model.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct model model;
static struct model_run *run;

int model_may(const struct model_op *op)
{
    (void)op;
    return 1;
}

static void show_step(void)
{
    char text[900];
    for (int i = 0; i < model.actions; i++) {
        model_text(&model, &model.action[i], text, sizeof text);
        fprintf(stderr, "%4d %s\n", i, text);
    }
}

/* A program that stands still, or ends by a signal, is shown as far as that can be done here. */
static void stuck(int number)
{
    char text[900] = "no action";
    signal(number, SIG_DFL);
    if (run && model_run_at(run))
        model_text(&model, model_run_at(run), text, sizeof text);
    fprintf(stderr, "FAILED rank %d: seed %llu program %llu step %d %s at: %s\n", kit_rank,
            (unsigned long long)kit_seed, (unsigned long long)model.number, model.step,
            number == SIGALRM ? "stands" : strsignal(number), text);
    usleep(300000);
    if (kit_rank == 0 && getenv("TUTTI_TEST_TEXT"))
        show_step();
    fflush(stderr);
    sleep(1);
    if (number == SIGALRM)
        _exit(1);
    raise(number);
}

/* What comes after a step: a look at all windows, or less. Always what the next step needs. */
static int step_end(enum model_kind kind)
{
    const int passive = kind == MODEL_STEP_SHARED || kind == MODEL_STEP_EXCLUSIVE, how = model_dice(&model, 4);
    int fine = 1;
    model.unmatched = 0;
    if (how < 2) {
        fine = model_run_check(run, &model, model_step_names[kind], passive);
    } else if (passive) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (how == 2)
            model_run_own(run, &model);
        else
            model.unmatched = 1;
    } else if (how == 2) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int w = 0; w < model.windows; w++)
        model_window_synchronised(&model, w);
    return fine;
}

static int program_run(uint64_t number, int flavours)
{
    int fine = 1;
    model_draw(&model, kit_seed, number, kit_size, kit_rank, flavours);
    model_run_windows(run, &model);
    const int steps = model.big ? 4 : 2 + model_dice(&model, 7);
    for (int s = 0; s < steps && fine; s++) {
        const enum model_kind kind = model_step(&model);
        model_run_step(run, &model);
        fine = step_end(kind);
        for (int w = 0; w < model.windows && fine; w++) {
            if (model.window[w].flavour == MODEL_DYNAMIC && !model.unmatched && model_rarely(&model, 3)) {
                MPI_Barrier(MPI_COMM_WORLD);
                model_run_own(run, &model);
                MPI_Barrier(MPI_COMM_WORLD);
                model_move(&model, w);
                model_run_move(run, &model, w);
            }
        }
    }
    fine = fine && model_run_check(run, &model, "the last step", model.unmatched);
    if (!fine && getenv("TUTTI_TEST_TEXT") && kit_rank == 0)
        show_step();
    model_run_end(run, &model);
    model_close(&model);
    return fine;
}

int main(int argc, char **argv)
{
    const unsigned patience = (unsigned)check_setting("TUTTI_TEST_PATIENCE", 60);
    signal(SIGALRM, stuck);
    signal(SIGSEGV, stuck);
    signal(SIGABRT, stuck);
    alarm(patience);
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int programs = argc > 1 ? atoi(argv[1]) : 100;
    const int flavours = argc > 2 ? atoi(argv[2]) : (1 << MODEL_FLAVOURS) - 1;
    const long only = check_setting("TUTTI_TEST_ONLY", -1), first = check_setting("TUTTI_TEST_FIRST", 0);
    if (kit_size > MODEL_RANKS)
        kit_skip("rma-model", "too many ranks");
    if (!kit_makes_windows())
        kit_skip("rma-model", "this MPI makes no windows here");
    run = model_run_open(3 << 20);
    int done = 0, fine = 1;
    while (done < programs && fine) {
        alarm(patience);
        fine = program_run((uint64_t)(only >= 0 ? only : first + done), flavours);
        done++;
    }
    model_run_close(run);
    if (kit_rank == 0)
        printf("rma-model: %d programs\n", done);
    return kit_end("rma-model");
}
