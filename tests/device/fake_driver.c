/* A library that exports the names of the CUDA driver, and does nothing. */
#define TUTTI_CUDA_ENTRY(field, symbol)                                                                                \
    __attribute__((visibility("default"))) int symbol(void);                                                           \
    int symbol(void)                                                                                                   \
    {                                                                                                                  \
        return 0;                                                                                                      \
    }
#include "device/cuda/driver.def"
