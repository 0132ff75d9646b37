/* MPI-IO: random accesses of a file from device memory, by every call that reads or writes, with random views and types
 * with gaps, beside the same accesses of a second file from host memory. The MPI itself is the oracle: both files, all
 * that was read, the bytes between the elements, and the statuses must be the same. usage: files [PROGRAMS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"
#include "marks.h"

enum { REGION = 7 << 20, MOST = 3 << 20, STEPS = 14, FULL = 48 << 20 };

static uint64_t state, shared_state; /* this rank's numbers; those that all ranks draw alike */
static int is_open_mpi;

static uint64_t draw(uint64_t n)
{
    return random_next(&state) % n;
}

static uint64_t draw_alike(uint64_t n)
{
    return random_next(&shared_state) % n;
}

/* ---- calls ---- */

/* clang-format off */
#define CALLS(X)                                                                                                       \
    X(read) X(write) X(read_at) X(write_at) X(read_all) X(write_all) X(read_at_all) X(write_at_all) X(read_shared)     \
    X(write_shared) X(read_ordered) X(write_ordered)                                                                   \
    X(iread) X(iwrite) X(iread_at) X(iwrite_at) X(iread_shared) X(iwrite_shared) X(iread_all) X(iwrite_all)            \
    X(iread_at_all) X(iwrite_at_all)                                                                                   \
    X(read_all_begin) X(write_all_begin) X(read_at_all_begin) X(write_at_all_begin) X(read_ordered_begin)              \
    X(write_ordered_begin)
/* clang-format on */
enum call {
#define X(name) CALL_##name,
    CALLS(X)
#undef X
        CALLS_ALL
};
static const char *const names[] = {
#define X(name) "MPI_File_" #name,
    CALLS(X)
#undef X
};

struct access {
    enum call call;
    MPI_Offset offset;
    int count;
    MPI_Datatype type;
};

static int access_has(const struct access *access, const char *word)
{
    return strstr(names[access->call], word) != NULL;
}

static int access_reads(const struct access *access)
{
    return access_has(access, "read");
}

/* Completes a request in a random way. */
static int complete(MPI_Request *request, MPI_Status *status, uint64_t how)
{
    int done = 0, code = MPI_SUCCESS, index;
    switch (how % 4) {
    case 0:
        return MPI_Wait(request, status);
    case 1:
        return MPI_Waitall(1, request, status);
    case 2:
        return MPI_Waitany(1, request, &index, status);
    default:
        while (!done && code == MPI_SUCCESS)
            code = MPI_Test(request, &done, status);
        return code;
    }
}

static int access_make(const struct access *a, MPI_File file, void *buffer, MPI_Status *status, uint64_t how)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
#define AT(name, request_or_status)                                                                                    \
    code = MPI_File_##name(file, a->offset, buffer, a->count, a->type, request_or_status)
#define ON(name, request_or_status) code = MPI_File_##name(file, buffer, a->count, a->type, request_or_status)
#define BLOCKING(name)                                                                                                 \
    case CALL_##name:                                                                                                  \
        ON(name, status);                                                                                              \
        return code;
#define BLOCKING_AT(name)                                                                                              \
    case CALL_##name:                                                                                                  \
        AT(name, status);                                                                                              \
        return code;
#define NONBLOCKING(name)                                                                                              \
    case CALL_##name:                                                                                                  \
        ON(name, &request);                                                                                            \
        break;
#define NONBLOCKING_AT(name)                                                                                           \
    case CALL_##name:                                                                                                  \
        AT(name, &request);                                                                                            \
        break;
#define SPLIT(name)                                                                                                    \
    case CALL_##name##_begin:                                                                                          \
        code = MPI_File_##name##_begin(file, buffer, a->count, a->type);                                               \
        return code == MPI_SUCCESS ? MPI_File_##name##_end(file, buffer, status) : code;
#define SPLIT_AT(name)                                                                                                 \
    case CALL_##name##_begin:                                                                                          \
        code = MPI_File_##name##_begin(file, a->offset, buffer, a->count, a->type);                                    \
        return code == MPI_SUCCESS ? MPI_File_##name##_end(file, buffer, status) : code;
    switch (a->call) {
        BLOCKING(read)
        BLOCKING(write)
        BLOCKING_AT(read_at)
        BLOCKING_AT(write_at)
        BLOCKING(read_all)
        BLOCKING(write_all)
        BLOCKING_AT(read_at_all)
        BLOCKING_AT(write_at_all)
        BLOCKING(read_shared)
        BLOCKING(write_shared)
        BLOCKING(read_ordered)
        BLOCKING(write_ordered)
        NONBLOCKING(iread)
        NONBLOCKING(iwrite)
        NONBLOCKING_AT(iread_at)
        NONBLOCKING_AT(iwrite_at)
        NONBLOCKING(iread_shared)
        NONBLOCKING(iwrite_shared)
        NONBLOCKING(iread_all)
        NONBLOCKING(iwrite_all)
        NONBLOCKING_AT(iread_at_all)
        NONBLOCKING_AT(iwrite_at_all)
        SPLIT(read_all)
        SPLIT(write_all)
        SPLIT_AT(read_at_all)
        SPLIT_AT(write_at_all)
        SPLIT(read_ordered)
        SPLIT(write_ordered)
    case CALLS_ALL:
        break;
    }
    return code == MPI_SUCCESS ? complete(&request, status, how) : code;
}

