#include "mpi/real/lent.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "mpi/real/handles.h"

enum { BUCKETS = 64 };

struct lent {
    struct lent *next; /* of its bucket */
    int is_op, users, freed;
    MPI_Datatype type;
    MPI_Op op;
};
static struct lent *all[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* never held in a call of the MPI: those may come back here */
static atomic_int any;

/* A type, or an operator, of the table's key. */
struct key {
    int is_op;
    MPI_Datatype type;
    MPI_Op op;
};

static struct key lent_of_type(MPI_Datatype type)
{
    return (struct key){0, type, tutti_handles.no_op};
}

static struct key of_op(MPI_Op op)
{
    return (struct key){1, tutti_handles.no_type, op};
}

static struct lent **lent_find(const struct key *key)
{
    const uint64_t number = key->is_op ? (uint64_t)(uintptr_t)key->op : (uint64_t)(uintptr_t)key->type;
    struct lent **at = &all[tutti_hash(number, BUCKETS)];
    while (*at && ((*at)->is_op != key->is_op || (key->is_op ? (*at)->op != key->op : (*at)->type != key->type)))
        at = &(*at)->next;
    return at;
}

static int lent_hold(struct key key)
{
    pthread_mutex_lock(&lock);
    struct lent **at = lent_find(&key), *it = *at;
    if (!it && (it = calloc(1, sizeof *it)) != NULL) {
        it->is_op = key.is_op;
        it->type = key.type;
        it->op = key.op;
        *at = it;
        atomic_fetch_add(&any, 1);
    }
    if (it)
        it->users++;
    pthread_mutex_unlock(&lock);
    return it != NULL;
}

static void lent_release(struct key key)
{
    pthread_mutex_lock(&lock);
    struct lent **at = lent_find(&key), *it = *at, *last = NULL;
    if (it && --it->users == 0) {
        *at = it->next;
        atomic_fetch_sub(&any, 1);
        last = it;
    }
    pthread_mutex_unlock(&lock);
    if (last && last->freed && key.is_op)
        tutti_next.MPI_Op_free(&last->op);
    else if (last && last->freed)
        tutti_next.MPI_Type_free(&last->type);
    free(last);
}

/* 1 if it is freed later. */
static int lent_put_off(struct key key)
{
    if (likely(atomic_load_explicit(&any, memory_order_relaxed) == 0))
        return 0;
    pthread_mutex_lock(&lock);
    struct lent *it = *lent_find(&key);
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

int tutti_type_hold(MPI_Datatype type)
{
    return !is_of_program(type) || lent_hold(lent_of_type(type));
}

int tutti_handles_hold(MPI_Datatype type, MPI_Op op)
{
    if (!tutti_type_hold(type))
        return 0;
    if (!is_users(op) || lent_hold(of_op(op)))
        return 1;
    tutti_type_release(type);
    return 0;
}

void tutti_type_release(MPI_Datatype type)
{
    if (is_of_program(type))
        lent_release(lent_of_type(type));
}

void tutti_handles_release(MPI_Datatype type, MPI_Op op)
{
    tutti_type_release(type);
    if (is_users(op))
        lent_release(of_op(op));
}

int tutti_type_free(MPI_Datatype *type)
{
    if (!lent_put_off(lent_of_type(*type)))
        return tutti_next.MPI_Type_free(type);
    *type = tutti_handles.no_type;
    return MPI_SUCCESS;
}

int tutti_door_MPI_Op_free(MPI_Op *op)
{
    if (!op || !lent_put_off(of_op(*op)))
        return tutti_next.MPI_Op_free(op);
    *op = tutti_handles.no_op;
    return MPI_SUCCESS;
}
