/* Static variables as symmetric objects: the program's own writable segment, of the same program on all PEs, gets a
 * block of the heap under it. What is stored in it lies in the heap then, and an address in it is one in the block. */
#include "shmem/local/statics.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/fnv.h"
#include "core/log.h"
#include "core/status.h"
#include "shmem/heap.h"

/* The segment, and what must be the same on all PEs for two of them to be of one program. */
struct segment {
    char *from;
    uint64_t bytes, id;
};

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
        segment->id = tutti_fnv(segment->id, part, sizeof *part);
        if (part->p_type == PT_NOTE) /* the build's own number */
            segment->id = tutti_fnv(segment->id, (const void *)(info->dlpi_addr + part->p_vaddr), part->p_memsz);
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

uint64_t tutti_shmem_statics_find(struct tutti_shmem_statics *statics, struct tutti_transport *all, int wanted)
{
    struct segment mine = {.id = TUTTI_FNV_BEGIN};
    if (wanted)
        dl_iterate_phdr(look_at, &mine);
    const int alike = tutti_shmem_alike(all, (int64_t)mine.bytes) && tutti_shmem_alike(all, (int64_t)(mine.id >> 1));
    if (!alike && wanted)
        tutti_error("tshmem_init: static variables are not symmetric: not all PEs run the same program");
    *statics = (struct tutti_shmem_statics){.from = mine.from, .bytes = alike ? mine.bytes : 0};
    return statics->bytes;
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

int tutti_shmem_statics_open(struct tutti_shmem_statics *statics, struct tutti_transport *all, struct tutti_heap *heap,
                             char *first)
{
    uint64_t offset = 0;
    if (statics->bytes == 0)
        return TUTTI_OK;
    int status = tutti_heap_take(heap, statics->bytes, (uint64_t)sysconf(_SC_PAGESIZE), &offset);
    if (status == TUTTI_OK)
        status = put_under(statics->from, first + offset, statics->bytes);
    if (status == TUTTI_OK)
        statics->block = first + offset;
    if (tutti_shmem_alike(all, status))
        return status;
    tutti_shmem_statics_close(statics);
    return TUTTI_ERR_MEMORY;
}

void tutti_shmem_statics_close(struct tutti_shmem_statics *statics)
{
    if (!statics->block)
        return;
    void *own = mmap(NULL, statics->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED)
        return; /* the variables stay where they are: the heap's memory lives as long as somebody maps it */
    memcpy(own, statics->from, statics->bytes);
    if (map_to(statics->from, own, statics->bytes, statics->bytes))
        statics->block = NULL;
}
