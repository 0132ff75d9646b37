/* Numbers of teams. A team has one number on all its PEs: one that no PE of those who make it uses. It is claimed at
 * each member, since other threads of a member may make teams with other PEs at the same time; where one of them cannot
 * have it, all give it back, and try another one. */
#ifndef TUTTI_SHMEM_NUMBERS_H
#define TUTTI_SHMEM_NUMBERS_H

#include <stdint.h>

enum { TUTTI_SHMEM_NUMBER_TRIES = 4096 };

/* Local. The first `always` numbers are taken from the beginning, and no others. */
void tutti_shmem_numbers_open(unsigned always);
/* Local. Bit n: this PE has a team of number n, or makes one. */
uint64_t tutti_shmem_numbers_taken(void);
/* A number that is in none of `taken`; TSHMEM_TEAMS_MAX: there is none. try: 0: the least; then it depends on `parent`
 * too, so that those who made way for each other do not meet again. Alike on all who ask alike. */
unsigned tutti_shmem_number_free(uint64_t taken, unsigned parent, unsigned try);
/* Local. 1, or 0 where another thread was first. */
int tutti_shmem_number_claim(unsigned number);
void tutti_shmem_number_release(unsigned number);

#endif
