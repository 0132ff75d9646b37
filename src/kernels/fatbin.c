#include "kernels/fatbin.h"

#include <stdio.h>

#include "core/types.h"
#include "kernels/args.h"

#define DECLARE(number) extern const unsigned char tutti_fatbin_begin_##number[], tutti_fatbin_end_##number[];
DECLARE(0)
DECLARE(1)
DECLARE(2)
DECLARE(3)
DECLARE(4)
DECLARE(5)
DECLARE(6)
#define IMAGE(number)                                                                                                  \
    {                                                                                                                  \
        tutti_fatbin_begin_##number, tutti_fatbin_end_##number                                                         \
    }
static const struct {
    const unsigned char *begin, *end;
} images[TUTTI_FATBINS] = {IMAGE(0), IMAGE(1), IMAGE(2), IMAGE(3), IMAGE(4), IMAGE(5), IMAGE(6)};

/* Signed integers have no family: the unsigned ones serve them. */
static const struct {
    const char *id;
    int image;
} types[TUTTI_TYPES] = {
#define TUTTI_IMAGED(image, TYPE, CLASS) [TUTTI_TYPE_##TYPE] = {#TYPE, image},
#include "kernels/images.inc"
};

static const char *const kernels[] = {
#define TUTTI_KERNEL(id, name, args) #name,
#include "kernels/kernels.def"
#undef TUTTI_KERNEL
};

struct tutti_fatbin tutti_fatbin(int i)
{
    struct tutti_fatbin it = {images[i].begin, (size_t)(images[i].end - images[i].begin)};
    return it;
}

int tutti_fatbin_optimized(void)
{
#ifdef TUTTI_KERNELS_UNOPTIMIZED
    return 0;
#else
    return 1;
#endif
}

int tutti_fatbin_kernel(int kernel, int type, int op, char name[TUTTI_FATBIN_NAME])
{
    const struct tutti_served served = tutti_kernel_served(type, op);
    if (tutti_kernel_moves(kernel)) {
        snprintf(name, TUTTI_FATBIN_NAME, "tutti_%s", kernels[kernel]);
        return TUTTI_FATBINS - 1;
    }
    if (kernel < 0 || kernel >= (int)(sizeof kernels / sizeof *kernels) || served.type == TUTTI_TYPE_NONE)
        return -1;
    snprintf(name, TUTTI_FATBIN_NAME, "tutti_%s_%s_%s", kernels[kernel], types[served.type].id, served.family);
    return types[served.type].image;
}
