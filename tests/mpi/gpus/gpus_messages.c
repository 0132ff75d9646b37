/* Messages: the receive of each is posted before any rank waits, or its send waits for no rank. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpus.h"

enum { MESSAGES = 6 };
enum send { SEND, SSEND, RSEND, ISEND, ISSEND, BSEND, IBSEND, SEND_INIT, SENDS };
enum receive { IRECV, RECV_INIT, RECV, PROBE, MPROBE, RECEIVES };
static const char *const send_names[] = {"Send", "Ssend", "Rsend", "Isend", "Issend", "Bsend", "Ibsend", "Send_init"};
static const char *const receive_names[] = {"Irecv", "Recv_init", "Recv", "Probe", "Mprobe"};

struct message {
    int from, to, tag, posted;
    enum send send;
    enum receive receive;
    enum gpus_form out, in;
    size_t bytes;
    uint64_t name;
    struct gpus_side sends, receives;
    MPI_Request sending, receiving; /* MPI_REQUEST_NULL: none */
};

static void draw_ways(struct message *message, struct gpus_draw *draw)
{
    const uint64_t send = gpus_below(draw, SENDS), receive = gpus_below(draw, RECEIVES);
    message->send = gpus_may(GPUS_modes) || send == ISEND ? (enum send)send : SEND;
    message->receive = (enum receive)receive;
    if (!gpus_may(GPUS_persistent)) {
        message->send = message->send == SEND_INIT ? ISEND : message->send;
        message->receive = message->receive == RECV_INIT ? IRECV : message->receive;
    }
    if (!gpus_may(GPUS_probe) && message->receive >= PROBE)
        message->receive = RECV;
    if (message->send <= RSEND && message->receive > RECV_INIT)
        message->receive = IRECV;
}

static void draw_message(struct message *message, struct gpus_draw *draw, int i)
{
    *message = (struct message){.tag = 1 + i, .sending = MPI_REQUEST_NULL, .receiving = MPI_REQUEST_NULL};
    message->from = (int)gpus_below(draw, (uint64_t)kit_size);
    message->to = (int)gpus_below(draw, (uint64_t)kit_size);
    if (message->to == message->from && !gpus_may(GPUS_self))
        message->to = (message->from + 1) % kit_size;
    draw_ways(message, draw);
    message->out = gpus_form(draw);
    message->in = gpus_form(draw);
    message->bytes = gpus_below(draw, 20) ? gpus_bytes(draw) : 0;
    message->name = gpus_name * 4096 + (uint64_t)i;
}

static void post(struct message *m)
{
    struct gpus_side *s = &m->receives;
    if (m->receive == IRECV)
        MPI_Irecv(s->buffer, s->count, s->type, m->from, m->tag, MPI_COMM_WORLD, &m->receiving);
    if (m->receive != RECV_INIT)
        return;
    MPI_Recv_init(s->buffer, s->count, s->type, m->from, m->tag, MPI_COMM_WORLD, &m->receiving);
    MPI_Start(&m->receiving);
}

static void send(struct message *m)
{
    struct gpus_side *s = &m->sends;
    MPI_Request *r = &m->sending;
    const MPI_Comm world = MPI_COMM_WORLD;
    switch (m->send) {
    case SEND:
        MPI_Send(s->buffer, s->count, s->type, m->to, m->tag, world);
        break;
    case SSEND:
        MPI_Ssend(s->buffer, s->count, s->type, m->to, m->tag, world);
        break;
    case RSEND:
        MPI_Rsend(s->buffer, s->count, s->type, m->to, m->tag, world);
        break;
    case ISEND:
        MPI_Isend(s->buffer, s->count, s->type, m->to, m->tag, world, r);
        break;
    case ISSEND:
        MPI_Issend(s->buffer, s->count, s->type, m->to, m->tag, world, r);
        break;
    case BSEND:
        MPI_Bsend(s->buffer, s->count, s->type, m->to, m->tag, world);
        break;
    case IBSEND:
        MPI_Ibsend(s->buffer, s->count, s->type, m->to, m->tag, world, r);
        break;
    default:
        MPI_Send_init(s->buffer, s->count, s->type, m->to, m->tag, world, r);
        MPI_Start(r);
    }
}

