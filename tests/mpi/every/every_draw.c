/* What is drawn for a row, from the names of its parameters and the columns of its collective. */
#include <stdlib.h>
#include <string.h>

#include "every.h"

enum { SLACK = 256, LARGE_LEAST = 4000, LARGE_MORE = 8000, SMALL = 12, POSITION = 8 };

uint64_t every_draw(uint64_t *state, uint64_t n)
{
    return random_next(state) % n;
}

/* ---- collectives ---- */

enum in_place { NEITHER, SEND, RECEIVE };
static const struct collective {
    const char *call, *nonblocking;
    enum in_place in_place;
    int rooted; /* 1: on the root alone */
} collectives[] = {
#define ROOTED_ALL        0
#define ROOTED_ROOT       1
#define ROOTED_NEIGHBOURS 0
#define TUTTI_COLLECTIVE(ID, name)
#define TUTTI_REDUCTION(ID, call, nonblocking, enqueued, of, to, rules) {#call, #nonblocking, SEND, ROOTED_##to},
#define TUTTI_MOVER(ID, call, nonblocking, from, to, send, receive, in_place, rules)                                   \
    {#call, #nonblocking, in_place, ROOTED_##from | ROOTED_##to},
#include "tutti/collectives.def"
};

/* 1 if the row's name is `name`, perhaps with an ending. */
static int is_form_of(const struct every_row *row, const char *name)
{
    const size_t length = strlen(name);
    const char *end = row->name + length;
    return strncmp(row->name, name, length) == 0 &&
           (!*end || strcmp(end, "_c") == 0 || strcmp(end, "_init") == 0 || strcmp(end, "_init_c") == 0);
}

/* NULL: the row is no collective of the list. */
static const struct collective *collective_of(const struct every_row *row)
{
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
        if (is_form_of(row, collectives[i].call) || is_form_of(row, collectives[i].nonblocking))
            return &collectives[i];
    }
    return NULL;
}

/* What these MPIs do wrong by themselves is left out under them. */
#ifdef OPEN_MPI
#define EVERY_OPEN_MPI 1
#else
#define EVERY_OPEN_MPI 0
#endif
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
#define EVERY_OLD_MPICH 1
#else
#define EVERY_OLD_MPICH 0
#endif

/* MPICH 4.0 reads from MPI_IN_PLACE in a large reduction to another rank than 0. */
static int reads_in_place(const struct every_call *call)
{
    return EVERY_OLD_MPICH && every_has(call->row, "op") && every_has(call->row, "root") && call->args.root != 0;
}

static void draw_in_place(struct every_call *call)
{
    const struct collective *c = collective_of(call->row);
    const int wants = every_draw(&call->shared, 4) == 0;
    if (!c || !wants || reads_in_place(call) || c->in_place == NEITHER || (c->rooted && kit_rank != call->args.root))
        return;
    call->in_place = c->in_place == SEND ? 1 : 2;
}

/* A part of the counts between two ranks that is the same seen from either. */
static int part_of(int rank)
{
    return rank * 7 % 5;
}

/* Counts of n blocks, of other ranks `peers`, and displacements with a gap between blocks; unit: of a displacement. */
static void fill_lists(struct every_list *counts, struct every_list *displs, int n, const int *peers, int own,
                       MPI_Count count, MPI_Aint unit)
{
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        counts->wide[i] = count + own + part_of(peers[i]);
        counts->narrow[i] = (int)counts->wide[i];
        displs->wide[i] = at;
        displs->narrow[i] = (int)at;
        at += (counts->wide[i] + 1) * unit;
    }
}

static void draw_blocks(struct every_call *call, MPI_Count count)
{
    struct every_args *a = &call->args;
    const struct every_row *row = call->row;
    int peers[EVERY_RANKS], n = kit_size;
    const int of_root = part_of(a->root), of_me = part_of(kit_rank);
    const int sends = every_has(row, "sendcounts"), receives = every_has(row, "recvcounts");
    MPI_Aint lower, extent[2];
    for (int i = 0; i < n; i++)
        peers[i] = i;
    if (every_named(row, "eighbor")) {
        n = every_neighbours;
        peers[0] = (kit_rank + kit_size - 1) % kit_size;
        peers[1] = (kit_rank + 1) % kit_size;
    }
    MPI_Type_get_extent(a->sendtype, &lower, &extent[0]);
    MPI_Type_get_extent(a->recvtype, &lower, &extent[1]);
    a->sendcount = receives ? count + of_me + of_root : count;
    a->recvcount = sends ? count + of_me + of_root : count;
    const int own = sends && receives ? of_me : of_root;
    fill_lists(&a->sendcounts, &a->sdispls, n, peers, own, count, every_has(row, "sendtypes") ? extent[0] : 1);
    fill_lists(&a->recvcounts, &a->rdispls, n, peers, every_has(row, "op") ? 0 : own, count,
               every_has(row, "recvtypes") ? extent[1] : 1);
    for (int i = 0; i < EVERY_RANKS; i++) {
        a->sendtypes[i] = a->sendtype;
        a->recvtypes[i] = a->recvtype;
    }
}

/* ---- types and counts ---- */

/* MPICH 4.0 shows another tag in the status of these (without Tutti). */
int every_tag_is_wrong(const struct every_row *row)
{
    return EVERY_OLD_MPICH && every_named(row, "Isendrecv");
}

/* MPICH 4.0 frees derived types that it is given in these. */
static int loses_types(const struct every_row *row)
{
    return EVERY_OLD_MPICH && (every_named(row, "Isendrecv") || (every_named(row, "_init") && collective_of(row)));
}

