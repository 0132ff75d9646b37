/* MPI-IO in pieces, many accesses one after the other: what a write leaves in the file, and a read in memory, is looked
 * at as soon as the call returns, so that a copy that is still under way shows. Each rank has a file of its own.
 * Elements without gaps and with gaps, at offsets of every alignment, reads past the end of the file. A copy of the
 * file in memory is the oracle; the file is read by the system's calls. usage: pieces [ACCESSES] */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

enum { ROOM = 6 << 20, MOST = 2 << 20, BLOCK = 24, GAP = 8, BEGINNING = 300000 };

static struct kit_buffer device;
static uint64_t state;
static char *contents, *memory; /* of the file; and of what the device's memory must hold */
static size_t end;              /* of the file */

static size_t draw(size_t n)
{
    return (size_t)(random_next(&state) % n);
}

struct piece_access {
    int writes, gaps, at_pointer, all;
    size_t offset, bytes, shift; /* bytes: of the elements */
    size_t span;                 /* bytes of memory, gaps included */
    MPI_Datatype type;
    int count;
};

static struct piece_access draw_access(void)
{
    struct piece_access a = {.writes = (int)draw(2),
                             .gaps = draw(4) == 0,
                             .at_pointer = (int)draw(2),
                             .all = draw(4) == 0,
                             .type = MPI_BYTE};
    a.bytes = draw(3) ? (size_t)(64 << 10) * (1 + draw(32)) : 1 + draw(MOST); /* round ones too: 1 MiB */
    a.offset = draw(ROOM - a.bytes);
    a.shift = draw(2) ? 16 * draw(KIT_OFFSET / 16) : draw(KIT_OFFSET);
    if (a.gaps) {
        a.count = (int)(a.bytes / BLOCK) + 1;
        a.bytes = (size_t)a.count * BLOCK;
        a.offset = draw(ROOM - a.bytes);
        a.span = (size_t)a.count * (BLOCK + GAP);
        MPI_Datatype block;
        MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
        MPI_Type_create_resized(block, 0, BLOCK + GAP, &a.type);
        MPI_Type_commit(&a.type);
        MPI_Type_free(&block);
    } else {
        a.count = (int)a.bytes;
        a.span = a.bytes;
    }
    return a;
}

/* The first `bytes` bytes of the elements between the file's copy and memory. */
static void model_move(const struct piece_access *a, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const size_t run = a->gaps ? BLOCK : bytes, n = bytes - done < run ? bytes - done : run;
        char *at = memory + (a->gaps ? done / BLOCK * (BLOCK + GAP) : 0), *in_file = contents + a->offset + done;
        memcpy(a->writes ? in_file : at, a->writes ? at : in_file, n);
        done += n;
    }
}

static int access_make(const struct piece_access *a, MPI_File file, void *buffer, MPI_Status *status)
{
    const MPI_Offset at = (MPI_Offset)a->offset;
    if (!a->at_pointer) {
        if (a->writes)
            return (a->all ? MPI_File_write_at_all : MPI_File_write_at)(file, at, buffer, a->count, a->type, status);
        return (a->all ? MPI_File_read_at_all : MPI_File_read_at)(file, at, buffer, a->count, a->type, status);
    }
    MPI_File_seek(file, at, MPI_SEEK_SET);
    if (a->writes)
        return (a->all ? MPI_File_write_all : MPI_File_write)(file, buffer, a->count, a->type, status);
    return (a->all ? MPI_File_read_all : MPI_File_read)(file, buffer, a->count, a->type, status);
}

static size_t first_difference(const char *a, const char *b, size_t n)
{
    size_t i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

static void look_at_file(int number, const char *name, const struct piece_access *a)
{
    char *found = malloc(ROOM);
    const int fd = open(name, O_RDONLY);
    const ssize_t n = fd < 0 ? -1 : pread(fd, found, ROOM, 0);
    close(fd);
    CHECK(n == (ssize_t)end, "access %d: the file has %zd bytes and must have %zu", number, n, end);
    const size_t at = first_difference(found, contents, end);
    CHECK(n != (ssize_t)end || at == end, "access %d: a write of %zu bytes at %zu: byte %zu of the file is wrong",
          number, a->bytes, a->offset, at);
    free(found);
}

static void access_check(int number, MPI_File file, const char *name)
{
    struct piece_access a = draw_access();
    MPI_Status status;
    int guards, got = -1;
    if (!a.writes && a.offset >= end) /* Open MPI 4.1 gives wrong statuses there */
        a.offset = draw(end);
    if (!a.writes && a.offset + a.bytes > end) /* likewise in collective calls */
        a.all = 0;
    random_bytes(memory, random_next(&state), a.span);
    void *buffer = kit_put(&device, a.shift, memory, a.span);
    const size_t there = a.offset < end ? end - a.offset : 0;
    const size_t bytes = a.writes || a.bytes <= there ? a.bytes : there;
    const int code = access_make(&a, file, buffer, &status);
    const char *came = kit_get(&device, &guards); /* at once */
    CHECK(code == MPI_SUCCESS, "access %d: error class %d", number, kit_class(code));
    MPI_Get_count(&status, MPI_BYTE, &got);
    CHECK(got == (int)bytes, "access %d: %d bytes in the status, and %zu are right", number, got, bytes);
    model_move(&a, bytes);
    if (a.writes && a.offset + a.bytes > end)
        end = a.offset + a.bytes;
    const size_t at = first_difference(came, memory, a.span);
    CHECK(at == a.span && guards, "access %d: a %s of %zu bytes at %zu: byte %zu of memory is wrong", number,
          a.writes ? "write" : "read", a.bytes, a.offset, at);
    if (a.writes)
        look_at_file(number, name, &a);
    MPI_Offset pointer = -1;
    MPI_File_get_position(file, &pointer);
    CHECK(!a.at_pointer || bytes < a.bytes || pointer == (MPI_Offset)(a.offset + bytes),
          "access %d: the file pointer is %lld, not %zu", number, (long long)pointer, a.offset + bytes);
    if (a.gaps)
        MPI_Type_free(&a.type);
}

static int was_staged(void)
{
    return kit_plain || kit_counted("MPI_File_write_at", "staged") > 0;
}

int main(int argc, char **argv)
{
    enum { MORE = 1000 }; /* accesses, until one that is staged has been drawn */
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int accesses = argc > 1 ? atoi(argv[1]) : 100;
    char name[96];
    MPI_File file;
    snprintf(name, sizeof name, "/tmp/pieces-%d", (int)getpid());
    state = random_mix(kit_seed + (uint64_t)kit_rank * 1000003);
    contents = calloc(1, ROOM);
    memory = malloc(2 * MOST);
    kit_open(&device, KIT_DEVICE, 2 * MOST);
    unlink(name); /* of a process that had this number before */
    random_bytes(contents, random_next(&state), BEGINNING);
    end = BEGINNING;
    const int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(write(fd, contents, BEGINNING) == BEGINNING, "%s cannot be written", name);
    close(fd);
    if (CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                            MPI_INFO_NULL, &file) == MPI_SUCCESS,
              "%s cannot be opened", name)) {
        for (int i = 0; i < accesses || (i < accesses + MORE && !was_staged()); i++)
            access_check(i, file, name);
        MPI_File_close(&file);
    }
    CHECK(was_staged(), "no access was staged");
    kit_close(&device);
    free(contents);
    free(memory);
    return kit_end("pieces");
}
