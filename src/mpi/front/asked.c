/* Scripts of programs on GPUs ask the MPI for its own CUDA support by parameters in the environment. One that was built
 * without it reports that, and ends in MPI_Init by a null pointer. Tutti serves memory of GPUs, so such an MPI does not
 * see the parameters. Afterwards the environment is as the program has it. */
#include "mpi/front/asked.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "mpi/real/door.h"

enum { NAMES = 2 };
static const char *const asked_names[NAMES] = {"OMPI_MCA_opal_cuda_support", "OMPI_MCA_mpi_cuda_support"};
static char *asked[NAMES];

/* The query may answer no before MPI_Init although the MPI has the support: it has not chosen its component yet. */
static int asked_lacks(void)
{
    const bool *const built = tutti_mpi_symbol("opal_built_with_cuda_support");
    return built ? !*built : !tutti_next.MPIX_Query_cuda_support();
}

void tutti_asked_hide(void)
{
    for (int i = 0; i < NAMES; i++) {
        const char *value = getenv(asked_names[i]);
        if (!value || !asked_lacks() || !(asked[i] = strdup(value)))
            continue;
        setenv(asked_names[i], "0", 1);
        tutti_info("%s=%s: this MPI has no CUDA support of its own and is not asked for it", asked_names[i], value);
    }
}

void tutti_asked_show(void)
{
    for (int i = 0; i < NAMES; i++) {
        if (asked[i])
            setenv(asked_names[i], asked[i], 1);
        free(asked[i]);
        asked[i] = NULL;
    }
}
