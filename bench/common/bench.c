#include "bench/common/bench.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tutti/tutti.h"

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

static void *mpi;

void *bench_mpi_symbol(const char *name)
{
    return dlsym(mpi, name);
}

void bench_mpi_find(void)
{
    dl_iterate_phdr(is_mpi, &mpi);
    if (!mpi) {
        fputs("tutti: no MPI library is loaded\n", stderr);
        exit(1);
    }
#define FIND(name) *(void **)(void *)&bench_mpi.name = dlsym(mpi, "PMPI_" #name)
    FIND(Allreduce);
    FIND(Reduce);
    FIND(Reduce_scatter);
    FIND(Reduce_scatter_block);
    FIND(Scan);
    FIND(Exscan);
    FIND(Allgather);
    FIND(Barrier);
    FIND(Bcast);
    FIND(Comm_split_type);
    FIND(Comm_rank);
    FIND(Comm_size);
    FIND(Comm_free);
    FIND(Pack);
    FIND(Unpack);
    FIND(Type_commit);
    FIND(Send);
    FIND(Recv);
    FIND(Neighbor_alltoallw);
#undef FIND
    *(void **)(void *)&bench_mpi.Query_cuda_support = dlsym(mpi, "MPIX_Query_cuda_support");
    bench_mpi.preloaded = dlsym(RTLD_DEFAULT, "MPI_Allreduce") != dlsym(mpi, "MPI_Allreduce");
    if (!bench_mpi.Allreduce || !bench_mpi.Barrier) {
        fputs("tutti: the MPI library that is loaded has no PMPI_Allreduce\n", stderr);
        exit(1);
    }
}

void bench_must(int status, const char *what)
{
    if (status < 0)
        bench_fail("%s: %s", what, tutti_status_text(status));
}

void *bench_ordinary(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, bytes) != 0)
        bench_fail("out of memory: %zu bytes", bytes);
    memset(memory, 1, bytes);
    return memory;
}

int bench_all_agree(int mine)
{
    int all = 0;
    bench_mpi.Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

double bench_longest(double mine)
{
    double all = 0;
    bench_mpi.Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}
