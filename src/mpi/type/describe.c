#include "mpi/type/envelope.h"

#include <limits.h>

enum { DEEPEST = 200, MOST_NODES = 1 << 20 };

static int describe_unavailable(struct tutti_reading *reading, const char *why)
{
    reading->why = why;
    return TUTTI_ERR_UNAVAILABLE;
}

/* ---- nodes ---- */

/* A description and the extent that constructors above count in. */
struct node {
    const struct tutti_description *is;
    MPI_Count extent;
};

static struct tutti_description *describe_new_node(struct tutti_reading *reading, enum tutti_form form,
                                                   uint32_t children)
{
    struct tutti_description *made = tutti_reading_take(reading, 1, sizeof *made);
    const struct tutti_description **child = children ? tutti_reading_take(reading, children, sizeof *child) : NULL;
    if (!made || (children && !child))
        return NULL;
    *made = (struct tutti_description){.form = form, .children = children, .child = child};
    return made;
}

static void set_child(struct tutti_description *node, uint32_t i, const struct tutti_description *child)
{
    ((const struct tutti_description **)(uintptr_t)node->child)[i] = child;
}

static struct tutti_description *describe_bytes_of(struct tutti_reading *reading, uint64_t bytes)
{
    struct tutti_description *made = describe_new_node(reading, TUTTI_FORM_BYTES, 0);
    if (made)
        made->bytes = bytes;
    return made;
}

/* As the MPI says: it may round extents up, and knows markers of bounds. */
static int describe_bounded(struct tutti_reading *reading, MPI_Datatype type, const struct tutti_description *inner,
                            struct node *out)
{
    MPI_Count lower, extent;
    struct tutti_description *made = describe_new_node(reading, TUTTI_FORM_RESIZED, 1);
    if (!inner || !made)
        return TUTTI_ERR_MEMORY;
    if (tutti_next.MPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    set_child(made, 0, inner);
    made->lower = lower;
    made->extent = extent;
    *out = (struct node){made, extent};
    return TUTTI_OK;
}

/* Value, gap, index: the gap is what size and true extent differ by. */
static struct tutti_description *describe_pair(struct tutti_reading *reading, uint64_t value, uint64_t index,
                                               uint64_t place)
{
    struct tutti_description *made = describe_new_node(reading, TUTTI_FORM_STRUCT, 2), *part;
    uint64_t *lengths = tutti_reading_take(reading, 2, sizeof *lengths);
    int64_t *offsets = tutti_reading_take(reading, 2, sizeof *offsets);
    if (!made || !lengths || !offsets)
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        if (!(part = describe_bytes_of(reading, i ? index : value)))
            return NULL;
        set_child(made, i, part);
        lengths[i] = 1;
        offsets[i] = i ? (int64_t)place : 0;
    }
    made->count = 2;
    made->lengths = lengths;
    made->offsets = offsets;
    return made;
}

static void note_basic(struct tutti_reading *reading, MPI_Count size)
{
    if (size > 0 && reading->basic != (unsigned)size)
        reading->basic = reading->basic ? UINT_MAX : (unsigned)size;
}

static int is_pair_with_int(MPI_Datatype type)
{
    const MPI_Datatype pairs[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT,
                                  MPI_2INT,      MPI_SHORT_INT,  MPI_LONG_DOUBLE_INT};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (type == pairs[i])
            return 1;
    }
    return 0;
}

