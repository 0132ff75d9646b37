/* A number that all ranks see without a call of MPI: a rank waits for what another one does, and makes no progress of
 * messages meanwhile. Tests that say what happens while a rank is away need no time so. The ranks share a machine. */
#ifndef TUTTI_TESTS_KIT_WORD_H
#define TUTTI_TESTS_KIT_WORD_H

#include <stdatomic.h>
#include <stdint.h>

/* Collective. 0 at first. */
atomic_int *kit_word_open(void);
void kit_word_close(void);
/* Local. Waits until the number is at least that, or for so long. 1: it is. */
int kit_word_await(atomic_int *word, int least, uint64_t us);

#endif
