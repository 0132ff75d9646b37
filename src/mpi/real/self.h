/* Requests that Tutti completes: receives of nothing from this process on a communicator of Tutti's own, which a
 * message ends. So they are real requests, that any completion call of the MPI takes, among others and in any order. */
#ifndef TUTTI_MPI_SELF_H
#define TUTTI_MPI_SELF_H

#include "mpi/real/door.h"

/* After MPI_Init. */
void tutti_self_open(void);
/* Local: the highest tag of this MPI. */
int tutti_self_last_tag(void);
/* Local: 1 if messages may have the tag; 0 also while that is not known. Cheap. */
int tutti_self_tag_is_fine(int tag);
/* Local. 0, or -1 if there are no more. A persistent one is started by MPI_Start. */
int tutti_self_request(int persistent, MPI_Request *request, int *tag);
/* Makes the MPI progress its own calls, also if messages have arrived that match no receive. Never waits. */
void tutti_self_progress(void);
/* In a call that a program repeats until other ranks have done their part: polls the steps that are open, and makes the
 * MPI progress its own, which not every MPI does in such a call. */
void tutti_self_look(void);
/* The active request of this tag completes. Made while the step is still open, so that no thread is inside MPI_Wait for
 * it: a waiting thread may not see what another thread has sent to its own process (quirks.h). */
void tutti_self_complete(int tag);
/* Gives the MPI a message from this process to itself, which it has matched on return. The text stays until `sending`
 * is complete. One call at a time. 0, or -1. */
int tutti_self_inject(const void *text, int bytes, MPI_Message *message, MPI_Request *sending);
/* Whether the buffer that the process has attached takes a message of `bytes`: a message to this process is tried,
 * which arrives in `to`. One at a time. 0, or -1; then takes() until it returns 1 or is given up; then close(). */
int tutti_self_room_open(void *to, int bytes, MPI_Request *receive);
int tutti_self_room_takes(const void *from, int bytes);
void tutti_self_room_close(int taken, MPI_Request *receive);
/* Nothing will come for the tag. */
void tutti_self_release(int tag);
/* The same of a request that is not persistent and has not completed: the next operation gets it as it is, which saves
 * the MPI a receive and a message. The program must have no handle of it any more. */
void tutti_self_keep(int tag, MPI_Request request);
/* After tutti_self_complete(), of a request that the program has freed: ends it. It is not freed before, since an
 * MPI may forget then that such a receive is still posted (quirks.h). */
void tutti_self_end(int persistent, MPI_Request *request);
/* A communicator of this process alone on which errors are raised once `comm` is freed: it has the same error handler,
 * which is given this communicator. It stays. Local; no other thread frees `comm` meanwhile. */
MPI_Comm tutti_self_stand_in(MPI_Comm comm);
/* The communicator of this process alone, which returns its errors: for questions that may be errors. */
MPI_Comm tutti_self_quiet(void);
/* 1 if the MPI takes the type for messages: it exists and is committed. No call of the MPI returns this; a broadcast on
 * MPI_COMM_SELF, which moves nothing, fails if not. */
int tutti_self_asks(MPI_Datatype type);
/* Before MPI_Finalize; idle: none is open. */
void tutti_self_close(int idle);

#endif
