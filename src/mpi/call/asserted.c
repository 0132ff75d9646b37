/* The key mpi_assert_memory_alloc_kinds of a communicator's info (MPI 4.1): MPI_Comm_get_info returns the kinds that
 * the program has set by MPI_Comm_set_info or MPI_Comm_dup_with_info, as far as Tutti supports them. MPIs that do not
 * know the key forget it. Kept in an attribute, which goes with the communicator and is not copied: duplicates have no
 * hints of the old one. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/call/calls.h"
#include "mpi/comm/hints.h"
#include "mpi/move/mover.h"
#include "mpi/real/handles.h"

static const char key[] = "mpi_assert_memory_alloc_kinds";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval, made;
static int (*just_dup_with_info)(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm);

static int not_copied(MPI_Comm comm, int of, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)of;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static int drop(MPI_Comm comm, int of, void *value, void *extra)
{
    (void)comm;
    (void)of;
    (void)extra;
    free(value);
    return MPI_SUCCESS;
}

static int is_ready(void)
{
    pthread_mutex_lock(&lock);
    made = made || tutti_next.MPI_Comm_create_keyval(not_copied, drop, &keyval, NULL) == MPI_SUCCESS;
    pthread_mutex_unlock(&lock);
    return made;
}

void tutti_asserted_close(void)
{
    pthread_mutex_lock(&lock);
    made = 0;
    pthread_mutex_unlock(&lock);
    tutti_comm_hints_close();
}

/* Without memory the hint is forgotten, as any may be. */
static void note(MPI_Comm comm, MPI_Info info)
{
    TUTTI_INSIDE();
    char kinds[256] = "";
    int flag = 0;
    if (info == tutti_handles.no_info || !tutti_next.MPI_Info_get ||
        tutti_next.MPI_Info_get(info, key, (int)sizeof kinds - 1, kinds, &flag) != MPI_SUCCESS || !flag || !is_ready())
        return;
    char *copy = strdup(kinds);
    if (copy && tutti_next.MPI_Comm_set_attr(comm, keyval, copy) != MPI_SUCCESS)
        free(copy);
}

int tutti_door_MPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    tutti_mover_pass(TUTTI_COLLECTIVE_MEETING, 0, comm);
    const int code = tutti_next.MPI_Comm_set_info(comm, info);
    if (code == MPI_SUCCESS && !tutti_inside) {
        note(comm, info);
        tutti_comm_hints_note(comm, info);
    }
    return code;
}

static int dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    const int code = just_dup_with_info(comm, info, newcomm);
    if (code == MPI_SUCCESS && !tutti_inside && *newcomm != tutti_handles.no_comm) {
        note(*newcomm, info);
        tutti_comm_hints_note(*newcomm, info);
    }
    return code;
}

void tutti_calls_asserted(void)
{
    just_dup_with_info = tutti_next.MPI_Comm_dup_with_info;
    if (just_dup_with_info)
        tutti_next.MPI_Comm_dup_with_info = dup_with_info;
}

/* 1 where the kind is in the list, or one of the list with further restrictions. */
static int has(const char *list, const char *kind)
{
    const size_t length = strlen(kind);
    for (const char *at = list; at; at = strchr(at, ','), at += at != NULL) {
        if (strncmp(at, kind, length) == 0 && (!at[length] || at[length] == ',' || at[length] == ':'))
            return 1;
    }
    return 0;
}

void tutti_asserted_tell(MPI_Comm comm, MPI_Info info, const char *taken)
{
    char kinds[256], all[256] = "", *rest = NULL;
    void *value = NULL;
    int flag = 0;
    tutti_comm_hints_tell(comm, info);
    if (!made || tutti_next.MPI_Comm_get_attr(comm, keyval, &value, &flag) != MPI_SUCCESS || !flag)
        return;
    strncpy(kinds, value, sizeof kinds - 1);
    kinds[sizeof kinds - 1] = '\0';
    for (const char *kind = strtok_r(kinds, ",", &rest); kind; kind = strtok_r(NULL, ",", &rest)) {
        if (!has(taken, kind))
            continue;
        if (all[0])
            strcat(all, ",");
        strcat(all, kind);
    }
    if (all[0])
        tutti_next.MPI_Info_set(info, key, all);
}