static void check_status(const struct message *m, MPI_Status *status, MPI_Datatype type, const char *what)
{
    int elements = -1;
    MPI_Get_elements(status, type, &elements);
    CHECK(status->MPI_SOURCE == m->from && status->MPI_TAG == m->tag && elements == (int)m->bytes,
          "%s: the status of %s has source %d, tag %d and %d bytes, not %d, %d and %zu", gpus_now, what,
          status->MPI_SOURCE, status->MPI_TAG, elements, m->from, m->tag, m->bytes);
}

static void receive(struct message *m)
{
    struct gpus_side *s = &m->receives;
    MPI_Status status;
    MPI_Message handle;
    if (m->receive == PROBE) {
        MPI_Probe(m->from, m->tag, MPI_COMM_WORLD, &status);
        check_status(m, &status, MPI_BYTE, "MPI_Probe");
    }
    if (m->receive == MPROBE) {
        MPI_Mprobe(m->from, m->tag, MPI_COMM_WORLD, &handle, &status);
        check_status(m, &status, MPI_BYTE, "MPI_Mprobe");
        MPI_Mrecv(s->buffer, s->count, s->type, &handle, &status);
    } else {
        MPI_Recv(s->buffer, s->count, s->type, m->from, m->tag, MPI_COMM_WORLD, &status);
    }
    check_status(m, &status, s->type, receive_names[m->receive]);
}

static void finish(struct message *m)
{
    MPI_Status status;
    if (m->receiving != MPI_REQUEST_NULL) {
        MPI_Wait(&m->receiving, &status);
        check_status(m, &status, m->receives.type, receive_names[m->receive]);
        if (m->receive == RECV_INIT)
            MPI_Request_free(&m->receiving);
    }
    if (m->sending != MPI_REQUEST_NULL) {
        MPI_Wait(&m->sending, MPI_STATUS_IGNORE);
        if (m->send == SEND_INIT)
            MPI_Request_free(&m->sending);
    }
}

static void open_sides(struct message *m)
{
    int with = GPUS_HOST - 1;
    if (m->from == kit_rank) {
        char *data = gpus_data(m->name, m->bytes);
        gpus_side_open(&m->sends, m->out, m->bytes, data, &with);
        free(data);
    }
    if (m->to == kit_rank)
        gpus_side_open(&m->receives, m->in, m->bytes, NULL, &with);
}

static void close_sides(struct message *m)
{
    char what[2 * sizeof gpus_now];
    snprintf(what, sizeof what, "%s of %zu bytes from %d to %d, %s, %s", gpus_now, m->bytes, m->from, m->to,
             send_names[m->send], receive_names[m->receive]);
    if (m->from == kit_rank)
        gpus_side_close(&m->sends, what);
    if (m->to != kit_rank)
        return;
    char *data = gpus_data(m->name, m->bytes);
    gpus_side_want(&m->receives, 0, data, m->bytes);
    free(data);
    gpus_side_close(&m->receives, what);
}

void gpus_messages(struct gpus_draw *draw)
{
    struct message messages[MESSAGES];
    const int n = 1 + (int)gpus_below(draw, MESSAGES);
    int ready = 0;
    for (int i = 0; i < n; i++) {
        draw_message(&messages[i], draw, i);
        ready |= messages[i].send == RSEND;
        open_sides(&messages[i]);
    }
    gpus_say("%d messages", n);
    for (int i = 0; i < n; i++) {
        if (messages[i].to == kit_rank)
            post(&messages[i]);
    }
    if (ready)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int pass = 0; pass < 2; pass++) { /* what waits for nobody comes first */
        for (int i = 0; i < n; i++) {
            if (messages[i].from == kit_rank && (messages[i].send > RSEND) == (pass == 0))
                send(&messages[i]);
        }
    }
    for (int i = 0; i < n; i++) {
        if (messages[i].to == kit_rank && messages[i].receive > RECV_INIT)
            receive(&messages[i]);
    }
    for (int i = 0; i < n; i++)
        finish(&messages[i]);
    for (int i = 0; i < n; i++)
        close_sides(&messages[i]);
}

