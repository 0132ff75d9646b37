/* A module of kernels takes the state on the GPU of the heap, where the program has chosen no GPU before the address
 * space is made, and where it has chosen another one before it ends. Needs a GPU for each of two PEs. */
#include "device/device.h"
#include "shmem/kit.h"

static int taken, gone;

static int current(void)
{
    int gpu = -1;
    tutti_device()->gpu.current(&gpu);
    return gpu;
}

static int take(const struct tshmem_state *state)
{
    taken += state != NULL;
    gone += state == NULL;
    CHECK(current() == (tshmem_my_pe() < 0 ? current() : tshmem_my_pe()), "GPU %d is current", current());
    return 0;
}

int main(void)
{
    CHECK(tshmem_register_module(take) == 0 && taken == 0, "registered before");
    CHECK(tshmem_init() == 0, "tshmem_init");
    const int me = tshmem_my_pe();
    check_rank(me);
    CHECK(taken == 1 && current() == me, "PE %d: GPU %d is current", me, current());
    CHECK(tutti_gpu_set(1 - me) == 0 && tshmem_register_module(take) == 0 && taken == 2, "registered while it is up");
    CHECK(current() == 1 - me, "the program's choice stays");
    CHECK(tshmem_finalize() == 0 && gone == 2, "tshmem_finalize");
    CHECK(current() == 1 - me, "the program's choice stays");
    return check_failed() > 0;
}
