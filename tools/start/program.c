/* Reads the dynamic section of a program (64-bit ELF of this machine's byte order) for the MPI library that it needs.
 */
#include "tools/start/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/text.h"

static const struct {
    const char *library;
    int abi;
} libraries[] = {
    {"libmpi.so.40", TOOL_ABI_OPENMPI},     {"libmpich.so.12", TOOL_ABI_MPICH},     {"libmpi.so.12", TOOL_ABI_MPICH},
    {"libmpi_abi.so.1", TOOL_ABI_STANDARD}, {"libmpi_abi.so.0", TOOL_ABI_STANDARD},
};
enum { LIBRARIES = sizeof libraries / sizeof libraries[0] };

int tool_abi_of(const char *library)
{
    for (int i = 0; i < LIBRARIES; i++) {
        if (strcmp(libraries[i].library, library) == 0)
            return libraries[i].abi;
    }
    return 0;
}

/* Run-time libraries of sanitizers that refuse to start behind another library. */
static const char *const sanitizers[] = {"libasan.so", "libhwasan.so", "libclang_rt.asan", "libclang_rt.hwasan"};
enum { SANITIZERS = sizeof sanitizers / sizeof sanitizers[0] };

static int is_sanitizer(const char *library)
{
    for (int i = 0; i < SANITIZERS; i++) {
        if (strncmp(sanitizers[i], library, strlen(sanitizers[i])) == 0)
            return 1;
    }
    return 0;
}

struct image {
    const char *bytes;
    size_t size;
};

/* n bytes at offset, or NULL if the file is shorter. */
static const void *image_at(const struct image *image, uint64_t offset, uint64_t n)
{
    return offset <= image->size && n <= image->size - offset ? image->bytes + offset : NULL;
}

static const char *text_at(const struct image *image, uint64_t offset)
{
    const char *text = image_at(image, offset, 1);
    return text && memchr(text, '\0', image->size - offset) ? text : NULL;
}

static const Elf64_Phdr *image_header(const struct image *image, const Elf64_Ehdr *elf, int index)
{
    return image_at(image, elf->e_phoff + (uint64_t)index * elf->e_phentsize, sizeof(Elf64_Phdr));
}

