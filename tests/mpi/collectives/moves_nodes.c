/* Programs of data movers and reductions over virtual nodes (TUTTI_NODE_RANKS), drawn from a seed: each call on one of
 * several communicators, which are made again now and then and cut across the nodes, with types with and without gaps,
 * other ones on each rank and side, some without a plan, zero counts, in place, with device memory on all ranks, host
 * memory on all, or what is drawn for each rank and side; blocking, nonblocking or persistent. Every byte of every
 * receive buffer is compared with what a plain loop puts there, gaps and guards too. An MPI_Iallreduce is open on the
 * communicator over every eighth call.
 *
 *   moves_nodes CALLS
 *   moves_nodes death CALL   The last rank but one is killed before this call, blocking or one of two that are open:
 * all others get an error within the time limit.
 *
 * TUTTI_TEST_EXPECT=ROW,ROW...: these rows must have made calls. TUTTI_TEST_ONLY=n: the communicators of calls from n
 * on, to repeat a failure in a shorter run. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

#include "moves_nodes.h"

enum { RANKS = 8, COMMS = 4, LIFE = 40, UNIT = 6, MOST = 2600, ROOM = (RANKS + 2) * MOST * UNIT * 8 };
static const char *const names[CALLS] = {KIT_MOVERS(KIT_NAME) "Allreduce", "Reduce"};

static MPI_Comm comms[COMMS];
static int sizes[COMMS], ranks_there[COMMS], members[COMMS][RANKS];

/* The world; its ranks turned round; those of even and of odd numbers; others, in another order. */
static void make_comms(uint64_t *dice)
{
    const int turn = (int)(random_next(dice) % 5) + 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -kit_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, kit_rank % 2, (kit_rank * 7) % kit_size, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, kit_rank == turn % kit_size, (kit_rank * turn) % 7, &comms[3]);
    for (int c = 0; c < COMMS; c++) {
        MPI_Comm_size(comms[c], &sizes[c]);
        MPI_Comm_rank(comms[c], &ranks_there[c]);
        MPI_Allgather(&kit_rank, 1, MPI_INT, members[c], 1, MPI_INT, comms[c]);
    }
}

static void free_comms(void)
{
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_free(&comms[c]);
}

/* ---- a call ---- */

struct shape {
    enum call call;
    enum moves_form form;
    unsigned completion;                              /* how it is completed, and started again */
    int comm, size, rank, root, in_place, even, deep; /* even: units of each block, where all are alike */
    uint64_t seed;
    long number;
};
/* One buffer of this rank. */
struct side {
    int used, kind, type, deep, n;  /* deep: the type has no plan; of a shape: types may have none */
    int units[RANKS], place[RANKS]; /* of each block, in units */
    char *image;                    /* what is in it, host memory */
    size_t bytes;
    int counts[RANKS], displs[RANKS], bytes_at[RANKS];
    MPI_Datatype types[RANKS];
};
static struct kit_buffer memory[2][2]; /* by side and kind */
static struct side sides[2];
enum { IN, OUT };

/* Units that rank `from` sends to rank `to`, where blocks differ. */
static int units_of(const struct shape *s, int from, int to)
{
    const uint64_t x = random_mix(s->seed + (uint64_t)(from * 16 + to) * 7919);
    return x % 4 == 0 ? 0 : x % 16 == 1 ? (int)((x >> 8) % MOST) : (int)((x >> 8) % 40);
}

static int value_of(const struct shape *s, int from, int to, int i)
{
    return (int)(random_mix(s->seed * 31 + (uint64_t)(members[s->comm][from] * 64 + to) * 1000003 + (uint64_t)i) >> 33);
}

