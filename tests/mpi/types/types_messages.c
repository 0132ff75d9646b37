/* Messages of random types between two ranks, in host or device memory on either side: every mode of sending, every way
 * of receiving and completing, fewer elements than there is room for, packed messages on one side, types freed while
 * the message is on its way. Arguments: number of messages, most elements of
 * one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "typegen.h"

enum { MOST = 2048 };
static size_t counts = 3, room; /* most elements; bytes of any buffer */

enum way {
    SEND_IRECV,
    SSEND_IRECV,
    ISEND_IRECV,
    ISSEND_RECV,
    IBSEND_RECV,
    BSEND_MRECV,
    ISEND_IMRECV,
    IRSEND_IRECV,
    SENDRECV,
    SENDRECV_REPLACE,
    FREED_TYPE,
    PACKED_TO_TYPE,
    TYPE_TO_PACKED,
    PERSISTENT,
    WAYS
};
static const char *const names[WAYS] = {
    "Send, Irecv",   "Ssend, Irecv",         "Isend, Irecv",       "Issend, Recv", "Ibsend, Recv",
    "Bsend, Mrecv",  "Isend, Imrecv",        "Irsend, Irecv",      "Sendrecv",     "Sendrecv_replace",
    "type is freed", "MPI_Pack to the type", "type to MPI_Unpack", "persistent"};

static struct kit_buffer from[2], to[2], packed[2];
static unsigned char *source, *target, *want, *message;
static int peer, tag; /* another tag for each message */

static void fill(unsigned char *bytes, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)random_mix(seed + i);
}

/* What both ranks know of one message; each sends one and receives one. */
struct mail {
    struct typegen type;
    enum way way;
    int sent, room; /* elements */
    uint64_t seed;
    int kind_out, kind_in;
    MPI_Count lowest_out, lowest_in;
    size_t span_out, span_in, bytes;
};

/* The contents that rank sends. */
static void source_of(const struct mail *m, int rank)
{
    fill(source, m->span_out, m->seed + (uint64_t)rank * 7919);
}

static void check_status(const struct mail *m, MPI_Status *status, const char *what)
{
    int count = -7, wanted = -7;
    MPI_Count elements = -7, wanted_elements = -7;
    MPI_Status other;
    memset(&other, 0, sizeof other);
    MPI_Status_set_elements_x(&other, MPI_BYTE, (MPI_Count)m->bytes);
    MPI_Get_count(status, m->type.type, &count);
    MPI_Get_count(&other, m->type.type, &wanted);
#ifdef OPEN_MPI /* MPICH 4.0 divides by zero in some of these types */
    MPI_Get_elements_x(status, m->type.type, &elements);
    MPI_Get_elements_x(&other, m->type.type, &wanted_elements);
#endif
    CHECK(count == wanted && (m->bytes == 0 || count == m->sent), "%s: MPI_Get_count says %d, not %d, of %s", what,
          count, wanted, m->type.text);
    CHECK(elements == wanted_elements, "%s: MPI_Get_elements says %lld, not %lld, of %s", what, (long long)elements,
          (long long)wanted_elements, m->type.text);
    CHECK(status->MPI_SOURCE == peer && status->MPI_TAG == tag, "%s: from %d, tag %d", what, status->MPI_SOURCE,
          status->MPI_TAG);
}

static void check_arrival(const struct mail *m, const unsigned char *before, const char *what)
{
    unsigned char *expect = malloc(m->span_in + 1);
    source_of(m, peer);
    typegen_pack(&m->type, m->sent, source - m->lowest_out, want, room);
    memcpy(expect, before, m->span_in);
    typegen_unpack(&m->type, m->sent, expect - m->lowest_in, want, m->bytes);
    const char *got = kit_get(&to[m->kind_in], NULL);
    size_t wrong = 0;
    while (wrong < m->span_in && (unsigned char)got[wrong] == expect[wrong])
        wrong++;
    CHECK(wrong == m->span_in, "%s, %d->%d, %d of %d x %s: byte %zu of %zu is %02x, not %02x, was %02x", what,
          m->kind_out, m->kind_in, m->sent, m->room, m->type.text, wrong, m->span_in, (unsigned char)got[wrong],
          expect[wrong], before[wrong]);
    free(expect);
}

