#include "core/reserve.h"

#include <stdlib.h>
#include <string.h>

void *tutti_reserve_take(struct tutti_reserve *reserve, size_t bytes)
{
    void *made = malloc(bytes), *none = NULL; /* glibc's calloc() does not take what the thread has freed */
    if (!made)
        return atomic_exchange(&reserve->kept, NULL);
    memset(made, 0, bytes);
    if (atomic_load_explicit(&reserve->kept, memory_order_relaxed))
        return made;
    void *more = calloc(1, bytes);
    if (more && !atomic_compare_exchange_strong(&reserve->kept, &none, more))
        free(more);
    return made;
}

void tutti_reserve_close(struct tutti_reserve *reserve)
{
    free(atomic_exchange(&reserve->kept, NULL));
}
