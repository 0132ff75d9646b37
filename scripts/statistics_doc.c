/* Writes docs/statistics.md from include/tutti/outcomes.def and reasons.def to standard output. */
#include <stdio.h>

int main(void)
{
    puts("# Statistics\n");
    puts("Made by `make docs` from `include/tutti/outcomes.def` and `reasons.def`; do not edit.\n");
    puts("`TUTTI_STATS=1` prints a table to standard error at MPI_Finalize, summed over all ranks. Each row is a call, "
         "what");
    puts("became of it, how often, how many bytes of device memory it moved, and the way or the reason:\n");
    puts("    tutti: call                       outcome               count            bytes  how or why");
    puts("    tutti: MPI_Allreduce              accelerated             400          3276800  oneshot");
    puts("    tutti: MPI_Send                   accelerated              97        101711872  fetched by the receiver");
    puts("    tutti: MPI_Send                   staged                    3          3145728  first messages of two "
         "ranks\n");
    puts("- Bytes: of a message its length, of a reduction one contribution, of a data mover what the rank sends and "
         "what it");
    puts("  receives. A block that goes to several ranks counts once. Calls on host memory have no rows, except "
         "reductions");
    puts("  (passed).");
    puts("- A send counts when it starts, a receive when it has completed, a persistent call at each start.");
    puts("- A call that sends and receives (MPI_Sendrecv) has a row for each half, under its own name.");
    puts("- A nonblocking or persistent collective on device memory counts like a blocking one.");
    puts("- \"allocations of other ranks\" says how long after the first message from it an allocation was mapped "
         "(\"known\"), and how");
    puts("  many messages the MPI was to carry meanwhile; \"allocations of this rank\" how many a peer was asked to "
         "map on credit (docs/messages.md).");
    puts("- \"copies of messages\", \"through pinned memory, as ranks share a GPU without MPS\": kernels would have "
         "waited "
         "for a turn on the GPU. A GPU for each rank, or\n  MPS (`nvidia-cuda-mps-control -d` before the program), "
         "makes "
         "such messages faster.\n");
    puts("At MPI_Finalize rank 0 prints one line of advice (a warning: `TUTTI_LOG=error` turns it off) if more than "
         "half of the");
    puts("job's bytes on device memory, and at least 1 MiB in all, went through host memory for reasons that the user "
         "can");
    puts("change. A message counts at its sender for this.\n");
    puts("## Outcomes\n");
    puts("| outcome | meaning |\n|---|---|");
#define TUTTI_OUTCOME(id, name, text) printf("| %s | %s |\n", name, text);
#include "tutti/outcomes.def"
#undef TUTTI_OUTCOME
    puts("\n## Reasons of staged calls\n");
    puts("\"packed by a kernel\" or \"packed in device memory\" after a reason says how the elements reached the "
         "MPI.\n");
    puts("| reason | calls | can be changed | what to do |\n|---|---|---|---|");
#define TUTTI_REASON(id, where, mend, text, hint)                                                                      \
    printf("| %s | %s | %s | %s |\n", text, where, mend ? "yes" : "no", hint);
#include "tutti/reasons.def"
#undef TUTTI_REASON
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
