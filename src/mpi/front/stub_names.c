/* The stub exports the names of MPI 4.1, and the MPI may be an older one. A program that looks for a name before it
 * uses it (by dlsym, or by a weak reference as mpi4py) must find what its MPI has, and what Tutti supplies
 * (supplied.def). So the stub hides the other names in its own dynamic symbol table: the loader skips a symbol whose
 * value is 0, and looks in the next library.
 *
 * A name stays if a loaded object has an ordinary reference to it, as a program that is linked with libtutti.so has:
 * the loader would end the program. The call fails through the error handler instead (large.c).
 *
 * The MPI is often loaded later than the stub, when nothing calls the stub. Until then each name is an indirect
 * function (STT_GNU_IFUNC): the loader asks its resolver at each look-up, and the first one after the MPI was loaded
 * hides the names. A resolver may be called while a library is being loaded, so it must not call dlopen() or dlsym():
 * the tables of the MPI's library are read here.
 *
 * References of libraries that were loaded together with the stub are bound before any code of the stub runs. Weak
 * ones to hidden names are set to 0 afterwards.
 *
 * If the loader has no indirect functions, or the table cannot be written, the names stay: the calls fail (large.c). */
#include "mpi/front/stub_names.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi/front/stub_next.h"

enum {
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments) CALL_##name,
#include "mpi/real/calls.inc"
    CALLS,
    ENTRY = 16,      /* bytes of an entry: stub_entries.S */
    CALL = 2 * ENTRY /* MPI_x, PMPI_x */
};

/* 1: while Tutti is on; 2: always. */
static const char supplied[CALLS] = {
#define TUTTI_SUPPLIED(name, off) [CALL_##name] = 1 + (off),
#include "mpi/real/supplied.def"
};

/* Of a large-count form: 1 + the plain call. */
static const short plain_of[CALLS] = {
#define TUTTI_EACH_LARGE(kind, waits, name, errors, buffers, parameters, arguments) [CALL_##name##_c] = CALL_##name + 1,
#include "mpi/real/calls.inc"
};

extern char tutti_stub_entries[], tutti_stub_resolvers[];
void *tutti_stub_show(uintptr_t entry);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* no call of the loader is made under it */
static int settled, off;
static char hidden[CALLS];
static const char *const *names; /* of each call */

/* ---- tables of a loaded library ---- */

struct tables {
    const ElfW(Sym) * symbols;
    const char *text;
    const uint32_t *hash; /* of DT_GNU_HASH; NULL without one */
    const ElfW(Rela) * rows[2];
    size_t bytes[2];
    uintptr_t base, from, to, relro_from, relro_to;
};

/* Addresses in the dynamic section are relocated by the loader on most machines; where not, they lie below the base. */
static const void *names_address(uintptr_t base, ElfW(Addr) value)
{
    return (const void *)(value < base ? value + base : value); /* NOLINT(performance-no-int-to-ptr) */
}

static void read_dynamic(struct tables *tables, const ElfW(Dyn) * entry)
{
    int rela = 0;
    for (; entry->d_tag != DT_NULL; entry++) {
        const void *at = names_address(tables->base, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            tables->symbols = at;
            break;
        case DT_STRTAB:
            tables->text = at;
            break;
        case DT_GNU_HASH:
            tables->hash = at;
            break;
        case DT_RELA:
            tables->rows[0] = at;
            break;
        case DT_RELASZ:
            tables->bytes[0] = entry->d_un.d_val;
            break;
        case DT_JMPREL:
            tables->rows[1] = at;
            break;
        case DT_PLTRELSZ:
            tables->bytes[1] = entry->d_un.d_val;
            break;
        case DT_PLTREL:
            rela = entry->d_un.d_val == DT_RELA;
            break;
        default:
            break;
        }
    }
    if (!rela)
        tables->bytes[1] = 0;
}

/* 1 if the library has tables that can be read. */
static int read_tables(struct tables *tables, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *dynamic = NULL;
    memset(tables, 0, sizeof *tables);
    tables->base = info->dlpi_addr;
    tables->from = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
        if (part->p_type == PT_DYNAMIC) {
            dynamic = names_address(0, begin);
        } else if (part->p_type == PT_GNU_RELRO) {
            tables->relro_from = begin;
            tables->relro_to = end;
        } else if (part->p_type == PT_LOAD) {
            tables->from = begin < tables->from ? begin : tables->from;
            tables->to = end > tables->to ? end : tables->to;
        }
    }
    if (dynamic)
        read_dynamic(tables, dynamic);
    return tables->symbols && tables->text && tables->hash;
}

static const uint32_t *hash_buckets(const uint32_t *hash)
{
    return hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
}

