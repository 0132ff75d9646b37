/* The messages of `tutti tune`: the rules in force decide their way, and the library's counters show it afterwards. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/outcome.h"
#include "bench/pack/pack.h"
#include "bench/tune/tune.h"
#include "core/clock.h"
#include "core/counters.h"
#include "tutti/tutti.h"

/* From SOLID on messages are contiguous, so that copy engines may carry them; shorter ones have gaps. */
enum {
    BLOCK = 64,
    STRIDE = 128,
    SOLID = 4 << 20,
    PIECE = 64 << 10,
    PIECES = 64,
    FIRST_TRIES = 50,
    LEAST = 512,
    FAR_LEAST = 4096
};

size_t tune_message_bytes(size_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

size_t tune_message_least(int section)
{
    return tune_message_bytes(section == TUNE_MESSAGE_FAR ? FAR_LEAST : LEAST);
}

size_t tune_message_room(size_t most)
{
    return tune_message_bytes(most) / BLOCK * STRIDE;
}

const char *tune_message_rules(int section, int way)
{
    static const char *const rules[][TUNE_WAYS - TUNE_ALGORITHMS] = {{
#define TUTTI_PROTOCOL(name, node, far, outcome, reason, text) "message: *@" #name,
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
                                                                     },
                                                                     {
#define TUTTI_PROTOCOL(name, node, far, outcome, reason, text) "message_far: *@" #name,
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
                                                                     }};
    return rules[section - TUNE_MESSAGE][way - TUNE_ALGORITHMS];
}

static size_t stride_of(size_t bytes)
{
    return bytes >= SOLID ? BLOCK : STRIDE;
}

/* -1: none. */
static int message_partner(const struct tune *tune, int section)
{
    const int rank = tune->plan->rank, half = tune->plan->size / 2;
    if (section == TUNE_MESSAGE_FAR)
        return rank < half ? rank + half : rank < 2 * half ? rank - half : -1;
    return (rank ^ 1) < tune->plan->size ? rank ^ 1 : -1;
}

/* 1: it receives first. */
static int is_second(const struct tune *tune, int section)
{
    return message_partner(tune, section) < tune->plan->rank;
}

static void make_type(struct tune *tune, size_t bytes)
{
    struct tune_message *message = &tune->message;
    if (message->type != MPI_DATATYPE_NULL && message->bytes == bytes)
        return;
    if (message->type != MPI_DATATYPE_NULL)
        MPI_Type_free(&message->type);
    pack_mpi(MPI_Type_vector((int)(bytes / BLOCK), BLOCK, (int)stride_of(bytes), MPI_BYTE, &message->type),
             "MPI_Type_vector");
    pack_mpi(MPI_Type_commit(&message->type), "MPI_Type_commit");
    message->bytes = bytes;
}

/* From the first rank of a pair to the second, or back. */
static void message_move(const struct tune *tune, int section, int back)
{
    const int other = message_partner(tune, section),
              error = is_second(tune, section) == back
                          ? MPI_Send(tune->message.memory, 1, tune->message.type, other, 0, MPI_COMM_WORLD)
                          : MPI_Recv(tune->message.memory, 1, tune->message.type, other, 0, MPI_COMM_WORLD,
                                     MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS)
        bench_fail("a message of %zu bytes failed with error %d", tune->message.bytes, error);
}

static void round_trip(const struct tune *tune, int section)
{
    if (message_partner(tune, section) >= 0) {
        message_move(tune, section, 0);
        message_move(tune, section, 1);
    }
}

/* ---- results ---- */

/* What lies there before (holes, and blocks that a message will come into) or after it. */
static void message_picture(const struct tune *tune, size_t from, size_t n, int blocks, char *out)
{
    memset(out, 0x5a, n);
    for (size_t at = 0; blocks && at < n; at += stride_of(tune->message.bytes)) {
        for (size_t b = 0; b < BLOCK; b += sizeof(uint64_t)) {
            const uint64_t word = pack_mix(tune->message.seed + from + at + b);
            memcpy(out + at + b, &word, sizeof word);
        }
    }
}

/* Puts the picture into device memory, or compares it with that: all of it, or 64 places, first and last among them. 1
 * where it is the same. */
static int message_visit(const struct tune *tune, int blocks, int compare)
{
    const size_t all = tune->message.bytes / BLOCK * stride_of(tune->message.bytes),
                 last = all > PIECE ? all - PIECE : 0;
    const size_t pieces = all <= (size_t)PIECE * PIECES ? (all + PIECE - 1) / PIECE : PIECES;
    char *right = tune->host, *got = tune->host + PIECE;
    for (size_t p = 0; p < pieces; p++) {
        size_t from = pieces == 1 ? 0 : last / (pieces - 1) * p, n = all < PIECE ? all : PIECE;
        from = p + 1 == pieces ? last : from - from % STRIDE;
        message_picture(tune, from, n, blocks, right);
        if (!compare)
            bench_must(tutti_copy(tune->message.memory + from, right, n), "copying to the device");
        else
            bench_must(tutti_copy(got, tune->message.memory + from, n), "copying from the device");
        if (compare && memcmp(got, right, n) != 0)
            return 0;
    }
    return 1;
}

/* One message each way, each with new data, compared at its receiver. */
static int checked_trip(struct tune *tune, int section)
{
    int right = 1;
    for (int back = 0; back < 2; back++) {
        const int sends = is_second(tune, section) == back;
        tune->message.seed += 0x10000019; /* alike on all ranks */
        message_visit(tune, sends, 0);
        message_move(tune, section, back);
        right &= message_visit(tune, 1, 1);
    }
    return right;
}

/* ---- ways ---- */

/* "fetched by the receiver", as the counters say it; "mpi: ..." of the rest. */
static int way_of(const char *outcome)
{
    static const char *const reasons[] = {
#define TUTTI_PROTOCOL(name, node, far, outcome, reason, text) reason,
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
    };
    for (int way = TUNE_ALGORITHMS; way < TUNE_WAYS; way++) {
        if (reasons[way - TUNE_ALGORITHMS][0] && strcmp(outcome, reasons[way - TUNE_ALGORITHMS]) == 0)
            return way;
    }
    return strncmp(outcome, "mpi: ", 5) == 0 ? TUNE_way_staged : TUNE_DEFAULT;
}

/* Collective: the way that all ranks' messages took; TUNE_DEFAULT if they differ. A rank without a partner sends no
 * message. */
static int agreed_way(const struct tune *tune, int section, int way)
{
    int mine[2] = {way, -way}, all[2];
    if (message_partner(tune, section) < 0)
        mine[0] = mine[1] = INT_MIN;
    bench_mpi.Allreduce(mine, all, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return all[0] == -all[1] ? all[0] : TUNE_DEFAULT;
}

int tune_message_try(struct tune *tune, struct tune_column *column, int section, size_t bytes)
{
    char name[96] = "";
    int right = 1, accelerated;
    tune_rules_take(column->rules);
    make_type(tune, tune_message_bytes(bytes));
    round_trip(tune, section); /* the type's first */
    bench_outcome_begin();
    if (message_partner(tune, section) >= 0)
        right = checked_trip(tune, section);
    bench_outcome_end("_Send", name, sizeof name, &accelerated);
    column->algorithm = agreed_way(tune, section, way_of(name));
    return right;
}

double tune_message_round(struct tune *tune, const struct tune_column *column, int section, size_t bytes)
{
    double took = 0;
    tune_rules_take(column->rules);
    make_type(tune, tune_message_bytes(bytes));
    for (int i = 0; i < column->calls; i++) {
        bench_mpi.Barrier(MPI_COMM_WORLD);
        const uint64_t start = tutti_now_ns();
        round_trip(tune, section);
        took += (double)(tutti_now_ns() - start) * 1e-3;
    }
    return took / 2 / column->calls;
}

/* Columns open while messages are sent, and memory becomes known so. */
static int message_can(struct tune *tune, int section, int way)
{
    struct tune_column column = {.rules = tune_message_rules(section, way), .wanted = way};
    const size_t sizes[] = {tune_message_least(section), SOLID};
    for (int s = 0; s < 2 && column.algorithm != way && sizes[s] <= tune->most; s++) {
        for (int i = 0; i < FIRST_TRIES && column.algorithm != way; i++)
            tune_message_try(tune, &column, section, sizes[s]);
    }
    return column.algorithm == way;
}

static void open_section(struct tune *tune, int section)
{
    static const struct {
        int reaches[2], staged;
    } rows[] = {
#define TUTTI_PROTOCOL(name, node, far, outcome, ...) {{node, far}, TUTTI_OUTCOME_##outcome == TUTTI_OUTCOME_STAGED},
#include "tutti/protocols.def"
#undef TUTTI_PROTOCOL
    };
    const int far = section == TUNE_MESSAGE_FAR;
    unsigned *ways = &tune->message.ways[section - TUNE_MESSAGE];
    const char *why = NULL;
    if (!(tune->sections >> section & 1))
        return;
    if (tune->plan->size < 2)
        why = "there is one rank";
    else if (tune->most < tune_message_least(section))
        why = "all that is measured is below the least that goes past the MPI";
    for (int w = TUNE_ALGORITHMS; !why && w < TUNE_WAYS; w++) {
        if (!rows[w - TUNE_ALGORITHMS].staged && rows[w - TUNE_ALGORITHMS].reaches[far])
            *ways |= (unsigned)message_can(tune, section, w) << (w - TUNE_ALGORITHMS);
    }
    if (!why && *ways == 0)
        why =
            far ? "they are on one node, or the MPI carries them all" : "between these ranks the MPI carries them all";
    *ways |= 1u << (TUNE_way_staged - TUNE_ALGORITHMS);
    if (why && !(far && tune->sections >> TUNE_MESSAGE & 1)) /* most machines are one node */
        bench_say(tune->plan, "note no rules for messages%s: %s", far ? " to other nodes" : "", why);
    if (why)
        tune->sections &= ~(1u << section);
}

void tune_message_open(struct tune *tune)
{
    tune->message.type = MPI_DATATYPE_NULL;
    open_section(tune, TUNE_MESSAGE_FAR);
    open_section(tune, TUNE_MESSAGE);
}

void tune_message_close(struct tune *tune)
{
    tune_rules_take(NULL);
    if (tune->message.type != MPI_DATATYPE_NULL)
        MPI_Type_free(&tune->message.type);
    tutti_free(tune->message.memory);
    tune->message.memory = NULL;
}
