#include "kernels/fatbin.h"

#include <stdio.h>

#include "core/types.h"

/* The images' numbers are the classes of types.def, as in pairs.inc. */
enum { CLASS_INT, CLASS_UINT, CLASS_FLOAT, CLASS_COMPLEX, CLASS_PAIR, CLASSES };

#define IMAGE(number) extern const unsigned char tutti_fatbin_begin_##number[], tutti_fatbin_end_##number[];
IMAGE(0)
IMAGE(1)
IMAGE(2)
IMAGE(3)
IMAGE(4)
#undef IMAGE
#define IMAGE(number)                                                                                                  \
    {                                                                                                                  \
        tutti_fatbin_begin_##number, tutti_fatbin_end_##number                                                         \
    }
static const struct {
    const unsigned char *begin, *end;
} images[CLASSES] = {IMAGE(0), IMAGE(1), IMAGE(2), IMAGE(3), IMAGE(4)};

static const struct {
    const char *id;
    int image;
} types[TUTTI_TYPES] = {
#define TUTTI_TYPE(id, name, ctype, bytes, class_, unsigned_) {#id, CLASS_##class_},
#include "tutti/types.def"
#undef TUTTI_TYPE
};

static const char *const ops[TUTTI_OPS] = {
#define TUTTI_OP(id, name, kernel, signs, groups) #id,
#include "tutti/ops.def"
#undef TUTTI_OP
};

static const char *const kernels[] = {
#define TUTTI_KERNEL(id, name, args) #name,
#include "kernels/kernels.def"
#undef TUTTI_KERNEL
};

int tutti_fatbin_count(void)
{
    return CLASSES;
}

struct tutti_fatbin tutti_fatbin(int i)
{
    struct tutti_fatbin it = {images[i].begin, (size_t)(images[i].end - images[i].begin)};
    return it;
}

int tutti_fatbin_kernel(int kernel, int type, int op, char name[TUTTI_FATBIN_NAME])
{
    if (kernel < 0 || kernel >= (int)(sizeof kernels / sizeof *kernels) || !tutti_has_kernel(type, op))
        return -1;
    const int as = tutti_kernel_type(type, op);
    snprintf(name, TUTTI_FATBIN_NAME, "tutti_%s_%s_%s", kernels[kernel], types[as].id, ops[op]);
    return types[as].image;
}
