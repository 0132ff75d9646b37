/* Collectives with blocks of one length, between ranks that share GPUs: by leaders, where all buffers are runs of
 * bytes. All roots, in place, blocking and not, from one byte on; what they leave is compared byte by byte. Then
 * all-to-alls whose runs between GPUs are longer than a leader's scratch, and such whose leaders do not all know it.
 * Argument:
 * number of calls. Needs TUTTI_STATS=1 and rules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { MOST = 9000, RANKS_MOST = 8 };
enum kind { BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL, KINDS };
static const char *const names[KINDS] = {"Bcast", "Gather", "Scatter", "Allgather", "Alltoall"};

static struct kit_buffer in, out;
static unsigned char sent[RANKS_MOST * MOST], before[RANKS_MOST * MOST];

struct call {
    enum kind kind;
    int bytes, root, in_place, nonblocking;
    uint64_t seed;
};

static unsigned char value(const struct call *c, int from, int to, int i)
{
    const int each = c->kind == SCATTER || c->kind == ALLTOALL;
    return (unsigned char)(random_mix(c->seed + (uint64_t)(from * 64 + (each ? to : 0))) + (uint64_t)i * 37);
}

static void draw(struct call *c, uint64_t *dice, int round)
{
    static const int some[] = {1, 2, 3, 7, 8, 15, 16, 17, 33, 120, 121, 480, 511, 512, 513, 4097, MOST};
    const uint64_t which = random_next(dice) % 24;
    c->kind = (enum kind)(round % KINDS);
    c->bytes = which < sizeof some / sizeof *some ? some[which] : (int)(random_next(dice) % MOST);
    c->root = (int)(random_next(dice) % (uint64_t)kit_size);
    c->in_place = (int)(random_next(dice) % 3 == 0) && c->kind != BCAST;
    c->nonblocking = (int)(random_next(dice) % 2);
#ifdef OPEN_MPI /* 4.1 mixes up messages of nonblocking all-to-alls in place */
    c->nonblocking &= !(c->in_place && c->kind == ALLTOALL);
#endif
    c->seed = random_next(dice);
}

#define RUN(waits, goes_on, ...)                                                                                       \
    (c->nonblocking ? MPI_##goes_on(__VA_ARGS__, MPI_COMM_WORLD, &request) : MPI_##waits(__VA_ARGS__, MPI_COMM_WORLD))

static int run(const struct call *c, const void *from, void *to)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int n = c->bytes, root = c->root, place = c->in_place && (c->kind >= ALLGATHER || kit_rank == root);
    int error = MPI_ERR_OTHER;
    if (place && c->kind == SCATTER)
        to = MPI_IN_PLACE;
    else if (place)
        from = MPI_IN_PLACE;
    switch (c->kind) {
    case BCAST:
        error = RUN(Bcast, Ibcast, to, n, MPI_BYTE, root);
        break;
    case GATHER:
        error = RUN(Gather, Igather, from, n, MPI_BYTE, to, n, MPI_BYTE, root);
        break;
    case SCATTER:
        error = RUN(Scatter, Iscatter, from, n, MPI_BYTE, to, n, MPI_BYTE, root);
        break;
    case ALLGATHER:
        error = RUN(Allgather, Iallgather, from, n, MPI_BYTE, to, n, MPI_BYTE);
        break;
    default:
        error = RUN(Alltoall, Ialltoall, from, n, MPI_BYTE, to, n, MPI_BYTE);
        break;
    }
    const int waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
    return error ? error : waited;
}

/* What must be in the receive buffer afterwards, which holds `before` now. */
static void expect(const struct call *c, unsigned char *wanted)
{
    const size_t n = (size_t)c->bytes;
    const int all = c->kind == ALLGATHER || c->kind == ALLTOALL || (c->kind == GATHER && kit_rank == c->root);
    memcpy(wanted, before, sizeof before);
    if (c->kind == GATHER && !all)
        return;
    if (c->kind == SCATTER && c->in_place && kit_rank == c->root)
        return;
    for (int from = 0; from < (all ? kit_size : 1); from++) {
        for (size_t i = 0; i < n; i++)
            wanted[(all ? (size_t)from * n : 0) + i] = value(c, all ? from : c->root, kit_rank, (int)i);
    }
}

