/* One call in one kind of memory or in all: the harness around it, by the names of its parameters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "every.h"

struct run {
    const struct every_call *call;
    const struct every_row *row;
    struct every_args a;
    struct every_buffer buffer[EVERY_BUFFERS], window, attached;
    MPI_Request partner;
    int mixed;
};

/* ---- memory ---- */

static void *address(const struct run *run, int b)
{
    return run->buffer[b].base ? run->buffer[b].base + run->call->offset[b] : NULL;
}

static void open_buffers(struct run *run)
{
    const struct every_call *call = run->call;
    for (int b = 0; b < EVERY_BUFFERS; b++) {
        if (!call->used[b])
            continue;
        every_buffer_open(&run->buffer[b], run->mixed ? call->kind[b] : EVERY_HOST, call->bytes);
        every_buffer_write(&run->buffer[b], call->data[b]);
    }
    struct every_args *a = &run->a;
    a->buf = a->sendbuf = a->origin_addr = a->inbuf = address(run, 0);
    a->recvbuf = a->result_addr = a->outbuf = a->inoutbuf = address(run, 1);
    a->compare_addr = address(run, 2);
    if (call->in_place == 1)
        a->sendbuf = MPI_IN_PLACE;
    if (call->in_place == 2)
        a->recvbuf = MPI_IN_PLACE;
}

static void attach(struct run *run)
{
    if (!every_named(run->row, "send") || !strchr("Bb", run->row->name[4 + (run->row->name[4] == 'I')]))
        return;
    const size_t bytes = run->call->bytes + MPI_BSEND_OVERHEAD + 4096;
    every_buffer_open(&run->attached, run->mixed ? run->call->kind[3] : EVERY_HOST, bytes);
    MPI_Buffer_attach(run->attached.base, (int)bytes);
}

static void detach(struct run *run)
{
    void *memory;
    int bytes;
    if (!run->attached.base)
        return;
    MPI_Buffer_detach(&memory, &bytes);
    CHECK(memory == run->attached.base, "%s: another buffer is detached", run->row->name);
    every_buffer_close(&run->attached);
}

/* ---- windows and files ---- */

static void open_window(struct run *run)
{
    if (!every_has(run->row, "win"))
        return;
    every_buffer_open(&run->window, run->mixed ? run->call->window : EVERY_HOST, run->call->bytes);
    every_buffer_write(&run->window, run->call->window_data);
    CHECK(MPI_Win_create(run->window.base, (MPI_Aint)run->call->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &run->a.win) ==
              MPI_SUCCESS,
          "%s: a window in memory of kind %d", run->row->name, (int)run->window.kind);
    MPI_Win_lock_all(0, run->a.win);
}

static void close_window(struct run *run)
{
    if (!every_has(run->row, "win"))
        return;
    MPI_Win_unlock_all(run->a.win);
    MPI_Win_free(&run->a.win); /* all ranks meet */
}