static int run(struct mail *m, char *out, char *in, MPI_Status *status)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Datatype type = m->type.type;
    MPI_Request requests[2];
    MPI_Status both[2];
    MPI_Message waiting;
    int error = MPI_SUCCESS, flag = 0, position = 0, size = 0;
    switch (m->way) {
    case SEND_IRECV:
    case SSEND_IRECV:
        MPI_Irecv(in, m->room, type, peer, tag, comm, requests);
        error = m->way == SEND_IRECV ? MPI_Send(out, m->sent, type, peer, tag, comm)
                                     : MPI_Ssend(out, m->sent, type, peer, tag, comm);
        return MPI_Wait(requests, status) | error;
    case ISEND_IRECV:
        MPI_Irecv(in, m->room, type, peer, tag, comm, requests);
        MPI_Isend(out, m->sent, type, peer, tag, comm, requests + 1);
        error = MPI_Waitall(2, requests, both);
        *status = both[0];
        return error;
    case IRSEND_IRECV:
        MPI_Irecv(in, m->room, type, peer, tag, comm, requests);
        MPI_Barrier(comm);
        MPI_Irsend(out, m->sent, type, peer, tag, comm, requests + 1);
        error = MPI_Waitall(2, requests, both);
        *status = both[0];
        return error;
    case ISSEND_RECV:
    case IBSEND_RECV:
        error = m->way == ISSEND_RECV ? MPI_Issend(out, m->sent, type, peer, tag, comm, requests)
                                      : MPI_Ibsend(out, m->sent, type, peer, tag, comm, requests);
        error |= MPI_Recv(in, m->room, type, peer, tag, comm, status);
        return MPI_Wait(requests, MPI_STATUS_IGNORE) | error;
    case BSEND_MRECV:
        error = MPI_Bsend(out, m->sent, type, peer, tag, comm);
        MPI_Mprobe(peer, tag, comm, &waiting, both);
        return MPI_Mrecv(in, m->room, type, &waiting, status) | error;
    case ISEND_IMRECV:
        error = MPI_Isend(out, m->sent, type, peer, tag, comm, requests);
        MPI_Mprobe(peer, tag, comm, &waiting, both);
        MPI_Imrecv(in, m->room, type, &waiting, requests + 1);
        while (!flag)
            error |= MPI_Test(requests + 1, &flag, status);
        return MPI_Wait(requests, MPI_STATUS_IGNORE) | error;
    case SENDRECV:
        return MPI_Sendrecv(out, m->sent, type, peer, tag, in, m->room, type, peer, tag, comm, status);
    case SENDRECV_REPLACE:
        return MPI_Sendrecv_replace(in, m->room, type, peer, tag, peer, tag, comm, status);
    case FREED_TYPE:
        MPI_Type_dup(type, &type);
        MPI_Irecv(in, m->room, type, peer, tag, comm, requests);
        MPI_Isend(out, m->sent, type, peer, tag, comm, requests + 1);
        MPI_Type_free(&type);
        MPI_Type_contiguous(3, MPI_SHORT, &type); /* may get the handle of the freed one */
        MPI_Type_commit(&type);
        error = MPI_Waitall(2, requests, both);
        *status = both[0];
        MPI_Type_free(&type);
        return error;
    case PACKED_TO_TYPE:
        MPI_Irecv(in, m->room, type, peer, tag, comm, requests);
        MPI_Pack_size(m->sent, type, comm, &size);
        char *place = kit_put(&packed[m->kind_in], 0, NULL, (size_t)size);
        error = MPI_Pack(out, m->sent, type, place, size, &position, comm);
        error |= MPI_Send(place, position, MPI_PACKED, peer, tag, comm);
        return MPI_Wait(requests, status) | error;
    case TYPE_TO_PACKED:
        MPI_Pack_size(m->sent, type, comm, &size);
        place = kit_put(&packed[m->kind_out], 0, NULL, (size_t)size);
        MPI_Irecv(place, size, MPI_PACKED, peer, tag, comm, requests);
        error = MPI_Send(out, m->sent, type, peer, tag, comm);
        error |= MPI_Wait(requests, status);
        return error | MPI_Unpack(place, (int)m->bytes, &position, in, m->sent, type, comm);
    default:
        MPI_Recv_init(in, m->room, type, peer, tag, comm, requests);
        MPI_Send_init(out, m->sent, type, peer, tag, comm, requests + 1);
        error = MPI_Waitall(2, requests, both);
        for (int turn = 0; turn < 2; turn++) {
            error |= turn ? MPI_Startall(2, requests) : MPI_Start(requests) | MPI_Start(requests + 1);
            error |= MPI_Waitall(2, requests, both);
        }
        *status = both[0];
        MPI_Request_free(requests);
        MPI_Request_free(requests + 1);
        return error;
    }
}

