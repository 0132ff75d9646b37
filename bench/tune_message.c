/* The messages of `tutti tune`: which way they go is said by the rules in force when they are sent, and asked of the
 * library's counters afterwards. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "core/clock.h"
#include "core/settings.h"
#include "order.h"
#include "pack.h"
#include "tune.h"
#include "tutti/tutti.h"

enum { BLOCK = 64, STRIDE = 128, PIECE = 64 << 10, PIECES = 64, FIRST_TRIES = 50 };

size_t tune_message_bytes(size_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

size_t tune_message_room(size_t most)
{
    return tune_message_bytes(most) / BLOCK * STRIDE;
}

const char *tune_message_rules(int way)
{
    static const char *const rules[] = {
#define TUTTI_WAY(name, text) "message: *@" #name,
#include "tutti/ways.def"
#undef TUTTI_WAY
    };
    return rules[way - TUNE_ALGORITHMS];
}

static int partner(const struct tune *tune)
{
    const int other = tune->plan->rank ^ 1;
    return other < tune->plan->size ? other : -1;
}

static void take_rules(const char *rules)
{
    char wrong[320] = "";
    if (tutti_rules_set(rules, wrong, sizeof wrong) != 0)
        bench_fail("%s", wrong);
}

static void make_type(struct tune *tune, size_t bytes)
{
    struct tune_message *message = &tune->message;
    if (message->type != MPI_DATATYPE_NULL && message->bytes == bytes)
        return;
    if (message->type != MPI_DATATYPE_NULL)
        MPI_Type_free(&message->type);
    pack_mpi(MPI_Type_vector((int)(bytes / BLOCK), BLOCK, STRIDE, MPI_BYTE, &message->type), "MPI_Type_vector");
    pack_mpi(MPI_Type_commit(&message->type), "MPI_Type_commit");
    message->bytes = bytes;
}

/* From the even rank to the odd one, or back. */
static void move(const struct tune *tune, int back)
{
    const int other = partner(tune),
              error = (tune->plan->rank & 1) == back
                          ? MPI_Send(tune->message.memory, 1, tune->message.type, other, 0, MPI_COMM_WORLD)
                          : MPI_Recv(tune->message.memory, 1, tune->message.type, other, 0, MPI_COMM_WORLD,
                                     MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS)
        bench_fail("a message of %zu bytes failed with error %d", tune->message.bytes, error);
}

static void round_trip(const struct tune *tune)
{
    if (partner(tune) >= 0) {
        move(tune, 0);
        move(tune, 1);
    }
}

/* ---- results ---- */

/* What lies there before (holes, and blocks that a message will come into) or after it. */
static void picture(const struct tune *tune, size_t from, size_t n, int blocks, char *out)
{
    memset(out, 0x5a, n);
    for (size_t at = 0; blocks && at < n; at += STRIDE) {
        for (size_t b = 0; b < BLOCK; b += sizeof(uint64_t)) {
            const uint64_t word = pack_mix(tune->message.seed + from + at + b);
            memcpy(out + at + b, &word, sizeof word);
        }
    }
}

/* Puts the picture into device memory, or compares it with that: all of it, or 64 places, first and last among them. 1
 * where it is the same. */
static int visit(const struct tune *tune, int blocks, int compare)
{
    const size_t all = tune_message_room(tune->message.bytes), last = all > PIECE ? all - PIECE : 0;
    const size_t pieces = all <= (size_t)PIECE * PIECES ? (all + PIECE - 1) / PIECE : PIECES;
    char *right = tune->host, *got = tune->host + PIECE;
    for (size_t p = 0; p < pieces; p++) {
        size_t from = pieces == 1 ? 0 : last / (pieces - 1) * p, n = all < PIECE ? all : PIECE;
        from = p + 1 == pieces ? last : from - from % STRIDE;
        picture(tune, from, n, blocks, right);
        if (!compare)
            bench_must(tutti_copy(tune->message.memory + from, right, n), "copying to the device");
        else
            bench_must(tutti_copy(got, tune->message.memory + from, n), "copying from the device");
        if (compare && memcmp(got, right, n) != 0)
            return 0;
    }
    return 1;
}

