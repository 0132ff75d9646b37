/* Searches for an MPI inside a program: for the symbols that it defines, and, in stripped programs, for texts that
 * each MPI contains. */
#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "tools/start/program.h"

struct image {
    const char *bytes;
    size_t size;
};

/* n bytes at offset, or NULL if the file is shorter. */
static const void *image_at(const struct image *image, uint64_t offset, uint64_t n)
{
    return offset <= image->size && n <= image->size - offset ? image->bytes + offset : NULL;
}

static const Elf64_Shdr *image_section(const struct image *image, const Elf64_Ehdr *elf, uint64_t index)
{
    return index < elf->e_shnum ? image_at(image, elf->e_shoff + index * elf->e_shentsize, sizeof(Elf64_Shdr)) : NULL;
}

struct marks {
    int init, openmpi, mpich;
};

static void read_names(const struct image *image, const Elf64_Shdr *table, const Elf64_Shdr *strings,
                       struct marks *marks)
{
    const uint64_t n = table->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *symbol = image_at(image, table->sh_offset, n * sizeof *symbol);
    const char *names = image_at(image, strings->sh_offset, strings->sh_size);
    for (uint64_t i = 0; symbol && names && strings->sh_size > 0 && i < n; i++) {
        if (symbol[i].st_shndx == SHN_UNDEF || symbol[i].st_name >= strings->sh_size ||
            names[strings->sh_size - 1] != '\0')
            continue;
        const char *name = names + symbol[i].st_name;
        marks->init |= strcmp(name, "PMPI_Init") == 0;
        marks->openmpi |= strcmp(name, "ompi_mpi_comm_world") == 0;
        marks->mpich |= strcmp(name, "MPIR_Process") == 0;
    }
}

static int image_has(const struct image *image, const char *text)
{
    return memmem(image->bytes, image->size, text, strlen(text)) != NULL;
}

int tool_program_inside(const char *bytes, size_t size)
{
    const struct image image = {bytes, size};
    const Elf64_Ehdr *elf = image_at(&image, 0, sizeof *elf);
    struct marks marks = {0};
    int symbols = 0;
    if (!elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    for (uint64_t i = 0; i < elf->e_shnum; i++) {
        const Elf64_Shdr *table = image_section(&image, elf, i);
        const Elf64_Shdr *strings =
            table && table->sh_type == SHT_SYMTAB ? image_section(&image, elf, table->sh_link) : NULL;
        if (!strings)
            continue;
        symbols = 1;
        read_names(&image, table, strings, &marks);
    }
    if (!symbols) { /* parts of messages before MPI_Init: a program with a static MPI contains all of them */
        marks.openmpi = image_has(&image, "function was called before MPI_INIT was invoked");
        marks.mpich = image_has(&image, "before initializing or after finalizing MPICH");
        marks.init = marks.openmpi || marks.mpich;
    }
    if (!marks.init)
        return 0;
    return marks.openmpi ? TOOL_ABI_OPENMPI : marks.mpich ? TOOL_ABI_MPICH : TOOL_ABI_UNKNOWN;
}
