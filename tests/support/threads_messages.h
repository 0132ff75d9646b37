/* Private to threads*.c: messages among ranks that are threads. Hostile where MPI leaves a choice: a send may be done
 * only when it has been received, a receive writes its memory only when it is tested, messages are seen late. */
#ifndef TUTTI_TESTS_THREADS_MESSAGES_H
#define TUTTI_TESTS_THREADS_MESSAGES_H

#include "progress/transport.h"

struct post; /* of one group of ranks */

struct post *post_new(int ranks);
void post_free(struct post *post);

int post_send(struct post *post, int from, const void *memory, size_t bytes, int to, int tag, int synchronous,
              struct tutti_transfer *out);
int post_receive(struct post *post, int rank, void *memory, size_t room, int from, int tag, struct tutti_transfer *out);
int post_probe(struct post *post, int rank, int from, int tag, struct tutti_caught *out, int *flag);
int post_receive_caught(struct post *post, struct tutti_caught *caught, void *memory, size_t room,
                        struct tutti_transfer *out);
int post_test(struct post *post, struct tutti_transfer *transfer, struct tutti_transfer_status *came, int *done);
int post_cancel(struct post *post, struct tutti_transfer *transfer, int *cancelled);

/* Nonblocking collectives. WORDS: of int64_t, combined. */
enum post_collective { POST_GATHER, POST_WORDS };
int post_collect(struct post *post, int rank, enum post_collective what, const void *in, void *out, size_t bytes,
                 enum tutti_combine how, struct tutti_pending *pending);
int post_collected(struct post *post, struct tutti_pending *pending, int *done);
int64_t post_combine(int64_t a, int64_t b, enum tutti_combine how);

#endif
