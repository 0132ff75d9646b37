/* A file as programs write it from device memory: a field with a rim of ghost cells by subarray types, read again in
 * another decomposition by a darray type; and segments of blocks of transfers as IOR has them. What is in the file is
 * compared byte by byte with what belongs there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

enum { RIM = 2, ROWS = 150, COLUMNS = 260 }; /* cells of a rank; of a rim on each side */
enum { SEGMENTS = 2, BLOCK = 5 << 20, TRANSFERS = 2 };

static char name[96];
static struct kit_buffer device;

/* ---- one access of all ranks ---- */

enum form { ALONE, ALL, NONBLOCKING, NONBLOCKING_ALL, SPLIT, FORMS };
static const char *const forms[FORMS] = {"alone", "all", "nonblocking", "nonblocking all", "split"};

static void write_form(MPI_File file, enum form form, const void *buffer, int count, MPI_Datatype type)
{
    MPI_Request request;
    MPI_Status status;
    int code = MPI_SUCCESS;
    if (form == ALONE)
        code = MPI_File_write(file, buffer, count, type, &status);
    else if (form == ALL)
        code = MPI_File_write_all(file, buffer, count, type, &status);
    else if (form == SPLIT && (code = MPI_File_write_all_begin(file, buffer, count, type)) == MPI_SUCCESS)
        code = MPI_File_write_all_end(file, buffer, &status);
    else if (form == NONBLOCKING)
        code = MPI_File_iwrite(file, buffer, count, type, &request);
    else if (form == NONBLOCKING_ALL)
        code = MPI_File_iwrite_all(file, buffer, count, type, &request);
    if (code == MPI_SUCCESS && (form == NONBLOCKING || form == NONBLOCKING_ALL))
        code = MPI_Wait(&request, &status);
    CHECK(code == MPI_SUCCESS, "a write, %s: error class %d", forms[form], kit_class(code));
}

static void read_form(MPI_File file, enum form form, void *buffer, int count, MPI_Datatype type, MPI_Status *status)
{
    MPI_Request request;
    int code = MPI_SUCCESS;
    if (form == ALONE)
        code = MPI_File_read(file, buffer, count, type, status);
    else if (form == ALL)
        code = MPI_File_read_all(file, buffer, count, type, status);
    else if (form == SPLIT && (code = MPI_File_read_all_begin(file, buffer, count, type)) == MPI_SUCCESS)
        code = MPI_File_read_all_end(file, buffer, status);
    else if (form == NONBLOCKING)
        code = MPI_File_iread(file, buffer, count, type, &request);
    else if (form == NONBLOCKING_ALL)
        code = MPI_File_iread_all(file, buffer, count, type, &request);
    if (code == MPI_SUCCESS && (form == NONBLOCKING || form == NONBLOCKING_ALL))
        code = MPI_Wait(&request, status);
    CHECK(code == MPI_SUCCESS, "a read, %s: error class %d", forms[form], kit_class(code));
}

static MPI_File file_open(void)
{
    MPI_File file = MPI_FILE_NULL;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS,
          "%s cannot be opened", name);
    MPI_File_set_size(file, 0);
    return file;
}