/* ---- types and views ---- */

/* A type in memory of whole elementary types, perhaps with gaps. */
static MPI_Datatype draw_type(MPI_Datatype etype)
{
    MPI_Datatype type, wide;
    MPI_Aint lower, extent;
    switch (draw(4)) {
    case 0:
        MPI_Type_contiguous(1, etype, &type);
        break;
    case 1:
        MPI_Type_vector(1 + (int)draw(4), 1 + (int)draw(3), 3 + (int)draw(3), etype, &type);
        break;
    case 2:
        MPI_Type_contiguous(1 + (int)draw(5), etype, &type);
        break;
    default:
        MPI_Type_get_extent(etype, &lower, &extent);
        MPI_Type_create_resized(etype, 0, extent * (MPI_Aint)(1 + draw(3)), &wide);
        MPI_Type_contiguous(1 + (int)draw(3), wide, &type);
        MPI_Type_free(&wide);
    }
    MPI_Type_commit(&type);
    return type;
}

struct view {
    MPI_Datatype etype, filetype;
    MPI_Offset begin;
    int private;      /* each rank has a part of the file for itself */
    int length, step; /* etypes of a block; distance of blocks, in blocks */
};

static struct view draw_view(void)
{
    struct view view;
    MPI_Datatype basic[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE}, vector;
    MPI_Aint lower, extent;
    MPI_Type_contiguous(1 + (int)draw_alike(3), basic[draw_alike(3)], &view.etype);
    MPI_Type_commit(&view.etype);
    MPI_Type_get_extent(view.etype, &lower, &extent);
    view.private = draw_alike(3) != 0;
    view.begin = (MPI_Offset)draw_alike(100);
    const int blocks = 1 + (int)draw_alike(3), each = 1 + (int)draw_alike(4);
    view.length = view.step = 1;
    if (view.private && draw_alike(2)) {
        /* The ranks' blocks lie between each other, or those of each rank between gaps in its own part: Open MPI's
         * collective writes now and then lose bytes that other ranks write into the gaps, seen without Tutti in 1 of 80
         * programs of three ranks under load. It writes block by block, so they are longer there. */
        const int apart = is_open_mpi, step = apart ? 2 : kit_size, length = apart ? each * 64 : each;
        MPI_Type_vector(blocks, length, length * step, view.etype, &vector);
        MPI_Type_create_resized(vector, 0, extent * blocks * length * step, &view.filetype);
        MPI_Type_free(&vector);
        view.length = length;
        view.step = step;
        view.begin += apart ? (MPI_Offset)kit_rank * REGION : (MPI_Offset)(extent * length * kit_rank);
    } else {
        MPI_Type_contiguous(each, view.etype, &view.filetype);
        if (view.private)
            view.begin += (MPI_Offset)kit_rank * REGION;
    }
    MPI_Type_commit(&view.filetype);
    return view;
}

static void view_close(struct view *view)
{
    MPI_Type_free(&view->etype);
    MPI_Type_free(&view->filetype);
}

/* ---- programs ---- */

static struct kit_buffer device, host;

static MPI_Count bytes_of(const MPI_Status *status)
{
    MPI_Count bytes = -1;
    MPI_Get_elements_x(status, MPI_BYTE, &bytes);
    return bytes;
}

