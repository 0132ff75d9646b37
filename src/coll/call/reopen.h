/* Opening a team again, on other GPUs or in a new life of its own. Private to coll/call/. */
#ifndef TUTTI_COLL_REOPEN_H
#define TUTTI_COLL_REOPEN_H

#include "coll/coll.h"

/* Local. The kind of arrival that this rank announces for a call of call->kind with buffers on call->gpu. */
enum tutti_arrival_kind tutti_reopen_kind(const struct tutti_team *team, const struct tutti_call *call);
/* Local, in a call at which all have arrived; the answer is the same on all ranks. NULL: all ranks have memory of the
 * GPUs on which the team is open, or *again is 1 and the team is to be opened again: at once after a reset, of the GPUs
 * of the ranks in *resets. Otherwise the reason why the team's kernels cannot run the call. If memory of other GPUs
 * comes and goes, more and more calls go without them before the next opening. */
const char *tutti_reopen_look(struct tutti_team *team, const struct tutti_arrival *const all[], int *again,
                              uint64_t *resets);
/* Collective, where *again was 1: the team gives up what it has on its GPUs, and can be opened. A status. */
int tutti_reopen_close(struct tutti_team *team, uint64_t resets);

#endif
