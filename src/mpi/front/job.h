/* Whether all ranks of the job have Tutti in front. */
#ifndef TUTTI_MPI_FRONT_JOB_H
#define TUTTI_MPI_FRONT_JOB_H

/* Local, before the MPI's own MPI_Init: lets the other ranks of this machine know that this rank has Tutti. */
void tutti_job_enter(void);
/* After it; collective over the ranks that have Tutti, which all get the same answer. 1: all ranks of the job have
 * Tutti, or the launcher's environment does not suffice to find out. 0: some ranks do not; a warning has named them.
 * Makes no call of the MPI that another rank could notice. */
int tutti_job_whole(void);

/* job_nodes.c: the same over the machines of the job, on the rank that leads on each. `job`: the same text on all ranks
 * of the job. ranks[n]: of the world, on this machine, all with Tutti. */
int tutti_job_nodes(const char *job, const int ranks[], int n, int size);

#endif