static MPI_Datatype draw_type(struct every_call *call)
{
    const uint64_t member = every_draw(&call->own, EVERY_MEMBERS);
    const int named = every_has(call->row, "op") || loses_types(call->row);
    return named ? MPI_INT : every_types[call->family][member];
}

static void draw_counts(struct every_call *call, MPI_Count count)
{
    struct every_args *a = &call->args;
    const int receives = every_has(call->row, "source") || every_has(call->row, "message");
    int size;
    /* A receive may have more room than the message needs. */
    a->count = count + (receives && !every_has(call->row, "sendtag") ? (MPI_Count)every_draw(&call->own, 3) : 0);
    a->origin_count = a->target_count = a->result_count = count;
    a->incount = a->outcount = count;
    MPI_Type_size(a->datatype, &size);
    a->insize = a->outsize = POSITION + size * count + (MPI_Count)every_draw(&call->own, 9);
    a->position = every_has(call->row, "position") ? POSITION : 0;
    a->sendcount = count;
    a->recvcount = count;
    if (every_has(call->row, "comm") && !every_has(call->row, "sendtag") && !every_has(call->row, "position"))
        draw_blocks(call, count);
}

static MPI_Op draw_op(struct every_call *call)
{
    const MPI_Op reductions[] = {MPI_SUM, MPI_MAX, MPI_BXOR}, windows[] = {MPI_SUM, MPI_REPLACE, MPI_BXOR, MPI_NO_OP};
    const uint64_t i = every_draw(&call->shared, 12);
    if (!every_has(call->row, "win"))
        return reductions[i % 3];
    return windows[i % (every_named(call->row, "et_acc") || every_named(call->row, "Fetch") ? 4 : 3)];
}

/* ---- buffers ---- */

static const struct {
    const char *name;
    int buffer;
} names[] = {{"buf", 0},    {"sendbuf", 0},  {"origin_addr", 0}, {"inbuf", 0},       {"recvbuf", 1},
             {"outbuf", 1}, {"inoutbuf", 1}, {"result_addr", 1}, {"compare_addr", 2}};

static char *draw_bytes(struct every_call *call)
{
    const size_t words = (call->bytes + 7) / 8;
    uint64_t *data = malloc(words * 8);
    for (size_t i = 0; i < words; i++)
        data[i] = random_next(&call->own);
    return (char *)data;
}

static void draw_buffers(struct every_call *call, MPI_Count count)
{
    enum { WIDEST = 36, GUARD = 64 };
    const int blocks = every_has(call->row, "comm") && !every_has(call->row, "tag") ? kit_size : 1;
    const int refused = strcmp(call->row->kind, "REFUSE") == 0;
    call->bytes = (size_t)blocks * (size_t)(count + SMALL) * WIDEST + 2 * GUARD + SLACK;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        call->used[names[i].buffer] |= every_has(call->row, names[i].name);
    call->used[3] = every_has(call->row, "tag") || every_has(call->row, "message"); /* the other side of a message */
    for (int b = 0; b < EVERY_BUFFERS; b++) {
        call->kind[b] = (enum every_kind)every_draw(&call->own, EVERY_KINDS);
        if (refused && call->kind[b] == EVERY_DEVICE)
            call->kind[b] = EVERY_PINNED;
        call->offset[b] = GUARD + 8 * (size_t)every_draw(&call->own, 8);
        call->data[b] = call->used[b] ? draw_bytes(call) : NULL;
    }
    call->window = refused ? EVERY_HOST : (enum every_kind)every_draw(&call->own, 2);
    call->window_data = every_has(call->row, "win") ? draw_bytes(call) : NULL;
}

void every_call_draw(struct every_call *call)
{
    struct every_args *a = &call->args;
    const struct every_row *row = call->row;
    /* Open MPI 4.1 returns other bytes than the window held. */
    call->large = every_draw(&call->shared, 4) == 0 && !(EVERY_OPEN_MPI && every_named(row, "et_acc"));
    const MPI_Count count = call->large ? LARGE_LEAST + (MPI_Count)every_draw(&call->shared, LARGE_MORE)
                                        : (MPI_Count)every_draw(&call->shared, SMALL);
    call->family = (int)every_draw(&call->shared, every_has(row, "fh") ? 2 : EVERY_FAMILIES);
    /* Open MPI 4.1 reads the buffer of a second start after that has completed. */
    call->starts = every_named(row, "_init") && !(EVERY_OPEN_MPI && every_named(row, "Bsend")) ? 2 : 1;
    a->root = (int)every_draw(&call->shared, (uint64_t)kit_size);
    a->dest = a->target_rank = (kit_rank + 1) % kit_size;
    a->source = (kit_rank + kit_size - 1) % kit_size;
    a->tag = a->sendtag = a->recvtag = (int)every_draw(&call->shared, 100);
    a->datatype = draw_type(call);
    a->sendtype = draw_type(call);
    a->recvtype = draw_type(call);
    a->origin_datatype = draw_type(call);
    a->target_datatype = draw_type(call);
    a->result_datatype = draw_type(call);
    if (every_named(row, "Compare_and_swap"))
        a->datatype = MPI_INT;
    a->op = draw_op(call);
    a->comm = every_named(row, "eighbor") ? every_ring : MPI_COMM_WORLD;
    a->target_disp = 64;
    a->offset = (MPI_Offset)every_draw(&call->own, 100);
    /* Without an order between ranks: one of them alone. */
    call->skipped = every_named(row, "_shared") && kit_rank != a->root;
    draw_counts(call, count);
    draw_in_place(call);
    draw_buffers(call, count);
}

void every_call_free(struct every_call *call)
{
    for (int b = 0; b < EVERY_BUFFERS; b++)
        free(call->data[b]);
    free(call->window_data);
}