static uint64_t file_offset(const struct image *image, const Elf64_Ehdr *elf, uint64_t address)
{
    for (int i = 0; i < elf->e_phnum; i++) {
        const Elf64_Phdr *p = image_header(image, elf, i);
        if (p && p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
            return address - p->p_vaddr + p->p_offset;
    }
    return image->size;
}

static void read_dynamic(const struct image *image, const Elf64_Ehdr *elf, const Elf64_Phdr *dynamic,
                         struct tool_program *out)
{
    uint64_t n = dynamic->p_filesz / sizeof(Elf64_Dyn), strings = image->size;
    const Elf64_Dyn *entry = image_at(image, dynamic->p_offset, n * sizeof *entry);
    for (uint64_t i = 0; entry && i < n && entry[i].d_tag != DT_NULL; i++) {
        if (entry[i].d_tag == DT_STRTAB)
            strings = file_offset(image, elf, entry[i].d_un.d_ptr);
    }
    for (uint64_t i = 0; entry && i < n && entry[i].d_tag != DT_NULL; i++) {
        const char *name = entry[i].d_tag == DT_NEEDED ? text_at(image, strings + entry[i].d_un.d_val) : NULL;
        if (name && !out->abi && (out->abi = tool_abi_of(name)) != 0)
            snprintf(out->library, sizeof out->library, "%.63s", name);
    }
}

/* Runs the program's own loader to find its libraries: "libmpi.so.40 => /path (0x...)". The program itself does not
 * run. Libraries of libraries are listed too, as for Fortran programs that name only the MPI's Fortran part. */
static void loader_resolve(const char *loader, struct tool_program *out)
{
    enum { ROOM = 1 << 16 };
    char *list = tool_alloc(ROOM);
    char *argv[] = {(char *)loader, (char *)"--list", out->path, NULL};
    tool_capture(argv, 10, list, ROOM);
    char *rest = NULL;
    for (char *line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        line += strspn(line, " \t");
        char *arrow = strstr(line, " => ");
        if (!arrow)
            continue;
        *arrow = '\0';
        const char *name = strrchr(line, '/') ? strrchr(line, '/') + 1 : line;
        int abi = tool_abi_of(name);
        if (is_sanitizer(name) && !out->sanitizer[0] && arrow[4] == '/')
            snprintf(out->sanitizer, sizeof out->sanitizer, "%.*s", (int)strcspn(arrow + 4, " \t"), arrow + 4);
        if (abi && abi == out->abi && strcmp(name, out->library) != 0 && arrow[4] == '/')
            snprintf(out->other, sizeof out->other, "%.*s", (int)strcspn(arrow + 4, " \t"), arrow + 4);
        if (!abi || (out->abi && strcmp(name, out->library) != 0))
            continue;
        out->abi = abi;
        snprintf(out->library, sizeof out->library, "%.63s", name);
        const char *path = arrow + 4;
        if (*path == '/')
            snprintf(out->resolved, sizeof out->resolved, "%.*s", (int)strcspn(path, " \t"), path);
    }
    free(list);
}

static void read_elf(const struct image *image, struct tool_program *out)
{
    const Elf64_Ehdr *elf = image_at(image, 0, sizeof *elf);
    if (!elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_ident[EI_CLASS] != ELFCLASS64)
        return;
    const char *loader = NULL;
    for (int i = 0; i < elf->e_phnum; i++) {
        const Elf64_Phdr *p = image_header(image, elf, i);
        if (p && p->p_type == PT_INTERP)
            loader = text_at(image, p->p_offset);
        if (p && p->p_type == PT_DYNAMIC)
            read_dynamic(image, elf, p, out);
    }
    if (loader)
        loader_resolve(loader, out);
}

static void read_script(const struct image *image, struct tool_program *out)
{
    size_t n = image->size < 255 ? image->size : 255;
    char line[256];
    memcpy(line, image->bytes, n);
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    char *first = line + 2 + strspn(line + 2, " \t");
    char *rest = first + strcspn(first, " \t");
    if (*rest)
        *rest++ = '\0';
    rest += strspn(rest, " \t");
    /* "#!/usr/bin/env python3": the word that env looks up */
    const char *base = strrchr(first, '/') ? strrchr(first, '/') + 1 : first;
    if (strcmp(base, "env") == 0 && *rest && *rest != '-') {
        rest[strcspn(rest, " \t")] = '\0';
        first = rest;
    }
    snprintf(out->interpreter, sizeof out->interpreter, "%s", first);
}

static int path_executable(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

int tool_program_find(const char *name, char out[PATH_MAX])
{
    if (strchr(name, '/')) {
        snprintf(out, PATH_MAX, "%s", name);
        return path_executable(out);
    }
    const char *path = getenv("PATH");
    for (; path && *path; path += *path == ':') {
        size_t n = strcspn(path, ":");
        snprintf(out, PATH_MAX, "%.*s/%s", (int)n, path, name);
        if (n > 0 && path_executable(out))
            return 1;
        path += n;
    }
    return 0;
}

void tool_program_read(const char *name, struct tool_program *out)
{
    *out = (struct tool_program){.abi = 0};
    if (!tool_program_find(name, out->path)) {
        struct stat s;
        if (strchr(name, '/') && stat(name, &s) == 0)
            tool_refuse_program(TOOL_RUN_NO_PROGRAM, "%s is not a program that can be executed", name);
        if (!strchr(name, '/') && stat(name, &s) == 0)
            tool_refuse_program(TOOL_RUN_NOT_FOUND, "no program %s in PATH: did you mean ./%s?", name, name);
        tool_refuse_program(TOOL_RUN_NOT_FOUND, "there is no program %s", name);
    }
    int fd = open(out->path, O_RDONLY | O_CLOEXEC);
    struct stat s;
    if (fd < 0 || fstat(fd, &s) != 0 || s.st_size < 4) {
        if (fd >= 0)
            close(fd);
        return; /* may be executed, not read */
    }
    void *map = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return;
    struct image image = {map, (size_t)s.st_size};
    if (memcmp(map, "#!", 2) == 0)
        read_script(&image, out);
    else
        read_elf(&image, out);
    if (!out->abi)
        out->inside = tool_program_inside(image.bytes, image.size);
    munmap(map, (size_t)s.st_size);
}
