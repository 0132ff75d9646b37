/* Progress hooks of the MPI: the MPI's progress polls Tutti's open steps while this thread waits in a blocking call of
 * the MPI. Collectives over several nodes need this: Tutti cannot see whether ranks of other nodes have arrived
 * (progressing.c), so the call must be made, and a rank of this node may need a step of this rank first. */
#ifndef TUTTI_MPI_HOOK_H
#define TUTTI_MPI_HOOK_H

/* Local, in MPI_Init and MPI_Finalize; closing a hook that is not open does nothing. Opened only without
 * MPI_THREAD_MULTIPLE: with it the helper thread polls the open steps. */
void tutti_hook_open(void);
void tutti_hook_close(void);
/* 1 if the MPI has taken the hook. */
int tutti_hook_is_there(void);

/* This thread goes into a blocking call of the MPI, and comes back. */
extern __thread int tutti_hook_on;
static inline void tutti_hook_off(const int *before)
{
    tutti_hook_on = *before;
}
/* Until the end of the block, also when an exception leaves it. */
#define TUTTI_HOOKED(on)                                                                                               \
    __attribute__((cleanup(tutti_hook_off), unused)) const int tutti_hook_before = tutti_hook_on;                      \
    tutti_hook_on = (on)

#endif
