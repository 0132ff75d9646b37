/* Static variables as symmetric objects. A block of the heap is mapped over the program's writable segment, so the
 * variables lie in the heap; the program must be the same on all PEs. Constants, also those that the loader has
 * relocated, are copied behind the segment in the block. Peers read the copies, the program reads the originals. */
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

/* Equal on two PEs if they run the same program: the segment and the constants. */
struct program {
    uint64_t id;
    struct tutti_shmem_statics found;
};

static uintptr_t page_of(uintptr_t address)
{
    return address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

static void add_constants(struct tutti_shmem_statics *found, uintptr_t from, uintptr_t to)
{
    if (from < to && found->constants < TUTTI_SHMEM_CONSTANTS)
        found->constant[found->constants++] = (struct tutti_shmem_constants){(const char *)from, to - from, 0};
}

/* 1 if constants lie beside code. */
static int is_mixed(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD && !(info->dlpi_phdr[i].p_flags & (PF_W | PF_X)))
            return 0;
    }
    return 1;
}

/* The first object is the program. Pages that become read-only at the start hold constants alone. */
static int statics_look_at(struct dl_phdr_info *info, size_t size, void *with)
{
    struct program *program = with;
    struct tutti_shmem_statics *found = &program->found;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const int mixed = is_mixed(info);
    uintptr_t relocated = 0; /* end of those pages */
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        program->id = tutti_fnv(program->id, part, sizeof *part);
        if (part->p_type == PT_NOTE) /* the build's own number */
            program->id = tutti_fnv(program->id, (const void *)(info->dlpi_addr + part->p_vaddr), part->p_memsz);
        if (part->p_type == PT_GNU_RELRO)
            relocated = page_of(info->dlpi_addr + part->p_vaddr + part->p_memsz);
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
        if (part->p_type != PT_LOAD)
            continue;
        if (!(part->p_flags & PF_W)) {
            if (part->p_flags & PF_R && (mixed || !(part->p_flags & PF_X)))
                add_constants(found, begin, end);
            continue;
        }
        uintptr_t from = page_of(begin);
        const uintptr_t to = page_of(end + page - 1);
        if (from < relocated && relocated <= to) {
            add_constants(found, begin, relocated);
            from = relocated;
        }
        if (to - from > found->bytes) {
            found->from = (char *)from;
            found->bytes = to - from;
        }
    }
    return 1;
}

static void statics_lay_out(struct tutti_shmem_statics *found)
{
    enum { LINE = 64 };
    found->all = found->bytes;
    for (int i = 0; i < found->constants; i++) {
        /* aligned as the original, so that elements are */
        found->constant[i].at = found->all + (uintptr_t)found->constant[i].from % LINE;
        found->all = (found->constant[i].at + found->constant[i].bytes + LINE - 1) / LINE * LINE;
    }
    found->all = page_of(found->all + (uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

uint64_t tutti_shmem_statics_find(struct tutti_shmem_statics *statics, struct tutti_transport *all, int wanted)
{
    struct program mine = {.id = TUTTI_FNV_BEGIN};
    if (wanted)
        dl_iterate_phdr(statics_look_at, &mine);
    if (mine.found.bytes > 0)
        statics_lay_out(&mine.found);
    const int alike =
        tutti_shmem_alike(all, (int64_t)mine.found.all) && tutti_shmem_alike(all, (int64_t)(mine.id >> 1));
    if (!alike && wanted)
        tutti_error("tshmem_init: static variables are not symmetric: not all PEs run the same program");
    *statics = (struct tutti_shmem_statics){0};
    if (alike && mine.found.all > 0)
        *statics = mine.found;
    return statics->all;
}

const char *tutti_shmem_constant(const struct tutti_shmem_statics *statics, const void *address)
{
    for (int i = 0; i < statics->constants && statics->block; i++) {
        const struct tutti_shmem_constants *constant = &statics->constant[i];
        const uint64_t at = (uint64_t)((uintptr_t)address - (uintptr_t)constant->from);
        if (at < constant->bytes)
            return statics->block + constant->at + at;
    }
    return NULL;
}

/* The kernel is called directly: hooks of some MPIs (UCX) wrap mremap() and do not know its fifth argument. */
static int map_to(char *at, void *memory, uint64_t bytes, uint64_t moved)
{
    return syscall(SYS_mremap, memory, moved, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == (long)(intptr_t)at;
}

/* Maps the same memory twice: a mapping of no length is "moved", and the original stays. */
static int put_under(const struct tutti_shmem_statics *statics, char *block)
{
    for (int i = 0; i < statics->constants; i++)
        memcpy(block + statics->constant[i].at, statics->constant[i].from, statics->constant[i].bytes);
    memcpy(block, statics->from, statics->bytes);
    return map_to(statics->from, block, statics->bytes, 0) ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

int tutti_shmem_statics_open(struct tutti_shmem_statics *statics, struct tutti_transport *all, struct tutti_heap *heap,
                             char *first)
{
    uint64_t offset = 0;
    if (statics->bytes == 0)
        return TUTTI_OK;
    int status = tutti_heap_take(heap, statics->all, (uint64_t)sysconf(_SC_PAGESIZE), &offset);
    if (status == TUTTI_OK)
        status = put_under(statics, first + offset);
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
        return; /* the variables stay where they are: the heap's memory lives as long as a process maps it */
    memcpy(own, statics->from, statics->bytes);
    if (map_to(statics->from, own, statics->bytes, statics->bytes))
        statics->block = NULL;
}
