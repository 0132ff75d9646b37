#include "mpi/real/import.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A loaded library: what the dynamic linker reads of it. */
struct library {
    uintptr_t of; /* an address in it */
    uintptr_t base, from, to, relro_from, relro_to;
    const ElfW(Dyn) * dynamic;
};

static int import_visit(struct dl_phdr_info *info, size_t size, void *with)
{
    struct library *library = with, seen = {.of = library->of, .base = info->dlpi_addr};
    int holds = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
        if (part->p_type == PT_LOAD) {
            holds |= library->of >= begin && library->of < end;
            seen.from = !seen.from || begin < seen.from ? begin : seen.from;
            seen.to = end > seen.to ? end : seen.to;
        } else if (part->p_type == PT_DYNAMIC) {
            seen.dynamic = (const ElfW(Dyn) *)begin;
        } else if (part->p_type == PT_GNU_RELRO) {
            seen.relro_from = begin;
            seen.relro_to = end;
        }
    }
    if (holds)
        *library = seen;
    return holds;
}

static ElfW(Xword) dynamic_value(const struct library *library, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *entry = library->dynamic; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == tag)
            return entry->d_un.d_val;
    }
    return 0;
}

/* The linker has added the base to most of these addresses, but not on all machines. */
static const void *dynamic_address(const struct library *library, ElfW(Sxword) tag)
{
    const uintptr_t at = dynamic_value(library, tag);
    return (const void *)(at && at < library->base ? at + library->base : at);
}

/* The slots of functions: those of calls by the table of the linker, and those of calls without it. */
static void **import_slot(const struct library *library, const char *name)
{
    const ElfW(Sym) *symbols = dynamic_address(library, DT_SYMTAB);
    const char *names = dynamic_address(library, DT_STRTAB);
    const struct {
        const ElfW(Rela) * rows;
        size_t bytes;
    } tables[] = {
        {dynamic_value(library, DT_PLTREL) == DT_RELA ? dynamic_address(library, DT_JMPREL) : NULL,
         dynamic_value(library, DT_PLTRELSZ)},
        {dynamic_address(library, DT_RELA), dynamic_value(library, DT_RELASZ)},
    };
    for (size_t t = 0; symbols && names && t < sizeof tables / sizeof tables[0]; t++) {
        for (size_t i = 0; tables[t].rows && i < tables[t].bytes / sizeof(ElfW(Rela)); i++) {
            const ElfW(Rela) *row = &tables[t].rows[i];
            const size_t symbol = ELF64_R_SYM(row->r_info);
            if (symbol && row->r_addend == 0 && strcmp(names + symbols[symbol].st_name, name) == 0)
                return (void **)(library->base + row->r_offset); /* NOLINT(performance-no-int-to-ptr) */
        }
    }
    return NULL;
}

static int import_find(const void *of, const char *name, struct library *library, void ***slot)
{
    *library = (struct library){.of = (uintptr_t)of};
    *slot = NULL;
    if (sizeof(void *) == 8 && dl_iterate_phdr(import_visit, library) && library->dynamic)
        *slot = import_slot(library, name);
    return *slot != NULL;
}

/* The linker makes slots read-only that it has filled at start. */
static int import_store(const struct library *library, void **slot, const void *function)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)slot;
    void *begin = (void *)(at / page * page);
    const int protected = at >= library->relro_from && at < library->relro_to;
    if (protected && mprotect(begin, page, PROT_READ | PROT_WRITE) != 0)
        return 0;
    __atomic_store_n(slot, (void *)(uintptr_t)function, __ATOMIC_RELEASE);
    if (protected)
        mprotect(begin, page, PROT_READ);
    return 1;
}

/* A slot that no call has used leads into its own library, which asks the linker then. The linker would overwrite the
 * slot, so the function is looked for here, as the linker does. */
static void *import_resolve(const struct library *library, void *function, const char *name)
{
    const uintptr_t at = (uintptr_t)function;
    if (at && (at < library->from || at >= library->to))
        return function;
    Dl_info where;
    void *found = dlsym(RTLD_DEFAULT, name);
    if (found || !dladdr((const void *)library->of, &where) || !where.dli_fname)
        return found;
    void *handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle) {
        found = dlsym(handle, name);
        dlclose(handle);
    }
    return found;
}

void *tutti_import_replace(const void *of, const char *name, const void *replacement)
{
    struct library library;
    void **slot;
    if (!import_find(of, name, &library, &slot))
        return NULL;
    void *before = import_resolve(&library, __atomic_load_n(slot, __ATOMIC_ACQUIRE), name);
    return before && before != replacement && import_store(&library, slot, replacement) ? before : NULL;
}

void tutti_import_restore(const void *of, const char *name, const void *replacement, const void *before)
{
    struct library library;
    void **slot;
    if (import_find(of, name, &library, &slot) && __atomic_load_n(slot, __ATOMIC_ACQUIRE) == replacement)
        import_store(&library, slot, before);
}
