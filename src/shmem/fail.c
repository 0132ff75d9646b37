/* What is said of errors, and what is kept of them. */
#include <stdarg.h>
#include <stdio.h>

#include "core/log.h"
#include "shmem/space.h"

struct tutti_shmem tutti_shmem;

int tutti_shmem_fail(int status, const char *call, const char *format, ...)
{
    char text[256];
    va_list list;
    int none = TUTTI_OK;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tutti_error("%s: %s", call, text);
    atomic_compare_exchange_strong(&tutti_shmem.status, &none, status);
    return status;
}

void *tutti_shmem_refuse(const void *address, size_t bytes, int pe, const char *call)
{
    const struct tshmem_state *state = &tutti_shmem.state;
    if (state->pes == 0)
        tutti_shmem_fail(TUTTI_ERR_UNAVAILABLE, call, "the address space is not up: call tshmem_init first");
    else if (pe == TSHMEM_NO_PE) /* that was said */
        return NULL;
    else if (pe < 0 || pe >= state->pes)
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "there is no PE %d, but 0 to %d", pe, state->pes - 1);
    else
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call,
                         "%zu bytes at %p are not in the heap, %p to %p: tshmem_malloc gives such", bytes, address,
                         (void *)(state->heap + tutti_shmem.first), (void *)(state->heap + state->heap_bytes));
    return NULL;
}

void tutti_shmem_leave_all(void)
{
    for (int pe = 0; pe < tutti_shmem.state.pes; pe++)
        __atomic_store_n(&tutti_shmem.control[pe]->abort, 1, __ATOMIC_RELEASE);
}
