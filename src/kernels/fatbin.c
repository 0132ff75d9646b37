#include "kernels/fatbin.h"

#include <stdio.h>
#include <string.h>

#include "core/types.h"
#include "kernels/args.h"

/* Images in the order of their numbers: by the parts of fatbin.h, and in each by the groups of images.inc. */
#define GROUPS(X, part) X(part##_0) X(part##_1) X(part##_2) X(part##_3) X(part##_4) X(part##_5)
#define IMAGES(X)       GROUPS(X, packets) GROUPS(X, sums) GROUPS(X, plain) GROUPS(X, large) GROUPS(X, lead) X(moves)
enum part { PACKETS, SUMS, PLAIN, LARGE, LEAD, MOVES };
enum { GROUPS_OF_PART = (TUTTI_FATBINS - 1) / MOVES };

#define DECLARE(name) extern const unsigned char tutti_fatbin_begin_##name[], tutti_fatbin_end_##name[];
IMAGES(DECLARE)
#define IMAGE(name) {tutti_fatbin_begin_##name, tutti_fatbin_end_##name},
static const struct {
    const unsigned char *begin, *end;
} images[] = {IMAGES(IMAGE)};
_Static_assert(sizeof images / sizeof *images == TUTTI_FATBINS, "all images have a number");

/* Signed integers have no family: the unsigned ones serve them. */
static const struct {
    const char *id;
    int group;
} types[TUTTI_TYPES] = {
#define TUTTI_IMAGED(group, TYPE, CLASS) [TUTTI_TYPE_##TYPE] = {#TYPE, group},
#include "kernels/images.inc"
};

static const struct {
    const char *name;
    enum part part;
} kernels[] = {
#define TUTTI_KERNEL(id, name, args, part) {#name, part},
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
        snprintf(name, TUTTI_FATBIN_NAME, "tutti_%s", kernels[kernel].name);
        return TUTTI_FATBINS - 1;
    }
    if (kernel < 0 || kernel >= (int)(sizeof kernels / sizeof *kernels) || served.type == TUTTI_TYPE_NONE)
        return -1;
    snprintf(name, TUTTI_FATBIN_NAME, "tutti_%s_%s_%s", kernels[kernel].name, types[served.type].id, served.family);
    const int sums = kernels[kernel].part == PACKETS && strcmp(served.family, "SUM") == 0;
    return (int)(sums ? SUMS : kernels[kernel].part) * GROUPS_OF_PART + types[served.type].group;
}
