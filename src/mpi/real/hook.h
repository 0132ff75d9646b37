/* Progress hooks of the MPI: its own progress brings on what is open here while this thread stands in a blocking call
 * that is the MPI's. That is for collectives over several nodes: whether the other ranks have arrived cannot be seen
 * from here (progressing.c), so the call must be made, and some rank of this node may need a step of this one first. */
#ifndef TUTTI_MPI_HOOK_H
#define TUTTI_MPI_HOOK_H

/* Local, in MPI_Init and MPI_Finalize; closing one that is not open does nothing. Opened without MPI_THREAD_MULTIPLE
 * alone: there the helper brings on what is open. */
void tutti_hook_open(void);
void tutti_hook_close(void);
/* 1 where the MPI has taken the hook. */
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
