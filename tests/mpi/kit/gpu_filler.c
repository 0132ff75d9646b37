/* Nothing of CUDA is linked or included: the driver is opened. */
#include "gpu_filler.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "tutti/tutti.h"

/* Spins for about `cycles` of the GPU's clock in every block. */
static const char spin_ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
                               ".visible .entry spin(.param .u64 cycles)\n{\n"
                               ".reg .u64 %rd<4>;\n.reg .pred %p;\n"
                               "ld.param.u64 %rd1, [cycles];\nmov.u64 %rd2, %clock64;\n"
                               "again:\nmov.u64 %rd3, %clock64;\nsub.u64 %rd3, %rd3, %rd2;\n"
                               "setp.lt.u64 %p, %rd3, %rd1;\n@%p bra again;\nret;\n}\n";

static int (*launch)(void *function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *stream,
                     void **parameters, void **extra);
static void *spin;

int gpu_filler_open(void)
{
    int (*load)(void **module, const void *image), (*find)(void **function, void *module, const char *name);
    void *module = NULL, *driver = strcmp(tutti_device_name(), "cuda") == 0 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    if (!driver)
        return 0;
    *(void **)(void *)&load = dlsym(driver, "cuModuleLoadData");
    *(void **)(void *)&find = dlsym(driver, "cuModuleGetFunction");
    *(void **)(void *)&launch = dlsym(driver, "cuLaunchKernel");
    return load && find && launch && load(&module, spin_ptx) == 0 && find(&spin, module, "spin") == 0;
}

int gpu_filler_put_blocks(void *stream, unsigned blocks, uint64_t cycles)
{
    enum { THREADS = 1024 };
    void *parameters[] = {&cycles};
    return launch(spin, blocks, 1, 1, THREADS, 1, 1, 0, stream, parameters, NULL);
}

int gpu_filler_put(void *stream, uint64_t cycles)
{
    enum { BLOCKS = 1500 };
    return gpu_filler_put_blocks(stream, BLOCKS, cycles);
}
