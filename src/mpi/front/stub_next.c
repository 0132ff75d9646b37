/* A profiling library (mpiP, Score-P, Darshan) defines MPI_x and reaches the MPI by PMPI_x. If it precedes libtutti.so
 * in the search order, the program's calls reach it first and its PMPI_x calls reach the stub. If it follows
 * libtutti.so, the stub hides it from the program. Then the stub itself restores the first order where it can:
 *
 * - The library has an undefined symbol PMPI_x. The loader binds that symbol to the stub, the first definition in the
 *   search order. The stub's MPI_x entry jumps to the library, and the library's PMPI_x call goes to Tutti. The
 * library sees each call of the program with the program's arguments.
 * - The library has no such symbol, because it asks dlsym(RTLD_NEXT, "PMPI_x"), which finds the MPI's. A jump to the
 * library would bypass Tutti. So Tutti comes first, and calls the library wherever it would call the MPI's x.
 *
 * A library that defines PMPI_x itself is called in the MPI's place too.
 *
 * Tutti's own use of the MPI goes to the MPI's PMPI_x in the first case, so that the profile shows the program alone.
 */
#include "mpi/front/stub_next.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Names of an MPI's C library, best first: a program that asked for the standard ABI may have others loaded beside it.
 */
static const char *const libraries[TUTTI_STUB_LIBRARIES] = {"libmpi_abi.so", "libmpi.so", "libmpich.so", "libmpi"};

int tutti_stub_is_mpi(const char *path, int *rank)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    for (int i = 0; i < TUTTI_STUB_LIBRARIES; i++) {
        const size_t length = strlen(libraries[i]);
        if (strncmp(base, libraries[i], length) != 0)
            continue;
        if (rank)
            *rank = i;
        return i + 1 == TUTTI_STUB_LIBRARIES || base[length] == '\0' || base[length] == '.';
    }
    return 0;
}

struct symbols {
    const ElfW(Sym) * table;
    const char *names;
    uint32_t undefined; /* the undefined ones are among so many at the front */
};

/* Addresses in the dynamic section are relocated by the loader on most machines; where not, they lie below the base. */
static const void *stub_next_address(const struct link_map *map, ElfW(Addr) value)
{
    return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

static struct symbols read_symbols(const struct link_map *map)
{
    struct symbols out = {.table = NULL};
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            out.table = stub_next_address(map, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_STRTAB)
            out.names = stub_next_address(map, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_HASH || (entry->d_tag == DT_GNU_HASH && out.undefined == 0))
            out.undefined = ((const uint32_t *)stub_next_address(map, entry->d_un.d_ptr))[1]; /* of the latter: the
                                                                                               first that is defined */
    }
    return out;
}

/* 1 if the library calls the function of this name by the loader's search. */
static int refers_to(const struct symbols *symbols, const char *name)
{
    for (uint32_t i = 1; symbols->table && symbols->names && i < symbols->undefined; i++) {
        const ElfW(Sym) *symbol = &symbols->table[i];
        if (symbol->st_shndx == SHN_UNDEF && strcmp(symbols->names + symbol->st_name, name) == 0)
            return 1;
    }
    return 0;
}

/* Where a library is mapped: `at` lies in it. */
struct extent {
    uintptr_t at, from, to;
};

static int stub_extent_look(struct dl_phdr_info *info, size_t size, void *with)
{
    struct extent *extent = with;
    uintptr_t from = UINTPTR_MAX, to = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        from = begin < from ? begin : from;
        to = begin + part->p_memsz > to ? begin + part->p_memsz : to;
    }
    if (extent->at < from || extent->at >= to)
        return 0;
    extent->from = from;
    extent->to = to;
    return 1;
}

/* The next function of this name behind the stub, and the library that has it; NULL if that is the MPI. Nearly all are
 * the MPI's. dladdr() would compare each with all symbols of its library: milliseconds of every start. */
static void *next_of(const char *name, const struct extent *mpi, struct link_map **map)
{
    Dl_info its;
    void *next = dlsym(RTLD_NEXT, name);
    *map = NULL;
    if (!next || ((uintptr_t)next >= mpi->from && (uintptr_t)next < mpi->to))
        return NULL;
    return dladdr1(next, &its, (void **)map, RTLD_DL_LINKMAP) && *map && !tutti_stub_is_mpi((*map)->l_name, NULL)
               ? next
               : NULL;
}

const char *tutti_stub_next(const char *const names[], int calls, const void *mpi, void *wraps[], void *beneath[])
{
    struct symbols symbols = {.table = NULL};
    const struct link_map *read = NULL;
    const char *first = NULL;
    struct extent its_mpi = {.at = (uintptr_t)mpi};
    dl_iterate_phdr(stub_extent_look, &its_mpi);
    for (int i = 0; i < calls; i++) {
        struct link_map *map;
        char profiling[128];
        snprintf(profiling, sizeof profiling, "P%s", names[i]);
        wraps[i] = NULL;
        beneath[i] = next_of(profiling, &its_mpi, &map); /* is in front of the MPI's PMPI_x: it finds that itself */
        if (map && beneath[i])
            first = first ? first : map->l_name;
        void *next = next_of(names[i], &its_mpi, &map);
        if (!next)
            continue;
        if (read != map)
            symbols = read_symbols(map);
        read = map;
        first = first ? first : map->l_name;
        if (refers_to(&symbols, profiling))
            wraps[i] = next;
        else if (!beneath[i])
            beneath[i] = next;
    }
    return first;
}
