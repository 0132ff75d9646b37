/* Types and operators of the program that nonblocking and persistent reductions still need, though the program may have
 * freed them: the MPI is called later, with the handles that the user's function is to see. Freeing such a one waits
 * for the last reduction that needs it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/log.h"
#include "mpi/real/handles.h"
#include "mpi/reduce/nonblocking.h"

struct lent {
    struct lent *next;
    int is_op, users, freed;
    MPI_Datatype type;
    MPI_Op op;
};
static struct lent *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* never held in a call of the MPI: those may come back here */
static atomic_int any;

static struct lent **find(int is_op, MPI_Datatype type, MPI_Op op)
{
    struct lent **at = &all;
    while (*at && ((*at)->is_op != is_op || (is_op ? (*at)->op != op : (*at)->type != type)))
        at = &(*at)->next;
    return at;
}

/* 0 without memory. */
static int borrow(int is_op, MPI_Datatype type, MPI_Op op)
{
    pthread_mutex_lock(&lock);
    struct lent **at = find(is_op, type, op), *it = *at;
    if (!it && (it = calloc(1, sizeof *it)) != NULL) {
        it->is_op = is_op;
        it->type = type;
        it->op = op;
        *at = it;
        atomic_fetch_add(&any, 1);
    }
    if (it)
        it->users++;
    pthread_mutex_unlock(&lock);
    return it != NULL;
}

static void give_back(int is_op, MPI_Datatype type, MPI_Op op)
{
    pthread_mutex_lock(&lock);
    struct lent **at = find(is_op, type, op), *it = *at, *last = NULL;
    if (it && --it->users == 0) {
        *at = it->next;
        atomic_fetch_sub(&any, 1);
        last = it;
    }
    pthread_mutex_unlock(&lock);
    if (last && last->freed && is_op)
        tutti_real.MPI_Op_free(&last->op);
    else if (last && last->freed)
        tutti_real.MPI_Type_free(&last->type);
    free(last);
}

/* 1 where it is freed later. */
static int put_off(int is_op, MPI_Datatype type, MPI_Op op)
{
    pthread_mutex_lock(&lock);
    struct lent *it = *find(is_op, type, op);
    if (it)
        it->freed = 1;
    pthread_mutex_unlock(&lock);
    return it != NULL;
}

static int is_of_program(MPI_Datatype type)
{
    return type != tutti_handles.no_type && !tutti_type_find(type);
}

static int is_users(MPI_Op op)
{
    return op != tutti_handles.no_op && tutti_op_find(op) == TUTTI_OP_NONE;
}

int tutti_lend(const struct tutti_reduction_args *args)
{
    MPI_Datatype type = args->datatype;
    if (is_of_program(type) && !borrow(0, type, tutti_handles.no_op))
        return 0;
    if (!is_users(args->op) || borrow(1, tutti_handles.no_type, args->op))
        return 1;
    if (is_of_program(type))
        give_back(0, type, tutti_handles.no_op);
    return 0;
}

void tutti_lend_end(const struct tutti_reduction_args *args)
{
    if (is_of_program(args->datatype))
        give_back(0, args->datatype, tutti_handles.no_op);
    if (is_users(args->op))
        give_back(1, tutti_handles.no_type, args->op);
}

int tutti_door_MPI_Type_free(MPI_Datatype *datatype)
{
    if (likely(atomic_load_explicit(&any, memory_order_relaxed) == 0) || !datatype ||
        !put_off(0, *datatype, tutti_handles.no_op))
        return tutti_real.MPI_Type_free(datatype);
    *datatype = tutti_handles.no_type;
    return MPI_SUCCESS;
}

int tutti_door_MPI_Op_free(MPI_Op *op)
{
    if (likely(atomic_load_explicit(&any, memory_order_relaxed) == 0) || !op || !put_off(1, tutti_handles.no_type, *op))
        return tutti_real.MPI_Op_free(op);
    *op = tutti_handles.no_op;
    return MPI_SUCCESS;
}
