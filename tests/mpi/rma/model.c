/* One-sided communication: random valid RMA programs on windows of every flavour, several at once, in memory of the
 * host, of a device, pinned and managed, with origins, compare buffers and results in any of these. What all memory
 * must hold is worked out by the model (model.h), not by an MPI.
 *
 *   model [PROGRAMS [FLAVOURS]]     FLAVOURS: a set of bits by enum model_flavour (all)
 *
 * In the environment: TUTTI_TEST_SEED, TUTTI_TEST_FIRST=n begins with program n, TUTTI_TEST_ONLY=n runs program n
 * alone, PROGRAMS times, TUTTI_TEST_TEXT=1 prints the step that fails, 2 all steps, TUTTI_TEST_TIMEOUT seconds after
 * which a program counts as hanging (60). */
#include "model.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct model model;
static struct model_run *run;

/* What may be left out: of this MPI, and by TUTTI_TEST_WITHOUT, a list of these names. */
enum without {
    LOGICAL,
    PAIRS,
    RGET,
    UNSIGNED,
    NOCHECK,
    ZERO,
    SWAP,
    SMALL_SWAP,
    WIDE_SWAP,
    FETCH,
    GET_ACCUMULATE,
    GAPS_UPDATED,
    FLUSH,
    FORMS,
    WITHOUT
};
static const char *const without_names[] = {"logical", "pairs", "rget",      "unsigned", "nocheck",
                                            "zero",    "swap",  "smallswap", "wideswap", "fetch",
                                            "getacc",  "gaps",  "flush",     "requests"};
static int without[WITHOUT];

/* What fails without Tutti too (TUTTI_TEST_PLAIN=1). Open MPI reduces unsigned elements as signed ones, and makes other
 * values than 0 and 1 of logical operators; Open MPI 4.1 has wrong bytes in MPI_Get_accumulate, and ends the program in
 * MPI_Compare_and_swap of its own window. MPICH 4.0 takes the least and the largest unsigned element for that of signed
 * ones, and data of a get with gaps may come after its request is complete, or after MPI_Win_flush_local. MPICH stands
 * still when locks with MPI_MODE_NOCHECK and without follow each other. */
static const char *without_here(int flavours)
{
#ifdef OPEN_MPI
    return flavours == MODEL_ALONE ? "" : "unsigned logical getacc smallswap wideswap";
#elif defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
    return flavours == MODEL_ALONE ? "unsigned" : "nocheck unsigned rget";
#else
    return flavours == MODEL_ALONE ? "" : "nocheck";
#endif
}

static void read_without(int flavours)
{
    const char *more = getenv("TUTTI_TEST_WITHOUT"), *here = without_here(flavours);
    for (int i = 0; i < WITHOUT; i++)
        without[i] = strstr(here, without_names[i]) != NULL || (more && strstr(more, without_names[i]) != NULL);
}

int model_checks_locks(void)
{
    return without[NOCHECK];
}

int model_gets_later(void)
{
    return without[RGET];
}

int model_may(const struct model_op *op)
{
    const size_t size = model_sizes[op->element];
    const int updates =
        op->call != MODEL_Put && op->call != MODEL_Get && op->call != MODEL_Rput && op->call != MODEL_Rget;
    if (op->call == MODEL_Compare_and_swap &&
        (without[SWAP] || (without[SMALL_SWAP] && size < 4) || (without[WIDE_SWAP] && size > 4)))
        return 0;
    if (without[UNSIGNED] && (op->element == MODEL_U32 || op->element == MODEL_U64) &&
        (op->op == MODEL_MIN || op->op == MODEL_MAX))
        return 0;
    if ((without[LOGICAL] && op->op >= MODEL_LAND && op->op <= MODEL_LXOR) ||
        (without[PAIRS] && op->element == MODEL_2INT))
        return 0;
    return !(without[ZERO] && op->to.n == 0) && !(without[FETCH] && op->call == MODEL_Fetch_and_op) &&
           !(without[GET_ACCUMULATE] && (op->call == MODEL_Get_accumulate || op->call == MODEL_Rget_accumulate)) &&
           !(without[GAPS_UPDATED] && updates && op->to.family != MODEL_NAMED) &&
           !(without[FORMS] && op->call >= MODEL_Rput);
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
static int is_passive(enum model_kind kind)
{
    return kind == MODEL_STEP_SHARED || kind == MODEL_STEP_EXCLUSIVE;
}

static int step_end(enum model_kind kind, enum model_kind next)
{
    const int passive = is_passive(kind), how = model_dice(&model, 4);
    int fine = 1;
    if (how < 2) { /* an earlier step may have changed windows that this one leaves alone */
        fine = model_run_check(run, &model, model_step_names[kind], passive || model.unmatched);
        model.unmatched = 0;
    } else if (passive) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (how == 2)
            model_run_own(run, &model);
        model.unmatched = how != 2;
    } else if (how == 2 || is_passive(next)) { /* no rank locks a window that is exposed still */
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
    enum model_kind kind = model_kind_draw(&model);
    for (int s = 0; s < steps && fine; s++) {
        const enum model_kind next = model_kind_draw(&model);
        model_step(&model, kind);
        if (check_setting("TUTTI_TEST_TEXT", 0) > 1 && kit_rank == 0)
            show_step();
        model_run_step(run, &model);
        fine = step_end(kind, next);
        kind = next;
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
    const unsigned timeout = (unsigned)check_setting("TUTTI_TEST_TIMEOUT", 60);
    signal(SIGALRM, stuck);
    signal(SIGSEGV, stuck);
    signal(SIGABRT, stuck);
    alarm(timeout);
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int programs = argc > 1 ? atoi(argv[1]) : 100;
    const int flavours = argc > 2 ? atoi(argv[2]) : (1 << MODEL_FLAVOURS) - 1;
    read_without(flavours);
    const long only = check_setting("TUTTI_TEST_ONLY", -1), first = check_setting("TUTTI_TEST_FIRST", 0);
    if (kit_size > MODEL_RANKS)
        kit_skip("rma-model", "too many ranks");
    if (flavours != MODEL_ALONE && !kit_makes_windows())
        kit_skip("rma-model", "this MPI makes no windows here");
    run = model_run_open(3 << 20);
    int done = 0, fine = 1;
    while (done < programs && fine) {
        alarm(timeout);
        fine = program_run((uint64_t)(only >= 0 ? only : first + done), flavours);
        done++;
    }
    model_run_close(run);
    run = NULL; /* stuck() may come in MPI_Finalize */
    if (kit_rank == 0)
        printf("rma-model: %d programs\n", done);
    return kit_end("rma-model");
}
