/* One request for two calls of Tutti: MPI_Isendrecv and its replacing form. */
#ifndef TUTTI_MPI_JOINT_H
#define TUTTI_MPI_JOINT_H

#include "mpi/door.h"

struct tutti_joint;

extern atomic_int tutti_joints_open; /* that are not done */

/* Local. Makes one request of two that are under way; takes over `memory`, which is freed at the end. An MPI code. */
int tutti_joint_new(MPI_Comm comm, MPI_Request receive, MPI_Request send, void *memory, MPI_Request *request);
/* Tests what is open. Completion calls repeat it. */
void tutti_joints_poll(void);
/* The request has completed: the status of the receive. An MPI code. */
int tutti_joint_deliver(const struct tutti_joint *joint, MPI_Status *status);
void tutti_joint_drop(struct tutti_joint *joint);
int tutti_joint_free(struct tutti_joint *joint, MPI_Request *request);
int tutti_joint_cancel(struct tutti_joint *joint);

#endif