static int read_predefined(struct tutti_reading *reading, MPI_Datatype type, struct tutti_contents *what,
                           struct node *out)
{
    MPI_Count size, lower, extent, true_lower, true_extent, index = sizeof(int);
    if (tutti_next.MPI_Type_size_x(type, &size) != MPI_SUCCESS ||
        tutti_next.MPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS ||
        tutti_next.MPI_Type_get_true_extent_x(type, &true_lower, &true_extent) != MPI_SUCCESS || size < 0)
        return TUTTI_ERR_TRANSPORT;
    struct tutti_description *inner;
    if (size == 0 || (size == true_extent && true_lower == 0)) {
        inner = describe_bytes_of(reading, (uint64_t)size);
        note_basic(reading, size);
    } else {
        if (what->combiner == TUTTI_VALUE_INDEX) {
            int status = tutti_contents(reading, type, what);
            if (status != TUTTI_OK)
                return status;
            if (what->types != 2 || tutti_next.MPI_Type_size_x(what->type[1], &index) != MPI_SUCCESS)
                return describe_unavailable(reading, "a predefined type that is not known");
        } else if (!is_pair_with_int(type)) {
            return describe_unavailable(reading, "a predefined type with gaps that are not known");
        }
        if (true_lower != 0 || index <= 0 || index >= size)
            return describe_unavailable(reading, "a predefined type with gaps that are not known");
        note_basic(reading, size - index);
        note_basic(reading, index);
        inner = describe_pair(reading, (uint64_t)(size - index), (uint64_t)index, (uint64_t)(true_extent - index));
    }
    if (size > 0 && (lower != 0 || extent != size))
        return describe_bounded(reading, type, inner, out);
    *out = (struct node){inner, extent};
    return inner ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

/* ---- constructors ---- */

static int read_type(struct tutti_reading *reading, MPI_Datatype type, int depth, struct node *out);

/* Displacements counted in `scale` bytes. */
static int describe_scaled(struct tutti_reading *reading, const int64_t *from, size_t n, MPI_Count scale,
                           const int64_t **out)
{
    *out = from;
    if (scale == 1)
        return TUTTI_OK;
    int64_t *list = tutti_reading_take(reading, n ? n : 1, sizeof *list);
    if (!list)
        return TUTTI_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        if (__builtin_mul_overflow(from[i], scale, &list[i]))
            return describe_unavailable(reading, "displacements beyond 63 bits");
    }
    *out = list;
    return TUTTI_OK;
}

/* Lengths and displacements are numbered from `lengths` (0: no lengths) and from `places` on. They stay in the MPI's
 * arrays. */
static int describe_lists(struct tutti_reading *reading, const struct tutti_contents *what,
                          struct tutti_description *made, size_t lengths, size_t places, MPI_Count scale)
{
    const int64_t *places_long = tutti_contents_long(what, places);
    if (lengths) {
        made->lengths = (const uint64_t *)tutti_contents_long(what, lengths);
        made->short_lengths = tutti_contents_short(what, lengths);
    }
    if (places_long)
        return describe_scaled(reading, places_long, made->count, scale, &made->offsets);
    if (scale > INT32_MAX || scale < INT32_MIN) {
        int64_t *list = tutti_reading_take(reading, made->count + 1, sizeof *list);
        if (!list)
            return TUTTI_ERR_MEMORY;
        for (size_t i = 0; i < made->count; i++)
            list[i] = tutti_contents_number(what, places + i);
        return describe_scaled(reading, list, made->count, scale, &made->offsets);
    }
    made->short_offsets = tutti_contents_short(what, places);
    made->unit = scale;
    return TUTTI_OK;
}

static int read_struct(struct tutti_reading *reading, const struct tutti_contents *what, int depth,
                       const struct tutti_description **out)
{
    size_t count = (size_t)tutti_contents_number(what, 0), same = count > 0;
    if (count > UINT32_MAX || count != what->types)
        return describe_unavailable(reading, "a struct of too many parts");
    while (same < count && what->type[same] == what->type[0])
        same++;
    const int of_one = count > 0 && same == count; /* hindexed, then */
    struct tutti_description *made =
        describe_new_node(reading, of_one ? TUTTI_FORM_INDEXED : TUTTI_FORM_STRUCT, of_one ? 1 : (uint32_t)count);
    struct node child = {NULL, 0};
    if (!made)
        return TUTTI_ERR_MEMORY;
    for (uint32_t i = 0; i < made->children; i++) {
        if (i == 0 || what->type[i] != what->type[i - 1]) {
            int status = read_type(reading, what->type[i], depth + 1, &child);
            if (status != TUTTI_OK)
                return status;
        }
        set_child(made, i, child.is);
    }
    made->count = count;
    *out = made;
    return describe_lists(reading, what, made, 1, 1 + count, 1);
}

/* Arguments of an array type, one a dimension, slowest dimension first. */
struct dimensions {
    struct tutti_reading *reading;
    uint32_t dims;
    int fortran;
};

static uint32_t describe_dimension(const struct dimensions *of, uint32_t i)
{
    return of->fortran ? of->dims - 1 - i : i;
}

/* Numbered from `from` on. */
static const uint64_t *describe_turned(const struct dimensions *of, const struct tutti_contents *what, size_t from)
{
    uint64_t *list = tutti_reading_take(of->reading, of->dims, sizeof *list);
    for (uint32_t i = 0; list && i < of->dims; i++)
        list[i] = (uint64_t)tutti_contents_number(what, from + describe_dimension(of, i));
    return list;
}

