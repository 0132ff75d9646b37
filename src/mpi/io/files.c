/* What Tutti keeps of a file handle: its view, if that is not one of bytes as they are in memory, and the stage of a
 * split collective access, of which a file has one at most. Files that need neither are not in the list. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/io/files.h"

static struct file {
    MPI_File handle;
    int foreign;     /* the MPI converts the elements */
    MPI_Count etype; /* bytes of the elementary type */
    int split;       /* `stage` is of a split access */
    struct tutti_stage stage;
    struct file *next;
} * files;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock is held. The place of the file in the list, or the list's end. */
static struct file **file_find(MPI_File handle)
{
    struct file **at = &files;
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

/* The lock is held. NULL: out of memory. */
static struct file *file_of(MPI_File handle)
{
    struct file **at = file_find(handle);
    if (!*at && (*at = calloc(1, sizeof **at)) != NULL)
        **at = (struct file){.handle = handle, .etype = 1};
    return *at;
}

/* The lock is held. */
static void file_drop(struct file **at)
{
    struct file *file = *at;
    *at = file->next;
    free(file);
}

void tutti_file_viewed(MPI_File handle, MPI_Datatype type, const char *datarep)
{
    const int foreign = datarep && strcmp(datarep, "native") != 0;
    MPI_Count etype = 1;
    if (tutti_next.MPI_Type_size_x(type, &etype) != MPI_SUCCESS || etype < 1)
        etype = 1;
    pthread_mutex_lock(&lock);
    struct file *file = foreign || etype > 1 ? file_of(handle) : *file_find(handle);
    if (file) {
        file->foreign = foreign;
        file->etype = etype;
    }
    pthread_mutex_unlock(&lock);
}

int tutti_file_is_native(MPI_File handle, MPI_Count *etype)
{
    pthread_mutex_lock(&lock);
    const struct file *file = *file_find(handle);
    const int native = !file || !file->foreign;
    if (etype)
        *etype = file ? file->etype : 1;
    pthread_mutex_unlock(&lock);
    return native;
}

int tutti_file_split(MPI_File handle, const struct tutti_stage *stage)
{
    pthread_mutex_lock(&lock);
    struct file *file = file_of(handle);
    if (file) {
        file->split = 1;
        file->stage = *stage;
    }
    pthread_mutex_unlock(&lock);
    return file != NULL;
}

int tutti_file_joined(MPI_File handle, struct tutti_stage *stage)
{
    pthread_mutex_lock(&lock);
    struct file **at = file_find(handle);
    const int split = *at && (*at)->split;
    if (split) {
        *stage = (*at)->stage;
        (*at)->split = 0;
        if (!(*at)->foreign && (*at)->etype == 1)
            file_drop(at);
    }
    pthread_mutex_unlock(&lock);
    return split;
}

void tutti_file_forget(MPI_File handle)
{
    struct tutti_stage stage;
    if (tutti_file_joined(handle, &stage)) /* an error of the program: it has not ended the access */
        tutti_stage_close(&stage);
    pthread_mutex_lock(&lock);
    struct file **at = file_find(handle);
    if (*at)
        file_drop(at);
    pthread_mutex_unlock(&lock);
}
