/* The place of this process in its job, as launchers put it into the environment. */
#ifndef TUTTI_CORE_LAUNCHED_H
#define TUTTI_CORE_LAUNCHED_H

/* Local. The rank among those of this machine; -1: it is not known, or no launcher started the process. */
int tutti_launched_local_rank(void);

#endif
