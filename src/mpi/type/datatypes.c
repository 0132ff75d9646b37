#include "mpi/type/datatypes.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/log.h"
#include "mpi/real/handles.h"
#include "mpi/real/lent.h"
#include "mpi/real/quirks.h"
#include "mpi/real/self.h"
#include "mpi/type/describe.h"
#include "mpi/type/signature.h"

enum { CUT_AT = 16 }; /* see cuts_elements in quirks.h */

static int keyval = MPI_KEYVAL_INVALID;
static int open_now; /* between MPI_Init and MPI_Finalize; attributes may be deleted later */
/* Made one at a time: of two attributes set, the MPI would delete the first while it is used. Never taken inside the
 * MPI's callbacks, unlike the other one. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the lists */
static struct tutti_layout *all, *gone;
static struct tutti_layout *predefined[TUTTI_TYPE_SLOTS]; /* written once each, read without a lock */

static void list_in(struct tutti_layout **list, struct tutti_layout *layout)
{
    layout->next = *list;
    layout->at = list;
    if (*list)
        (*list)->at = &layout->next;
    *list = layout;
}

static void layout_list_out(struct tutti_layout *layout)
{
    *layout->at = layout->next;
    if (layout->next)
        layout->next->at = layout->at;
}

static void datatypes_destroy(struct tutti_layout *layout)
{
    MPI_Datatype packed = atomic_load(&layout->packed);
    if (packed != tutti_handles.no_type)
        tutti_type_free(&packed);
    if (layout->plan)
        tutti_plan_drop(layout->plan);
    if (atomic_load(&layout->bytes))
        tutti_plan_drop(atomic_load(&layout->bytes));
    free(layout);
}

/* Not in the callback: it may run inside any call, under locks of the MPI, and dropping a plan may take a while. */
static void datatypes_bury(void)
{
    pthread_mutex_lock(&lock);
    struct tutti_layout *mine = gone;
    gone = NULL;
    pthread_mutex_unlock(&lock);
    while (mine) {
        struct tutti_layout *next = mine->next;
        datatypes_destroy(mine);
        mine = next;
    }
}

static int datatypes_on_delete(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)extra;
    pthread_mutex_lock(&lock);
    if (open_now && key == keyval) { /* not of a door that was shut */
        layout_list_out(value);
        list_in(&gone, value);
    }
    pthread_mutex_unlock(&lock);
    return MPI_SUCCESS;
}

