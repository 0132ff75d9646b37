/* The answers to a program that asks whether its MPI takes device memory: by MPIX_Query_cuda_support and
 * MPIX_GPU_query_support, before MPI_Init and after it, and by the info keys mpi_memory_alloc_kinds and
 * mpi_assert_memory_alloc_kinds. Looked for by name, as such programs do: not each MPI's header has them. Arguments:
 * the kinds that are to be named (or none), and whether CUDA memory is taken (1, 0). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "tutti/aware/mpi-ext.h"

#if !MPIX_CUDA_AWARE_SUPPORT
#error "the header for programs that ask when they are compiled says no"
#endif

/* The library that MPI_Get_version is of: not one of the stub's calls. */
static const char *aware_mpi(void)
{
    Dl_info where;
    int (*call)(int *, int *) = MPI_Get_version;
    void *at;
    memcpy(&at, &call, sizeof at);
    return dladdr(at, &where) ? where.dli_fname : NULL;
}

/* What the MPI's own library answers; 0: it has no such query. */
static int own_answer(const char *name)
{
    const char *const path = aware_mpi();
    void *mpi = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL, *call = mpi ? dlsym(mpi, name) : NULL;
    int (*query)(void), (*support)(int, int *), is = 0;
    *(void **)(void *)&query = call;
    *(void **)(void *)&support = call;
    CHECK(mpi != NULL, "the MPI's library is not found");
    if (call && strcmp(name, "MPIX_Query_cuda_support") == 0)
        is = query();
    else if (call)
        support(0, &is);
    if (mpi)
        dlclose(mpi);
    return is;
}

/* Both queries are there, with a device and without. Where Tutti takes no CUDA memory, their answers are the MPI's. */
static void queries(int cuda, const char *when)
{
    int (*query)(void), (*support)(int, int *), is = -1;
    *(void **)(void *)&query = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    *(void **)(void *)&support = dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support");
    CHECK(query && support, "%s: a query is lacking", when);
    if (!query || !support)
        return;
    const int says = query(), code = support(0, &is);
    CHECK(says == (cuda || own_answer("MPIX_Query_cuda_support")), "%s: MPIX_Query_cuda_support says %d", when, says);
    CHECK(code == MPI_SUCCESS && is == (cuda || own_answer("MPIX_GPU_query_support")),
          "%s: MPIX_GPU_query_support says %d, code %d", when, is, code);
}

static void info(const char *kinds, MPI_Comm comm)
{
    MPI_Info got;
    char value[512] = "";
    int flag = 0;
    MPI_Comm_get_info(comm, &got);
    MPI_Info_get(got, "mpi_memory_alloc_kinds", (int)sizeof value - 1, value, &flag);
    MPI_Info_free(&got);
    if (!kinds[0]) {
        CHECK(!flag || !strstr(value, "cuda"), "kinds are named: %s", value);
        return;
    }
    CHECK(flag && strncmp(value, "mpi,system", 10) == 0, "the MPI's own kinds are not named: '%s'", value);
    const char *at = strstr(value, kinds);
    CHECK(at && at[-1] == ',' && !strstr(at + 1, kinds), "the kinds are not %s, once: %s", kinds, value);
}

/* What the program says of its buffers on a communicator is told there, as far as such memory is taken. */
static void asserted(const char *kinds)
{
    static const char key[] = "mpi_assert_memory_alloc_kinds";
    char said[600], want[600], value[512];
    MPI_Comm comm[3];
    MPI_Info hints, got;
    snprintf(said, sizeof said, "system,nobody's,%s", kinds);
    snprintf(want, sizeof want, "system,%s", kinds);
    MPI_Info_create(&hints);
    MPI_Info_set(hints, key, said);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, hints, &comm[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm[1]);
    MPI_Comm_set_info(comm[1], hints);
    MPI_Comm_dup(comm[1], &comm[2]); /* hints are not handed on */
    MPI_Info_free(&hints);
    for (int i = 0; i < 3; i++) {
        int flag = 0;
        value[0] = '\0';
        MPI_Comm_get_info(comm[i], &got);
        MPI_Info_get(got, key, (int)sizeof value - 1, value, &flag);
        MPI_Info_free(&got);
        if (i < 2)
            CHECK(flag && strcmp(value, want) == 0, "communicator %d: %d '%s', not '%s'", i, flag, value, want);
        else /* some MPIs hand them on by themselves */
            CHECK(!flag || strcmp(value, said) == 0, "a duplicate: '%s'", value);
        MPI_Comm_free(&comm[i]);
    }
}

int main(int argc, char **argv)
{
    const char *kinds = argc > 1 && strcmp(argv[1], "none") != 0 ? argv[1] : "";
    const int cuda = argc > 2 ? atoi(argv[2]) : 0;
    const char *const asked = getenv("OMPI_MCA_opal_cuda_support");
    char before[16] = "";
    MPI_Comm comm;
    if (asked)
        snprintf(before, sizeof before, "%s", asked);
#ifdef OPEN_MPI
    const int early = 1;
#else
    const int early = cuda; /* MPICH itself ends the program */
#endif
    if (early)
        queries(cuda, "before MPI_Init");
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    queries(cuda, "after it");
    const char *const after = getenv("OMPI_MCA_opal_cuda_support");
    CHECK(!!asked == !!after && strcmp(before, after ? after : "") == 0,
          "OMPI_MCA_opal_cuda_support was \"%s\" and is \"%s\"", before, after ? after : "");
    info(kinds, MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    info(kinds, comm);
    MPI_Comm_free(&comm);
    if (kinds[0])
        asserted(kinds);
    return kit_end("aware");
}