/* The access of both files, and what came. */
static void both(const struct access *a, MPI_File files[2])
{
    MPI_Aint lower, extent;
    MPI_Status status[2];
    int guards[2], code[2];
    MPI_Type_get_extent(a->type, &lower, &extent);
    const size_t room = (size_t)extent * (size_t)a->count;
    const size_t offset = draw(4) * 8;
    const uint64_t how = draw(4);
    unsigned char *data = malloc(room + 1);
    for (size_t i = 0; i < room; i += 8) {
        const uint64_t word = random_next(&state);
        memcpy(data + i, &word, room - i < 8 ? room - i : 8);
    }
    code[0] = access_make(a, files[0], kit_put(&device, offset, data, room), &status[0], how);
    code[1] = access_make(a, files[1], kit_put(&host, offset, data, room), &status[1], how);
    CHECK(kit_class(code[0]) == kit_class(code[1]),
          "%s, %d elements, completed in way %d: error class %d, of host memory %d", names[a->call], a->count, (int)how,
          kit_class(code[0]), kit_class(code[1]));
    if (code[0] == MPI_SUCCESS && code[1] == MPI_SUCCESS && a->count > 0)
        CHECK(bytes_of(&status[0]) == bytes_of(&status[1]),
              "%s, %d elements: %lld bytes in the status, of host memory %lld", names[a->call], a->count,
              (long long)bytes_of(&status[0]), (long long)bytes_of(&status[1]));
    char *came = malloc(room + 1);
    memcpy(came, kit_get(&device, &guards[0]), room);
    const char *expected = kit_get(&host, &guards[1]);
    size_t at = 0;
    while (at < room && came[at] == expected[at])
        at++;
    CHECK(at == room && guards[0], "%s, %d elements of %lld bytes: byte %zu of %zu differs from host memory's%s",
          names[a->call], a->count, (long long)extent, at, room, guards[0] ? "" : ", and a guard has changed");
    free(came);
    free(data);
}

/* full: the file is longer than any access reaches. Otherwise nothing is read here: MPIs differ in what a read past the
 * end of the file returns, and Open MPI's nonblocking and split reads never end there. ends() has such reads. */
static MPI_Datatype draw_access(struct access *a, const struct view *view, int full)
{
    MPI_Count size, etype;
    MPI_Aint lower, extent;
    a->call = (enum call)draw_alike(full ? CALLS_ALL : CALL_iread);
    const int shared = access_has(a, "shared") || access_has(a, "ordered");
    if (shared && view->private) /* the shared file pointer asks for the same view on all ranks */
        a->call = draw_alike(2) ? CALL_read_at_all : CALL_write_all;
    if (!view->private && !access_reads(a) && !access_has(a, "ordered")) /* no two ranks write the same bytes */
        a->call = CALL_write_ordered;
    if (!view->private && (a->call == CALL_read_shared || a->call == CALL_iread_shared))
        a->call = CALL_read_ordered; /* which rank gets which bytes is open */
    if (!full && access_reads(a))
        a->call = view->private ? CALL_write_at : CALL_write_ordered;
    a->type = draw_type(view->etype);
    MPI_Type_size_x(a->type, &size);
    MPI_Type_size_x(view->etype, &etype);
    MPI_Type_get_extent(a->type, &lower, &extent);
    const uint64_t most = (uint64_t)(MOST / extent), large = draw(6) == 0;
    a->count = (int)(draw(8) == 0 ? 0 : 1 + draw(large ? most : most < 200 ? most : 200));
    a->offset = (MPI_Offset)draw(300);
    return a->type;
}

/* Before the access; collective for those at the shared file pointer. */
static void mark(const struct access *a, const struct view *view, MPI_File file)
{
    MPI_Count size, etype;
    MPI_Offset first = a->offset;
    MPI_Type_size_x(a->type, &size);
    MPI_Type_size_x(view->etype, &etype);
    const long long n = (long long)(size / etype) * a->count;
    if (access_has(a, "ordered"))
        first = marks_ordered(file, n);
    else if (!access_has(a, "_at"))
        MPI_File_get_position(file, &first);
    if (!access_reads(a))
        marks_add(&(const struct marks_view){view->begin, etype, view->length, view->step}, first, n);
}

