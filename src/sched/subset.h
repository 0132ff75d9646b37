/* Subsets: a transport of some ranks of another transport, made without any communication. Its messages are those of
 * the other one. Its collectives are schedules of messages, each rank to each: for few ranks or few bytes.
 *
 * Messages of several subsets, and of other users of the transport, must not meet. So each rank takes a *context*, a
 * piece of the transport's tags, for each subset: messages of the subset to this rank have these tags. A rank chooses
 * its contexts alone. The members exchange which ones they have before they make the subset. */
#ifndef TUTTI_SCHED_SUBSET_H
#define TUTTI_SCHED_SUBSET_H

#include "progress/transport.h"

enum { TUTTI_CONTEXT_TAGS = 20 }; /* of a context; messages of a subset have tags below TUTTI_SUBSET_TAGS */
enum { TUTTI_SUBSET_TAGS = TUTTI_CONTEXT_TAGS - 1 };

struct tutti_contexts; /* of a transport */

/* Local, at set-up as tutti_transport_tags(): takes room for up to `most` contexts. NULL without memory or tags. The
 * transport stays. */
struct tutti_contexts *tutti_contexts_new(struct tutti_transport *transport, int most);
/* No context is taken. Takes NULL. */
void tutti_contexts_free(struct tutti_contexts *contexts);
struct tutti_transport *tutti_contexts_transport(const struct tutti_contexts *contexts);
/* Local, any thread. The first tag of a context; -1: all are taken. */
int tutti_context_take(struct tutti_contexts *contexts);
/* All messages with these tags have been received. */
void tutti_context_give(struct tutti_contexts *contexts, int tag);

/* Local. A transport of `size` ranks of `under`, which stays: its rank r is ranks[r] there; `rank` is this one.
 * Receives and probes name a tag. There is no node_color. A status. Before its first use each rank's context is set. */
int tutti_subset_new(struct tutti_transport *under, int rank, int size, const int ranks[], const char *label,
                     struct tutti_transport **out);
/* Local. `tag`: the first tag of the context of `rank`. */
void tutti_subset_context(struct tutti_transport *subset, int rank, int tag);
/* No message and no collective of it is under way. Takes NULL. */
void tutti_subset_free(struct tutti_transport *subset);

#endif
