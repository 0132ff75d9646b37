#include "mpi/real/attached.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/log.h"
#include "mpi/real/errors.h"

/* Host memory that an MPI has in place of the program's. */
struct attached {
    struct attached *next;
    void *host, *program;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct attached *all;
static _Atomic int64_t room;  /* of the buffer of the process */
static atomic_int of_objects; /* 1: some communicator or session has had one */

int tutti_attached_takes(uint64_t bytes)
{
    return atomic_load(&of_objects) ||
           (uint64_t)atomic_load(&room) >= (bytes > INT64_MAX / 2 ? UINT64_MAX : bytes + MPI_BSEND_OVERHEAD);
}

int64_t tutti_attached_room(void)
{
    return atomic_load(&room);
}

/* What the MPI is given. NULL: no memory. */
static void *attached_substitute(void *buffer, MPI_Count size)
{
    if (size <= 0 || !tutti_must_stage(buffer))
        return buffer;
    struct attached *it = malloc(sizeof *it);
    void *host = malloc((size_t)size);
    if (!it || !host) {
        free(it);
        free(host);
        return NULL;
    }
    *it = (struct attached){.host = host, .program = buffer};
    pthread_mutex_lock(&lock);
    it->next = all;
    all = it;
    pthread_mutex_unlock(&lock);
    return host;
}

/* The MPI has let go of `given`, or has not taken it: the program's own instead. */
static void *give_back(void *given)
{
    struct attached *it = NULL;
    pthread_mutex_lock(&lock);
    for (struct attached **at = &all; *at && !it; at = &(*at)->next) {
        if ((*at)->host == given) {
            it = *at;
            *at = it->next;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    if (!it)
        return given;
    void *program = it->program;
    free(it->host);
    free(it);
    return program;
}

static void buffer_attached(void *buffer, void *given, int code, const char *name)
{
    if (code != MPI_SUCCESS)
        give_back(given);
    else if (given != buffer)
        tutti_count_staged(name, TUTTI_REASON_CALL, NULL, 0);
}

static int no_memory(const char *name)
{
    tutti_error("%s: no host memory in place of the device memory given", name);
    return MPI_ERR_NO_MEM;
}

#define WIDTHS_OF "mpi/real/attached.inc"
#include "mpi/real/widths.inc"
