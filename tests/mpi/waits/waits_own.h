/* Shared by waits_messages.c and waits_collectives.c. */
#ifndef TUTTI_TESTS_WAITS_OWN_H
#define TUTTI_TESTS_WAITS_OWN_H

enum { WAITS_WORD = 100, WAITS_NEVER, WAITS_FEW = 1000, WAITS_DEVICE = 4000 };
extern int waits_word;
extern char *waits_memory;     /* of WAITS_LONG bytes */
void *waits_device(int which); /* one of two buffers of WAITS_DEVICE bytes */
void waits_send_word(int peer);
void waits_recv_word(int peer);

#endif
