/* Stands for a program that is linked statically with its MPI: it defines what such a program has inside, and says
 * which launcher has started it, in the file INSIDE_SAYS: Hydra may lose the output of a program that ends at once
 * without having called MPI. INSIDE_OPENMPI, INSIDE_MPICH: which MPI. */
#include <stdio.h>
#include <stdlib.h>

int PMPI_Init(int *argc, char ***argv);
#ifdef INSIDE_OPENMPI
long ompi_mpi_comm_world = 1;
static const char *volatile text = "*** The %s() function was called before MPI_INIT was invoked.";
#else
long MPIR_Process = 1;
static const char *volatile text =
    "Attempting to use an MPI routine (%s) before initializing or after finalizing MPICH";
#endif

int PMPI_Init(int *argc, char ***argv)
{
    return argc && argv ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *preload = getenv("LD_PRELOAD"), *says = getenv("INSIDE_SAYS");
    FILE *out = says ? fopen(says, "w") : NULL;
    if (!out || PMPI_Init(&argc, &argv) != 0 || !text[0])
        return 1;
    fprintf(out, "started by %s\npreload %s\n",
            getenv("OMPI_COMM_WORLD_RANK") ? "openmpi"
            : getenv("PMI_RANK")           ? "mpich"
                                           : "?",
            preload ? preload : "-");
    return fclose(out) != 0;
}
