/* An agent of the wire that does all at once, on memory of the host. */
#ifndef TUTTI_TESTS_SHMEM_WIRE_AT_ONCE_H
#define TUTTI_TESTS_SHMEM_WIRE_AT_ONCE_H

#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "shmem/host.h"
#include "shmem/wire/wire.h"

static int room(void *with, size_t bytes, void **out)
{
    (void)with;
    *out = malloc(bytes);
    return *out ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static void give(void *with, void *memory)
{
    (void)with;
    free(memory);
}

static int copy(void *with, void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                size_t bytes)
{
    (void)with;
    for (size_t i = 0; i < n; i++)
        memcpy((char *)to + (ptrdiff_t)i * dst * (ptrdiff_t)bytes,
               (const char *)from + (ptrdiff_t)i * sst * (ptrdiff_t)bytes, block * bytes);
    return TUTTI_OK;
}

static int change(void *with, int operation, void *at, size_t bytes, uint64_t value, uint64_t compare, uint64_t *was)
{
    (void)with;
    const uint64_t before = tutti_shmem_amo_host(NULL, operation, at, bytes, value, compare);
    if (was)
        *was = before;
    return TUTTI_OK;
}

static const struct tutti_wire_local at_once
    __attribute__((unused)) = {.room = room, .give = give, .blocks = copy, .amo = change};

#endif
