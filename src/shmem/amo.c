/* Atomics on words of 4 and 8 bytes of any PE's heap. */
#include "shmem/space.h"

uint64_t tutti_shmem_amo(int operation, void *dest, size_t bytes, uint64_t value, uint64_t compare, int pe)
{
    static const char call[] = "an atomic";
    if ((uintptr_t)dest % bytes != 0) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "%p is not aligned to %zu bytes", dest, bytes);
        return 0;
    }
    void *at = tutti_shmem_at(dest, bytes, pe, call);
    return at ? tutti_shmem.kind->amo(operation & ~TSHMEM_AMO_NO_FETCH, at, bytes, value, compare) : 0;
}
