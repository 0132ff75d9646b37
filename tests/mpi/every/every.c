/* Each wrapped call of calls.def that names a buffer, with its buffers in host, device, pinned and managed memory,
 * mixed over the ranks, beside the same call in host memory: all bytes of all buffers, positions, statuses, windows and
 * files are the same. A row that is neither drawn nor in the list `others` below fails the test, so a new row needs
 * nothing here unless its parameters have new names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "every.h"

MPI_Comm every_ring;
MPI_File every_files[2];
int every_neighbours;
MPI_Datatype every_types[EVERY_FAMILIES][EVERY_MEMBERS];

/* Rows that name a buffer and are not drawn. */
static const struct {
    const char *name, *why;
} others[] = {
    {"MPI_Buffer_attach", "attached for the calls of buffered sends"},
    {"MPI_Comm_attach_buffer", "MPI 4.1: mpi-attached"},
    {"MPI_Session_attach_buffer", "MPI 4.1: mpi-attached"},
    {"MPI_Win_create", "makes the windows of all rows that have one"},
    {"_end", "drawn with its beginning"},
};

static const char *why_not(const struct every_row *row)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const char *name = others[i].name, *at = strstr(row->name, name);
        if (at && (at == row->name || name[0] == '_') && (!at[strlen(name)] || strcmp(at + strlen(name), "_c") == 0))
            return others[i].why;
    }
    return NULL;
}

/* Of rows of a kind that has no function here, those with buffers are in the list. */
static int names_no_buffer(const struct every_row *row)
{
    return strcmp(row->buffers, "NO_BUFFER") == 0;
}

/* ---- comparing ---- */

static const char *const kinds[EVERY_KINDS] = {"host", "device", "pinned", "managed"};

static void same_bytes(const struct every_call *call, const char *what, const char *kind, const char *mixed,
                       const char *host)
{
    size_t at = 0;
    while (mixed && at < call->bytes && mixed[at] == host[at])
        at++;
    if (!mixed ||
        CHECK(at == call->bytes, "%s: %s (%s memory) differs from host memory's", call->row->name, what, kind))
        return;
    printf(
        "rank %d: %s, %lld elements, family %d, in place %d: byte %zu of %zu of %s is 0x%02x, in host memory 0x%02x\n",
        kit_rank, call->row->name, (long long)call->args.sendcount, call->family, call->in_place, at, call->bytes, what,
        (unsigned char)mixed[at], (unsigned char)host[at]);
}

/* 1 where the standard leaves what a buffer holds open. */
static int is_open(const struct every_call *call, int buffer)
{
    return buffer == 1 && kit_rank == 0 && (every_named(call->row, "Exscan") || every_named(call->row, "Iexscan"));
}

static void compare(const struct every_call *call, const struct every_result *mixed, const struct every_result *host)
{
    static const char *const names[] = {"the first buffer", "the second buffer", "the compared buffer",
                                        "the other side's buffer"};
    CHECK(kit_class(mixed->code) == kit_class(host->code), "%s: error class %d, in host memory %d", call->row->name,
          kit_class(mixed->code), kit_class(host->code));
    if (host->code != MPI_SUCCESS || mixed->code != MPI_SUCCESS)
        return;
    CHECK(mixed->received == host->received && mixed->source == host->source &&
              (mixed->tag == host->tag || every_tag_is_wrong(call->row)),
          "%s, %lld elements: %lld bytes from rank %d with tag %d in the status, in host memory %lld, %d, %d",
          call->row->name, (long long)call->args.count, (long long)mixed->received, mixed->source, mixed->tag,
          (long long)host->received, host->source, host->tag);
    CHECK(mixed->position == host->position, "%s: position %lld, in host memory %lld", call->row->name,
          (long long)mixed->position, (long long)host->position);
    for (int b = 0; b < EVERY_BUFFERS; b++) {
        if (!is_open(call, b))
            same_bytes(call, names[b], kinds[call->kind[b]], mixed->data[b], host->data[b]);
    }
    same_bytes(call, "the window", kinds[call->window], mixed->window, host->window);
}

/* ---- rounds ---- */

static int shows_names; /* TUTTI_TEST_NAMES: each row is named before it is run */
static int *drawn;      /* of each row: how often it has succeeded */