static void exchange(uint64_t *state, enum way way)
{
    struct mail m = {.way = way};
    m.room = 1 + (int)(random_next(state) % counts);
    m.sent = way == SENDRECV_REPLACE ? m.room : 1 + (int)(random_next(state) % (uint64_t)m.room);
    do {
        if (m.type.text[0])
            typegen_free(&m.type);
        typegen_make(&m.type, state, 1 + (int)(random_next(state) % 4), MOST, random_next(state) % 4 != 0);
    } while (m.type.size == 0 || !typegen_disjoint(&m.type, m.room));
    m.seed = random_next(state);
    /* Both ranks draw both ranks' kinds. */
    int kinds[2][2] = {{0}};
    for (int i = 0; i < 4; i++)
        kinds[i / 2][i % 2] = (int)(random_next(state) % 2);
    m.kind_out = kinds[kit_rank & 1][0];
    m.kind_in = kinds[kit_rank & 1][1];
    m.span_out = typegen_span(&m.type, m.sent, &m.lowest_out);
    m.span_in = typegen_span(&m.type, m.room, &m.lowest_in);
    m.bytes = (size_t)(m.type.size * m.sent);
    source_of(&m, kit_rank);
    char *out = (char *)kit_put(&from[m.kind_out], random_next(state) % 16, source, m.span_out) - m.lowest_out;
    if (way == SENDRECV_REPLACE)
        memcpy(target, source, m.span_in);
    else
        fill(target, m.span_in, random_next(state));
    char *in = (char *)kit_put(&to[m.kind_in], random_next(state) % 16, target, m.span_in) - m.lowest_in;
    MPI_Status status;
    int error = run(&m, out, in, &status);
    CHECK(error == MPI_SUCCESS, "%s of %s: class %d", names[way], m.type.text, kit_class(error));
    if (way == TYPE_TO_PACKED) {
        int got = -1;
        MPI_Get_count(&status, MPI_PACKED, &got);
        CHECK(got == (int)m.bytes, "a packed message of %d bytes, not %zu", got, m.bytes);
    } else {
        check_status(&m, &status, names[way]);
    }
    check_arrival(&m, target, names[way]);
    kit_get(&from[m.kind_out], NULL);
    typegen_free(&m.type);
}

