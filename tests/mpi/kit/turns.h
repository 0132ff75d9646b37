/* Two ranks that take turns by a socket, outside the MPI: while a rank waits for its turn, neither Tutti nor the MPI
 * makes progress on its thread. */
#ifndef TUTTI_TESTS_KIT_TURNS_H
#define TUTTI_TESTS_KIT_TURNS_H

/* Collective over two ranks. A stream socket between them; the kernel chooses its name, and nothing is left of it. */
void kit_turns_open(void);
void kit_turns_close(void);
void kit_turn_give(char mine);
/* Waits, in no call of MPI, until the other rank has given its turn; returns what that rank gave. If it does not come,
 * a check fails, which names the call, and the program ends. */
char kit_turn_take(const char *name, long turn);

#endif