/* Every rank to the one behind it, also in place. */
void gpus_sendrecv(struct gpus_draw *draw)
{
    const int step = (int)gpus_below(draw, (uint64_t)kit_size), replace = gpus_below(draw, 3) == 0;
    const int to = (kit_rank + step) % kit_size, from = (kit_rank + kit_size - step) % kit_size;
    const enum gpus_form out = gpus_form(draw), in = gpus_form(draw);
    const size_t bytes = gpus_bytes(draw);
    char *mine = gpus_data(gpus_name * 4096 + (uint64_t)kit_rank, bytes);
    char *theirs = gpus_data(gpus_name * 4096 + (uint64_t)from, bytes);
    struct gpus_side send, receive;
    int with = GPUS_HOST - 1;
    MPI_Status status;
    gpus_say("Sendrecv%s of %zu bytes, %d ranks on", replace ? "_replace" : "", bytes, step);
    gpus_side_open(&receive, in, bytes, replace ? mine : NULL, &with);
    if (replace) {
        MPI_Sendrecv_replace(receive.buffer, receive.count, receive.type, to, 7, from, 7, MPI_COMM_WORLD, &status);
    } else {
        gpus_side_open(&send, out, bytes, mine, &with);
        MPI_Sendrecv(send.buffer, send.count, send.type, to, 7, receive.buffer, receive.count, receive.type, from, 7,
                     MPI_COMM_WORLD, &status);
        gpus_side_close(&send, gpus_now);
    }
    const struct message expected = {.from = from, .tag = 7, .bytes = bytes};
    check_status(&expected, &status, receive.type, "MPI_Sendrecv");
    gpus_side_want(&receive, 0, theirs, bytes);
    gpus_side_close(&receive, gpus_now);
    free(mine);
    free(theirs);
}

/* MPI_Pack of MPICH refuses MPI_BOTTOM: the MPI is asked, with host memory. */
static int packs_from_bottom(void)
{
    static int answer = -1;
    char byte = 1, packed[8];
    int position = 0, length = 1;
    MPI_Aint at;
    MPI_Datatype type;
    if (answer >= 0)
        return answer;
    MPI_Get_address(&byte, &at);
    MPI_Type_create_hindexed(1, &length, &at, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    answer = MPI_Pack(MPI_BOTTOM, 1, type, packed, sizeof packed, &position, MPI_COMM_WORLD) == MPI_SUCCESS;
    MPI_Type_free(&type);
    return answer;
}

static enum gpus_form pack_form(struct gpus_draw *draw)
{
    const enum gpus_form form = gpus_form(draw);
    return form == GPUS_BOTTOM && !packs_from_bottom() ? GPUS_PLAIN : form;
}

/* Local: each rank draws for itself. */
void gpus_packs(struct gpus_draw *draw)
{
    struct gpus_draw *own = &gpus_life.own;
    (void)draw;
    const size_t bytes = gpus_bytes(own);
    char *data = gpus_data(gpus_name, bytes);
    struct gpus_side from, packed, to;
    int with = GPUS_HOST - 1, room = 0, at = 0, end = 0;
    gpus_say("Pack and Unpack of %zu bytes", bytes);
    gpus_side_open(&from, pack_form(own), bytes, data, &with);
    gpus_side_open(&to, pack_form(own), bytes, NULL, &with);
    MPI_Pack_size(from.count, from.type, MPI_COMM_WORLD, &room);
    gpus_side_open(&packed, GPUS_PLAIN, (size_t)room, NULL, &with);
    int error = MPI_Pack(from.buffer, from.count, from.type, packed.buffer, room, &at, MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS, "%s: error %d of MPI_Pack", gpus_now, error);
    gpus_side_learn(&packed);
    error = MPI_Unpack(packed.buffer, at, &end, to.buffer, to.count, to.type, MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS, "%s: error %d of MPI_Unpack", gpus_now, error);
    CHECK(end == at, "%s: %d bytes were unpacked of %d", gpus_now, end, at);
    gpus_side_want(&to, 0, data, bytes);
    gpus_side_close(&from, gpus_now);
    gpus_side_close(&packed, gpus_now);
    gpus_side_close(&to, gpus_now);
    free(data);
}