/* One message each way, each with new data, compared where it comes to. */
static int checked_trip(struct tune *tune)
{
    int right = 1;
    for (int back = 0; back < 2; back++) {
        const int sends = (tune->plan->rank & 1) == back;
        tune->message.seed += 0x10000019; /* alike on all ranks */
        visit(tune, sends, 0);
        move(tune, back);
        right &= visit(tune, 1, 1);
    }
    return right;
}

/* ---- ways ---- */

static int way_of(const char *outcome)
{
    if (strcmp(outcome, "packed for the receiver") == 0)
        return TUNE_way_packed;
    if (strcmp(outcome, "fetched by the receiver") == 0)
        return TUNE_way_direct;
    return strncmp(outcome, "mpi: ", 5) == 0 ? TUNE_way_staged : TUNE_DEFAULT;
}

/* Collective: the way that all ranks' messages took; TUNE_DEFAULT where they differ. A rank without a partner has none.
 */
static int agreed_way(const struct tune *tune, int way)
{
    int mine[2] = {way, -way}, all[2];
    if (partner(tune) < 0)
        mine[0] = mine[1] = INT_MIN;
    bench_mpi.Allreduce(mine, all, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return all[0] == -all[1] ? all[0] : TUNE_DEFAULT;
}

int tune_message_try(struct tune *tune, struct tune_lane *lane, size_t bytes)
{
    char name[96] = "";
    int right = 1, accelerated;
    take_rules(lane->rules);
    make_type(tune, tune_message_bytes(bytes));
    round_trip(tune); /* the type's first */
    bench_outcome_begin();
    if (partner(tune) >= 0)
        right = checked_trip(tune);
    bench_outcome_end("_Send", name, sizeof name, &accelerated);
    lane->algorithm = agreed_way(tune, way_of(name));
    return right;
}

double tune_message_round(struct tune *tune, const struct tune_lane *lane, size_t bytes)
{
    double took = 0;
    take_rules(lane->rules);
    make_type(tune, tune_message_bytes(bytes));
    for (int i = 0; i < lane->calls; i++) {
        bench_mpi.Barrier(MPI_COMM_WORLD);
        const uint64_t start = tutti_now_ns();
        round_trip(tune);
        took += (double)(tutti_now_ns() - start) * 1e-3;
    }
    return took / 2 / lane->calls;
}

/* Lanes open while messages are sent, and memory becomes known so. */
static int can(struct tune *tune, int way)
{
    struct tune_lane lane = {.rules = tune_message_rules(way), .wanted = way};
    for (int i = 0; i < FIRST_TRIES && lane.algorithm != way; i++)
        tune_message_try(tune, &lane, tune->message.least);
    return lane.algorithm == way;
}

void tune_message_open(struct tune *tune)
{
    struct tune_message *message = &tune->message;
    message->type = MPI_DATATYPE_NULL;
    message->least = (size_t)tutti_settings()->message_least;
    if (!(tune->sections >> TUNE_MESSAGE & 1))
        return;
    const char *why = NULL;
    if (tune->plan->size < 2)
        why = "there is one rank";
    else if (tune->most < tune_message_bytes(message->least))
        why = "all that is measured is below TUTTI_MESSAGE_LEAST";
    for (int w = TUNE_way_packed; !why && w < TUNE_CHOICES; w++)
        message->ways |= (unsigned)can(tune, w) << (w - TUNE_ALGORITHMS);
    if (!why && message->ways == 0)
        why = "between these ranks the MPI carries them all";
    message->ways |= 1u << (TUNE_way_staged - TUNE_ALGORITHMS);
    if (why) {
        bench_say(tune->plan, "note no rules for messages: %s", why);
        tune->sections &= ~(1u << TUNE_MESSAGE);
    }
}

void tune_message_close(struct tune *tune)
{
    take_rules(NULL);
    if (tune->message.type != MPI_DATATYPE_NULL)
        MPI_Type_free(&tune->message.type);
    tutti_free(tune->message.memory);
    tune->message.memory = NULL;
}