/* The units of a block from one rank to another, and whose values they are: one block may go to several ranks. */
static int block_of(const struct shape *s, int from, int to, int *values)
{
    *values = to;
    switch (s->call) {
    case BCAST:
        *values = 0;
        return from == s->root ? s->even : 0;
    case GATHER:
        *values = 0;
        return to == s->root ? s->even : 0;
    case GATHERV:
        *values = 0;
        return to == s->root ? units_of(s, from, 0) : 0;
    case SCATTER:
        return from == s->root ? s->even : 0;
    case SCATTERV:
        return from == s->root ? units_of(s, 0, to) : 0;
    case ALLGATHER:
        *values = 0;
        return s->even;
    case ALLGATHERV:
        *values = 0;
        return units_of(s, from, 0);
    case ALLTOALL:
        return s->even;
    default: /* in place both ways have one length */
        return s->in_place && from > to ? units_of(s, to, from) : units_of(s, from, to);
    }
}

static int has_lists(enum call call)
{
    return call == GATHERV || call == SCATTERV || call == ALLGATHERV || call == ALLTOALLV || call == ALLTOALLW;
}

/* Byte of int i of a block. */
static size_t byte_of(const struct side *side, int block, int i)
{
    const int t = side->type, e = side->place[block] * UNIT / moves_layouts[t].ints + i / moves_layouts[t].ints;
    return (size_t)e * (size_t)moves_layouts[t].extent + (size_t)moves_layouts[t].at[i % moves_layouts[t].ints];
}

/* Blocks one after the other, or, with lists, with gaps and turned round. */
static void place_blocks(const struct shape *s, struct side *side, uint64_t own)
{
    const int lists = has_lists(s->call) && side->n > 1, turned = lists && own % 2, gap = lists && own % 3 == 0;
    int at = 0;
    for (int k = 0; k < side->n; k++) {
        const int i = turned ? side->n - 1 - k : k;
        side->place[i] = at;
        at += side->units[i] + gap;
        side->counts[i] = side->units[i] * UNIT / moves_layouts[side->type].ints;
        side->displs[i] = side->place[i] * UNIT / moves_layouts[side->type].ints;
        side->bytes_at[i] = side->displs[i] * moves_layouts[side->type].extent;
        side->types[i] = moves_types[side->deep][side->type];
    }
    side->bytes = (size_t)at * UNIT / (size_t)moves_layouts[side->type].ints * (size_t)moves_layouts[side->type].extent;
    memset(side->image, 0x5a, side->bytes);
}

static void put_values(const struct shape *s, struct side *side, int block, int from, int to)
{
    int values;
    const int ints = block_of(s, from, to, &values) * UNIT;
    for (int i = 0; i < ints; i++) {
        const int value = value_of(s, from, values, i);
        memcpy(side->image + byte_of(side, block, i), &value, sizeof value);
    }
}

/* Which buffers this rank has, and how many blocks of which size are in them. */
static void lay_out(struct shape *s)
{
    struct side *in = &sides[IN], *out = &sides[OUT];
    const int is_root = s->rank == s->root, to_root = s->call == GATHER || s->call == GATHERV;
    const int of_root = s->call == SCATTER || s->call == SCATTERV || s->call == BCAST;
    int unused;
    in->used = !of_root || is_root;
    out->used = !to_root || is_root;
    in->n = in->used ? sends_one(s->call) ? 1 : s->size : 0;
    out->n = out->used ? receives_one(s->call) ? 1 : s->size : 0;
    for (int i = 0; i < in->n; i++)
        in->units[i] = block_of(s, s->rank, to_root ? s->root : in->n == 1 ? (s->rank + 1) % s->size : i, &unused);
    for (int i = 0; i < out->n; i++)
        out->units[i] = block_of(s, of_root ? s->root : i, s->rank, &unused);
}

