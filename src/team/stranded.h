/* Ranks that went to the MPI with host memory, and will not come back since the others' calls do not match theirs: the
 * others make their call with them, once, so that they return, and notify them. Private to team/. */
#ifndef TUTTI_TEAM_STRANDED_H
#define TUTTI_TEAM_STRANDED_H

#include "team/team.h"

/* Collective over the ranks with device memory, which have all found that the calls do not match. gone: ranks of whose
 * call only the kind of memory is known. Returns at once if no rank is in the MPI. */
void tutti_stranded_release(struct tutti_team *team, const struct tutti_arrival *const all[], uint64_t gone);

#endif