/* Files of one pointer have one view; otherwise the ranks' parts lie between each other. */
static void open_view(struct run *run)
{
    enum { BLOCK = 8 };
    MPI_Datatype vector, view;
    if (!every_has(run->row, "fh"))
        return;
    run->a.fh = every_files[run->mixed ? 0 : 1];
    const int one = every_named(run->row, "_shared") || every_named(run->row, "_ordered");
    MPI_Type_vector(1, BLOCK, BLOCK, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, (one ? 1 : kit_size) * BLOCK * (MPI_Aint)sizeof(int), &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(run->a.fh, one ? 0 : kit_rank * BLOCK * (MPI_Offset)sizeof(int), MPI_INT, view, "native",
                      MPI_INFO_NULL);
    MPI_Type_free(&vector);
    MPI_Type_free(&view);
}

/* ---- the other side of a message ---- */

static int is_send(const struct run *run)
{
    return every_has(run->row, "dest") && !every_has(run->row, "source");
}
static int is_receive(const struct run *run)
{
    return !every_has(run->row, "dest") && (every_has(run->row, "source") || every_has(run->row, "message"));
}

static void meet_partner(struct run *run)
{
    struct every_args *a = &run->a;
    const struct every_call *call = run->call;
    MPI_Datatype type = every_types[call->family][(kit_rank + 1) % EVERY_MEMBERS];
    run->partner = MPI_REQUEST_NULL;
    if (is_send(run))
        MPI_Irecv(address(run, 3), (int)a->count, type, (kit_rank + kit_size - 1) % kit_size, a->tag, MPI_COMM_WORLD,
                  &run->partner);
    else if (is_receive(run))
        MPI_Isend(address(run, 3), (int)a->sendcount, type, (kit_rank + 1) % kit_size, a->tag, MPI_COMM_WORLD,
                  &run->partner);
    if (every_named(run->row, "rsend") || every_named(run->row, "Rsend"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (every_has(run->row, "message"))
        MPI_Mprobe((kit_rank + kit_size - 1) % kit_size, a->tag, MPI_COMM_WORLD, &a->message, MPI_STATUS_IGNORE);
}

/* ---- the call ---- */

static int complete(struct run *run)
{
    struct every_args *a = &run->a;
    int code = MPI_SUCCESS;
    if (!every_has(run->row, "request")) {
        MPI_Wait(&run->partner, MPI_STATUS_IGNORE);
        return code;
    }
    for (int start = 0; start < run->call->starts && code == MPI_SUCCESS; start++) {
        if (every_named(run->row, "_init")) {
            meet_partner(run);
            code = MPI_Start(&a->request);
        }
        if (code == MPI_SUCCESS)
            code = MPI_Wait(&a->request, &a->status);
        MPI_Wait(&run->partner, MPI_STATUS_IGNORE);
    }
    if (every_named(run->row, "_init"))
        MPI_Request_free(&a->request);
    return code;
}

static int make(struct run *run)
{
    struct every_args *a = &run->a;
    run->partner = MPI_REQUEST_NULL;
    a->request = MPI_REQUEST_NULL;
    if (!every_named(run->row, "_init"))
        meet_partner(run);
    int code = run->row->run(a, 0);
    const char *begin = strstr(run->row->name, "_begin");
    if (code == MPI_SUCCESS && begin) {
        char end[64];
        snprintf(end, sizeof end, "%.*s_end", (int)(begin - run->row->name), run->row->name);
        code = every_find(end)->run(a, 0);
    }
    return code == MPI_SUCCESS ? complete(run) : code;
}

static void read_result(struct run *run, struct every_result *result)
{
    const struct every_args *a = &run->a;
    const int states = is_receive(run) || every_has(run->row, "recvtag") || every_has(run->row, "fh");
    result->received = -1;
    if (result->code == MPI_SUCCESS && states && !run->call->skipped) {
        MPI_Status status = a->status;
        MPI_Get_elements_x(&status, MPI_BYTE, &result->received);
        result->source = every_has(run->row, "fh") ? 0 : status.MPI_SOURCE;
        result->tag = every_has(run->row, "fh") ? 0 : status.MPI_TAG;
    }
    result->position = a->position;
    for (int b = 0; b < EVERY_BUFFERS; b++) {
        if (!run->buffer[b].base)
            continue;
        result->data[b] = malloc(run->call->bytes);
        every_buffer_read(&run->buffer[b], result->data[b]);
        every_buffer_close(&run->buffer[b]);
    }
    if (run->window.base) {
        result->window = malloc(run->call->bytes);
        every_buffer_read(&run->window, result->window);
        every_buffer_close(&run->window);
    }
}

void every_run(const struct every_call *call, int mixed, struct every_result *result)
{
    struct run run = {.call = call, .row = call->row, .a = call->args, .mixed = mixed};
    *result = (struct every_result){.code = MPI_SUCCESS};
    open_buffers(&run);
    open_window(&run);
    open_view(&run);
    attach(&run);
    if (!call->skipped)
        result->code = make(&run);
    detach(&run);
    close_window(&run);
    MPI_Barrier(MPI_COMM_WORLD);
    read_result(&run, result);
}

void every_result_free(struct every_result *result)
{
    for (int b = 0; b < EVERY_BUFFERS; b++)
        free(result->data[b]);
    free(result->window);
}
