#include "shmem/local/numbers.h"

#include <stdatomic.h>

#include "tutti/shmem_state.h"

enum { TRIES = 4096 };
_Static_assert(TSHMEM_TEAMS_MAX == 64, "a bit each");

static _Atomic uint64_t numbers;

static uint64_t number_bit(unsigned number)
{
    return UINT64_C(1) << number;
}

void tutti_shmem_numbers_open(unsigned always)
{
    atomic_store(&numbers, number_bit(always) - 1);
}

uint64_t tutti_shmem_numbers_taken(void)
{
    return atomic_load(&numbers);
}

/* A number that is not in `taken`; TSHMEM_TEAMS_MAX: none exists. try 0: the least. Later tries also depend on the
 * seed, so that groups that made way for each other do not collide again. */
static unsigned free_number(uint64_t taken, unsigned seed, unsigned try)
{
    const unsigned first = try == 0 ? 0 : (seed * 7 + try * 11) % TSHMEM_TEAMS_MAX;
    for (unsigned i = 0; i < TSHMEM_TEAMS_MAX; i++) {
        const unsigned number = (first + i) % TSHMEM_TEAMS_MAX;
        if (!(taken & number_bit(number)))
            return number;
    }
    return TSHMEM_TEAMS_MAX;
}

/* 0: another thread took it. */
static int number_claim(unsigned number)
{
    return !(atomic_fetch_or(&numbers, number_bit(number)) & number_bit(number));
}

void tutti_shmem_number_release(unsigned number)
{
    atomic_fetch_and(&numbers, ~number_bit(number));
}

int tutti_shmem_number_agree(tutti_shmem_numbers_meet *meet, void *with, struct tutti_shmem_numbers words, int member,
                             uint64_t besides, unsigned seed, unsigned *number)
{
    int status = 0;
    *number = TSHMEM_TEAMS_MAX;
    for (unsigned try = 0; try < TRIES && status == 0; try++) {
        const unsigned n = free_number(words.taken | besides, seed, try);
        if (n == TSHMEM_TEAMS_MAX)
            break;
        words.taken = tutti_shmem_numbers_taken(); /* for the next try: without this PE's number */
        const int claimed = member && number_claim(n);
        words.refused = member && !claimed;
        status = meet(with, &words);
        if (status == 0 && !words.refused) {
            *number = n;
            break;
        }
        if (claimed)
            tutti_shmem_number_release(n);
    }
    return status;
}
