/* The roll call of a job: which ranks of this machine have Tutti in front. It is made over a Unix socket, without the
 * MPI: a rank without Tutti would take no part in a collective of Tutti's, and would get its messages in place of
 * others.
 *
 * Each rank registers before its MPI_Init. The first one leads. MPI_Init returns on a rank when all ranks have called
 * it, so the leader then finds all others registered. Some MPIs do not wait for all ranks: the leader waits a second
 * for theirs. The leader alone decides, and each registered rank waits for the decision. So all ranks with Tutti decide
 * alike, however slow one of them is. */
#ifndef TUTTI_TEAM_ROLL_H
#define TUTTI_TEAM_ROLL_H

struct tutti_roll;

/* Local. Registers this rank as one of the `size` ranks that the launcher has started on this machine for the job of
 * this name. The name is the same for these ranks and for no others. A status; *out is NULL if it failed. */
int tutti_roll_enter(const char *job, int size, struct tutti_roll **out);
/* 1 on the rank that leads. */
int tutti_roll_leads(const struct tutti_roll *roll);
/* After MPI_Init. The others send the leader their rank in the world. The leader gets all ranks, its own first, into
 * ranks[size], and returns their number: fewer than `size` if some ranks have no Tutti. Others return 0. */
int tutti_roll_call(struct tutti_roll *roll, int rank, int ranks[]);
/* Then: the leader sends its decision to the others, which return it; 0 if the leader has ended. */
int tutti_roll_decide(struct tutti_roll *roll, int decision);
void tutti_roll_leave(struct tutti_roll *roll);

#endif
