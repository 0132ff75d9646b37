/* tutti energy: the list of what is measured. */
#include "tools/energy/energy.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/commands.h"

static void energy_usage(FILE *to)
{
    const char *text, *name;
    fputs("Usage: tutti energy [OPTION...] [--] PROGRAM [ARGUMENT...]\n\n"
          "Usage: tutti energy CALL [OPTION...]\n\n"
          "Joules and watts of any command, or joules of a call in many ways beside each other.\n\n",
          to);
    for (int i = 0; (name = energy_call_name(i, &text)) != NULL; i++)
        fprintf(to, "  %-21s %s\n", name, text);
    fputs("\nOptions of a program (tutti energy CALL --help lists those of a call):\n\n", to);
    energy_command_help(to);
    fputs("\nThe GPUs of the machine, the processor packages and the DRAM are read while PROGRAM runs. A source that "
          "this "
          "machine or this user lacks is shown as unavailable, with the reason. The exit status is the program's.\n\n"
          "Examples:\n"
          "  tutti energy -- mpirun -n 4 ./app\n"
          "  tutti energy --idle 5 --csv trace.csv --plot power.png -- tutti run -n 4 ./app\n"
          "  tutti energy allreduce -n 2 -m 64k,256m --json joules.json --plot joules.png\n"
          "  tutti energy alltoall -n 4 -m 1m --variants idle,spin,sleep,staged\n",
          to);
}

int tool_energy(int argc, char **argv)
{
    const char *text, *name;
    if (argc < 2) {
        energy_usage(stderr);
        return TOOL_WRONG_USE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0) {
        energy_usage(stdout);
        return 0;
    }
    for (int i = 0; (name = energy_call_name(i, &text)) != NULL; i++) {
        if (strcmp(name, argv[1]) != 0)
            continue;
        char *whole = tool_print("tutti energy %s", name);
        argv[1] = whole;
        const int status = energy_calls_run(i, argc - 1, argv + 1);
        argv[1] = NULL;
        free(whole);
        return status;
    }
    return energy_command_run(argc, argv);
}