/* In place the receive buffer, or at the root of a scatter the send buffer, has what is sent. */
static void draw_buffers(struct shape *s, uint64_t how)
{
    lay_out(s);
    for (int b = 0; b < 2; b++) {
        const uint64_t own = random_mix(s->seed + (uint64_t)(kit_rank * 2 + b) * 104729);
        sides[b].type = (int)(s->seed % 3 * 2 + (own >> 20) % 2);
        sides[b].kind = how < 6 ? KIT_DEVICE : how == 6 ? KIT_HOST : (own >> 30) % 4 != 0;
        sides[b].deep = (own >> 24) % 8 == 0 && sides[b].type % 2 && s->deep;
        place_blocks(s, &sides[b], own >> 40);
    }
    const int scatter = s->call == SCATTER || s->call == SCATTERV;
    for (int i = 0; i < sides[IN].n && (!s->in_place || scatter); i++)
        put_values(s, &sides[IN], i, s->rank,
                   sides[IN].n > 1                           ? i
                   : s->call == GATHERV || s->call == GATHER ? s->root
                                                             : i);
    if (s->call == BCAST && s->rank == s->root)
        put_values(s, &sides[OUT], 0, s->rank, 0);
    for (int i = 0; i < sides[OUT].n && s->in_place && !scatter; i++) {
        if (s->call >= ALLTOALL) /* the buffer holds what goes to each rank */
            put_values(s, &sides[OUT], i, s->rank, i);
        else if (i == s->rank)
            put_values(s, &sides[OUT], i, s->rank, s->call <= GATHERV ? s->root : i);
    }
}

/* What the receive buffer holds afterwards. */
static void expect(const struct shape *s)
{
    struct side *out = &sides[OUT];
    const int of_root = s->call == SCATTER || s->call == SCATTERV || s->call == BCAST;
    const int scatter = s->call == SCATTER || s->call == SCATTERV;
    for (int i = 0; i < out->n && !(scatter && s->in_place && s->rank == s->root); i++)
        put_values(s, out, i, of_root ? s->root : i, s->rank);
}

/* A call that is being made: what it sends, and where it receives, before each start. */
static struct kit_buffer *put_from, *put_to;
static const char *put_image;
static void put_again(void)
{
    kit_put(put_from, 4, sides[IN].image, sides[IN].bytes);
    kit_put(put_to, 8, put_image, sides[OUT].bytes);
}

static int make_call(const struct shape *s, const void *in, void *out)
{
    struct side *i = &sides[IN], *o = &sides[OUT];
    const struct moves_args args = {.call = s->call,
                                    .comm = comms[s->comm],
                                    .in = in,
                                    .out = out,
                                    .root = s->root,
                                    .of = moves_types[i->deep][i->type],
                                    .to = moves_types[o->deep][o->type],
                                    .one = i->n ? i->counts[0] : 0,
                                    .got = o->n ? o->counts[0] : 0,
                                    .counts = {i->counts, o->counts},
                                    .displs = {i->displs, o->displs},
                                    .bytes_at = {i->bytes_at, o->bytes_at},
                                    .types = {i->types, o->types}};
    return moves_call(&args, s->form, s->completion, put_again);
}

static void one_move(struct shape *s, uint64_t how)
{
    const int rooted = s->call <= SCATTERV;
    s->in_place = s->in_place && s->call != BCAST && (!rooted || s->rank == s->root);
    draw_buffers(s, how);
    struct side *out = &sides[OUT];
    struct kit_buffer *from = &memory[IN][sides[IN].kind], *to = &memory[OUT][out->kind];
    const int scatter = s->call == SCATTER || s->call == SCATTERV;
    const void *in = kit_put(from, 4, sides[IN].image, sides[IN].bytes);
    void *at = kit_put(to, 8, out->image, out->bytes);
    put_from = from;
    put_to = to;
    put_image = out->image;
    if (s->in_place && scatter)
        at = MPI_IN_PLACE;
    else if (s->in_place)
        in = MPI_IN_PLACE;
    const int error = make_call(s, in, at);
    int guards;
    const char *const got = kit_get(to, &guards);
    expect(s);
    size_t wrong = 0;
    while (wrong < out->bytes && got[wrong] == out->image[wrong])
        wrong++;
    CHECK(error == MPI_SUCCESS && guards && wrong == out->bytes,
          "call %ld, %s%s, form %d, on communicator %d of %d, root %d, %d units, %s to %s memory, types %d%s and %d%s: "
          "byte %zu "
          "of %zu is wrong (class %d)",
          s->number, names[s->call], s->in_place ? " in place" : "", (int)s->form, s->comm, s->size, s->root, s->even,
          sides[IN].kind == KIT_HOST ? "host" : "device", out->kind == KIT_HOST ? "host" : "device", sides[IN].type,
          sides[IN].deep ? " without a plan" : "", out->type, out->deep ? " without a plan" : "", wrong, out->bytes,
          kit_class(error));
}

