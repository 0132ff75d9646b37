/* The list of windows. Few programs have many that Tutti keeps something of. */
#include <stdlib.h>
#include <string.h>

#include "mpi/rma/attachments.h"
#include "mpi/rma/mapped.h"

atomic_int tutti_windows_far;

static atomic_int open_windows; /* of which Tutti keeps something */
static _Atomic uint64_t
    seen_windows; /* a bit for some of the handles each, of windows of which Tutti has kept something */
static struct tutti_window *windows;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock is held. The place of the window in the list, or the list's end. */
static struct tutti_window **window_place(MPI_Win handle)
{
    struct tutti_window **at = &windows;
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

static uint64_t window_bit(MPI_Win handle)
{
    uint64_t word = 0;
    memcpy(&word, &handle, sizeof handle);
    return UINT64_C(1) << (word * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

struct tutti_window *tutti_window_find(MPI_Win handle)
{
    /* All that windows of host memory cost. */
    if (likely(atomic_load_explicit(&open_windows, memory_order_relaxed) == 0) ||
        likely(!(atomic_load_explicit(&seen_windows, memory_order_relaxed) & window_bit(handle))))
        return NULL;
    pthread_mutex_lock(&lock);
    struct tutti_window *window = *window_place(handle);
    pthread_mutex_unlock(&lock);
    return window;
}

struct tutti_window *tutti_window_of(MPI_Win handle)
{
    pthread_mutex_lock(&lock);
    struct tutti_window **at = window_place(handle);
    if (!*at && (*at = calloc(1, sizeof **at)) != NULL) {
        (*at)->handle = handle;
        (*at)->last = &(*at)->first;
        atomic_fetch_or(&seen_windows, window_bit(handle));
        atomic_fetch_add(&open_windows, 1);
    }
    struct tutti_window *window = *at;
    pthread_mutex_unlock(&lock);
    return window;
}

void tutti_window_drop(struct tutti_window *window)
{
    pthread_mutex_lock(&lock);
    struct tutti_window **at = &windows;
    while (*at != window)
        at = &(*at)->next;
    *at = window->next;
    uint64_t left = 0;
    for (const struct tutti_window *each = windows; each; each = each->next)
        left |= window_bit(each->handle);
    atomic_store(&seen_windows, left);
    pthread_mutex_unlock(&lock);
    atomic_fetch_sub(&open_windows, 1);
    while (window->first) { /* an error of the program: it has not completed the operation */
        struct tutti_unfinished *op = window->first;
        window->first = op->next;
        tutti_unfinished_drop(op);
    }
    if (window->attached && !window->mapped)
        atomic_fetch_sub(&tutti_windows_far, 1);
    tutti_shadow_close(window->shadow);
    tutti_mapped_close(window->mapped);
    tutti_attachments_close(window->attached);
    if (window->own)
        tutti_door_MPI_Free_mem(window->own);
    free(window);
}