static void draw_row(int i, int round)
{
    struct every_call call = {.row = &every_rows[i]};
    struct every_result mixed, host;
    call.shared = random_mix(kit_seed + (uint64_t)round * 100003 + (uint64_t)i);
    call.own = random_mix(call.shared + (uint64_t)kit_rank + 1);
    every_call_draw(&call);
    if (shows_names && kit_rank == 0)
        fprintf(stderr, "%s%s\n", call.row->name, call.skipped ? ", left out" : "");
    every_run(&call, 1, &mixed);
    every_run(&call, 0, &host);
    compare(&call, &mixed, &host);
    drawn[i] += host.code == MPI_SUCCESS;
    every_result_free(&mixed);
    every_result_free(&host);
    every_call_free(&call);
}

static void check_rows(void)
{
    int lacking = 0, refused = 0, all = 0;
    for (int i = 0; i < every_row_count; i++) {
        const struct every_row *row = &every_rows[i];
        all += drawn[i] > 0;
        if (names_no_buffer(row) || why_not(row) || drawn[i])
            continue;
        if (CHECK(row->run != NULL, "%s names a buffer, is not drawn and is not in the list of others", row->name) &&
            !row->run(NULL, 1))
            lacking++;
        else
            refused += row->run != NULL;
    }
    if (kit_rank == 0)
        printf("every: %d calls were drawn; this MPI lacks %d, and refuses %d in host memory too\n", all, lacking,
               refused);
}

/* ---- handles ---- */

static void open_types(void)
{
    MPI_Datatype(*t)[EVERY_MEMBERS] = every_types;
    t[0][0] = MPI_INT;
    MPI_Type_create_resized(MPI_INT, 0, 8, &t[0][1]);
    MPI_Type_contiguous(1, MPI_INT, &t[0][2]);
    MPI_Type_vector(3, 1, 2, MPI_INT, &t[1][0]);
    MPI_Type_contiguous(3, MPI_INT, &t[1][1]);
    MPI_Type_vector(3, 1, 3, MPI_INT, &t[1][2]);
    t[2][0] = t[2][1] = t[2][2] = MPI_DOUBLE;
    for (int f = 0; f < 2; f++) {
        for (int m = f == 0 ? 1 : 0; m < EVERY_MEMBERS; m++)
            MPI_Type_commit(&t[f][m]);
    }
}

static void open_ring(void)
{
    const int ranks[] = {(kit_rank + kit_size - 1) % kit_size, (kit_rank + 1) % kit_size}, weights[] = {1, 1};
    every_neighbours = kit_size > 2 ? 2 : 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, every_neighbours, ranks, weights, every_neighbours, ranks, weights,
                                   MPI_INFO_NULL, 0, &every_ring);
}

static void open_files(void)
{
    enum { BYTES = 8 << 20 };
    char name[96], *data = malloc(BYTES);
    int process = (int)getpid();
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < BYTES; i++)
        data[i] = (char)(i * 31 >> 3);
    for (int f = 0; f < 2; f++) {
        snprintf(name, sizeof name, "/tmp/every-%d-%d", process, f);
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &every_files[f]);
        if (kit_rank == 0)
            MPI_File_write_at(every_files[f], 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    free(data);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void close_files(void)
{
    MPI_Offset size[2];
    char *data[2];
    for (int f = 0; f < 2; f++) {
        MPI_File_set_view(every_files[f], 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        MPI_File_get_size(every_files[f], &size[f]);
        data[f] = malloc((size_t)size[f]);
        MPI_File_read_at(every_files[f], 0, data[f], (int)size[f], MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_close(&every_files[f]);
    }
    CHECK(size[0] == size[1] && memcmp(data[0], data[1], (size_t)size[0]) == 0,
          "the files have %lld and %lld bytes, and differ", (long long)size[0], (long long)size[1]);
    free(data[0]);
    free(data[1]);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int rounds = argc > 1 ? atoi(argv[1]) : 2;
    const char *only = argc > 2 ? argv[2] : "";
    if (kit_size < 2 || kit_size > EVERY_RANKS)
        kit_skip("every", "2 to 8 ranks are needed");
    drawn = calloc((size_t)every_row_count, sizeof *drawn);
    shows_names = getenv("TUTTI_TEST_NAMES") != NULL;
    const int windows = kit_makes_windows();
    if (!windows && kit_rank == 0)
        puts("every: this MPI makes no windows here: one-sided calls are left out");
    open_types();
    open_ring();
    open_files();
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < every_row_count; i++) {
            const struct every_row *row = &every_rows[i];
            if (row->run && !names_no_buffer(row) && !why_not(row) && (windows || !every_has(row, "win")) &&
                row->run(NULL, 1) && strstr(row->name, only))
                draw_row(i, round);
        }
    }
    close_files();
    check_rows();
    free(drawn);
    MPI_Comm_free(&every_ring);
    return kit_end("every");
}