static void one(const struct call *c)
{
    static unsigned char wanted[sizeof before];
    const size_t n = (size_t)c->bytes, room = (size_t)kit_size * n;
    int guards;
    for (size_t i = 0; i < room; i++) {
        sent[i] = value(c, kit_rank, (int)(i / (n ? n : 1)), (int)(i % (n ? n : 1)));
        before[i] = (unsigned char)(0xa5 + i);
    }
    const int own = c->kind == BCAST ? kit_rank == c->root : c->in_place && c->kind != SCATTER;
    const size_t at = c->kind == BCAST ? 0 : (size_t)kit_rank * n;
    for (size_t i = 0; own && i < n; i++)
        before[at + i] = value(c, kit_rank, kit_rank, (int)i);
    if (c->kind == ALLTOALL && c->in_place)
        memcpy(before, sent, room);
    expect(c, wanted);
    const void *from = kit_put(&in, (size_t)(c->seed % 5), sent, room);
    void *to = kit_put(&out, (size_t)(c->seed % 7), before, room);
    const int error = run(c, from, to);
    const unsigned char *got = (const void *)kit_get(&out, &guards);
    size_t wrong = 0;
    while (wrong < room && got[wrong] == wanted[wrong])
        wrong++;
    CHECK(error == MPI_SUCCESS && wrong == room && guards,
          "%s%s of %d bytes, root %d%s: class %d, byte %zu is %02x, not %02x", c->nonblocking ? "nonblocking " : "",
          names[c->kind], c->bytes, c->root, c->in_place ? " in place" : "", kit_class(error), wrong,
          got[wrong % (room + 1)], wanted[wrong % sizeof wanted]);
    const unsigned char *kept = (const void *)kit_get(&in, NULL);
    CHECK(memcmp(kept, sent, room) == 0, "%s wrote what it sends", names[c->kind]);
}

/* ---- longer than the scratch ---- */

enum { LONG = 3 << 20, SHORT = 100 };

static int long_bytes(int from, int to, int all)
{
    const int ends = from + to == kit_size - 1 && (from == 0 || to == 0);
    return all || ends ? LONG : SHORT + from;
}

static unsigned char long_value(int from, int to, int i)
{
    return (unsigned char)(from * 91 + to * 53 + i * 7 + (i >> 8) * 11 + (i >> 16) * 3);
}

/* all: every block is long; otherwise those between the first and the last rank. */
static void exchange_long(int all, int in_place)
{
    int out_n[RANKS_MOST], in_n[RANKS_MOST], out_at[RANKS_MOST], in_at[RANKS_MOST], outs = 0, ins = 0, guards;
    for (int r = 0; r < kit_size; r++) {
        out_n[r] = long_bytes(kit_rank, r, all);
        in_n[r] = in_place ? out_n[r] : long_bytes(r, kit_rank, all);
        out_at[r] = outs;
        in_at[r] = ins;
        outs += out_n[r];
        ins += in_n[r];
    }
    struct kit_buffer from, to;
    kit_open(&from, KIT_DEVICE, (size_t)outs + 16);
    kit_open(&to, KIT_DEVICE, (size_t)ins + 16);
    unsigned char *data = malloc((size_t)outs);
    for (int r = 0; r < kit_size; r++) {
        for (int i = 0; i < out_n[r]; i++)
            data[out_at[r] + i] = long_value(kit_rank, r, i);
    }
    void *send = kit_put(&from, 0, data, (size_t)outs), *receive = kit_put(&to, 0, in_place ? data : NULL, (size_t)ins);
    const int error = MPI_Alltoallv(in_place ? MPI_IN_PLACE : send, out_n, out_at, MPI_BYTE, receive, in_n, in_at,
                                    MPI_BYTE, MPI_COMM_WORLD);
    const unsigned char *got = (const void *)kit_get(&to, &guards);
    long wrong = 0;
    for (int r = 0; r < kit_size; r++) {
        for (int i = 0; i < in_n[r]; i++)
            wrong += got[in_at[r] + i] != long_value(r, kit_rank, i);
    }
    CHECK(error == MPI_SUCCESS && wrong == 0 && guards, "long Alltoallv, %s%s: class %d, %ld bytes wrong",
          all ? "all" : "between two ranks", in_place ? ", in place" : "", kit_class(error), wrong);
    free(data);
    kit_close(&from);
    kit_close(&to);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const long calls = argc > 1 ? atol(argv[1]) : check_many("TUTTI_TEST_CALLS", 200);
    uint64_t dice = random_mix(kit_seed), by_row = 0;
    if (kit_size > RANKS_MOST)
        kit_skip("moves_leaders", "too many ranks");
    kit_open(&in, KIT_DEVICE, sizeof sent + 16);
    kit_open(&out, KIT_DEVICE, sizeof before + 16);
    for (long i = 0; i < calls && !check_failed(); i++) {
        struct call c;
        draw(&c, &dice, (int)i);
        one(&c);
    }
    for (long round = check_many("TUTTI_TEST_ROUNDS", 2); round > 0 && !check_failed(); round--) {
        exchange_long(0, 0);
        exchange_long(1, 0);
        exchange_long(1, 1);
    }
    kit_close(&in);
    kit_close(&out);
    for (int i = 0; i < KINDS; i++) {
        char name[32];
        snprintf(name, sizeof name, "MPI_%s", names[i]);
        by_row += kit_counted(name, "packets") + kit_counted(name, "chunks through the windows") +
                  kit_counted(name, "stored into results or through the windows");
    }
    CHECK(kit_plain || !getenv("TUTTI_TEST_ROW") || by_row > (uint64_t)calls / 4, "%s made %llu of %ld calls",
          getenv("TUTTI_TEST_ROW"), (unsigned long long)by_row, calls);
    return kit_end("moves_leaders");
}
