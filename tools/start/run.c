/* tutti run: starts a program under its MPI's launcher with the library in front. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/commands.h"
#include "tools/start/launch.h"
#include "tools/start/start.h"

struct run_options {
    const char *mpi, *arguments;
    int ranks, quiet, show;
    char **command;
};

enum { KEY_MPI = 256, KEY_DEVICE, KEY_ARGUMENTS, KEY_SHOW };

static const struct argp_option options[] = {
    {"ranks", 'n', "RANKS", 0, "Number of ranks (1)", 0},
    {"np", KEY_SHOW + 1, "RANKS", OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
    {"mpi", KEY_MPI, "MPI", 0,
     "MPI to use: openmpi, mpich, impi, a launcher, or the folder an MPI is installed in. Without it the MPI that the "
     "program was linked to",
     0},
    {"device", KEY_DEVICE, "DEVICE", 0, "auto, cuda, host or none: sets TUTTI_DEVICE", 0},
    {"mpi-args", KEY_ARGUMENTS, "OPTIONS", 0, "More options for the launcher, in one word: \"--bind-to core\"", 0},
    {"show", KEY_SHOW, NULL, 0, "Print the launcher's command line instead of executing it", 0},
    {"quiet", 'q', NULL, 0, "Do not say which MPI was chosen", 0},
    {.name = NULL},
};

static error_t run_parse(int key, char *argument, struct argp_state *state)
{
    struct run_options *run = state->input;
    switch (key) {
    case 'n':
    case KEY_SHOW + 1:
        run->ranks = (int)tool_number("-n", argument, 1, 65536);
        break;
    case KEY_MPI:
        run->mpi = argument;
        break;
    case KEY_DEVICE:
        tool_device(argument);
        break;
    case KEY_ARGUMENTS:
        run->arguments = argument;
        break;
    case KEY_SHOW:
        run->show = 1;
        break;
    case 'q':
        run->quiet = 1;
        break;
    case ARGP_KEY_ARG:
        run->command = &state->argv[state->next - 1];
        state->next = state->argc; /* everything from the program on is the program's */
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {
    .options = options,
    .parser = run_parse,
    .args_doc = "PROGRAM [ARGUMENT...]",
    .doc =
        "Starts a program under the launcher of its MPI, with libtutti.so in front of it.\v"
        "The MPI that PROGRAM is linked with decides which launcher starts it. For a script, the MPI of its virtual "
        "environment is taken, or the first in PATH, and a line on standard error names it.\n\n"
        "The exit status is the launcher's, which is the program's if that ends by itself. As with env and timeout "
        "it is 125 if the command fails before the start, 126 if PROGRAM cannot be executed, 127 if it does not exist; "
        "and 130 after Ctrl-C.",
};

static void line_show(const struct tool_words *line)
{
    for (int i = 0; i < line->n; i++)
        printf("%s%s", i ? " " : "", line->word[i]);
    putchar('\n');
}

int tool_run(int argc, char **argv)
{
    struct run_options run = {.ranks = 1};
    argp_err_exit_status = tool_refusal = TOOL_RUN_FAILED;
    tool_check_options(options, argc, argv, 1);
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &run);
    tool_check_settings();
    if (!run.command)
        tool_refuse("run: no program was named: tutti run -n 4 ./program");

    static struct tool_mpis mpis;
    static struct tool_program program;
    int guessed;
    tool_program_read(run.command[0], &program);
    tool_mpis_find(&mpis);
    const struct tool_mpi *mpi = tool_mpi_choose(&mpis, &program, run.mpi, &guessed);
    if (guessed && !run.quiet)
        fprintf(stderr, "tutti: %s does not say which MPI it uses: %s %s (%s) starts it; --mpi chooses another\n",
                run.command[0], tool_family_title(mpi->family), mpi->version, mpi->launcher);

    if (program.inside)
        fprintf(stderr,
                "tutti: %s is linked statically with its MPI: Tutti cannot be in front of its calls, it runs without; "
                "link it with the MPI's shared library\n",
                run.command[0]);
    struct tool_start start = {mpi, &program, run.ranks, !program.inside, run.arguments, run.command};
    struct tool_words line = {.word = NULL};
    tool_start_line(&start, &line);
    if (run.show) {
        line_show(&line);
        return 0;
    }
    pid_t launcher = tool_launch(line.word, NULL, NULL);
    int status = 0;
    if (launcher < 0)
        tool_refuse("%s: %s", line.word[0], strerror(errno));
    tool_launch_wait(launcher, -1, &status);
    return tool_launch_end(status);
}