/* 1 if the library defines MPI_x or PMPI_x; `name` is MPI_x. */
static int defines(const struct tables *tables, const char *name, int profiling)
{
    const uint32_t *hash = tables->hash, *buckets = hash_buckets(hash), *chain = buckets + hash[0] - hash[1];
    uint32_t value = profiling ? 5381 * 33 + 'P' : 5381;
    for (const char *at = name; *at; at++)
        value = value * 33 + (unsigned char)*at;
    for (uint32_t i = hash[0] ? buckets[value % hash[0]] : 0; i >= hash[1] && i > 0; i++) {
        const ElfW(Sym) *symbol = &tables->symbols[i];
        const char *its = tables->text + symbol->st_name;
        if ((chain[i] | 1) == (value | 1) && symbol->st_shndx != SHN_UNDEF && (!profiling || its[0] == 'P') &&
            strcmp(its + profiling, name) == 0)
            return 1;
        if (chain[i] & 1)
            break;
    }
    return 0;
}

static uint32_t symbols_of(const struct tables *tables)
{
    const uint32_t *hash = tables->hash, *buckets = hash_buckets(hash), *chain = buckets + hash[0] - hash[1];
    uint32_t last = 0;
    for (uint32_t i = 0; i < hash[0]; i++)
        last = buckets[i] > last ? buckets[i] : last;
    while (last >= hash[1] && last > 0 && !(chain[last] & 1))
        last++;
    return last >= hash[1] && last > 0 ? last + 1 : hash[1];
}

/* Writes a word that the loader has made read-only. */
static int write_word(const struct tables *tables, void *word, uintptr_t value)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)word;
    void *begin = (void *)(at / page * page); /* NOLINT(performance-no-int-to-ptr) */
    const int protected = at >= tables->relro_from && at < tables->relro_to;
    if (protected && mprotect(begin, page, PROT_READ | PROT_WRITE) != 0)
        return -1;
    __atomic_store_n((uintptr_t *)word, value, __ATOMIC_RELEASE);
    if (protected)
        mprotect(begin, page, PROT_READ);
    return 0;
}

/* ---- the stub's own names ---- */

struct own {
    struct tables tables;
    int found;
};

static int names_own_look(struct dl_phdr_info *info, size_t size, void *with)
{
    struct own *own = with;
    const uintptr_t at = (uintptr_t)tutti_stub_entries;
    (void)size;
    own->found = read_tables(&own->tables, info) && at >= own->tables.from && at < own->tables.to;
    return own->found;
}

/* Offset among the entries of the name that the symbol is of, or -1. */
static ptrdiff_t own_entry_of(const struct own *own, const ElfW(Sym) * symbol)
{
    const uintptr_t at = own->tables.base + symbol->st_value, entries = (uintptr_t)tutti_stub_entries,
                    resolvers = (uintptr_t)tutti_stub_resolvers;
    if (!symbol->st_value)
        return -1;
    if (at >= entries && at < entries + CALLS * CALL)
        return (ptrdiff_t)(at - entries);
    return at >= resolvers && at < resolvers + CALLS * CALL ? (ptrdiff_t)(at - resolvers) : -1;
}

static uintptr_t own_entry_at(int call, int profiling)
{
    return (uintptr_t)tutti_stub_entries + (uintptr_t)(call * CALL + profiling * ENTRY);
}

/* The lock is held. ask: each name becomes an indirect function; otherwise those of `hidden` get the value 0. */
static void change_symbols(const struct own *own, int ask)
{
    const uint32_t n = symbols_of(&own->tables);
    ElfW(Sym) *symbols = (ElfW(Sym) *)(uintptr_t)own->tables.symbols;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)symbols / page * page,
                    to = ((uintptr_t)(symbols + n) + page - 1) / page * page;
    void *begin = (void *)from; /* NOLINT(performance-no-int-to-ptr) */
    if (mprotect(begin, to - from, PROT_READ | PROT_WRITE) != 0)
        return;
    for (uint32_t i = 0; i < n; i++) {
        const ptrdiff_t entry = own_entry_of(own, &symbols[i]);
        if (entry < 0 || (!ask && !hidden[entry / CALL]))
            continue;
        if (!ask) {
            __atomic_store_n(&symbols[i].st_value, 0, __ATOMIC_RELEASE);
            continue;
        }
        symbols[i].st_value = (uintptr_t)tutti_stub_resolvers + (uintptr_t)entry - own->tables.base;
        symbols[i].st_info = ELF64_ST_INFO(ELF64_ST_BIND(symbols[i].st_info), STT_GNU_IFUNC);
    }
    mprotect(begin, to - from, PROT_READ);
}

/* ---- what the MPI has ---- */