/* One element and a half: MPI_Get_count does not know, MPI_Get_elements does; the rest of the buffer stays. */
static void half_an_element(int kind)
{
    int lengths[] = {1, 1, 2}, place = 0, got = 0;
    MPI_Aint places[] = {0, 8, 24};
    MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT}, type;
    MPI_Status status;
    MPI_Count elements = 0;
    MPI_Type_create_struct(3, lengths, places, parts, &type);
    MPI_Type_commit(&type);
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    fill(target, 2 * (size_t)extent, 77);
    char sent[64];
    int one = 11;
    double two = 22;
    short three[] = {33, 44};
    MPI_Pack(&one, 1, MPI_INT, sent, 64, &place, MPI_COMM_WORLD);
    MPI_Pack(&two, 1, MPI_DOUBLE, sent, 64, &place, MPI_COMM_WORLD);
    MPI_Pack(three, 2, MPI_SHORT, sent, 64, &place, MPI_COMM_WORLD);
    MPI_Pack(&one, 1, MPI_INT, sent, 64, &place, MPI_COMM_WORLD);
    void *in = kit_put(&to[kind], 0, target, 2 * (size_t)extent);
    int error = MPI_Sendrecv(sent, place, MPI_PACKED, peer, 5, in, 2, type, peer, 5, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, type, &got);
    MPI_Get_elements_x(&status, type, &elements);
    CHECK(error == MPI_SUCCESS && got == MPI_UNDEFINED && elements == 5,
          "half an element: class %d, count %d, elements %d", kit_class(error), got, (int)elements);
    memcpy(target, &one, sizeof one);
    memcpy(target + 8, &two, sizeof two);
    memcpy(target + 24, three, sizeof three);
    memcpy(target + extent, &one, sizeof one);
    CHECK(memcmp(kit_get(&to[kind], NULL), target, 2 * (size_t)extent) == 0, "half an element: wrong bytes");
    MPI_Type_free(&type);
}

