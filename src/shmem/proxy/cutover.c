/* From which size on a transfer of a kernel goes to a copy engine, by the rules: from the least one past which they
 * name it for every size. */
#include "coll/algorithm.h"
#include "shmem/proxy/proxy.h"

enum { MOST = 40 }; /* sizes are looked at up to 1 << MOST */

_Static_assert((int)TUTTI_SECTION_SHMEM_GET_1 - (int)TUTTI_SECTION_SHMEM_PUT_1 == (int)TSHMEM_GROUPS &&
                   (int)TUTTI_SECTION_SHMEM_GET_1024 - (int)TUTTI_SECTION_SHMEM_GET_1 == (int)TSHMEM_GROUP_1024,
               "sections in order of operation and group");

static int is_engine(enum tutti_section section, uint64_t bytes)
{
    int from, defaults;
    tutti_rules_hash(&from, &defaults); /* of those in force */
    return tutti_rules_next(section, bytes, &from) == TUTTI_TRANSFER_COPY_ENGINE;
}

static uint64_t threshold(enum tutti_section section)
{
    uint64_t yes = UINT64_C(1) << MOST, no = yes;
    if (!is_engine(section, yes))
        return 0;
    while (no > 0 && is_engine(section, no)) { /* a rule's end lies anywhere: both ends of every doubling */
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
        const uint64_t bytes = threshold((enum tutti_section)(TUTTI_SECTION_SHMEM_PUT_1 + i));
        cutover[i / TSHMEM_GROUPS][i % TSHMEM_GROUPS] = bytes;
        any |= bytes != 0;
    }
    return any;
}
