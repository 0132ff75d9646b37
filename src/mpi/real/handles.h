/* What the MPI's predefined types and operators are to kernels. */
#ifndef TUTTI_MPI_HANDLES_H
#define TUTTI_MPI_HANDLES_H

#include "core/types.h"
#include "mpi/real/door.h"

/* MPI handles to element types and operators; read only after tutti_types_open(). */
struct tutti_type_row {
    MPI_Datatype handle;
    int type;       /* enum tutti_type */
    uint32_t legal; /* bit o: operator o is legal and has a kernel */
    int host_ok;    /* the MPI can reduce it */
    int used;
};
struct tutti_op_row {
    MPI_Op handle;
    int op; /* enum tutti_op */
    int used;
};
enum { TUTTI_TYPE_SLOTS = 256, TUTTI_OP_SLOTS = 64 };
extern struct tutti_type_row tutti_type_table[TUTTI_TYPE_SLOTS];
extern struct tutti_op_row tutti_op_table[TUTTI_OP_SLOTS];
void tutti_types_open(void);
void tutti_types_close(void);
int tutti_half_type(int which, MPI_Datatype *out);

static inline size_t tutti_hash(uint64_t key, size_t slots)
{
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 40) & (slots - 1);
}
/* NULL for any handle that is not a predefined type that kernels reduce. */
static inline const struct tutti_type_row *tutti_type_find(MPI_Datatype handle)
{
    size_t i = tutti_hash((uint64_t)(uintptr_t)handle, TUTTI_TYPE_SLOTS);
    for (; tutti_type_table[i].used; i = (i + 1) & (TUTTI_TYPE_SLOTS - 1)) {
        if (likely(tutti_type_table[i].handle == handle))
            return &tutti_type_table[i];
    }
    return NULL;
}
/* 1 if elements of such a type have no address: the MPI refuses them (MPI_ERR_BUFFER). A derived type may hold the
 * addresses itself (MPI_BOTTOM). */
static inline int tutti_lacks_buffer(const void *buffer, MPI_Count count, MPI_Datatype type)
{
    return unlikely(!buffer) && count > 0 && tutti_type_find(type);
}
/* enum tutti_op, or TUTTI_OP_NONE */
static inline int tutti_op_find(MPI_Op handle)
{
    size_t i = tutti_hash((uint64_t)(uintptr_t)handle, TUTTI_OP_SLOTS);
    for (; tutti_op_table[i].used; i = (i + 1) & (TUTTI_OP_SLOTS - 1)) {
        if (likely(tutti_op_table[i].handle == handle))
            return tutti_op_table[i].op;
    }
    return TUTTI_OP_NONE;
}

#endif
