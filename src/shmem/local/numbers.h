/* Numbers of teams. A team has one number on all its PEs, which no other team of these PEs uses. Each member claims
 * the number, since its other threads may make teams with other PEs at the same time. If one member cannot claim it,
 * all members release it and try another one. */
#ifndef TUTTI_SHMEM_NUMBERS_H
#define TUTTI_SHMEM_NUMBERS_H

#include <stdint.h>

/* Local. The first `always` numbers are taken from the start; all others are free. */
void tutti_shmem_numbers_open(unsigned always);
/* Local. Bit n: this PE has a team of number n, or makes one. */
uint64_t tutti_shmem_numbers_taken(void);
/* Local. Frees the number. */
void tutti_shmem_number_release(unsigned number);

/* The contribution of a PE when a team's members meet. */
struct tutti_shmem_numbers {
    uint64_t taken, refused; /* refused: not 0: it could not claim the number */
};
/* A meeting: publishes `words` and returns the bitwise or of all PEs in them. A status. */
typedef int tutti_shmem_numbers_meet(void *with, struct tutti_shmem_numbers *words);

/* Collective over the PEs that meet: a number that all members have claimed and that is not in `besides`. words: the
 * or of all contributions so far. member: this PE will be in the team. seed: the same on all PEs, and different for
 * groups that make a team at the same time. *number TSHMEM_TEAMS_MAX: a member has no free number, or the status is
 * an error. */
int tutti_shmem_number_agree(tutti_shmem_numbers_meet *meet, void *with, struct tutti_shmem_numbers words, int member,
                             uint64_t besides, unsigned seed, unsigned *number);

#endif
