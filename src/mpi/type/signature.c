#include "mpi/type/signature.h"

#include <limits.h>
#include <stdlib.h>

#include "mpi/real/quirks.h"
#include "mpi/type/envelope.h"

enum { DEEPEST = 200, MOST_NODES = 1 << 20 };

/* A type without gaps: its extent is its size. `own`: to be freed. */
struct signature {
    MPI_Datatype type;
    MPI_Count size;
    int own;
};

static int signature_of_type(struct tutti_reading *reading, MPI_Datatype type, int depth, struct signature *out);

static void signature_drop(struct signature *it)
{
    if (it->own)
        tutti_next.MPI_Type_free(&it->type);
    it->own = 0;
}

static int signature_repeated(MPI_Count count, MPI_Datatype of, MPI_Datatype *out)
{
    if (count <= INT_MAX)
        return tutti_next.MPI_Type_contiguous((int)count, of, out) == MPI_SUCCESS;
    return tutti_next.MPI_Type_contiguous_c && tutti_next.MPI_Type_contiguous_c(count, of, out) == MPI_SUCCESS;
}

/* So many of `one`, which it takes. */
static int signature_times(MPI_Count count, struct signature *one, struct signature *out)
{
    *out = *one;
    if (count == 1)
        return TUTTI_OK;
    const int fine = signature_repeated(count, one->type, &out->type);
    signature_drop(one);
    out->own = fine;
    out->size = count * one->size;
    return fine ? TUTTI_OK : TUTTI_ERR_TRANSPORT;
}

/* One behind the other; the parts are still to be dropped. An MPI may round the extent of a struct up. */
static int signature_joined(const struct signature *part, size_t n, struct signature *out)
{
    int *lengths = malloc((n + 1) * sizeof *lengths), status = TUTTI_ERR_MEMORY;
    MPI_Aint *places = malloc((n + 1) * sizeof *places);
    MPI_Datatype *types = malloc((n + 1) * sizeof *types), all = tutti_handles.no_type;
    *out = (struct signature){.type = tutti_handles.no_type};
    for (size_t i = 0; lengths && places && types && i < n; i++) {
        lengths[i] = 1;
        places[i] = (MPI_Aint)out->size;
        types[i] = part[i].type;
        out->size += part[i].size;
    }
    if (lengths && places && types && n <= INT_MAX) {
        status = TUTTI_ERR_TRANSPORT;
        if (tutti_next.MPI_Type_create_struct((int)n, lengths, places, types, &all) == MPI_SUCCESS) {
            out->own = tutti_next.MPI_Type_create_resized(all, 0, (MPI_Aint)out->size, &out->type) == MPI_SUCCESS;
            tutti_next.MPI_Type_free(&all);
            status = out->own ? TUTTI_OK : TUTTI_ERR_TRANSPORT;
        }
    }
    free(lengths);
    free(places);
    free(types);
    return status;
}

/* The type of the value of a pair whose second member is an int. No type: `type` is no such pair. */
static MPI_Datatype value_of(MPI_Datatype pair)
{
    const MPI_Datatype pairs[][2] = {{MPI_FLOAT_INT, MPI_FLOAT}, {MPI_DOUBLE_INT, MPI_DOUBLE},
                                     {MPI_LONG_INT, MPI_LONG},   {MPI_2INT, MPI_INT},
                                     {MPI_SHORT_INT, MPI_SHORT}, {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pair == pairs[i][0])
            return pairs[i][1];
    }
    return tutti_handles.no_type;
}

