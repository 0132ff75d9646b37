#include "mpi/own.h"

#include <stdlib.h>

enum { TAGS = 32768 }; /* an MPI has at least so many */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm self; /* of this process alone */
static int made;
static int *free_tags, tags_free, tags_used;

/* The lock is held. */
static int take_tag(void)
{
    if (!made && tutti_real.MPI_Comm_split(tutti_handles.self, 0, 0, &self) != MPI_SUCCESS)
        return -1;
    if (!made)
        tutti_real.MPI_Comm_set_errhandler(self, tutti_handles.errors_return);
    made = 1;
    if (!free_tags && !(free_tags = malloc(TAGS * sizeof *free_tags)))
        return -1;
    if (tags_free > 0)
        return free_tags[--tags_free];
    return tags_used < TAGS ? tags_used++ : -1;
}

int tutti_own_request(int persistent, MPI_Request *request, int *tag)
{
    TUTTI_INSIDE();
    pthread_mutex_lock(&lock);
    *tag = take_tag();
    pthread_mutex_unlock(&lock);
    if (*tag < 0)
        return -1;
    int code = persistent ? tutti_real.MPI_Recv_init(NULL, 0, tutti_handles.byte, 0, *tag, self, request)
                          : tutti_real.MPI_Irecv(NULL, 0, tutti_handles.byte, 0, *tag, self, request);
    if (code == MPI_SUCCESS)
        return 0;
    tutti_own_release(*tag);
    return -1;
}

void tutti_own_complete(int tag)
{
    TUTTI_INSIDE();
    tutti_real.MPI_Send(NULL, 0, tutti_handles.byte, 0, tag, self);
}

void tutti_own_end(int persistent, MPI_Request *request)
{
    TUTTI_INSIDE();
    tutti_real.MPI_Wait(request, MPI_STATUS_IGNORE);
    if (persistent)
        tutti_real.MPI_Request_free(request);
}

void tutti_own_release(int tag)
{
    pthread_mutex_lock(&lock);
    free_tags[tags_free++] = tag;
    pthread_mutex_unlock(&lock);
}

void tutti_own_close(int idle)
{
    if (made && idle)
        tutti_real.MPI_Comm_free(&self);
    made = 0;
    free(free_tags);
    free_tags = NULL;
    tags_free = tags_used = 0;
}
