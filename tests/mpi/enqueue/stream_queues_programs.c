/* Random programs of persistent messages. All ranks draw the same program: messages, with their places in the memory of
 * both sides and their datatypes, queues, and rounds that start some of the messages. Each rank matches and starts in
 * an order of its own. The same messages go through plain MPI in host memory that holds the same bytes: at the end both
 * must be the same. Rounds follow each other without a wait of the host where all is in one queue. */
#include "stream_queues.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_graph.h"
#include "device/device.h"
#include "tutti/tutti.h"

enum {
    QUEUES = 3,
    MOST = 12,
    ROUNDS = 6,
    REGIONS = 10, /* of a rank's memory; two are pinned host memory where there is such, the last two ordinary memory */
    PINNED = 6,
    ORDINARY = 8,
    REGION = 640 << 10,
    INTS = 60000 /* of a message, at most; with gaps they take twice as much room */
};

struct one {
    int from, to, tag, out, in, ints, layout[2]; /* out, in: regions */
    int more;                                    /* integers that the receive has room for beside */
    int queue[2];                                /* of the sender, of the receiver */
    int comm;
};
struct program {
    int queues, messages, rounds, one_by_one;
    struct one one[MOST];
    unsigned active[ROUNDS]; /* bit i: message i is started */
    unsigned singles[ROUNDS];
};

/* Of all programs. */
static struct {
    MPI_Comm comm[2], plain[2];
    void *stream[QUEUES];
    char *memory, *pinned, *ordinary, *shadow;
} world;

static char *place(int region)
{
    return region < PINNED     ? world.memory + (size_t)region * REGION
           : region < ORDINARY ? world.pinned + (size_t)(region - PINNED) * REGION
                               : world.ordinary + (size_t)(region - ORDINARY) * REGION;
}

static char *shadow(int region)
{
    return world.shadow + (size_t)region * REGION;
}

/* ---- drawing ---- */

static int draw(uint64_t *random, int below)
{
    return (int)(random_next(random) % (unsigned)below);
}

/* Regions that a round writes are written once, and read by no message of it. */
static int may_start(const struct program *p, unsigned active, int i)
{
    const struct one *a = &p->one[i];
    for (int j = 0; j < p->messages; j++) {
        const struct one *b = &p->one[j];
        if (!(active >> j & 1))
            continue;
        if ((a->to == b->to && a->in == b->in) || (a->to == b->from && a->in == b->out) ||
            (a->from == b->to && a->out == b->in))
            return 0;
    }
    return a->from != a->to || a->out != a->in;
}

static void draw_program(struct program *p, uint64_t *random, int replays)
{
    memset(p, 0, sizeof *p);
    p->queues = replays ? 1 : 1 + draw(random, QUEUES);
    p->messages = 1 + draw(random, MOST);
    p->rounds = 1 + draw(random, ROUNDS);
    p->one_by_one = draw(random, 3) == 0;
    for (int i = 0; i < p->messages; i++) {
        const int size = draw(random, 8), below = size == 0 ? 1 : size < 4 ? 40 : size < 6 ? 3000 : INTS;
        p->one[i] = (struct one){.from = draw(random, kit_size),
                                 .to = draw(random, kit_size),
                                 .tag = draw(random, 3),
                                 .out = draw(random, REGIONS),
                                 .in = draw(random, REGIONS),
                                 .ints = draw(random, below),
                                 .more = draw(random, 3) ? 0 : draw(random, 3000),
                                 .layout = {draw(random, 4), draw(random, 4)},
                                 .queue = {draw(random, p->queues), draw(random, p->queues)},
                                 .comm = draw(random, 2)};
        if (p->one[i].out >= ORDINARY) /* a run of bytes */
            p->one[i].layout[0] = 0;
        if (p->one[i].in >= ORDINARY)
            p->one[i].layout[1] = 0;
    }
    for (int r = 0; r < p->rounds; r++) {
        for (int i = 0; i < p->messages; i++) {
            if (draw(random, 4) && may_start(p, p->active[r], i))
                p->active[r] |= 1u << i;
        }
        p->singles[r] = (unsigned)random_next(random);
    }
}

/* The type and count of so many integers. 0, 1: side by side. */
static MPI_Datatype make_type(int layout, int ints, int *count)
{
    MPI_Datatype type = MPI_INT;
    *count = ints;
    if (layout < 2)
        return type;
    if (layout == 2) { /* every second integer */
        MPI_Type_vector(ints, 1, 2, MPI_INT, &type);
    } else { /* blocks of 1, 2, 3 integers with a gap behind each */
        int lengths[64], places[64], n = 0, at = 0, left = ints;
        for (; left > 0; n++) {
            lengths[n] = n == 63 ? left : n % 3 + 1 < left ? n % 3 + 1 : left;
            places[n] = at;
            at += lengths[n] + 1;
            left -= lengths[n];
        }
        MPI_Type_indexed(n, lengths, places, MPI_INT, &type);
    }
    MPI_Type_commit(&type);
    *count = 1;
    return type;
}

