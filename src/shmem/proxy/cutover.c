/* The size from which a kernel's transfer goes to a copy engine: the least size from which the rules name the copy
 * engine for every larger one. */
#include "rules/rules.h"
#include "shmem/proxy/proxy.h"

enum { MOST = 40 }; /* sizes up to 1 << MOST are tested */

/* Ways of kernels' puts and gets by groups of so many threads, in the order of the names. */
enum { WAY_DIRECT, WAY_COPY_ENGINE };

static const struct tutti_names ways = {.what = "way of kernels' transfers", .known = "direct copy_engine"};
/* In order of operation and group. */
static const struct tutti_section sections[TSHMEM_CUTS * TSHMEM_GROUPS] = {
    {"shmem_put_1", &ways}, {"shmem_put_32", &ways}, {"shmem_put_128", &ways}, {"shmem_put_1024", &ways},
    {"shmem_get_1", &ways}, {"shmem_get_32", &ways}, {"shmem_get_128", &ways}, {"shmem_get_1024", &ways},
};
_Static_assert((int)TSHMEM_GROUP_1024 == 3 && (int)TSHMEM_GROUPS == 4, "the groups of the names");
static struct tutti_rules_room room = {.section = sections,
                                       .sections = TSHMEM_CUTS * TSHMEM_GROUPS,
                                       .known = "shmem_put_ and shmem_get_ with 1, 32, 128 and 1024"};

__attribute__((constructor)) static void cutover_register(void)
{
    tutti_rules_register(&room);
}

static int is_engine(int section, uint64_t bytes)
{
    int from = tutti_rules_in_force();
    return tutti_rules_next(section, bytes, &from) == WAY_COPY_ENGINE;
}

static uint64_t cutover_threshold(int section)
{
    uint64_t yes = UINT64_C(1) << MOST, no = yes;
    if (!is_engine(section, yes))
        return 0;
    while (no > 0 && is_engine(section, no)) { /* a rule may end at any size: both ends of every doubling are tested */
        yes = no;
        no = no > 1 && !is_engine(section, no - 1) ? no - 1 : no / 2;
    }
    while (yes - no > 1) {
        const uint64_t middle = no + (yes - no) / 2;
        *(is_engine(section, middle) ? &yes : &no) = middle;
    }
    return yes;
}

int tutti_cutovers(uint64_t cutover[TSHMEM_CUTS][TSHMEM_GROUPS])
{
    int any = 0;
    for (int i = 0; i < TSHMEM_CUTS * TSHMEM_GROUPS; i++) {
        const uint64_t bytes = cutover_threshold(room.first + i);
        cutover[i / TSHMEM_GROUPS][i % TSHMEM_GROUPS] = bytes;
        any |= bytes != 0;
    }
    return any;
}