static int names_mpi_look(struct dl_phdr_info *info, size_t size, void *with)
{
    static const char in_place[] = "/libtutti-mpi.so"; /* the link to the MPI in a folder of lib/tutti/ */
    char *has = with;
    struct tables tables;
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (!tutti_stub_is_mpi(info->dlpi_name, NULL) && (!slash || strcmp(slash, in_place) != 0))
        return 0;
    const int readable = read_tables(&tables, info);
    for (int i = 0; i < CALLS; i++)
        has[i] = has[i] || !readable || defines(&tables, names[i], 1) || defines(&tables, names[i], 0);
    return 0;
}

/* The call that an undefined symbol is of, or -1; *profiling: PMPI_x. */
static int call_of(const char *name, int *profiling)
{
    *profiling = name[0] == 'P';
    for (int i = 0; strncmp(name + *profiling, "MPI", 3) == 0 && i < CALLS; i++) {
        if (strcmp(names[i], name + *profiling) == 0)
            return i;
    }
    return -1;
}

/* Sets to 0 the weak references of a library to names that are hidden. */
static int names_weak_look(struct dl_phdr_info *info, size_t size, void *with)
{
    const struct own *own = with;
    struct tables tables;
    (void)size;
    if (!read_tables(&tables, info) || tables.base == own->tables.base)
        return 0;
    for (int t = 0; t < 2; t++) {
        for (size_t k = 0; tables.rows[t] && k < tables.bytes[t] / sizeof(ElfW(Rela)); k++) {
            const ElfW(Sym) *symbol = &tables.symbols[ELF64_R_SYM(tables.rows[t][k].r_info)];
            uintptr_t *slot = (uintptr_t *)(tables.base + tables.rows[t][k].r_offset); /* NOLINT */
            int profiling;
            if (symbol == tables.symbols || symbol->st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol->st_info) != STB_WEAK)
                continue;
            const int call = call_of(tables.text + symbol->st_name, &profiling);
            if (call >= 0 && hidden[call] && *slot == own_entry_at(call, profiling))
                write_word(&tables, slot, 0);
        }
    }
    return 0;
}

/* Keeps the hidden names to which a library has an ordinary reference. Undefined symbols precede those of the hash
 * table. */
static int names_needed_look(struct dl_phdr_info *info, size_t size, void *with)
{
    char *hide = with;
    struct tables tables;
    (void)size;
    if (!read_tables(&tables, info))
        return 0;
    for (uint32_t k = 1; k < tables.hash[1]; k++) {
        const ElfW(Sym) *symbol = &tables.symbols[k];
        const char *name = tables.text + symbol->st_name;
        const int profiling = name[0] == 'P';
        if (symbol->st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol->st_info) != STB_GLOBAL ||
            strncmp(name + profiling, "MPI", 3) != 0)
            continue;
        for (int i = 0; i < CALLS; i++) {
            if (hide[i] && strcmp(names[i], name + profiling) == 0)
                hide[i] = 0;
        }
    }
    return 0;
}

/* Whether the names are known now: an MPI is loaded, and what it lacks is hidden. */
static int names_settle(void)
{
    char has[CALLS] = {0}, hide[CALLS] = {0};
    struct own own = {.found = 0};
    if (__atomic_load_n(&settled, __ATOMIC_ACQUIRE))
        return 1;
    dl_iterate_phdr(names_mpi_look, has);
    if (!has[CALL_MPI_Init])
        return 0;
    for (int i = 0; i < CALLS; i++) {
        const int of = plain_of[i] ? plain_of[i] - 1 : i;
        hide[i] = !has[i] && !has[of] && supplied[of] < (off ? 2 : 1);
    }
    dl_iterate_phdr(names_needed_look, hide);
    dl_iterate_phdr(names_own_look, &own);
    pthread_mutex_lock(&lock);
    if (!settled)
        memcpy(hidden, hide, sizeof hidden);
    if (own.found && !settled)
        change_symbols(&own, 0);
    __atomic_store_n(&settled, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return 1;
}

void *tutti_stub_show(uintptr_t entry)
{
    const uintptr_t call = (entry - (uintptr_t)tutti_stub_entries) / CALL;
    return names_settle() && hidden[call] ? NULL : (void *)entry; /* NOLINT(performance-no-int-to-ptr) */
}

void tutti_stub_names_open(const char *const *every, int plain)
{
    struct own own = {.found = 0};
    names = every;
    off = plain;
    dl_iterate_phdr(names_own_look, &own);
    if (!own.found)
        return;
    if (names_settle()) {
        dl_iterate_phdr(names_weak_look, &own);
        return;
    }
#ifdef __GLIBC__
    pthread_mutex_lock(&lock);
    change_symbols(&own, 1);
    pthread_mutex_unlock(&lock);
#endif
}
