/* The copy of a window: pieces that are sent are copied into its memory, or packed; received ones out of it. Boards
 * have a blocking copy of their own (joined_board.c); both use batch.h. */
#include "coll/carry/batch.h"
#include "coll/carry/wire.h"
#include "core/status.h"

/* Elements of a piece: one after the other. Zeros: before the first. */
struct copy_cut {
    struct tutti_elements *elements;
    uint64_t first, bytes; /* of their packed form */
    uint64_t at;           /* in the piece */
    char *memory;
    int part;
};

static int cut_next(const struct tutti_carry_piece *piece, struct copy_cut *cut)
{
    const struct tutti_carry_item *item = piece->item;
    cut->at += cut->bytes;
    if (cut->at >= piece->bytes)
        return 0;
    const uint64_t first = piece->first + cut->at, left = piece->bytes - cut->at;
    cut->elements = item->elements;
    cut->first = first;
    cut->bytes = left;
    cut->memory = piece->memory + cut->at;
    if (item->parts > 0) {
        while (item->part[cut->part].end <= first)
            cut->part++;
        const uint64_t end = item->part[cut->part].end;
        cut->elements = item->part[cut->part].elements;
        cut->first = first - (cut->part > 0 ? item->part[cut->part - 1].end : 0);
        cut->bytes = end - first < left ? end - first : left;
    }
    return 1;
}

/* 1 if the port's stream copies them. */
static int cut_in_stream(const struct tutti_carry_window *w, const struct tutti_elements *elements)
{
    const struct tutti_places *places = &elements->places;
    return w->flow->port && w->area.bounce && places->device && tutti_places_reached(places) &&
           (places->gpu < 0 || places->gpu == w->flow->port->gpu);
}

/* ---- in the stream ---- */

static int window_copy_enqueue(const struct tutti_carry_window *w, enum tutti_direction direction)
{
    struct tutti_carry_batch batch = {.port = w->flow->port, .direction = direction};
    int status = TUTTI_OK;
    for (int i = 0; i < w->pieces; i++) {
        struct copy_cut cut = {.bytes = 0};
        while (status == TUTTI_OK && w->piece[i].copied && cut_next(&w->piece[i], &cut)) {
            if (cut_in_stream(w, cut.elements))
                status = tutti_carry_batch_add(&batch, cut.elements, cut.first, cut.bytes, cut.memory);
        }
    }
    if (status == TUTTI_OK)
        status = tutti_carry_batch_end(&batch, w->event);
    return status > 0 ? TUTTI_TASK_RUNS : status;
}

/* ---- the task ---- */

static int window_copy_post(void *with, uint64_t number)
{
    const struct tutti_carry_window *w = with;
    const enum tutti_direction direction = w->flow->way == TUTTI_CARRY_OUT ? TUTTI_PACK : TUTTI_UNPACK;
    int status = TUTTI_OK;
    (void)number;
    for (int i = 0; i < w->pieces; i++) {
        struct copy_cut cut = {.bytes = 0};
        while (status == TUTTI_OK && w->piece[i].copied && cut_next(&w->piece[i], &cut)) {
            if (!cut_in_stream(w, cut.elements))
                status = tutti_elements_move(direction, cut.elements, cut.first, cut.bytes, cut.memory);
        }
    }
    if (status == TUTTI_OK && w->flow->port)
        status = window_copy_enqueue(w, direction);
    return status < 0 ? status : status == TUTTI_TASK_RUNS ? TUTTI_TASK_RUNS : TUTTI_TASK_ENDED;
}

static int window_copy_poll(void *with, uint64_t number)
{
    const struct tutti_carry_window *w = with;
    const int done = tutti_device()->event.query(w->event);
    (void)number;
    return done < 0 ? done : done ? TUTTI_TASK_ENDED : TUTTI_TASK_RUNS;
}

const struct tutti_task_ops tutti_carry_copies = {
    .name = "copy of a window", .post = window_copy_post, .poll = window_copy_poll};