/* A type of absolute addresses that reaches several buffers, and a message that is too long for one. */
static void special(int kind)
{
    int lengths[] = {2, 3}, error;
    uint64_t values[8], more[8];
    for (int i = 0; i < 8; i++) {
        values[i] = (uint64_t)(100 * kit_rank + i);
        more[i] = 999;
    }
    char *a = kit_put(&from[kind], 0, values, sizeof values), *b = kit_put(&packed[kind], 8, values, sizeof values);
    char *c = kit_put(&to[kind], 0, more, sizeof more);
    MPI_Aint places[2];
    MPI_Get_address(a + 8, &places[0]);
    MPI_Get_address(b + 32, &places[1]);
    MPI_Datatype absolute, gaps;
    MPI_Type_create_hindexed(2, lengths, places, MPI_UINT64_T, &absolute);
    MPI_Type_vector(4, 1, 2, MPI_UINT64_T, &gaps);
    MPI_Type_create_resized(gaps, 0, 8, &gaps);
    MPI_Type_commit(&absolute);
    MPI_Type_commit(&gaps);
    MPI_Status status;
    error = MPI_Sendrecv(MPI_BOTTOM, 1, absolute, peer, 5, c, 5, MPI_UINT64_T, peer, 5, MPI_COMM_WORLD, &status);
    const uint64_t *got = (const void *)kit_get(&to[kind], NULL);
    const uint64_t first = (uint64_t)(100 * peer), want_of[] = {1, 2, 4, 5, 6};
    int wrong = 0;
    for (int i = 0; i < 5; i++)
        wrong += got[i] != first + want_of[i];
    CHECK(error == MPI_SUCCESS && wrong == 0 && got[5] == 999, "absolute addresses: class %d, %d wrong",
          kit_class(error), wrong);
    kit_put(&to[kind], 0, more, sizeof more);
    MPI_Request request;
    if (kit_errors_returned()) {
        MPI_Irecv(MPI_BOTTOM, 1, absolute, peer, 6, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        error = MPI_Wait(&request, &status);
        int flag = 0;
        MPI_Test_cancelled(&status, &flag);
        CHECK(error == MPI_SUCCESS && flag, "a receive that is cancelled: class %d", kit_class(error));
        MPI_Irecv(kit_put(&to[kind], 0, more, sizeof more), 1, gaps, peer, 7, MPI_COMM_WORLD, &request);
        MPI_Send(values, 8, MPI_UINT64_T, peer, 7, MPI_COMM_WORLD);
        error = MPI_Wait(&request, &status);
        CHECK(kit_class(error) == MPI_ERR_TRUNCATE, "a message that is too long: class %d", kit_class(error));
        kit_get(&to[kind], NULL);
    }
    MPI_Type_free(&absolute);
    MPI_Type_free(&gaps);
}

/* Several elements of types without bytes: messages of 0 bytes, in every mode, into such a type and into integers. */
static void no_bytes(int kind)
{
    enum { TYPES = 3, MODES = 4, MANY = 5 };
    MPI_Datatype types[TYPES], ints[2] = {MPI_INT, MPI_INT};
    const int none[2] = {0, 0}, places[2] = {0, 4};
    const MPI_Aint at[2] = {0, 64};
    MPI_Type_contiguous(0, MPI_DOUBLE, &types[0]);
    MPI_Type_indexed(2, none, places, MPI_INT, &types[1]);
    MPI_Type_create_struct(2, none, at, ints, &types[2]);
    for (int i = 0; i < TYPES * MODES * 2; i++) {
        const int mode = i / TYPES % MODES, into_ints = i / TYPES / MODES;
        MPI_Request request[2];
        MPI_Status status[2];
        int bytes = -1, guards = 0;
        if (i < TYPES)
            MPI_Type_commit(&types[i]);
        MPI_Datatype type = types[i % TYPES];
        void *out = kit_put(&from[kind], 0, source, 64), *in = kit_put(&to[kind], 0, NULL, 64);
        MPI_Irecv(in, MANY, into_ints ? MPI_INT : type, peer, 8, MPI_COMM_WORLD, &request[0]);
        if (mode == 0)
            MPI_Send_init(out, MANY, type, peer, 8, MPI_COMM_WORLD, &request[1]);
        else if (mode == 1)
            MPI_Isend(out, MANY, type, peer, 8, MPI_COMM_WORLD, &request[1]);
        else if (mode == 2)
            MPI_Issend(out, MANY, type, peer, 8, MPI_COMM_WORLD, &request[1]);
        else
            MPI_Send(out, MANY, type, peer, 8, MPI_COMM_WORLD);
        if (mode == 0)
            MPI_Start(&request[1]);
        if (mode == 3)
            request[1] = MPI_REQUEST_NULL;
        const int error = MPI_Waitall(2, request, status);
        MPI_Get_count(&status[0], MPI_BYTE, &bytes);
        kit_get(&to[kind], &guards);
        CHECK(error == MPI_SUCCESS && bytes == 0 && guards,
              "a message of 0 bytes, type %d, mode %d: class %d, %d bytes", i % TYPES, mode, kit_class(error), bytes);
        if (mode == 0)
            MPI_Request_free(&request[1]);
    }
    for (int i = 0; i < TYPES; i++)
        MPI_Type_free(&types[i]);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    long cases = argc > 1 ? atol(argv[1]) : 50;
    counts = argc > 2 ? strtoull(argv[2], NULL, 0) : counts;
    room = (16 * MOST + MOST) * 2 * (counts + 1);
    if (kit_size % 2)
        kit_skip("types_messages", "needs an even number of ranks");
    peer = kit_rank ^ 1;
    for (int kind = 0; kind < 2; kind++) {
        kit_open(&from[kind], (enum kit_kind)kind, room);
        kit_open(&to[kind], (enum kit_kind)kind, room);
        kit_open(&packed[kind], (enum kit_kind)kind, room);
    }
    source = malloc(room);
    target = malloc(room);
    want = malloc(room);
    message = malloc(16 * MOST * counts);
    MPI_Buffer_attach(message, (int)(16 * MOST * counts));
    uint64_t state = random_mix(kit_seed);
    for (long i = 0; i < cases; i++) {
        tag = (int)(i % 1000);
        exchange(&state, (enum way)(i % WAYS));
    }
    for (int kind = 0; kind < 2; kind++) {
        half_an_element(kind);
        special(kind);
        no_bytes(kind);
    }
    void *attached;
    int bytes;
    MPI_Buffer_detach(&attached, &bytes);
    free(message);
    free(source);
    free(target);
    free(want);
    for (int kind = 0; kind < 2; kind++) {
        kit_close(&from[kind]);
        kit_close(&to[kind]);
        kit_close(&packed[kind]);
    }
    return kit_end("types_messages");
}
