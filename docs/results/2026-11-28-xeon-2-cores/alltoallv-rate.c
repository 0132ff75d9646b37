/* MPI_Alltoallv of few bytes, call behind call: mean time of a call without a barrier between calls. RATE_LIB: libtutti-core.so, whose
 * device memory is used; without it ordinary memory. rate CALLS BYTES... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int me, n, calls = atoi(v[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int (*alloc)(size_t, void **) = (int (*)(size_t, void **))getenv("RATE_LIB") ? dlsym(dlopen(getenv("RATE_LIB"), RTLD_NOW), "tutti_alloc") : 0;
    for (int a = 2; a < c; a++) {
        int bytes = atoi(v[a]);
        void *in = malloc((size_t)bytes * n), *out = malloc((size_t)bytes * n);
        if (alloc && (alloc((size_t)bytes * n, &in) || alloc((size_t)bytes * n, &out))) return 1;
        int counts[256], at[256];
        for (int r = 0; r < n; r++) counts[r] = bytes, at[r] = r * bytes;
        double t = 0, most;
        for (int k = -100; k < calls; k++) {
            if (k == 0) { MPI_Barrier(MPI_COMM_WORLD); t = MPI_Wtime(); }
            MPI_Alltoallv(in, counts, at, MPI_BYTE, out, counts, at, MPI_BYTE, MPI_COMM_WORLD);
        }
        t = MPI_Wtime() - t;
        MPI_Reduce(&t, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (me == 0) printf("%s %d ranks %d bytes %.1f us a call\n", alloc ? "tutti" : "plain", n, bytes, most / calls * 1e6), fflush(stdout);
    }
    MPI_Finalize();
}