static void contents(const char *name[2], int program, int all)
{
    MPI_File file;
    MPI_Offset size[2];
    char *bytes[2];
    for (int i = 0; i < 2; i++) {
        MPI_File_open(MPI_COMM_SELF, name[i], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
        MPI_File_get_size(file, &size[i]);
        bytes[i] = malloc((size_t)size[i] + 1);
        MPI_File_read_at(file, 0, bytes[i], (int)size[i], MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    MPI_Offset at = 0;
    while (at < size[0] && at < size[1] && (bytes[0][at] == bytes[1][at] || (!all && !marks_has(at))))
        at++;
    CHECK(size[0] == size[1] && at == size[0],
          "program %d: the files have %lld and %lld bytes and differ from byte %lld on", program, (long long)size[0],
          (long long)size[1], (long long)at);
    free(bytes[0]);
    free(bytes[1]);
}

static void program(int number, const char *name[2])
{
    MPI_File files[2];
    const int full = number % 3 != 0;
    shared_state = random_mix(kit_seed + (uint64_t)number * 1000);
    state = random_mix(shared_state + (uint64_t)kit_rank + 1);
    for (int i = 0; i < 2; i++) {
        if (MPI_File_open(MPI_COMM_WORLD, name[i], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &files[i]) !=
            MPI_SUCCESS) {
            CHECK(0, "%s cannot be opened", name[i]);
            return;
        }
        MPI_File_set_size(files[i], 0);
        MPI_File_set_size(files[i], full ? FULL : 0);
        MPI_File_set_atomicity(files[i], number % 5 == 4);
    }
    marks_clear();
    for (int part = 0; part < 2; part++) {
        struct view view = draw_view();
        for (int i = 0; i < 2; i++)
            MPI_File_set_view(files[i], view.begin, view.etype, view.filetype, "native", MPI_INFO_NULL);
        for (int step = 0; step < STEPS; step++) {
            struct access a;
            MPI_Datatype type = draw_access(&a, &view, full);
            if (draw(3) == 0) {
                const MPI_Offset to = (MPI_Offset)draw(200);
                MPI_File_seek(files[0], to, MPI_SEEK_SET);
                MPI_File_seek(files[1], to, MPI_SEEK_SET);
            }
            if (!full)
                mark(&a, &view, files[1]);
            MPI_Barrier(MPI_COMM_WORLD);
            both(&a, files);
            MPI_Type_free(&type);
            MPI_Barrier(MPI_COMM_WORLD); /* all ranks make the same call: no write goes beside a read of another rank */
        }
        view_close(&view);
    }
    MPI_File_close(&files[0]);
    MPI_File_close(&files[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    marks_meet();
    if (kit_rank == 0)
        contents(name, number, full);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A read past the end of the file, in pieces too: the status says how much was read, and the rest of the buffer stays.
 * all: by collective calls, which are in pieces as well, since this rank alone has the file. */
static void ends(const char *name, int all)
{
    enum { BYTES = 1500000, MORE = 2500000 };
    MPI_File file;
    MPI_Status status;
    int guards;
    char *data = malloc(MORE);
    for (int i = 0; i < MORE; i++)
        data[i] = (char)random_next(&state);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    CHECK((all ? MPI_File_write_all : MPI_File_write)(file, kit_put(&device, 8, data, BYTES), BYTES, MPI_BYTE,
                                                      &status) == MPI_SUCCESS,
          "a write of %d bytes", BYTES);
    CHECK(bytes_of(&status) == BYTES, "a write of %d bytes: %lld in the status", BYTES, (long long)bytes_of(&status));
    void *buffer = kit_put(&device, 16, data + 1, MORE);
    CHECK((all ? MPI_File_read_at_all : MPI_File_read_at)(file, 0, buffer, MORE, MPI_BYTE, &status) == MPI_SUCCESS,
          "a read of %d bytes", MORE);
    CHECK(bytes_of(&status) == BYTES, "a read past the end: %lld bytes in the status", (long long)bytes_of(&status));
    const char *came = kit_get(&device, &guards);
    CHECK(memcmp(came, data, BYTES) == 0 && guards, "a read past the end: other bytes than were written");
    CHECK(memcmp(came + BYTES, data + BYTES + 1, MORE - BYTES - 1) == 0,
          "a read past the end: bytes behind have changed");
    MPI_File_close(&file);
    free(data);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int programs = argc > 1 ? atoi(argv[1]) : 20;
    char text[2][96];
    const char *name[2] = {text[0], text[1]};
    int process = (int)getpid(); /* other jobs have files too */
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        snprintf(text[i], sizeof text[i], "/tmp/files-%d-%d", process, i);
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    MPI_Get_library_version(version, &length);
    is_open_mpi = strstr(version, "Open MPI") != NULL;
    kit_open(&device, KIT_DEVICE, MOST + 4096);
    kit_open(&host, KIT_HOST, MOST + 4096);
    for (int number = 0; number < programs; number++)
        program(number, name);
    snprintf(text[0] + strlen(text[0]), 16, "-%d", kit_rank);
    ends(name[0], 0);
    ends(name[0], 1);
    text[0][strlen(text[0]) - 2] = 0;
    if (kit_rank == 0) {
        MPI_File_delete(name[0], MPI_INFO_NULL);
        MPI_File_delete(name[1], MPI_INFO_NULL);
    }
    if (!kit_plain)
        CHECK(kit_counted("MPI_File_write", "staged") > 0 && kit_counted("MPI_File_", "refused") == 0,
              "writes are not counted as staged");
    kit_close(&device);
    kit_close(&host);
    return kit_end("files");
}
