/* Calls by a row of reductions or moves: by its own functions, or by the shape of its kernel. Private to coll/. */
#ifndef TUTTI_COLL_ROW_H
#define TUTTI_COLL_ROW_H

#include "coll/algorithm.h"

/* Local. 1 if the row can run the call. Of a move the reason is set otherwise; a team that is not open: as far as
 * known. */
int tutti_row_can(const struct tutti_algorithm *row, const struct tutti_team *team, const struct tutti_call *call);
/* Collective: as the row's run(). */
int tutti_row_run(const struct tutti_algorithm *row, struct tutti_team *team, const struct tutti_call *call, int *fits);
/* Local. 1 if the row has a form in stream order. */
int tutti_row_enqueues(const struct tutti_algorithm *row);
/* As the row's enqueue(), of a row that has one. */
int tutti_row_enqueue(const struct tutti_algorithm *row, struct tutti_team *team, const struct tutti_call *call,
                      struct tutti_stream *stream);

#endif
