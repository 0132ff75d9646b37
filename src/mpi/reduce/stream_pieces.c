#include "mpi/reduce/stream_pieces.h"

#include <stddef.h>

#include "bounce/bounce.h"
#include "core/status.h"
#include "device/device.h"
#include "kernels/args.h"
#include "mpi/real/handles.h"

/* ---- the host's side, on the server's thread ---- */

static size_t pieces_rounds(const struct tutti_stream_pieces *all)
{
    return all->of->pieces * (size_t)(1 + all->of->two);
}

static struct tutti_piece_round *round_of_wait(struct tutti_host_step *step)
{
    return (struct tutti_piece_round *)(void *)((char *)step - offsetof(struct tutti_piece_round, wait));
}

/* A piece of this rank's contribution is in host memory, or its part of the result. */
static void round_post(struct tutti_host_step *step)
{
    struct tutti_piece_round *const round = (struct tutti_piece_round *)(void *)step;
    struct tutti_stream_pieces *const all = round->of->all;
    struct tutti_piece_round **end = &all->under_way;
    if (atomic_load(all->failed) != TUTTI_OK)
        return;
    if (all->posted == 0)
        all->begun(all->user);
    if (round == &round->of->round[0])
        round->of->piece.at = all->posted++ * all->of->each;
    round->started = round->done = round->waiting = 0;
    round->next = NULL;
    while (*end)
        end = &(*end)->next;
    *end = round;
}

static void round_wait(struct tutti_host_step *step)
{
    struct tutti_piece_round *const round = round_of_wait(step);
    round->waiting = 1;
    if (round->done || atomic_load(round->of->all->failed) != TUTTI_OK)
        tutti_host_step_end(step);
}

static void round_over(struct tutti_host_step *step)
{
    struct tutti_stream_pieces *const all = round_of_wait(step)->of->all;
    if (++all->passed < pieces_rounds(all))
        return;
    all->posted = all->ended = all->passed = 0;
    all->over(all->user);
}

/* The exchanges of all ranks begin in the order of the stream. Two are open at a time: messages of more of them take
 * turns in an MPI's shared memory, and in its caches. An MPI code. */
static int rounds_start(struct tutti_stream_pieces *all)
{
    enum { OPEN = 2 };
    int code = MPI_SUCCESS, open = 0;
    for (struct tutti_piece_round *round = all->under_way; round && code == MPI_SUCCESS && open < OPEN;
         round = round->next, open++) {
        struct tutti_stream_piece *const piece = &round->of->piece;
        if (!round->started)
            code =
                round == &round->of->round[0] ? tutti_stream_piece_send(piece) : tutti_stream_piece_send_results(piece);
        round->started = 1;
    }
    return code;
}

int tutti_stream_pieces_poll(struct tutti_stream_pieces *all)
{
    int code = rounds_start(all);
    for (struct tutti_piece_round **at = &all->under_way, *round; code == MPI_SUCCESS && (round = *at) != NULL;) {
        int ended = 0;
        if (!round->started)
            break;
        code = tutti_next.MPI_Test(&round->of->piece.request, &ended, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || !ended) {
            at = &round->next;
            continue;
        }
        *at = round->next;
        all->ended++;
        round->done = 1;
        if (round->waiting)
            tutti_host_step_end(&round->wait);
    }
    return code != MPI_SUCCESS ? TUTTI_ERR_TRANSPORT : all->ended == pieces_rounds(all);
}

void tutti_stream_pieces_release(struct tutti_stream_pieces *all)
{
    for (struct tutti_piece_round *round = all->under_way; round; round = round->next) {
        if (round->waiting)
            tutti_host_step_end(&round->wait);
    }
}

/* ---- life ---- */

int tutti_stream_pieces_open(struct tutti_stream_pieces *all, struct tutti_stream_reduction *of)
{
    const struct tutti_stream_room room = tutti_stream_piece_room(of);
    const size_t bytes = room.in + room.room + room.out;
    const size_t slots = of->pieces < TUTTI_STREAM_PIECES ? of->pieces : TUTTI_STREAM_PIECES;
    *all = (struct tutti_stream_pieces){.of = of};
    all->memory = tutti_bounce_take(&tutti_bounce_pinned, -1, slots * bytes);
    if (!all->memory)
        return TUTTI_ERR_MEMORY;
    for (size_t i = 0; i < slots; i++) {
        struct tutti_piece_slot *const slot = &all->slot[i];
        slot->all = all;
        for (int k = 0; k < 2; k++)
            slot->round[k] = (struct tutti_piece_round){
                .post = {.begin = round_post}, .wait = {.begin = round_wait, .over = round_over}, .of = slot};
        const int status = tutti_stream_piece_open(&slot->piece, of, (char *)all->memory->memory + i * bytes);
        if (status != TUTTI_OK)
            return status;
    }
    return TUTTI_OK;
}