static int kind_of(const struct shape *s, uint64_t how)
{
    return how < 6 ? KIT_DEVICE : how == 6 ? KIT_HOST : (int)(random_mix(s->seed + (uint64_t)kit_rank) % 2);
}

static void sum_of(const struct shape *s, int n, int mine[MOST], int want[MOST])
{
    memset(want, 0, MOST * sizeof *want);
    for (int r = 0; r < s->size; r++) {
        for (int i = 0; i < n; i++) {
            const int value = value_of(s, r, 0, i) % 1000;
            want[i] += value;
            mine[i] = r == s->rank ? value : mine[i];
        }
    }
}

static void open_reduction(struct shape s, uint64_t how)
{
    static int mine[MOST], want[MOST];
    s.seed = random_mix(s.seed);
    const int n = s.seed % 2 ? MOST : 1 + (int)(s.seed % 50);
    sum_of(&s, n, mine, want);
    moves_sum_begin(comms[s.comm], kind_of(&s, how), n, mine, want);
}

static void one_reduction(struct shape *s, uint64_t how)
{
    static int mine[MOST], want[MOST];
    const int n = s->even ? s->even : 1, gets = s->call == ALLREDUCE || s->rank == s->root;
    const int kind = kind_of(s, how);
    sum_of(s, n, mine, want);
    const void *const in = kit_put(&memory[IN][kind], 4, mine, (size_t)n * 4);
    void *const out = kit_put(&memory[OUT][kind], 8, NULL, (size_t)n * 4);
    const int error = s->call == ALLREDUCE ? MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comms[s->comm])
                                           : MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, s->root, comms[s->comm]);
    int guards;
    const char *const got = kit_get(&memory[OUT][kind], &guards);
    CHECK(error == MPI_SUCCESS && guards && (!gets || memcmp(got, want, (size_t)n * 4) == 0),
          "call %ld, %s on communicator %d of %d ints: wrong (class %d)", s->number, names[s->call], s->comm, n,
          kit_class(error));
}

/* In every third life: most calls do as an earlier one has agreed, also where a rank's type has no plan then. */
static void repeat_kinds(struct shape *s, long life)
{
    s->call = (enum call)((life / 3 * 2 + (int)s->call % 2) % CALLS);
    s->comm = (int)(life / 3 % COMMS);
    s->even = s->even % 2 ? 100 : 7;
    s->deep = s->number % LIFE > LIFE / 4;
}

static void programs(long first, long calls)
{
    for (long c = first; c < first + calls; c++) {
        uint64_t dice = random_mix(kit_seed + (uint64_t)c * 977);
        if (c % LIFE == 0)
            make_comms(&dice);
        static const int some[] = {0, 1, 7, 100, 700, MOST};
        struct shape s = {.number = c, .call = (enum call)(random_next(&dice) % CALLS), .seed = random_next(&dice)};
        s.comm = (int)(random_next(&dice) % COMMS);
        s.even = some[random_next(&dice) % 6];
        s.deep = c / LIFE % 2;
        s.completion = (unsigned)(random_next(&dice) >> 20);
        s.form = moves_form_of(s.completion >> 8);
        if (c / LIFE % 3 == 1)
            repeat_kinds(&s, c / LIFE);
        s.size = sizes[s.comm];
        s.rank = ranks_there[s.comm];
        s.root = (int)(random_next(&dice) % (uint64_t)kit_size) % s.size;
        s.in_place = (int)(random_next(&dice) % 3 == 0);
#ifdef OPEN_MPI /* 4.1 mixes up messages of nonblocking all-to-alls in place, also without the library */
        s.in_place &= s.form == MOVES_BLOCKING || s.call < ALLTOALL || s.call > ALLTOALLW;
#endif
        stands_at("call %ld, %s of %d units on communicator %d", c, names[s.call], s.even, s.comm);
        const uint64_t how = c / LIFE % 2 ? 0 : random_next(&dice) % 9; /* every second life: device memory alone */
        const int inside = s.seed % 8 == 0;
        if (inside)
            open_reduction(s, how);
        if (s.call < MOVES)
            one_move(&s, how);
        else
            one_reduction(&s, how);
        if (inside)
            CHECK(moves_sum_end() == 0, "call %ld, %s inside an open Iallreduce: that is wrong", c, names[s.call]);
        if (c % LIFE == LIFE - 1 || c == first + calls - 1)
            free_comms();
    }
}

