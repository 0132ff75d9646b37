#include "mpi/comm/hints.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/comm/comms.h"
#include "p2p/lanes.h"

enum { SPARE_HERE = 1, SPARE_ON_ALL = 2, KINDS_BYTES = 256 };

/* The value of the attribute. */
struct hints {
    unsigned spare; /* SPARE_HERE: this rank asks for it; SPARE_ON_ALL: all ranks of a communicator with a stream do */
    char kinds[KINDS_BYTES]; /* as the program has set them; under the lock */
};

int tutti_comm_hinted;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval, made;

static int hints_not_copied(MPI_Comm comm, int of, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)of;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static int hints_drop(MPI_Comm comm, int of, void *value, void *extra)
{
    (void)comm;
    (void)of;
    (void)extra;
    free(value);
    return MPI_SUCCESS;
}

static int hints_are_ready(void)
{
    pthread_mutex_lock(&lock);
    made = made || tutti_next.MPI_Comm_create_keyval(hints_not_copied, hints_drop, &keyval, NULL) == MPI_SUCCESS;
    pthread_mutex_unlock(&lock);
    return made;
}

void tutti_comm_hints_close(void)
{
    pthread_mutex_lock(&lock);
    made = 0;
    __atomic_store_n(&tutti_comm_hinted, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

/* NULL: the communicator has no hints. */
static struct hints *hints_of(MPI_Comm comm)
{
    void *value = NULL;
    int flag = 0;
    TUTTI_INSIDE();
    if (!made || tutti_next.MPI_Comm_get_attr(comm, keyval, &value, &flag) != MPI_SUCCESS || !flag)
        return NULL;
    return value;
}

/* Those of the communicator, which are made if it lacks them. NULL without memory. */
static struct hints *hints_make(MPI_Comm comm)
{
    struct hints *hints = hints_of(comm);
    if (hints || !hints_are_ready())
        return hints;
    hints = calloc(1, sizeof *hints);
    if (hints && tutti_next.MPI_Comm_set_attr(comm, keyval, hints) != MPI_SUCCESS) {
        free(hints);
        hints = NULL;
    }
    return hints;
}

static unsigned hints_spare(MPI_Comm comm)
{
    const struct hints *hints = hints_of(comm);
    return hints ? __atomic_load_n(&hints->spare, __ATOMIC_RELAXED) : 0;
}

int tutti_comm_spares_hinted(MPI_Comm comm, int in_stream)
{
    return (hints_spare(comm) & (in_stream ? SPARE_ON_ALL : SPARE_HERE)) != 0;
}

static void hints_set_spare(MPI_Comm comm, unsigned spare)
{
    struct hints *hints = hints_make(comm);
    if (!hints)
        return;
    __atomic_store_n(&hints->spare, spare, __ATOMIC_RELAXED);
    __atomic_store_n(&tutti_comm_hinted, 1, __ATOMIC_RELAXED);
}

/* The value of a key. 0 if the info does not have it. */
static int hints_read(MPI_Info info, const char *key, char *value, int size)
{
    int flag = 0;
    if (info == tutti_handles.no_info || !tutti_next.MPI_Info_get ||
        tutti_next.MPI_Info_get(info, key, size - 1, value, &flag) != MPI_SUCCESS)
        return 0;
    return flag;
}

static void hints_note_spare(MPI_Comm comm, MPI_Info info)
{
    const struct tutti_comm *state = tutti_comm_find(comm);
    const unsigned before = __atomic_load_n(&tutti_comm_hinted, __ATOMIC_RELAXED) ? hints_spare(comm) : 0;
    char value[8] = "";
    const int given = hints_read(info, TUTTI_HINT_SPARE, value, (int)sizeof value);
    int here = given ? strcmp(value, "true") == 0 : (before & SPARE_HERE) != 0, all = 0;
    if (state && state->stream &&
        tutti_next.MPI_Allreduce(&here, &all, 1, MPI_INT, tutti_handles.min, comm) != MPI_SUCCESS)
        all = 0;
    const unsigned spare = (here ? SPARE_HERE : 0) | (all ? SPARE_ON_ALL : 0);
    if (given || (spare ^ before) & SPARE_ON_ALL)
        hints_set_spare(comm, spare);
}

static void hints_note_kinds(MPI_Comm comm, MPI_Info info)
{
    char kinds[KINDS_BYTES] = "";
    struct hints *hints;
    if (!hints_read(info, TUTTI_HINT_KINDS, kinds, (int)sizeof kinds) || (hints = hints_make(comm)) == NULL)
        return;
    pthread_mutex_lock(&lock);
    memcpy(hints->kinds, kinds, sizeof kinds);
    pthread_mutex_unlock(&lock);
}

static void hints_note_groups(MPI_Comm comm, MPI_Info info)
{
    const struct tutti_comm *state = tutti_comm_find(comm);
    char value[8] = "";
    if (state && state->lanes && hints_read(info, TUTTI_HINT_GROUPS, value, (int)sizeof value))
        tutti_lanes_group_starts(state->lanes, strcmp(value, "true") == 0);
}

void tutti_comm_hints_note(MPI_Comm comm, MPI_Info info)
{
    TUTTI_INSIDE();
    hints_note_groups(comm, info);
    hints_note_kinds(comm, info);
    hints_note_spare(comm, info);
}

/* 1 if the kind is in the list, or one of the list with further restrictions. */
static int hints_list_has(const char *list, const char *kind)
{
    const size_t length = strlen(kind);
    for (const char *at = list; at; at = strchr(at, ','), at += at != NULL) {
        if (strncmp(at, kind, length) == 0 && (!at[length] || at[length] == ',' || at[length] == ':'))
            return 1;
    }
    return 0;
}

static void hints_add_kinds(const struct hints *hints, MPI_Info info, const char *taken)
{
    char kinds[KINDS_BYTES], all[KINDS_BYTES] = "", *rest = NULL;
    pthread_mutex_lock(&lock);
    memcpy(kinds, hints->kinds, sizeof kinds);
    pthread_mutex_unlock(&lock);
    for (const char *kind = strtok_r(kinds, ",", &rest); kind; kind = strtok_r(NULL, ",", &rest)) {
        if (!hints_list_has(taken, kind))
            continue;
        if (all[0])
            strcat(all, ",");
        strcat(all, kind);
    }
    if (all[0])
        tutti_next.MPI_Info_set(info, TUTTI_HINT_KINDS, all);
}

void tutti_comm_hints_add(MPI_Comm comm, MPI_Info info, const char *taken)
{
    const struct hints *hints = hints_of(comm);
    const struct tutti_comm *state = tutti_comm_find(comm);
    if (state && state->lanes && tutti_lanes_groups(state->lanes))
        tutti_next.MPI_Info_set(info, TUTTI_HINT_GROUPS, "true");
    if (!hints)
        return;
    if (__atomic_load_n(&hints->spare, __ATOMIC_RELAXED) & SPARE_HERE)
        tutti_next.MPI_Info_set(info, TUTTI_HINT_SPARE, "true");
    hints_add_kinds(hints, info, taken);
}

void tutti_comm_hints_copy(MPI_Comm from, MPI_Comm to)
{
    if (tutti_comm_spares(from, 0))
        hints_set_spare(to, SPARE_HERE);
}