static int of_predefined(struct tutti_reading *reading, MPI_Datatype type, struct tutti_contents *what,
                         struct signature *out)
{
    MPI_Count size, lower, extent, true_extent;
    if (tutti_next.MPI_Type_size_x(type, &size) != MPI_SUCCESS ||
        tutti_next.MPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    *out = (struct signature){.type = type, .size = size};
    if (extent == size) /* a pair without gaps too: an MPI may cut it elsewhere than its two elements */
        return TUTTI_OK;
    MPI_Datatype value = value_of(type), index = MPI_INT;
    if (what->combiner == TUTTI_VALUE_INDEX && tutti_contents(reading, type, what) == TUTTI_OK && what->types == 2) {
        value = what->type[0];
        index = what->type[1];
    }
    if (value == tutti_handles.no_type)
        return TUTTI_ERR_UNAVAILABLE;
    if (tutti_quirks.keeps_pairs && tutti_next.MPI_Type_get_true_extent_x(type, &lower, &true_extent) == MPI_SUCCESS &&
        true_extent == size) {
        out->own = tutti_next.MPI_Type_create_resized(type, 0, (MPI_Aint)size, &out->type) == MPI_SUCCESS;
        return out->own ? TUTTI_OK : TUTTI_ERR_TRANSPORT;
    }
    struct signature part[2] = {{.type = value}, {.type = index}};
    for (int i = 0; i < 2; i++) {
        if (tutti_next.MPI_Type_size_x(part[i].type, &part[i].size) != MPI_SUCCESS)
            return TUTTI_ERR_TRANSPORT;
    }
    return signature_joined(part, 2, out);
}

/* The parts from the i-th on that are of one type, as one; i moves on to the next. */
static int of_parts(struct tutti_reading *reading, const struct tutti_contents *what, size_t *i, int depth,
                    struct signature *out)
{
    struct signature one;
    const MPI_Datatype type = what->type[*i];
    MPI_Count count = 0;
    for (; *i < what->types && what->type[*i] == type; ++*i)
        count += tutti_contents_number(what, 1 + *i);
    *out = (struct signature){.type = tutti_handles.byte};
    if (count == 0) /* the type may be anything */
        return TUTTI_OK;
    int status = signature_of_type(reading, type, depth + 1, &one);
    return status == TUTTI_OK ? signature_times(count, &one, out) : status;
}

static int of_struct(struct tutti_reading *reading, const struct tutti_contents *what, int depth, struct signature *out)
{
    struct signature *part = calloc(what->types + 1, sizeof *part);
    size_t used = 0;
    int status = part ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (size_t i = 0; i < what->types && status == TUTTI_OK;) {
        status = of_parts(reading, what, &i, depth, &part[used]);
        used += status == TUTTI_OK && part[used].size > 0;
    }
    if (status == TUTTI_OK)
        status = signature_joined(part, used, out);
    for (size_t i = 0; i < used; i++)
        signature_drop(&part[i]);
    free(part);
    return status;
}

/* All other constructors repeat one type, in order. */
static int signature_of_type(struct tutti_reading *reading, MPI_Datatype type, int depth, struct signature *out)
{
    struct tutti_contents what;
    MPI_Count size;
    struct signature one;
    int status;
    if (depth > DEEPEST || reading->nodes++ > MOST_NODES)
        return TUTTI_ERR_UNAVAILABLE;
    if ((status = tutti_envelope(type, &what)) != TUTTI_OK)
        return status;
    if (tutti_combiner_predefined(what.combiner))
        return of_predefined(reading, type, &what, out);
    if ((status = tutti_contents(reading, type, &what)) != TUTTI_OK)
        return status;
    if (what.combiner == MPI_COMBINER_STRUCT || what.combiner == TUTTI_STRUCT_INTEGER)
        return of_struct(reading, &what, depth, out);
    if (what.types != 1 || tutti_next.MPI_Type_size_x(type, &size) != MPI_SUCCESS)
        return TUTTI_ERR_UNAVAILABLE;
    if ((status = signature_of_type(reading, what.type[0], depth + 1, &one)) != TUTTI_OK)
        return status;
    if (one.size == 0) { /* any number of nothing */
        *out = one;
        return TUTTI_OK;
    }
    return signature_times(size / one.size, &one, out);
}

int tutti_signature_of(MPI_Datatype type, MPI_Datatype *out)
{
    struct tutti_reading reading = {.why = NULL};
    struct signature made;
    int status = signature_of_type(&reading, type, 0, &made);
    tutti_describe_end(&reading);
    if (status == TUTTI_OK && !made.own) /* a predefined type */
        made.own = tutti_next.MPI_Type_dup(made.type, &made.type) == MPI_SUCCESS;
    if (status != TUTTI_OK || !made.own)
        return status != TUTTI_OK ? status : TUTTI_ERR_TRANSPORT;
    *out = made.type;
    return TUTTI_OK;
}
