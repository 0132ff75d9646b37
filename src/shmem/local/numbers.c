#include "shmem/local/numbers.h"

#include <stdatomic.h>

#include "tutti/shmem_state.h"

_Static_assert(TSHMEM_TEAMS_MAX == 64, "a bit each");

static _Atomic uint64_t numbers;

static uint64_t bit(unsigned number)
{
    return UINT64_C(1) << number;
}

void tutti_shmem_numbers_open(unsigned always)
{
    atomic_store(&numbers, bit(always) - 1);
}

uint64_t tutti_shmem_numbers_taken(void)
{
    return atomic_load(&numbers);
}

unsigned tutti_shmem_number_free(uint64_t taken, unsigned parent, unsigned try)
{
    const unsigned first = try == 0 ? 0 : (parent * 7 + try * 11) % TSHMEM_TEAMS_MAX;
    for (unsigned i = 0; i < TSHMEM_TEAMS_MAX; i++) {
        const unsigned number = (first + i) % TSHMEM_TEAMS_MAX;
        if (!(taken & bit(number)))
            return number;
    }
    return TSHMEM_TEAMS_MAX;
}

int tutti_shmem_number_claim(unsigned number)
{
    return !(atomic_fetch_or(&numbers, bit(number)) & bit(number));
}

void tutti_shmem_number_release(unsigned number)
{
    atomic_fetch_and(&numbers, ~bit(number));
}
