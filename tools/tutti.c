/* tutti: one command for users. It links the library's core alone and needs no MPI itself. */
#include <stdlib.h>
#include <string.h>

#include "tools/common/commands.h"
#include "tools/common/text.h"
#include "tutti/tutti.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *text;
} commands[] = {
    {"run", tool_run, "start a program with the library in front of its MPI"},
    {"info", tool_info, "what was found: MPIs, devices, which GPUs reach each other, settings, rules"},
    {"bench", tool_bench, "measure: latency tables beside other ways to do the same call"},
    {"energy", tool_energy, "joules and watts of a command, or of a call in many ways"},
    {"tune", tool_tune, "measure which algorithms are the fastest on this machine, and write rules"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void tutti_usage(FILE *to)
{
    fputs("Tutti puts GPUs under any MPI.\n\nUsage: tutti COMMAND [OPTION...]\n\n", to);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].text);
    fputs("  help     this text; tutti help COMMAND is tutti COMMAND --help\n\n"
          "  --version\n\nExamples:\n"
          "  tutti run -n 4 ./app\n"
          "  tutti info\n"
          "  tutti bench allreduce -n 4 -m 8:1m\n"
          "  tutti tune -n 4\n"
          "  tutti energy -- mpirun -n 4 ./app\n",
          to);
}

static const struct command *command_find(const char *name)
{
    const char *names[COMMANDS + 1];
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
        names[i] = commands[i].name;
    }
    names[COMMANDS] = "help";
    const char *near = tool_nearest(name, names, COMMANDS + 1);
    if (near)
        tool_refuse("there is no command %s: did you mean %s?", name, near);
    tool_refuse("there is no command %s: there are run, info, bench, energy, tune and help", name);
}

int main(int argc, char **argv)
{
    argp_err_exit_status = TOOL_WRONG_USE;
    if (argc < 2) {
        tutti_usage(stderr);
        return TOOL_WRONG_USE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("tutti %s\n", tutti_version());
        return 0;
    }
    int help = strcmp(word, "help") == 0;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (help && argc == 2)) {
        tutti_usage(stdout);
        return 0;
    }
    const struct command *command = command_find(help ? argv[2] : word);
    char name[64], ask[] = "--help", *asked[] = {name, ask, NULL};
    snprintf(name, sizeof name, "tutti %s", command->name); /* as argp shows it in its texts */
    if (help)
        return command->run(2, asked);
    argv[1] = name;
    return command->run(argc - 1, argv + 1);
}
