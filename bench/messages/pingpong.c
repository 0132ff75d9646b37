/* The ping-pong of a type: blocks of one length and distance go to the other rank, into the same layout, and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/place.h"
#include "bench/messages/exchange.h"
#include "bench/pack/pack.h"
#include "tutti/tutti.h"

struct pingpong {
    const struct bench_plan *plan;
    struct pack_layout layout;
    MPI_Datatype type;
    char *memory, *ordinary, *host, *packed;
};

/* Rank 0 has the blocks, rank 1 holes alone: after a round trip both have all. */
static void pingpong_fill(struct pingpong *ping, uint64_t seed, int blocks)
{
    memset(ping->host, 0x5a, ping->layout.room);
    for (size_t i = 0; blocks && i < ping->layout.n; i++) {
        struct pack_piece piece = pack_layout_piece(&ping->layout, i);
        for (size_t b = 0; b < piece.length; b++)
            ping->host[piece.offset + b] = (char)pack_mix(seed + piece.offset + b);
    }
}

/* `flat` sends what lies at the beginning, without gaps. */
static void fill_flat(struct pingpong *ping, uint64_t seed, int blocks)
{
    memset(ping->host, 0x5a, ping->layout.room);
    for (size_t b = 0; blocks && b < ping->layout.bytes; b++)
        ping->host[b] = (char)pack_mix(seed + b);
}

static void pingpong_prepare(void *with, int way, uint64_t seed)
{
    struct pingpong *ping = with;
    (way == EXCHANGE_FLAT ? fill_flat : pingpong_fill)(ping, seed, ping->plan->rank == 0);
    if (way == EXCHANGE_PLAIN)
        memcpy(ping->ordinary, ping->host, ping->layout.room);
    else
        bench_must(tutti_copy(ping->memory, ping->host, ping->layout.room), "copying");
}

static int pingpong_check(void *with, int way, uint64_t seed, char *text, size_t size)
{
    struct pingpong *ping = with;
    char *got = bench_ordinary(ping->layout.room);
    if (way == EXCHANGE_PLAIN)
        memcpy(got, ping->ordinary, ping->layout.room);
    else
        bench_must(tutti_copy(got, ping->memory, ping->layout.room), "copying");
    (way == EXCHANGE_FLAT ? fill_flat : pingpong_fill)(ping, seed, 1);
    size_t i = 0;
    while (i < ping->layout.room && got[i] == ping->host[i])
        i++;
    int right = i == ping->layout.room;
    if (!right)
        snprintf(text, size, "byte %zu of the memory is 0x%02x, right is 0x%02x", i, (unsigned char)got[i],
                 (unsigned char)ping->host[i]);
    free(got);
    return right;
}

static void pingpong_move(const struct pingpong *ping, int way, int send)
{
    const int other = 1 - ping->plan->rank, bytes = (int)ping->layout.bytes;
    char *memory = way == EXCHANGE_PLAIN ? ping->ordinary : ping->memory;
    int error, position = 0;
    switch (way) {
    case EXCHANGE_PACKED:
        if (send)
            exchange_mpi(MPI_Pack(memory, 1, ping->type, ping->packed, bytes, &position, MPI_COMM_WORLD), "MPI_Pack");
        error = send ? MPI_Send(ping->packed, bytes, MPI_PACKED, other, 0, MPI_COMM_WORLD)
                     : MPI_Recv(ping->packed, bytes, MPI_PACKED, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!send)
            exchange_mpi(MPI_Unpack(ping->packed, bytes, &position, memory, 1, ping->type, MPI_COMM_WORLD),
                         "MPI_Unpack");
        break;
    case EXCHANGE_FLAT:
        error = send ? MPI_Send(memory, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD)
                     : MPI_Recv(memory, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case EXCHANGE_TUTTI:
        error = send ? MPI_Send(memory, 1, ping->type, other, 0, MPI_COMM_WORLD)
                     : MPI_Recv(memory, 1, ping->type, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    default:
        error = send ? bench_mpi.Send(memory, 1, ping->type, other, 0, MPI_COMM_WORLD)
                     : bench_mpi.Recv(memory, 1, ping->type, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    exchange_mpi(error, send ? "MPI_Send" : "MPI_Recv");
}

static void pingpong_call(void *with, int way)
{
    const struct pingpong *ping = with;
    if (ping->plan->rank > 1)
        return;
    pingpong_move(ping, way, ping->plan->rank == 0);
    pingpong_move(ping, way, ping->plan->rank == 1);
}

void bench_pingpong(struct bench_plan *plan, const struct exchange_plan *what)
{
    static const int ways[] = {EXCHANGE_TUTTI,     EXCHANGE_BY_STAGED,    EXCHANGE_BY_PACKED,
                               EXCHANGE_BY_DIRECT, EXCHANGE_BY_PIPELINED, EXCHANGE_PACKED,
                               EXCHANGE_FLAT,      EXCHANGE_PLAIN,        EXCHANGE_NATIVE};
    const struct pack_plan pack = {.kind = PACK_STRIDED, .block = what->block, .stride = what->stride};
    int fine = plan->size >= 2;
    if (!fine)
        bench_fail("a ping-pong needs two ranks");
    bench_say(plan, "nodes %d", plan->nodes);
    bench_choose_gpu(plan);
    bench_say(plan, "start");
    const int apart = exchange_apart(plan);
    struct pingpong ping = {.plan = plan};
    for (int i = 0; fine && pack_layout_make(plan, &pack, i, &ping.layout); i++) {
        struct exchange exchange = {.bytes = ping.layout.bytes,
                                    .counted = "_Send",
                                    .sending = "_Send",
                                    .typed = EXCHANGE_TUTTI,
                                    .share = 0.5,
                                    .with = &ping,
                                    .prepare = pingpong_prepare,
                                    .call = pingpong_call,
                                    .check = pingpong_check};
        void *memory = NULL, *packed = NULL;
        snprintf(exchange.name, sizeof exchange.name, "%s", ping.layout.name);
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
            exchange.used[ways[w]] = exchange_has(what, ways[w]);
        exchange.used[EXCHANGE_BY_PACKED] &= !apart;
        exchange.used[EXCHANGE_BY_DIRECT] &= !apart;
        exchange.used[EXCHANGE_BY_PIPELINED] &= apart;
        bench_must(tutti_alloc(ping.layout.room, &memory), "allocating device memory");
        bench_must(tutti_alloc(ping.layout.bytes, &packed), "allocating device memory");
        ping.memory = memory;
        ping.packed = packed;
        ping.ordinary = bench_ordinary(ping.layout.room);
        ping.host = bench_ordinary(ping.layout.room);
        ping.type = ping.layout.make(&ping.layout, "vector", NULL);
        exchange_mpi(MPI_Type_commit(&ping.type), "MPI_Type_commit");
        fine = exchange_run(plan, &exchange);
        MPI_Type_free(&ping.type);
        tutti_free(memory);
        tutti_free(packed);
        free(ping.ordinary);
        free(ping.host);
        pack_layout_free(&ping.layout);
    }
    bench_say(plan, "end %d", fine);
}
