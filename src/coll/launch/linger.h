/* Small blocking calls by a kernel that stays for a while (TUTTI_LINGER_US). Private to coll/. */
#ifndef TUTTI_COLL_LINGER_H
#define TUTTI_COLL_LINGER_H

#include "coll/launch/flow.h"

/* Collective over the open team's ranks: how long their kernels stay. */
int tutti_linger_agree(struct tutti_team *team);
/* 1 if the call takes this way: by facts that all ranks share, as its packets are those of `ll`. */
int tutti_linger_can(const struct tutti_team *team, const struct tutti_call *call);
/* The call, by the mailbox if a kernel stays and by a launch otherwise, waiting for the end. Ranks may differ. */
int tutti_linger_run(struct tutti_team *team, const struct tutti_call *call);

#endif