/* Collective. The file on rank 0 is `bytes` bytes, which `right` gives from their place. */
static void file_check(MPI_File file, MPI_Offset bytes, unsigned char (*right)(MPI_Offset at), const char *what)
{
    MPI_Offset size, at = 0;
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == 0) {
        unsigned char *data = malloc((size_t)bytes);
        MPI_File_get_size(file, &size);
        CHECK(size == bytes, "%s: the file has %lld bytes, not %lld", what, (long long)size, (long long)bytes);
        MPI_File_read_at(file, 0, data, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        while (at < bytes && data[at] == right(at))
            at++;
        CHECK(at == bytes, "%s: byte %lld of the file is not what was written", what, (long long)at);
        free(data);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- the field ---- */

static int dims[2], place[2], sizes[2]; /* ranks; this one among them; cells of the field */

static int cell(int row, int column)
{
    return row * 40503 + column * 7;
}

static unsigned char field_byte(MPI_Offset at)
{
    const MPI_Offset i = at / (MPI_Offset)sizeof(int);
    const int value = cell((int)(i / sizes[1]), (int)(i % sizes[1]));
    return ((const unsigned char *)&value)[at % (MPI_Offset)sizeof(int)];
}

static void field_write(MPI_File file, enum form form)
{
    const int part[] = {ROWS, COLUMNS}, own[] = {ROWS + 2 * RIM, COLUMNS + 2 * RIM}, rim[] = {RIM, RIM};
    const int begin[] = {place[0] * ROWS, place[1] * COLUMNS};
    int guards, *cells = malloc(sizeof(int) * (size_t)own[0] * (size_t)own[1]);
    MPI_Datatype view, memory;
    for (int r = 0; r < own[0]; r++) {
        for (int c = 0; c < own[1]; c++)
            cells[r * own[1] + c] = r < RIM || c < RIM || r >= RIM + ROWS || c >= RIM + COLUMNS
                                        ? -1
                                        : cell(begin[0] + r - RIM, begin[1] + c - RIM);
    }
    MPI_Type_create_subarray(2, sizes, part, begin, MPI_ORDER_C, MPI_INT, &view);
    MPI_Type_create_subarray(2, own, part, rim, MPI_ORDER_C, MPI_INT, &memory);
    MPI_Type_commit(&view);
    MPI_Type_commit(&memory);
    MPI_File_set_view(file, 0, MPI_INT, view, "native", MPI_INFO_NULL);
    const size_t bytes = sizeof(int) * (size_t)own[0] * (size_t)own[1];
    write_form(file, form, kit_put(&device, 8, cells, bytes), 1, memory);
    CHECK(memcmp(kit_get(&device, &guards), cells, bytes) == 0 && guards, "a write has changed its buffer");
    MPI_Type_free(&view);
    MPI_Type_free(&memory);
    free(cells);
}

/* The same file, dealt out in rows of three and blocks of columns. */
static void field_read(MPI_File file, enum form form)
{
    const int how[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, of[] = {3, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Datatype view;
    MPI_Status status;
    int bytes, position = 0, guards, came = 0, *field = malloc(sizeof(int) * (size_t)sizes[0] * (size_t)sizes[1]);
    for (int i = 0; i < sizes[0] * sizes[1]; i++)
        field[i] = cell(i / sizes[1], i % sizes[1]);
    MPI_Type_create_darray(kit_size, kit_rank, 2, sizes, how, of, dims, MPI_ORDER_C, MPI_INT, &view);
    MPI_Type_commit(&view);
    MPI_Type_size(view, &bytes);
    char *expected = malloc((size_t)bytes);
    MPI_Pack(field, 1, view, expected, bytes, &position, MPI_COMM_WORLD);
    MPI_File_set_view(file, 0, MPI_INT, view, "native", MPI_INFO_NULL);
    read_form(file, form, kit_put(&device, 16, NULL, (size_t)bytes), bytes / (int)sizeof(int), MPI_INT, &status);
    MPI_Get_elements(&status, MPI_BYTE, &came);
    CHECK(came == bytes, "a read by darray, %s: %d of %d bytes in the status", forms[form], came, bytes);
    CHECK(memcmp(kit_get(&device, &guards), expected, (size_t)bytes) == 0 && guards,
          "a read by darray, %s: other bytes than were written", forms[form]);
    MPI_Type_free(&view);
    free(expected);
    free(field);
}

static void field(enum form form)
{
    MPI_File file = file_open();
    field_write(file, form);
    file_check(file, (MPI_Offset)sizeof(int) * sizes[0] * sizes[1], field_byte, forms[form]);
    field_read(file, form);
    MPI_File_close(&file);
}

/* ---- segments ---- */

static unsigned char segment_byte(MPI_Offset at)
{
    return (unsigned char)(random_mix((uint64_t)at >> 3) >> (at & 7) * 8);
}

static MPI_Offset segment_place(int segment, int rank, int transfer)
{
    return ((MPI_Offset)segment * kit_size + rank) * BLOCK + (MPI_Offset)transfer * (BLOCK / TRANSFERS);
}

/* Written by one rank, read by the next one, so that nothing comes from where it was written. */
static void segments(int together)
{
    const int bytes = BLOCK / TRANSFERS;
    int guards;
    unsigned char *data = malloc((size_t)bytes);
    MPI_File file = file_open();
    for (int read = 0; read < 2; read++) {
        for (int i = 0; i < SEGMENTS * TRANSFERS; i++) {
            const MPI_Offset at = segment_place(i / TRANSFERS, (kit_rank + read) % kit_size, i % TRANSFERS);
            for (int b = 0; b < bytes; b++)
                data[b] = segment_byte(at + b);
            void *buffer = kit_put(&device, (size_t)i * 8 % KIT_OFFSET, read ? NULL : data, (size_t)bytes);
            if (read && together)
                MPI_File_read_at_all(file, at, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
            else if (read)
                MPI_File_read_at(file, at, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
            else if (together)
                MPI_File_write_at_all(file, at, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
            else
                MPI_File_write_at(file, at, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
            CHECK(memcmp(kit_get(&device, &guards), data, (size_t)bytes) == 0 && guards,
                  "segments, %s: transfer %d is not what belongs there", read ? "read" : "write", i);
        }
        file_check(file, (MPI_Offset)SEGMENTS * kit_size * BLOCK, segment_byte, "segments");
    }
    MPI_File_close(&file);
    free(data);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    int process = (int)getpid(); /* other jobs have files too */
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "%s/views-%d", argc > 1 ? argv[1] : "/tmp", process);
    MPI_Dims_create(kit_size, 2, dims);
    place[0] = kit_rank / dims[1];
    place[1] = kit_rank % dims[1];
    sizes[0] = dims[0] * ROWS;
    sizes[1] = dims[1] * COLUMNS;
    kit_open(&device, KIT_DEVICE, BLOCK);
    for (int form = 0; form < FORMS; form++)
        field((enum form)form);
    segments(0);
    segments(1);
    if (kit_rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    if (!kit_plain)
        CHECK(kit_counted("MPI_File_write_at", "staged") > 0 && kit_counted("MPI_File_", "refused") == 0,
              "writes are not counted as staged");
    kit_close(&device);
    return kit_end("views");
}
