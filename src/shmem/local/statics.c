/* Static variables as symmetric objects: the program's own writable segment, of the same program on all PEs, gets a
 * block of the heap under it. What is stored in it lies in the heap then, and an address in it is one in the block. */
#include "shmem/local/statics.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/log.h"
#include "shmem/space.h"

/* The segment, and what must be the same on all PEs for two of them to be of one program. */
struct segment {
    char *from;
    uint64_t bytes, id;
};

static uint64_t hash(uint64_t id, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        id = (id ^ at[i]) * 0x100000001b3u;
    return id;
}

/* The first object is the program. Pages that become read-only when it starts are left out: no variable of the program
 * lies there. */
static int look_at(struct dl_phdr_info *info, size_t size, void *with)
{
    struct segment *segment = with;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t constant = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        segment->id = hash(segment->id, part, sizeof *part);
        if (part->p_type == PT_NOTE) /* the build's own number */
            segment->id = hash(segment->id, (const void *)(info->dlpi_addr + part->p_vaddr), part->p_memsz);
        if (part->p_type == PT_GNU_RELRO)
            constant = (info->dlpi_addr + part->p_vaddr + part->p_memsz) & ~(page - 1);
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W))
            continue;
        uintptr_t from = (info->dlpi_addr + part->p_vaddr) & ~(page - 1);
        const uintptr_t to = (info->dlpi_addr + part->p_vaddr + part->p_memsz + page - 1) & ~(page - 1);
        from = from < constant && constant <= to ? constant : from;
        if (to - from > segment->bytes) {
            segment->from = (char *)from;
            segment->bytes = to - from;
        }
    }
    return 1;
}

uint64_t tutti_shmem_statics_find(struct tutti_shmem *space, int wanted)
{
    struct segment mine = {.id = 0xcbf29ce484222325u};
    if (wanted)
        dl_iterate_phdr(look_at, &mine);
    const int alike = tutti_shmem_alike(space->transport, (int64_t)mine.bytes) &&
                      tutti_shmem_alike(space->transport, (int64_t)(mine.id >> 1));
    if (!alike && wanted)
        tutti_error("tshmem_init: static variables are not symmetric: not all PEs run the same program");
    if (!alike)
        return 0;
    space->statics.from = mine.from;
    space->statics.bytes = mine.bytes;
    return mine.bytes;
}

/* Asked of the kernel itself: hooks of some MPIs (UCX) stand in front of mremap() and know no fifth argument. */
static int map_to(char *at, void *memory, uint64_t bytes, uint64_t moved)
{
    return syscall(SYS_mremap, memory, moved, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == (long)(intptr_t)at;
}

/* Two mappings of one memory: a mapping of no length, "moved", stays. */
static int put_under(char *at, char *block, uint64_t bytes)
{
    memcpy(block, at, bytes);
    return map_to(at, block, bytes, 0) ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

int tutti_shmem_statics_open(struct tutti_shmem *space)
{
    uint64_t offset = 0;
    const uint64_t bytes = space->statics.bytes;
    if (bytes == 0)
        return TUTTI_OK;
    int status = tutti_heap_take(&space->heap, bytes, (uint64_t)sysconf(_SC_PAGESIZE), &offset);
    space->statics.at = space->first + offset;
    if (status == TUTTI_OK)
        status = put_under(space->statics.from, space->state.heap + space->statics.at, bytes);
    space->statics.there = status == TUTTI_OK;
    if (tutti_shmem_alike(space->transport, status))
        return status;
    tutti_shmem_statics_close(space);
    return TUTTI_ERR_MEMORY;
}

void tutti_shmem_statics_close(struct tutti_shmem *space)
{
    struct tutti_shmem_statics *statics = &space->statics;
    if (!statics->there)
        return;
    void *own = mmap(NULL, statics->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED)
        return; /* the variables stay where they are: the heap's memory lives as long as somebody maps it */
    memcpy(own, statics->from, statics->bytes);
    if (map_to(statics->from, own, statics->bytes, statics->bytes))
        statics->there = 0;
}
