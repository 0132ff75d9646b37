/* MPIX_Stream as an MPI's own header has it: an int. Programs compiled with it need not know mpix.h. A stream of the
 * device gets a handle of Tutti's; any other stream, among them MPIX_STREAM_NULL, is the MPI's, and so is a
 * communicator that is made with it. The calls that take communicators and requests are those of mpix.h: their types
 * are the same. */
#include <pthread.h>
#include <stdlib.h>

#include "mpi/comm/streams.h"
#include "mpi/real/errors.h"

/* MPIX_STREAM_NULL and what follows it: the bits for the kind of a handle's object are not set in them, so that the MPI
 * has no others. */
enum { HANDLE_NULL = 0x3c000000, HANDLES_MOST = 1 << 20 };

static struct tutti_mpix_stream **handles; /* of HANDLE_NULL + 1 and so on; NULL: free */
static int handles_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The entry of a handle of Tutti's, under the lock; NULL: of the MPI. */
static struct tutti_mpix_stream **handle_entry(int handle)
{
    const int i = handle - HANDLE_NULL - 1;
    return handle > HANDLE_NULL && i < handles_count && handles[i] ? &handles[i] : NULL;
}

static struct tutti_mpix_stream *handle_stream(int handle)
{
    pthread_mutex_lock(&lock);
    struct tutti_mpix_stream **const entry = handle_entry(handle), *const stream = entry ? *entry : NULL;
    pthread_mutex_unlock(&lock);
    return stream;
}

/* 0: no memory. */
static int handle_make(struct tutti_mpix_stream *stream)
{
    int i = 0;
    pthread_mutex_lock(&lock);
    while (i < handles_count && handles[i])
        i++;
    if (i == handles_count && i < HANDLES_MOST) {
        struct tutti_mpix_stream **const more = realloc(handles, ((size_t)i + 1) * sizeof(struct tutti_mpix_stream *));
        handles = more ? more : handles;
        handles_count += more != NULL;
    }
    const int made = i < handles_count;
    if (made)
        handles[i] = stream;
    pthread_mutex_unlock(&lock);
    return made ? HANDLE_NULL + 1 + i : 0;
}

int tutti_door_MPIX_Stream_create(MPI_Info info, int *stream)
{
    struct tutti_mpix_stream *made = NULL;
    if (!tutti_door.on || !tutti_mpix_stream_named(info))
        return tutti_next.MPIX_Stream_create(info, stream);
    if (!stream)
        return tutti_fail_self(MPI_ERR_ARG);
    const int code = tutti_mpix_stream_create(info, &made);
    if (code != MPI_SUCCESS)
        return code;
    *stream = handle_make(made);
    if (*stream != 0)
        return MPI_SUCCESS;
    *stream = HANDLE_NULL;
    (void)tutti_mpix_stream_free(&made);
    return tutti_fail_self(MPI_ERR_NO_MEM);
}

int tutti_door_MPIX_Stream_free(int *stream)
{
    struct tutti_mpix_stream *freed = NULL;
    pthread_mutex_lock(&lock);
    struct tutti_mpix_stream **const entry = stream ? handle_entry(*stream) : NULL;
    if (entry) {
        freed = *entry;
        *entry = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (!freed)
        return tutti_next.MPIX_Stream_free(stream);
    *stream = HANDLE_NULL;
    return tutti_mpix_stream_free(&freed);
}

int tutti_door_MPIX_Stream_comm_create(MPI_Comm comm, int stream, MPI_Comm *newcomm)
{
    struct tutti_mpix_stream *const mine = handle_stream(stream);
    return mine ? tutti_mpix_stream_comm_create(comm, mine, newcomm)
                : tutti_next.MPIX_Stream_comm_create(comm, stream, newcomm);
}
