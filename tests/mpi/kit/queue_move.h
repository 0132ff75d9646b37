/* The steps of a queue that move data, and reduce locally: see queue.h. */
#ifndef TUTTI_TESTS_QUEUE_MOVE_H
#define TUTTI_TESTS_QUEUE_MOVE_H

#include "queue.h"

/* 1 for QUEUE_BCAST to QUEUE_ALLTOALLV. */
int queue_moves(enum queue_kind kind);
/* Puts the call of such a step into the stream. */
int queue_move_put(struct queue *queue, const struct queue_step *step);
/* What it does to the buffers of all ranks. */
void queue_move_model(struct queue *queue, const struct queue_step *step);

#endif
