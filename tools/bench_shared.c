/* The options that all benchmarks have. */
#include <limits.h>
#include <stdlib.h>

#include "bench.h"

int bench_shared_option(int key, char *argument, struct bench_options *options)
{
    char *end;
    switch (key) {
    case BENCH_KEY_MPI:
        options->mpi = argument;
        break;
    case BENCH_KEY_DEVICE:
        setenv("TUTTI_DEVICE", argument, 1);
        break;
    case BENCH_KEY_ARGUMENTS:
        options->arguments = argument;
        break;
    case BENCH_KEY_TIMEOUT:
        options->timeout = (int)tool_number("--timeout", argument, 1, 86400);
        break;
    case 'm':
        bench_sizes_read(argument, options);
        break;
    case 'i':
        options->iterations = tool_number("-i", argument, 1, 1000000000);
        break;
    case 'x':
        options->warm_up = tool_number("-x", argument, 0, 1000000000);
        break;
    case BENCH_KEY_SECONDS:
        options->seconds = strtod(argument, &end);
        if (end == argument || *end != '\0' || !(options->seconds > 0 && options->seconds <= 3600))
            tool_refuse("--seconds %s is not valid: a number above 0, at most 3600, is", argument);
        break;
    case BENCH_KEY_SEED:
        options->seed = (uint64_t)tool_number("--seed", argument, 1, LONG_MAX);
        break;
    case BENCH_KEY_NO_CHECK:
        options->check = 0;
        break;
    case BENCH_KEY_JSON:
        options->json = argument;
        break;
    case BENCH_KEY_PLOT:
        options->plot = argument;
        break;
    default:
        return 0;
    }
    return 1;
}