/* A duplicate is read again at its commit or first use. */
static int datatypes_on_copy(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    (void)type;
    (void)key;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

/* ---- making ---- */

static int datatypes_measure(struct tutti_layout *layout, MPI_Datatype type)
{
    MPI_Count lower;
    return tutti_next.MPI_Type_size_x(type, &layout->size) == MPI_SUCCESS &&
           tutti_next.MPI_Type_get_extent_x(type, &lower, &layout->extent) == MPI_SUCCESS &&
           tutti_next.MPI_Type_get_true_extent_x(type, &layout->true_lower, &layout->true_extent) == MPI_SUCCESS;
}

/* The MPI's own numbers must come out of the plan. Not its true bounds, in which MPIs err (quirks.h). */
static int datatypes_agrees(const struct tutti_layout *layout)
{
    const struct tutti_plan *plan = layout->plan;
    return layout->size == (MPI_Count)plan->size && (layout->size == 0 || layout->extent == plan->extent);
}

static int is_in_order(const struct tutti_plan *plan)
{
    return plan && tutti_plan_is_run(plan, 1);
}

static void plan_of(struct tutti_layout *layout, MPI_Datatype type)
{
    struct tutti_reading reading;
    const struct tutti_description *what;
    int status = tutti_describe(&reading, type, &what);
    layout->why = reading.why;
    layout->basic = reading.basic;
    if (status == TUTTI_OK) {
        status = tutti_plan_build(what, &layout->plan);
        layout->why = status == TUTTI_ERR_MEMORY ? "no memory for a plan" : "a layout beyond plans";
        if (status != TUTTI_OK)
            layout->plan = NULL;
    }
    tutti_describe_end(&reading);
    if (layout->plan && !datatypes_agrees(layout)) {
        tutti_debug("a datatype's parts give size %llu and extent %lld, but the MPI says %lld and %lld",
                    (unsigned long long)layout->plan->size, (long long)layout->plan->extent, (long long)layout->size,
                    (long long)layout->extent);
        layout->why = "the MPI's bounds differ";
        tutti_plan_drop(layout->plan);
        layout->plan = NULL;
    }
    if (layout->plan && layout->size > 0) {
        layout->true_lower = layout->plan->true_lower;
        layout->true_extent = layout->plan->true_end - layout->plan->true_lower;
    }
    layout->in_order = is_in_order(layout->plan);
    layout->solid = layout->in_order && layout->extent == layout->size;
}

static struct tutti_layout *datatypes_make(MPI_Datatype type)
{
    struct tutti_layout *layout = calloc(1, sizeof *layout);
    if (!layout)
        return NULL;
    atomic_store(&layout->packed, tutti_handles.no_type);
    layout->handle = type;
    if (!datatypes_measure(layout, type)) {
        free(layout);
        return NULL;
    }
    plan_of(layout, type);
    return layout;
}

static struct tutti_layout **layout_slot(MPI_Datatype type)
{
    size_t i = tutti_hash((uint64_t)(uintptr_t)type, TUTTI_TYPE_SLOTS);
    for (size_t n = 0; n < TUTTI_TYPE_SLOTS; n++, i = (i + 1) & (TUTTI_TYPE_SLOTS - 1)) {
        struct tutti_layout *there = __atomic_load_n(&predefined[i], __ATOMIC_ACQUIRE);
        if (!there || there->handle == type)
            return &predefined[i];
    }
    return NULL;
}

static struct tutti_layout *by_attribute(MPI_Datatype type)
{
    void *value = NULL;
    int flag = 0;
    if (tutti_next.MPI_Type_get_attr(type, keyval, &value, &flag) != MPI_SUCCESS || !flag)
        return NULL;
    return value;
}

/* The mutex of making is held. */
static struct tutti_layout *make_once(MPI_Datatype type)
{
    struct tutti_layout **slot = NULL, *layout;
    if (tutti_type_predefined(type)) {
        if (!(slot = layout_slot(type)) || *slot)
            return slot ? *slot : NULL;
    } else if ((layout = by_attribute(type)) != NULL) {
        return layout;
    }
    if (!(layout = datatypes_make(type)))
        return NULL;
    layout->derived = !slot;
    pthread_mutex_lock(&lock);
    list_in(&all, layout);
    pthread_mutex_unlock(&lock);
    if (slot) {
        __atomic_store_n(slot, layout, __ATOMIC_RELEASE);
    } else if (tutti_next.MPI_Type_set_attr(type, keyval, layout) != MPI_SUCCESS) {
        pthread_mutex_lock(&lock);
        layout_list_out(layout);
        pthread_mutex_unlock(&lock);
        datatypes_destroy(layout);
        return NULL;
    }
    return layout;
}

struct tutti_layout *tutti_layout_of(MPI_Datatype type)
{
    struct tutti_layout **slot = layout_slot(type), *layout = slot ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : NULL;
    if (layout)
        return layout;
    if (keyval == MPI_KEYVAL_INVALID || type == tutti_handles.no_type)
        return NULL;
    TUTTI_INSIDE();
    if ((layout = by_attribute(type)) != NULL)
        return layout;
    datatypes_bury();
    pthread_mutex_lock(&making);
    layout = make_once(type);
    pthread_mutex_unlock(&making);
    return layout;
}

int tutti_layout_committed(struct tutti_layout *layout, MPI_Datatype type)
{
    if (!layout->derived || atomic_load_explicit(&layout->committed, memory_order_relaxed))
        return 1;
    const int fine = tutti_self_asks(type);
    atomic_store_explicit(&layout->committed, fine, memory_order_relaxed);
    return fine;
}

/* ---- the packed form ---- */

static int datatypes_contiguous(MPI_Count count, MPI_Datatype of, MPI_Datatype *out)
{
    if (count <= INT_MAX)
        return tutti_next.MPI_Type_contiguous((int)count, of, out) == MPI_SUCCESS;
    return tutti_next.MPI_Type_contiguous_c && tutti_next.MPI_Type_contiguous_c(count, of, out) == MPI_SUCCESS;
}

/* 1 if an MPI that cuts bytes anywhere would cut within a basic element. */
static int must_keep_signature(const struct tutti_layout *layout)
{
    const unsigned basic = layout->basic;
    return tutti_quirks.cuts_elements && (basic > CUT_AT || (basic & (basic - 1)) != 0);
}

int tutti_layout_packed(struct tutti_layout *layout, MPI_Datatype type, MPI_Datatype *out)
{
    MPI_Datatype made = atomic_load(&layout->packed), none = tutti_handles.no_type;
    if (made == none) {
        TUTTI_INSIDE();
        if (!(must_keep_signature(layout) && tutti_signature_of(type, &made) == TUTTI_OK) &&
            !datatypes_contiguous(layout->size, tutti_handles.byte, &made))
            return -1;
        if (tutti_next.MPI_Type_commit(&made) != MPI_SUCCESS ||
            !atomic_compare_exchange_strong(&layout->packed, &none, made)) {
            tutti_next.MPI_Type_free(&made); /* another thread was first */
            if ((made = atomic_load(&layout->packed)) == tutti_handles.no_type)
                return -1;
        }
    }
    *out = made;
    return 0;
}

/* ---- life ---- */

int tutti_layouts_open(void)
{
    if (tutti_next.MPI_Type_create_keyval(datatypes_on_copy, datatypes_on_delete, &keyval, NULL) != MPI_SUCCESS) {
        keyval = MPI_KEYVAL_INVALID;
        return TUTTI_ERR_TRANSPORT;
    }
    open_now = 1;
    return TUTTI_OK;
}

void tutti_layouts_close(void)
{
    if (keyval == MPI_KEYVAL_INVALID)
        return;
    datatypes_bury();
    pthread_mutex_lock(&lock);
    open_now = 0;
    struct tutti_layout *layout = all;
    all = NULL;
    for (size_t i = 0; i < TUTTI_TYPE_SLOTS; i++)
        predefined[i] = NULL;
    pthread_mutex_unlock(&lock);
    while (layout) {
        struct tutti_layout *next = layout->next;
        datatypes_destroy(layout);
        layout = next;
    }
    tutti_describe_forget();
    tutti_next.MPI_Type_free_keyval(&keyval);
    keyval = MPI_KEYVAL_INVALID;
}

void tutti_layouts_forget(void)
{
    open_now = 0;
    keyval = MPI_KEYVAL_INVALID;
}
