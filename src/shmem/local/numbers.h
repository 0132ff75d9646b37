/* Numbers of teams. A team has one number on all its PEs: one that no PE of those who make it uses. It is claimed at
 * each member, since other threads of a member may make teams with other PEs at the same time; where one of them cannot
 * have it, all give it back, and try another one. */
#ifndef TUTTI_SHMEM_NUMBERS_H
#define TUTTI_SHMEM_NUMBERS_H

#include <stdint.h>

/* Local. The first `always` numbers are taken from the beginning, and no others. */
void tutti_shmem_numbers_open(unsigned always);
/* Local. Bit n: this PE has a team of number n, or makes one. */
uint64_t tutti_shmem_numbers_taken(void);
/* Local. It is free again. */
void tutti_shmem_number_release(unsigned number);

/* What a PE says when those who make a team meet. */
struct tutti_shmem_numbers {
    uint64_t taken, refused; /* refused: not 0: it could not claim the number */
};
/* A meeting: says `words`, which then are what any of the PEs has said. A status. */
typedef int tutti_shmem_numbers_meet(void *with, struct tutti_shmem_numbers *words);

/* Collective over those who meet: a number that all members have claimed, but none of `besides`. words: what any of
 * them has said before. member: this PE will be in the team. seed: alike on all, and another one for others who make a
 * team at once. *number TSHMEM_TEAMS_MAX: none: one of them has no more, or the status is an error. */
int tutti_shmem_number_agree(tutti_shmem_numbers_meet *meet, void *with, struct tutti_shmem_numbers words, int member,
                             uint64_t besides, unsigned seed, unsigned *number);

#endif
