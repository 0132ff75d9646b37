/* MPI handles to element types and operators: two small hash tables, filled at MPI_Init and only read afterwards. */
#include "mpi/real/door.h"

#include <wchar.h>

#include "mpi/real/errors.h"
#include "mpi/real/handles.h"
#include "mpi/real/self.h"
#include "mpi/real/stub.h"

struct tutti_type_row tutti_type_table[TUTTI_TYPE_SLOTS];
struct tutti_op_row tutti_op_table[TUTTI_OP_SLOTS];
static MPI_Datatype half[2];
static int half_made;

static void add_type(MPI_Datatype handle, int type, enum tutti_group group, int host_ok)
{
    if (type == TUTTI_TYPE_NONE || tutti_type_find(handle))
        return;
    size_t i = tutti_hash((uint64_t)(uintptr_t)handle, TUTTI_TYPE_SLOTS);
    while (tutti_type_table[i].used)
        i = (i + 1) & (TUTTI_TYPE_SLOTS - 1);
    struct tutti_type_row row = {handle, type, 0, host_ok, 1};
    for (int op = 0; op < TUTTI_OPS; op++) {
        if (tutti_legal(op, group) && tutti_has_kernel(type, op))
            row.legal |= 1u << op;
    }
    tutti_type_table[i] = row;
}

static void add_op(MPI_Op handle, int op)
{
    size_t i = tutti_hash((uint64_t)(uintptr_t)handle, TUTTI_OP_SLOTS);
    while (tutti_op_table[i].used)
        i = (i + 1) & (TUTTI_OP_SLOTS - 1);
    tutti_op_table[i] = (struct tutti_op_row){handle, op, 1};
}

/* Bytes of a type that this MPI may not have; 0 if so. */
static size_t handles_size_of(MPI_Datatype type)
{
    int size = 0;
#ifdef TUTTI_FRONT_MPICH
    if ((type == MPI_LOGICAL1 || type == MPI_LOGICAL2 || type == MPI_LOGICAL4 || type == MPI_LOGICAL8) &&
        tutti_mpi_version() < 401)
        return 0;
#endif
    if (!type || type == tutti_handles.no_type || !tutti_self_asks(type) ||
        tutti_next.MPI_Type_size(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    return (size_t)size;
}

/* Removes the operators by which the MPI itself does not reduce the type. */
static void ask_ops(MPI_Datatype type)
{
    const struct tutti_type_row *found = tutti_type_find(type);
    MPI_Comm quiet = tutti_self_quiet();
    if (!found)
        return;
    struct tutti_type_row *row = &tutti_type_table[found - tutti_type_table];
    if (tutti_quirks.ends_on_errors) /* no answer can be had */
        row->legal = 0;
    for (int i = 0; i < TUTTI_OP_SLOTS; i++) {
        const wchar_t mine = 0;
        wchar_t all;
        if (tutti_op_table[i].used && row->legal >> tutti_op_table[i].op & 1 &&
            tutti_next.MPI_Allreduce(&mine, &all, 1, type, tutti_op_table[i].handle, quiet) != MPI_SUCCESS)
            row->legal &= ~(1u << tutti_op_table[i].op);
    }
}

/* no_type: the MPI has refused. */
static MPI_Datatype make_bytes(int bytes, const char *name)
{
    MPI_Datatype type = tutti_handles.no_type;
    if (tutti_next.MPI_Type_contiguous(bytes, tutti_handles.byte, &type) != MPI_SUCCESS ||
        tutti_next.MPI_Type_commit(&type) != MPI_SUCCESS)
        return tutti_handles.no_type;
    tutti_next.MPI_Type_set_name(type, name);
    return type;
}

void tutti_types_open(void)
{
#define TUTTI_MPI_TYPE(handle, group)                                                                                  \
    add_type(handle, tutti_type_of(TUTTI_GROUP_##group, handles_size_of(handle)),                                      \
             TUTTI_GROUP_##group == TUTTI_GROUP_CUINT ? TUTTI_GROUP_CINT : TUTTI_GROUP_##group, 1);
#define TUTTI_MPI_PAIR(handle, element)                                                                                \
    add_type(handle, handles_size_of(handle) ? TUTTI_TYPE_##element : TUTTI_TYPE_NONE, TUTTI_GROUP_PAIR, 1);
#define TUTTI_MPI_TEXT(handle, c_type)                                                                                 \
    add_type(handle,                                                                                                   \
             tutti_type_of((c_type)-1 < (c_type)1 ? TUTTI_GROUP_CINT : TUTTI_GROUP_CUINT, handles_size_of(handle)),    \
             TUTTI_GROUP_CINT, 1);
#include "tutti/mpi_types.def"
#undef TUTTI_MPI_TYPE
#undef TUTTI_MPI_PAIR
#undef TUTTI_MPI_TEXT
#define TUTTI_OP(id, name, kernel, signs, groups)                                                                      \
    if (kernel)                                                                                                        \
        add_op(MPI_##id, TUTTI_OP_##id);
#include "tutti/ops.def"
#undef TUTTI_OP
#define TUTTI_MPI_TYPE(handle, group)
#define TUTTI_MPI_PAIR(handle, element)
#define TUTTI_MPI_TEXT(handle, c_type) ask_ops(handle);
#include "tutti/mpi_types.def"
#undef TUTTI_MPI_TYPE
#undef TUTTI_MPI_PAIR
#undef TUTTI_MPI_TEXT
    half[TUTTI_MPIX_FLOAT16] = make_bytes(2, "MPIX_C_FLOAT16");
    half[TUTTI_MPIX_BF16] = make_bytes(2, "MPIX_C_BF16");
    half_made = 1;
    if (tutti_quirks.skips_empty_bcast)
        tutti_handles.no_bytes = make_bytes(0, "no bytes");
    add_type(half[TUTTI_MPIX_FLOAT16], TUTTI_TYPE_F16, TUTTI_GROUP_FLOAT, 0);
    add_type(half[TUTTI_MPIX_BF16], TUTTI_TYPE_BF16, TUTTI_GROUP_FLOAT, 0);
#ifdef MPIX_C_FLOAT16
    if (handles_size_of(MPIX_C_FLOAT16) == 2)
        add_type(MPIX_C_FLOAT16, TUTTI_TYPE_F16, TUTTI_GROUP_FLOAT, 0);
#endif
#ifdef MPIX_BFLOAT16
    if (handles_size_of(MPIX_BFLOAT16) == 2)
        add_type(MPIX_BFLOAT16, TUTTI_TYPE_BF16, TUTTI_GROUP_FLOAT, 0);
#endif
}

void tutti_types_close(void)
{
    for (int which = 0; half_made && which < 2; which++) {
        if (half[which] != tutti_handles.no_type)
            tutti_next.MPI_Type_free(&half[which]);
    }
    half_made = 0;
    if (tutti_handles.no_bytes != tutti_handles.no_type)
        tutti_next.MPI_Type_free(&tutti_handles.no_bytes);
    tutti_handles.no_bytes = tutti_handles.no_type;
}

int tutti_half_type(int which, MPI_Datatype *out)
{
    if (!half_made || which < 0 || which > 1 || half[which] == tutti_handles.no_type)
        return -1;
    *out = half[which];
    return 0;
}
