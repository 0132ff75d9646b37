/* GPUs on which several ranks work: known by their number, apart from those where kernels take turns, and memory that
 * belongs to no GPU in particular counts for all. */
#include "core/lives.h"

#include <stdio.h>

#include "support/check.h"

enum { ONE = 1, OTHER = 2, LAST = TUTTI_LIVES_GPUS - 1 };

static void expect(int gpu, int shared, int turns)
{
    CHECK(tutti_gpu_is_shared(gpu) == shared && tutti_gpu_takes_turns(gpu) == turns, "GPU %d: shared %d, in turns %d",
          gpu, tutti_gpu_is_shared(gpu), tutti_gpu_takes_turns(gpu));
}

int main(void)
{
    expect(ONE, 0, 0);
    tutti_gpu_share(ONE, 0); /* with MPS */
    expect(ONE, 1, 0);
    expect(OTHER, 0, 0);
    tutti_gpu_share(OTHER, 1);
    tutti_gpu_share(OTHER, 0); /* what is known stays so */
    expect(OTHER, 1, 1);
    expect(ONE, 1, 0);
    expect(LAST, 0, 0);
    expect(-1, 0, 0);
    tutti_gpu_share(TUTTI_LIVES_GPUS, 1); /* there is no such GPU */
    expect(TUTTI_LIVES_GPUS, 0, 0);
    expect(LAST, 0, 0);
    tutti_gpu_share(-1, 0);
    expect(LAST, 1, 0);
    expect(-1, 1, 0);
    tutti_gpu_share(-1, 1);
    expect(LAST, 1, 1);
    expect(0, 1, 1);
    expect(-1, 1, 1);
    printf("%ld checks\n", check_done());
    return check_failed() > 0;
}