/* ---- a rank's part ---- */

struct part {
    MPIX_Queue queue[QUEUES];
    MPIX_Request request[2 * MOST]; /* of message i: the send is 2 i, the receive 2 i + 1 */
    MPI_Datatype type[2 * MOST];
    int count[2 * MOST];
};

static int is_mine(const struct program *p, int side)
{
    return (side % 2 ? p->one[side / 2].to : p->one[side / 2].from) == kit_rank;
}

static void make_requests(const struct program *p, struct part *part)
{
    for (int side = 0; side < 2 * p->messages; side++) {
        const struct one *one = &p->one[side / 2];
        part->request[side] = MPIX_REQUEST_NULL;
        if (!is_mine(p, side))
            continue;
        part->type[side] = make_type(one->layout[side % 2], one->ints + (side % 2 ? one->more : 0), &part->count[side]);
        if (side % 2)
            FINE(MPIX_Recv_init(place(one->in), part->count[side], part->type[side], one->from, one->tag,
                                world.comm[one->comm], MPI_INFO_NULL, &part->request[side]));
        else
            FINE(MPIX_Send_init(place(one->out), part->count[side], part->type[side], one->to, one->tag,
                                world.comm[one->comm], MPI_INFO_NULL, &part->request[side]));
    }
}

/* Matches: all at once, or one by one: then one side of a message to this rank itself is begun first. */
static void match_requests(const struct program *p, struct part *part)
{
    MPIX_Request all[2 * MOST], begun;
    int n = 0;
    for (int side = 0; side < 2 * p->messages; side++) {
        if (!is_mine(p, side))
            continue;
        const int own = p->one[side / 2].from == p->one[side / 2].to;
        if (!p->one_by_one)
            all[n++] = part->request[side];
        else if (own && side % 2 == 0)
            FINE(MPIX_Imatch(&part->request[side], &begun));
        else
            FINE(MPIX_Match(&part->request[side], MPI_STATUS_IGNORE));
        if (p->one_by_one && own && side % 2)
            FINE(MPIX_Wait(&begun, MPI_STATUS_IGNORE));
    }
    if (n > 0)
        FINE(MPIX_Matchall(n, all, MPI_STATUSES_IGNORE));
}

static void start_round(const struct program *p, struct part *part, int r, uint64_t *own)
{
    MPIX_Request some[QUEUES][2 * MOST];
    int n[QUEUES] = {0};
    for (int k = 0; k < 2 * p->messages; k++) {
        const int side = (k + (int)(p->singles[r] % (unsigned)(2 * p->messages)) * kit_rank) % (2 * p->messages);
        const int queue = p->one[side / 2].queue[side % 2];
        if (!(p->active[r] >> side / 2 & 1) || !is_mine(p, side))
            continue;
        if (random_next(own) % 3 == 0)
            FINE(MPIX_Enqueue_start(part->queue[queue], &part->request[side]));
        else
            some[queue][n[queue]++] = part->request[side];
    }
    for (int q = 0; q < p->queues; q++)
        FINE(MPIX_Enqueue_startall(part->queue[q], n[q], some[q]));
    for (int side = 0; side < 2 * p->messages; side++) {
        const int queue = p->one[side / 2].queue[side % 2];
        if ((p->active[r] >> side / 2 & 1) && is_mine(p, side) && random_next(own) % 5 == 0)
            FINE(MPIX_Enqueue_wait(part->queue[queue], &part->request[side]));
    }
    for (int q = 0; q < p->queues; q++)
        FINE(MPIX_Enqueue_waitall(part->queue[q]));
}

/* The round by plain MPI in host memory. */
static void plain_round(const struct program *p, const struct part *part, int r)
{
    MPI_Request open[2 * MOST];
    MPI_Status statuses[2 * MOST];
    int n = 0;
    for (int side = 2 * p->messages - 1; side >= 0; side--) {
        const struct one *one = &p->one[side / 2];
        if (!(p->active[r] >> side / 2 & 1) || !is_mine(p, side))
            continue;
        const int tag = side / 2; /* its own: messages of a round need not match in the order of the calls */
        if (side % 2)
            MPI_Irecv(shadow(one->in), part->count[side], part->type[side], one->from, tag, world.plain[one->comm],
                      &open[n++]);
        else
            MPI_Isend(shadow(one->out), part->count[side], part->type[side], one->to, tag, world.plain[one->comm],
                      &open[n++]);
    }
    MPI_Waitall(n, open, statuses);
}