/* ---- death ---- */

static void death(long call)
{
    enum { COUNT = 60000, AFTER = 300 };
    int error = MPI_SUCCESS;
    const size_t bytes = COUNT * 4;
    void *const in = kit_put(&memory[IN][KIT_DEVICE], 0, NULL, bytes);
    void *const out = kit_put(&memory[OUT][KIT_DEVICE], 0, NULL, bytes);
    void *const other = (char *)out + bytes;
    for (long i = 0; i < call + AFTER && error == MPI_SUCCESS; i++) {
        if (i == call + 1 && kit_rank == kit_size - 2) { /* not before the ranks have met */
            fprintf(stderr, "killed at %ld\n", i);
            raise(SIGKILL);
        }
        error = i / 3 % 2 ? moves_open_calls(i, COUNT, in, out, other) : moves_blocking_call(i, COUNT, in, out);
    }
    fprintf(stderr, error != MPI_SUCCESS ? "survivor %d told\n" : "survivor %d goes on as if all were there\n",
            kit_rank);
    _exit(error == MPI_SUCCESS);
}

/* 1 if each expected row has made blocking and nonblocking calls of some collective. complain: it must have. */
static int rows_are_taken(int complain)
{
    char text[200] = "";
    const char *const expected = getenv("TUTTI_TEST_EXPECT");
    int taken = 1;
    snprintf(text, sizeof text, "%s", expected ? expected : "");
    for (char *row = strtok(text, ","); row; row = strtok(NULL, ",")) {
        uint64_t made = 0, later = 0;
        for (int call = 0; call < MOVES; call++) {
            char name[64];
            snprintf(name, sizeof name, "MPI_%s", names[call]);
            made += kit_counted(name, row);
            snprintf(name, sizeof name, "MPI_I%c%s", names[call][0] + 'a' - 'A', names[call] + 1);
            later += kit_counted(name, row);
        }
        taken &= made > 0 && later > 0;
        CHECK(!complain || made > 0, "no blocking call was made by %s", row);
        CHECK(!complain || later > 0, "no nonblocking call was made by %s", row);
    }
    return taken;
}

/* More lives if what was drawn has left out a row. */
static void programs_of_rows(long calls)
{
    enum { MORE = 20 };
    long first = check_setting("TUTTI_TEST_ONLY", 0) / LIFE * LIFE;
    int taken = 0;
    for (int more = 0; more < MORE && !taken; more++) {
        programs(first, calls);
        first += (calls + LIFE - 1) / LIFE * LIFE;
        calls = LIFE;
        taken = rows_are_taken(0);
        MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    rows_are_taken(1);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size > RANKS)
        kit_skip("moves_nodes", "too many ranks");
    for (int side = 0; side < 2; side++) {
        sides[side].image = malloc(ROOM);
        for (int kind = 0; kind < 2; kind++)
            kit_open(&memory[side][kind], (enum kit_kind)kind, ROOM);
    }
    moves_types_make();
    moves_sum_open(MOST);
    if (argc > 2 && strcmp(argv[1], "death") == 0)
        death(atol(argv[2]));
    programs_of_rows(argc > 1 ? atol(argv[1]) : 400);
    for (int side = 0; side < 2; side++) {
        free(sides[side].image);
        for (int kind = 0; kind < 2; kind++)
            kit_close(&memory[side][kind]);
    }
    moves_sum_close();
    moves_types_free();
    return kit_end("moves_nodes");
}