static int read_subarray(struct tutti_reading *reading, const struct tutti_contents *what,
                         struct tutti_description *made)
{
    uint32_t dims = (uint32_t)what->integer[0];
    int order = what->large ? what->integer[1] : what->integer[1 + 3 * dims];
    const size_t first = what->large ? 0 : 1;
    const struct dimensions of = {reading, dims, order == MPI_ORDER_FORTRAN};
    if (dims > TUTTI_ARRAY_DIMS)
        return describe_unavailable(reading, "an array of too many dimensions");
    made->dims = dims;
    made->sizes = describe_turned(&of, what, first);
    made->subsizes = describe_turned(&of, what, first + dims);
    made->starts = describe_turned(&of, what, first + 2 * (size_t)dims);
    return made->sizes && made->subsizes && made->starts ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static uint32_t distribution_of(int distribution)
{
    return distribution == MPI_DISTRIBUTE_BLOCK    ? TUTTI_DISTRIBUTE_BLOCK
           : distribution == MPI_DISTRIBUTE_CYCLIC ? TUTTI_DISTRIBUTE_CYCLIC
                                                   : TUTTI_DISTRIBUTE_NONE;
}

/* 1 if an MPI whose darray_is_own (quirks.h) gets the standard's layout: of all that is faster than a dimension
 * of cyclic blocks this process has the whole, or the fastest is cyclic itself. */
static int is_as_standard(const struct tutti_description *darray)
{
    int whole = 1, fastest = 1;
    for (uint32_t i = darray->dims; i-- > 0; fastest = 0) {
        uint64_t size = darray->sizes[i], arg = darray->dargs[i];
        int cyclic = darray->distribution[i] == TUTTI_DISTRIBUTE_CYCLIC;
        if (cyclic && !whole && arg != UINT64_MAX && arg > 1 && size > 1)
            return 0;
        whole &= darray->grid[i] == 1 || (cyclic && fastest) || size == 1;
    }
    return 1;
}

static int read_darray(struct tutti_reading *reading, const struct tutti_contents *what, struct tutti_description *made)
{
    uint32_t dims = (uint32_t)what->integer[2];
    int rank = what->integer[1];
    const int *distributions = what->integer + 3 + (what->large ? 0 : dims), *dargs = distributions + dims;
    const int *grid = dargs + dims;
    const struct dimensions of = {reading, dims, grid[dims] == MPI_ORDER_FORTRAN};
    if (dims > TUTTI_ARRAY_DIMS)
        return describe_unavailable(reading, "an array of too many dimensions");
    uint64_t coords[TUTTI_ARRAY_DIMS]; /* the processes are numbered with the last dimension fastest in either order */
    for (uint32_t i = dims; i-- > 0; rank /= grid[i])
        coords[i] = (uint64_t)(rank % grid[i]);
    uint32_t *kind = tutti_reading_take(reading, dims, sizeof *kind);
    uint64_t *arg = tutti_reading_take(reading, dims, sizeof *arg);
    uint64_t *all = tutti_reading_take(reading, dims, sizeof *all);
    uint64_t *place = tutti_reading_take(reading, dims, sizeof *place);
    made->dims = dims;
    made->sizes = describe_turned(&of, what, what->large ? 0 : 3);
    if (!kind || !arg || !all || !place || !made->sizes)
        return TUTTI_ERR_MEMORY;
    for (uint32_t i = 0; i < dims; i++) {
        uint32_t from = describe_dimension(&of, i);
        kind[i] = distribution_of(distributions[from]);
        arg[i] = dargs[from] == MPI_DISTRIBUTE_DFLT_DARG ? UINT64_MAX : (uint64_t)dargs[from];
        all[i] = (uint64_t)grid[from];
        place[i] = coords[from];
    }
    made->distribution = kind;
    made->dargs = arg;
    made->grid = all;
    made->coords = place;
    if (tutti_quirks.darray_is_own && !is_as_standard(made))
        return describe_unavailable(reading, "a cyclic array of processes that the MPI lays out in its own way");
    return TUTTI_OK;
}

/* Constructors with one inner type: the form, and how the numbers are read. */
static int read_of_one(struct tutti_reading *reading, const struct tutti_contents *what, enum tutti_form form,
                       int in_bytes, int depth, const struct tutti_description **out)
{
    struct node child;
    int status = read_type(reading, what->type[0], depth + 1, &child);
    if (status != TUTTI_OK)
        return status;
    *out = child.is;
    if (form == TUTTI_FORM_RESIZED) /* the bounds come from the MPI */
        return TUTTI_OK;
    MPI_Count scale = in_bytes ? 1 : child.extent;
    struct tutti_description *made = describe_new_node(reading, form, 1);
    if (!made)
        return TUTTI_ERR_MEMORY;
    set_child(made, 0, child.is);
    *out = made;
    if (form == TUTTI_FORM_SUBARRAY)
        return read_subarray(reading, what, made);
    if (form == TUTTI_FORM_DARRAY)
        return read_darray(reading, what, made);
    made->count = (uint64_t)tutti_contents_number(what, 0);
    switch (form) {
    case TUTTI_FORM_VECTOR:
        made->length = (uint64_t)tutti_contents_number(what, 1);
        if (__builtin_mul_overflow(tutti_contents_number(what, 2), scale, &made->stride))
            return describe_unavailable(reading, "displacements beyond 63 bits");
        return TUTTI_OK;
    case TUTTI_FORM_INDEXED:
        return describe_lists(reading, what, made, 1, 1 + made->count, scale);
    case TUTTI_FORM_BLOCKS:
        made->length = (uint64_t)tutti_contents_number(what, 1);
        return describe_lists(reading, what, made, 0, 2, scale);
    default:
        return TUTTI_OK;
    }
}

static int read_derived(struct tutti_reading *reading, const struct tutti_contents *what, int depth,
                        const struct tutti_description **out)
{
    static const struct {
        int combiner;
        enum tutti_form form;
        int in_bytes;
    } of_one[] = {
        {MPI_COMBINER_DUP, TUTTI_FORM_RESIZED, 1},          {MPI_COMBINER_CONTIGUOUS, TUTTI_FORM_CONTIGUOUS, 1},
        {MPI_COMBINER_VECTOR, TUTTI_FORM_VECTOR, 0},        {MPI_COMBINER_HVECTOR, TUTTI_FORM_VECTOR, 1},
        {TUTTI_HVECTOR_INTEGER, TUTTI_FORM_VECTOR, 1},      {MPI_COMBINER_INDEXED, TUTTI_FORM_INDEXED, 0},
        {MPI_COMBINER_HINDEXED, TUTTI_FORM_INDEXED, 1},     {TUTTI_HINDEXED_INTEGER, TUTTI_FORM_INDEXED, 1},
        {MPI_COMBINER_INDEXED_BLOCK, TUTTI_FORM_BLOCKS, 0}, {MPI_COMBINER_HINDEXED_BLOCK, TUTTI_FORM_BLOCKS, 1},
        {MPI_COMBINER_SUBARRAY, TUTTI_FORM_SUBARRAY, 0},    {MPI_COMBINER_DARRAY, TUTTI_FORM_DARRAY, 0},
        {MPI_COMBINER_RESIZED, TUTTI_FORM_RESIZED, 1},
    };
    if (what->combiner == MPI_COMBINER_STRUCT || what->combiner == TUTTI_STRUCT_INTEGER)
        return read_struct(reading, what, depth, out);
    for (size_t i = 0; i < sizeof of_one / sizeof of_one[0]; i++) {
        if (of_one[i].combiner == what->combiner && what->types == 1)
            return read_of_one(reading, what, of_one[i].form, of_one[i].in_bytes, depth, out);
    }
    return describe_unavailable(reading, "a constructor that is not known");
}

static int read_type(struct tutti_reading *reading, MPI_Datatype type, int depth, struct node *out)
{
    struct tutti_contents what;
    const struct tutti_description *made = NULL;
    if (depth > DEEPEST || reading->nodes++ > MOST_NODES)
        return describe_unavailable(reading, "a type of too many levels or parts");
    int status = tutti_envelope(type, &what);
    if (status != TUTTI_OK)
        return status;
    if (tutti_combiner_predefined(what.combiner))
        return read_predefined(reading, type, &what, out);
    status = tutti_contents(reading, type, &what);
    if (status == TUTTI_OK)
        status = read_derived(reading, &what, depth, &made);
    return status == TUTTI_OK ? describe_bounded(reading, type, made, out) : status;
}

int tutti_describe(struct tutti_reading *reading, MPI_Datatype type, const struct tutti_description **out)
{
    struct node top;
    *reading = (struct tutti_reading){.why = "the MPI does not report"};
    int status = read_type(reading, type, 0, &top);
    if (status == TUTTI_OK)
        *out = top.is;
    return status;
}
