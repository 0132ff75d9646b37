/* What the drawing of messages has in common. */
#ifndef TUTTI_TESTS_PROGRAMS_OWN_H
#define TUTTI_TESTS_PROGRAMS_OWN_H

#include "programs.h"

/* The request that an end would match if it were started now; -1: none. A probe asks the same. */
int prog_partner_of(const struct prog *p, const struct prog_end *end);
/* A new end with its buffer; -1: no room. */
int prog_new_end(struct prog_drawer *d, const struct prog_end *like, size_t n);
/* A request of the end and the step that starts it, matched with request `with`, -1: with none yet. */
int prog_start(struct prog_drawer *d, int end, enum prog_what what, int with);
/* The request is complete, and what its partner knew is known. */
void prog_done_now(struct prog_drawer *d, int req);
int prog_draw_tag(struct prog_drawer *d);
/* Room for n elements, sometimes more. */
size_t prog_longer(struct prog_drawer *d, size_t n);
/* Two ranks of a communicator, or one twice; 0: none may be. */
int prog_choose_pair(struct prog_drawer *d, int *comm, int *a, int *b);

#endif
