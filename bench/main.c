#include "bench.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench_mpi bench_mpi;

void bench_say(const struct bench_plan *plan, const char *format, ...)
{
    if (plan->rank != 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    fputs("@tutti ", stdout);
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
    va_end(arguments);
}

void bench_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char text[512];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "tutti: %s\n", text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static int is_mpi(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    static const char *const names[] = {"libmpi.so", "libmpich.so", "libmpi_abi.so"};
    const char *name = strrchr(info->dlpi_name, '/');
    name = name ? name + 1 : info->dlpi_name;
    for (int i = 0; i < 3; i++) {
        if (strncmp(name, names[i], strlen(names[i])) != 0)
            continue;
        *(void **)found = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        return *(void **)found != NULL;
    }
    return 0;
}

static void find_mpi(void)
{
    void *mpi = NULL;
    dl_iterate_phdr(is_mpi, &mpi);
    if (!mpi) {
        fputs("tutti: no MPI library is loaded\n", stderr);
        exit(1);
    }
#define FIND(name) *(void **)(void *)&bench_mpi.name = dlsym(mpi, "PMPI_" #name)
    FIND(Allreduce);
    FIND(Allgather);
    FIND(Barrier);
    FIND(Bcast);
    FIND(Comm_split_type);
    FIND(Comm_rank);
    FIND(Comm_size);
    FIND(Comm_free);
#undef FIND
    *(void **)(void *)&bench_mpi.Query_cuda_support = dlsym(mpi, "MPIX_Query_cuda_support");
    bench_mpi.preloaded = dlsym(RTLD_DEFAULT, "MPI_Allreduce") != dlsym(mpi, "MPI_Allreduce");
    if (!bench_mpi.Allreduce || !bench_mpi.Barrier) {
        fputs("tutti: the MPI library that is loaded has no PMPI_Allreduce\n", stderr);
        exit(1);
    }
}

static unsigned long long value_of(int argc, char **argv, const char *name)
{
    size_t n = strlen(name);
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], name, n) == 0 && argv[i][n] == '=')
            return strtoull(argv[i] + n + 1, NULL, 10);
    }
    fprintf(stderr, "tutti: %s is missing: this program is started by `tutti bench`\n", name);
    exit(2);
}

static void find_place(struct bench_plan *plan)
{
    MPI_Comm node;
    bench_mpi.Comm_rank(MPI_COMM_WORLD, &plan->rank);
    bench_mpi.Comm_size(MPI_COMM_WORLD, &plan->size);
    bench_mpi.Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    bench_mpi.Comm_rank(node, &plan->node_rank);
    bench_mpi.Comm_free(&node);
    int first = plan->node_rank == 0;
    bench_mpi.Allreduce(&first, &plan->nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void say_version(const struct bench_plan *plan)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    for (char *at = text; *at; at++) {
        if (*at == '\n')
            *at = '\0';
        else if (*at == '\t')
            *at = ' ';
    }
    bench_say(plan, "mpi %s", text);
}

int main(int argc, char **argv)
{
    struct bench_plan plan = {.least = 0};
    int overhead = argc > 1 && strcmp(argv[1], "overhead") == 0;
    if (argc < 2 || (!overhead && strcmp(argv[1], "allreduce") != 0)) {
        fputs("This program is started by `tutti bench`.\n", stderr);
        return 2;
    }
    plan.iterations = (long)value_of(argc, argv, "iterations");
    plan.warm_up = (long)value_of(argc, argv, "warm_up");
    if (!overhead) {
        plan.least = value_of(argc, argv, "least");
        plan.most = value_of(argc, argv, "most");
        plan.type = (int)value_of(argc, argv, "type");
        plan.op = (int)value_of(argc, argv, "op");
        plan.in_place = (int)value_of(argc, argv, "in_place");
        plan.check = (int)value_of(argc, argv, "check");
        plan.seed = value_of(argc, argv, "seed");
    }
    MPI_Init(&argc, &argv);
    find_mpi();
    find_place(&plan);
    say_version(&plan);
    if (overhead)
        bench_overhead(&plan);
    else
        bench_allreduce(&plan);
    MPI_Finalize();
    return 0;
}