void tutti_stream_pieces_close(struct tutti_stream_pieces *all)
{
    for (int i = 0; i < TUTTI_STREAM_PIECES; i++)
        tutti_stream_piece_close(&all->slot[i].piece);
    tutti_bounce_give(all->memory);
    all->memory = NULL;
}

/* ---- the stream's side, on the program's thread ---- */

struct putting {
    struct tutti_stream_pieces *all;
    struct tutti_host_steps *steps;
    struct tutti_stream *stream;
    int status; /* the first failure, after which nothing is put */
};

static struct tutti_piece_slot *pieces_slot(const struct putting *p, size_t k)
{
    return &p->all->slot[k % TUTTI_STREAM_PIECES];
}

static void put_copy(struct putting *p, void *to, const void *from, size_t bytes)
{
    if (p->status == TUTTI_OK && bytes > 0)
        p->status = tutti_device()->stream.copy(p->stream, to, from, bytes);
}

static void put_post(struct putting *p, struct tutti_piece_round *round)
{
    if (p->status == TUTTI_OK)
        p->status = tutti_host_step_post(p->steps, p->stream, &round->post, NULL);
}

static void put_wait(struct putting *p, struct tutti_piece_round *round)
{
    if (p->status == TUTTI_OK)
        p->status = tutti_host_step_enqueue(p->steps, p->stream, &round->wait, NULL);
}

/* Piece k to host memory. */
static void put_in(struct putting *p, size_t k)
{
    const struct tutti_stream_reduction *const r = p->all->of;
    const size_t at = k * r->each;
    if (k >= r->pieces)
        return;
    put_copy(p, pieces_slot(p, k)->piece.in, (const char *)r->call.in + at * r->size,
             tutti_stream_piece_count(r, at) * r->size);
    put_post(p, &pieces_slot(p, k)->round[0]);
}

/* 1 if this rank's contribution may be read where the program has it: no result is stored there before. */
static int reads_own(const struct tutti_stream_reduction *r)
{
    const int scatters = r->call.collective == TUTTI_COLLECTIVE_REDUCE_SCATTER ||
                         r->call.collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK;
    return !scatters && r->ranks <= TUTTI_MAX_RANKS;
}

/* Combines what has arrived of piece k: into the result, or in two rounds into what goes to the other ranks. */
static void put_combine(struct putting *p, size_t k)
{
    const struct tutti_stream_reduction *const r = p->all->of;
    struct tutti_stream_piece piece = pieces_slot(p, k)->piece; /* the server's thread uses the slot's */
    piece.at = k * r->each;
    const struct tutti_result mine = tutti_stream_piece_of(r, piece.at, r->me);
    const size_t first = piece.at + mine.begin;
    const char *const own = reads_own(r) ? (const char *)r->call.in + first * r->size : piece.in + mine.begin * r->size;
    char *const out = r->two           ? piece.out + mine.begin * r->size
                      : mine.count > 0 ? (char *)r->call.out + (first - r->result[r->me].begin) * r->size
                                       : NULL;
    put_wait(p, &pieces_slot(p, k)->round[0]);
    if (p->status == TUTTI_OK)
        p->status = tutti_stream_piece_combine(&piece, own, out, p->stream);
    if (r->two)
        put_post(p, &pieces_slot(p, k)->round[1]);
}

/* The results of all ranks, of piece k. */
static void put_out(struct putting *p, size_t k)
{
    const struct tutti_stream_reduction *const r = p->all->of;
    const size_t at = k * r->each;
    put_wait(p, &pieces_slot(p, k)->round[1]);
    put_copy(p, (char *)r->call.out + at * r->size, pieces_slot(p, k)->piece.out,
             tutti_stream_piece_count(r, at) * r->size);
}

int tutti_stream_pieces_enqueue(struct tutti_stream_pieces *all, struct tutti_host_steps *steps,
                                struct tutti_stream *stream)
{
    struct putting p = {.all = all, .steps = steps, .stream = stream};
    const size_t pieces = all->of->pieces;
    const int two = all->of->two;
    for (size_t k = 0; k < TUTTI_STREAM_PIECES; k++)
        put_in(&p, k);
    for (size_t k = 0; k < pieces + (size_t)two; k++) {
        if (k < pieces)
            put_combine(&p, k);
        if (two && k > 0)
            put_out(&p, k - 1);
        if (!two || k > 0)
            put_in(&p, k - (size_t)two + TUTTI_STREAM_PIECES);
    }
    return p.status;
}