static void wait_queues(const struct program *p, const struct part *part)
{
    for (int q = 0; q < p->queues; q++)
        FINE(MPIX_Queue_wait(part->queue[q]));
}

/* All rounds, captured in one graph that is launched some times, mixed with rounds that are not captured. */
static void replay_rounds(const struct program *p, struct part *part, uint64_t *own)
{
    const long replays = 1 + (long)(p->singles[0] % 40);
    CU(cu.BeginCapture(world.stream[0], CAPTURE_GLOBAL));
    for (int r = 0; r < p->rounds; r++)
        start_round(p, part, r, own);
    const CUgraphExec exec = kit_cuda_captured(world.stream[0], NULL);
    for (long i = 0; i < replays; i++) {
        CU(cu.Launch(exec, world.stream[0]));
        for (int r = 0; r < p->rounds; r++)
            plain_round(p, part, r);
        if (p->singles[0] >> i % 30 & 1) {
            start_round(p, part, 0, own);
            plain_round(p, part, 0);
        }
    }
    wait_queues(p, part);
    CU(cu.ExecDestroy(exec));
}

static void fill_memory(uint64_t *random)
{
    uint64_t own = random_next(random) + (uint64_t)kit_rank * 77;
    for (size_t i = 0; i < (size_t)REGIONS * REGION / 8; i++)
        ((uint64_t *)(void *)world.shadow)[i] = random_next(&own);
    for (int region = 0; region < REGIONS; region++)
        CHECK(tutti_copy(place(region), shadow(region), REGION) == 0, "contents");
}

static int compare(long number)
{
    char *got = malloc(REGION);
    int right = 1;
    for (int region = 0; region < REGIONS && right; region++) {
        CHECK(tutti_copy(got, place(region), REGION) == 0, "contents");
        size_t at = 0;
        while (at < REGION && got[at] == shadow(region)[at])
            at++;
        right = CHECK(at == REGION, "program %ld: byte %zu of region %d", number, at, region);
    }
    free(got);
    return right;
}

static void run_program(const struct program *p, uint64_t *random, int replays)
{
    struct part part;
    uint64_t own = random_next(random) + (uint64_t)kit_rank;
    for (int q = 0; q < p->queues; q++)
        FINE(MPIX_Queue_init(&part.queue[q], MPIX_QUEUE_GPU_MEM_OPS, &world.stream[q]));
    make_requests(p, &part);
    match_requests(p, &part);
    for (int r = 0; r < p->rounds && !replays; r++) {
        start_round(p, &part, r, &own);
        plain_round(p, &part, r);
        if (p->queues > 1) /* regions of one queue's messages are another's next */
            wait_queues(p, &part);
    }
    if (replays)
        replay_rounds(p, &part, &own);
    wait_queues(p, &part);
    for (int side = 0; side < 2 * p->messages; side++) {
        if (!is_mine(p, side))
            continue;
        FINE(MPIX_Request_free(&part.request[side]));
        if (part.type[side] != MPI_INT)
            MPI_Type_free(&part.type[side]);
    }
    for (int q = 0; q < p->queues; q++)
        FINE(MPIX_Queue_free(&part.queue[q]));
}

void queues_programs(long programs, int replays)
{
    void *memory = NULL, *pinned = NULL;
    FINE(tutti_alloc((size_t)PINNED * REGION, &memory));
    if (kit_cuda_open()) /* the simulated GPU knows no pinned memory */
        FINE(tutti_device()->memory.alloc_pinned((size_t)(ORDINARY - PINNED) * REGION, &pinned));
    else
        FINE(tutti_alloc((size_t)(ORDINARY - PINNED) * REGION, &pinned));
    world.memory = memory;
    world.pinned = pinned;
    world.ordinary = malloc((size_t)(REGIONS - ORDINARY) * REGION);
    world.shadow = malloc((size_t)REGIONS * REGION);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, kit_rank, &world.comm[i]);
        MPI_Comm_dup(MPI_COMM_WORLD, &world.plain[i]);
    }
    for (int q = 0; q < QUEUES; q++)
        FINE(tutti_stream_create(&world.stream[q]));
    uint64_t random = kit_seed;
    for (long i = 0; i < programs; i++) {
        struct program p;
        draw_program(&p, &random, replays);
        fill_memory(&random);
        run_program(&p, &random, replays);
        int right = compare(i), all;
        MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (!all)
            break;
    }
    for (int q = 0; q < QUEUES; q++)
        FINE(tutti_stream_destroy(world.stream[q]));
    for (int i = 0; i < 2; i++) {
        MPI_Comm_free(&world.comm[i]);
        MPI_Comm_free(&world.plain[i]);
    }
    free(world.shadow);
    free(world.ordinary);
    FINE(kit_cuda_open() ? tutti_device()->memory.free_pinned(pinned) : tutti_free(pinned));
    FINE(tutti_free(memory));
}
