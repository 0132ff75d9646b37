/* The rows of shmem.def as this compiler has them, and which families each is in. C and CUDA. */
#include "tutti/shmem.h"

#include "shmem_device/program.h"

#define ROW_OF(name, type, kind, what) ROW_##name,
enum rows { TSHMEM_ARITH(ROW_OF, ) ROWS };

#define ROW_ENTRY(name, type, kind, what) {#name, TSHMEM_ID_##kind(type), sizeof(type)},
const struct program_row program_rows[] = {TSHMEM_ARITH(ROW_ENTRY, )};
const int program_row_count = ROWS;

#define ROW_CASE(name, type, kind, family)                                                                             \
    case ROW_##name:                                                                                                   \
        return family;
#define ROW_FAMILY(LIST, family)                                                                                       \
    static int in_##LIST(int row)                                                                                      \
    {                                                                                                                  \
        switch (row) {                                                                                                 \
            LIST(ROW_CASE, family)                                                                                     \
        default:                                                                                                       \
            return 0;                                                                                                  \
        }                                                                                                              \
    }
/* NOLINTBEGIN(bugprone-branch-clone): all rows of a list are of one family. */
ROW_FAMILY(TSHMEM_RMA, FAMILY_RMA)
ROW_FAMILY(TSHMEM_AMO, FAMILY_AMO)
ROW_FAMILY(TSHMEM_AMO_FLOATING, FAMILY_AMO_FLOATING)
ROW_FAMILY(TSHMEM_BITWISE, FAMILY_BITWISE)
ROW_FAMILY(TSHMEM_WAIT, FAMILY_WAIT)
ROW_FAMILY(TSHMEM_BITS, FAMILY_BITS)
/* NOLINTEND(bugprone-branch-clone) */

int program_families(int row)
{
    return in_TSHMEM_RMA(row) | in_TSHMEM_AMO(row) | in_TSHMEM_AMO_FLOATING(row) | in_TSHMEM_BITWISE(row) |
           in_TSHMEM_WAIT(row) | in_TSHMEM_BITS(row);
}
