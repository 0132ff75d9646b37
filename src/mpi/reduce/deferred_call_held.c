/* Objects that a deferred call names: types, an info, and lists of counts, displacements and types. Without Tutti
 * the MPI would read them at once. With a deferred call it reads them later, and lists of types until the call has
 * ended. */
#include <stdlib.h>
#include <string.h>

#include "mpi/move/pattern.h"
#include "mpi/real/handles.h"
#include "mpi/real/lent.h"
#include "mpi/reduce/deferred_call.h"

/* Replaces the program's list by a copy. 0: no memory. */
static int deferred_call_held_copy(struct tutti_deferred_call *later, const void **list, int n, size_t each)
{
    if (!*list || n == 0)
        return 1;
    void *own = malloc((size_t)n * each);
    if (!own)
        return 0;
    memcpy(own, *list, (size_t)n * each);
    later->list_bytes[later->lists] = (size_t)n * each;
    later->list[later->lists++] = own;
    *list = own;
    return 1;
}

/* The same for a list of types; each type is held. */
static int copy_types(struct tutti_deferred_call *later, const MPI_Datatype **list, int n, int *held)
{
    const void *types = *list;
    if (!types || n == 0)
        return 1;
    if (!deferred_call_held_copy(later, &types, n, sizeof **list))
        return 0;
    *list = types;
    while (*held < n && tutti_type_hold((*list)[*held]))
        ++*held;
    return *held == n;
}

/* Copies the lists of one buffer, of n entries; none if the MPI does not read them on this rank. 0: no memory. */
static int copy_buffer(struct tutti_deferred_call *later, struct tutti_buffer *buffer, int n, int *held)
{
    const size_t count = buffer->large_counts ? sizeof(MPI_Count) : sizeof(int);
    const size_t displ = buffer->large_displs ? sizeof(MPI_Aint) : sizeof(int);
    return deferred_call_held_copy(later, &buffer->counts, n, count) &&
           deferred_call_held_copy(later, &buffer->displs, n, displ) && copy_types(later, &buffer->types, n, held);
}

static int copy_lists(struct tutti_deferred_call *later)
{
    struct tutti_collective_args *args = &later->args;
    struct tutti_pattern pattern;
    if (!args->in.counts && !args->out.counts)
        return 1;
    const int fine = tutti_pattern_open(&pattern, args) == TUTTI_OK &&
                     copy_buffer(later, &args->in, pattern.send.n, &later->sendtypes_held) &&
                     copy_buffer(later, &args->out, pattern.recv.n, &later->recvtypes_held);
    tutti_pattern_close(&pattern);
    return fine;
}

/* In this order. */
static MPI_Datatype type_at(const struct tutti_deferred_call *later, int i)
{
    return i == 0 ? later->args.in.type : later->args.out.type;
}

int tutti_deferred_call_hold(struct tutti_deferred_call *later)
{
    enum { TYPES = 2 };
    while (later->holds < TYPES && tutti_type_hold(type_at(later, later->holds)))
        later->holds++;
    if (later->holds < TYPES || !copy_lists(later))
        return 0;
    if (later->info != tutti_handles.no_info)
        later->own_info = tutti_next.MPI_Info_dup(later->info, &later->info) == MPI_SUCCESS;
    return later->info == tutti_handles.no_info || later->own_info;
}

void tutti_deferred_call_release(struct tutti_deferred_call *later)
{
    while (later->holds > 0)
        tutti_type_release(type_at(later, --later->holds));
    while (later->sendtypes_held > 0)
        tutti_type_release(later->args.in.types[--later->sendtypes_held]);
    while (later->recvtypes_held > 0)
        tutti_type_release(later->args.out.types[--later->recvtypes_held]);
    while (later->lists > 0)
        free(later->list[--later->lists]);
    if (later->own_info)
        tutti_next.MPI_Info_free(&later->info);
}

/* `its`: a copy, or what the program passed, if the MPI does not read that. */
static int held_is_same(const struct tutti_deferred_call *later, const void *its, const void *now)
{
    if (its == now)
        return 1;
    for (int i = 0; its && now && i < later->lists; i++) {
        if (later->list[i] == its)
            return memcmp(its, now, later->list_bytes[i]) == 0;
    }
    return 0;
}

static int held_has_buffer(const struct tutti_deferred_call *later, const struct tutti_buffer *its,
                           const struct tutti_buffer *now)
{
    return held_is_same(later, its->counts, now->counts) && held_is_same(later, its->displs, now->displs) &&
           held_is_same(later, its->types, now->types);
}

int tutti_deferred_call_has_lists(const struct tutti_deferred_call *later, const struct tutti_collective_args *args)
{
    return held_has_buffer(later, &later->args.in, &args->in) && held_has_buffer(later, &later->args.out, &args->out);
}

static int held_is_predefined(const struct tutti_buffer *buffer, int types)
{
    for (int i = 0; i < types; i++) {
        if (!tutti_type_find(buffer->types[i]))
            return 0;
    }
    return buffer->types || tutti_type_find(buffer->type);
}

int tutti_deferred_call_is_predefined(const struct tutti_deferred_call *later)
{
    return held_is_predefined(&later->args.in, later->sendtypes_held) &&
           held_is_predefined(&later->args.out, later->recvtypes_held);
}
