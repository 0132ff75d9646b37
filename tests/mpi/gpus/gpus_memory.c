/* Memory of the programs: an area for each GPU and one of the host, of which a call's buffers are parts, and
 * allocations for one call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpus.h"

enum { AREA = 12 << 20, PATTERN = 0x5d, SHIFTS = 16 };

static struct area {
    char *memory;
    size_t used;
    int open;            /* pieces */
} areas[GPUS_CARDS + 1]; /* the last one is the host's */

static struct area *area_of(int gpu)
{
    return &areas[gpu == GPUS_HOST ? GPUS_CARDS : gpu];
}

static void *take(int gpu, size_t bytes)
{
    void *memory = gpu == GPUS_HOST ? malloc(bytes) : gpu_alloc(gpu, bytes);
    if (!memory) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        abort();
    }
    return memory;
}

static void give(int gpu, void *memory)
{
    if (gpu == GPUS_HOST)
        free(memory);
    else
        gpu_free(gpu, memory);
}

static void copy(int gpu, void *to, const void *from, size_t bytes)
{
    if (gpu == GPUS_HOST)
        memcpy(to, from, bytes);
    else
        gpu_copy(gpu, to, from, bytes);
}

char gpus_byte(uint64_t name, size_t i)
{
    return (char)(random_mix(name * 0x10001 + i / 8) >> 8 * (i % 8));
}

char *gpus_data(uint64_t name, size_t bytes)
{
    char *data = take(GPUS_HOST, bytes + 8);
    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t word = random_mix(name * 0x10001 + i / 8);
        memcpy(data + i, &word, 8);
    }
    return data;
}

/* ---- pieces ---- */

static void piece_open(struct gpus_piece *piece, int gpu, size_t align, size_t bytes)
{
    struct area *area = area_of(gpu);
    const size_t shift = gpus_below(&gpus_life.own, 2) ? 0 : gpus_below(&gpus_life.own, SHIFTS) * align;
    const size_t all = shift + bytes + 2 * GPUS_GUARD;
    *piece = (struct gpus_piece){.gpu = gpu, .bytes = bytes};
    piece->owned = gpus_in(&gpus_life.own, GPUS_fresh, 4) || area->used + all > AREA;
    if (piece->owned) {
        piece->memory = take(gpu, all);
    } else {
        if (!area->memory)
            area->memory = take(gpu, AREA);
        piece->memory = area->memory + area->used;
        area->used += (all + 255) / 256 * 256;
        area->open++;
    }
    piece->at = piece->memory + shift + GPUS_GUARD;
    piece->want = take(GPUS_HOST, bytes + 2 * GPUS_GUARD);
    memset(piece->want, PATTERN, bytes + 2 * GPUS_GUARD);
    if (gpu >= 0)
        gpus_life.used[gpu] = gpus_life.ever[gpu] = 1;
}

static void piece_close(struct gpus_piece *piece, const char *what)
{
    const size_t bytes = piece->bytes + 2 * GPUS_GUARD;
    char *got = take(GPUS_HOST, bytes);
    copy(piece->gpu, got, piece->at - GPUS_GUARD, bytes);
    size_t wrong = 0, first = 0;
    for (size_t i = bytes; i-- > 0;) {
        if (got[i] != piece->want[i]) {
            wrong++;
            first = i;
        }
    }
    CHECK(wrong == 0, "%s: %zu of %zu bytes on GPU %d are wrong, the first is byte %zd: %02x, not %02x", what, wrong,
          piece->bytes, piece->gpu, (ssize_t)first - GPUS_GUARD, got[first] & 0xff, piece->want[first] & 0xff);
    free(got);
    free(piece->want);
    struct area *area = area_of(piece->gpu);
    if (piece->owned)
        give(piece->gpu, piece->memory);
    else if (--area->open == 0)
        area->used = 0;
}

void gpus_memory_reset(int gpu)
{
    areas[gpu] = (struct area){.memory = NULL};
}

void gpus_memory_end(void)
{
    for (int i = 0; i <= GPUS_CARDS; i++) {
        if (areas[i].memory)
            give(i == GPUS_CARDS ? GPUS_HOST : i, areas[i].memory);
        areas[i] = (struct area){.memory = NULL};
    }
}

/* ---- sides ---- */

enum gpus_form gpus_form(struct gpus_draw *draw)
{
    const uint64_t form = gpus_below(draw, 4);
    if (form == 0 && gpus_may(GPUS_vector))
        return GPUS_VECTOR;
    return form == 1 && gpus_may(GPUS_bottom) ? GPUS_BOTTOM : GPUS_PLAIN;
}

static int place(int *with)
{
    const int gpu = gpus_place(*with);
    *with = *with < 0 ? gpu : *with;
    return gpu;
}

static void add_part(struct gpus_side *side, int piece, size_t offset, size_t bytes)
{
    side->part[side->parts].piece = piece;
    side->part[side->parts].offset = offset;
    side->part[side->parts++].bytes = bytes;
}

static void open_plain(struct gpus_side *side, size_t element, int *with)
{
    side->type = element == 1 ? MPI_BYTE : MPI_INT;
    side->count = (int)(side->bytes / element);
    piece_open(&side->piece[0], place(with), element, side->bytes);
    side->pieces = 1;
    side->buffer = side->piece[0].at;
    add_part(side, 0, 0, side->bytes);
}

/* Blocks with gaps, at most GPUS_PARTS. */
static void open_vector(struct gpus_side *side, int *with)
{
    int blocks = 1 + (int)gpus_below(&gpus_life.own, GPUS_PARTS);
    while (side->bytes % (size_t)blocks)
        blocks--;
    const size_t block = side->bytes / (size_t)blocks, stride = block + 1 + gpus_below(&gpus_life.own, 9);
    piece_open(&side->piece[0], place(with), 1, (size_t)(blocks - 1) * stride + block);
    side->pieces = side->count = side->made = 1;
    side->buffer = side->piece[0].at;
    MPI_Type_create_hvector(blocks, (int)block, (MPI_Aint)stride, MPI_BYTE, &side->type);
    for (int b = 0; b < blocks; b++)
        add_part(side, 0, (size_t)b * stride, block);
}

/* Pieces anywhere, by their addresses. */
static void open_bottom(struct gpus_side *side, int *with)
{
    int length[GPUS_PIECES];
    MPI_Aint at[GPUS_PIECES];
    const int pieces = 1 + (int)gpus_below(&gpus_life.own, GPUS_PIECES);
    size_t left = side->bytes;
    for (int p = 0; p < pieces; p++) {
        const size_t bytes = p == pieces - 1 ? left : gpus_below(&gpus_life.own, left + 1);
        piece_open(&side->piece[p], place(with), 1, bytes);
        add_part(side, p, 0, bytes);
        length[p] = (int)bytes;
        MPI_Get_address(side->piece[p].at, &at[p]);
        left -= bytes;
    }
    side->pieces = pieces;
    side->count = side->made = 1;
    side->buffer = MPI_BOTTOM;
    MPI_Type_create_hindexed(pieces, length, at, MPI_BYTE, &side->type);
}

void gpus_side_open(struct gpus_side *side, enum gpus_form form, size_t bytes, const char *data, int *with)
{
    *side = (struct gpus_side){.bytes = bytes};
    if (form == GPUS_INTS || form == GPUS_PLAIN || bytes == 0)
        open_plain(side, form == GPUS_INTS ? sizeof(int) : 1, with);
    else if (form == GPUS_VECTOR)
        open_vector(side, with);
    else
        open_bottom(side, with);
    if (side->made)
        MPI_Type_commit(&side->type);
    if (data)
        gpus_side_want(side, 0, data, bytes);
    for (int p = 0; p < side->pieces; p++) {
        struct gpus_piece *piece = &side->piece[p];
        copy(piece->gpu, piece->at - GPUS_GUARD, piece->want, piece->bytes + 2 * GPUS_GUARD);
    }
}

void gpus_side_want(struct gpus_side *side, size_t first, const char *data, size_t bytes)
{
    size_t begin = 0; /* of the part */
    for (int p = 0; p < side->parts; p++) {
        const size_t end = begin + side->part[p].bytes;
        const size_t from = first > begin ? first : begin, to = first + bytes < end ? first + bytes : end;
        if (from < to)
            memcpy(side->piece[side->part[p].piece].want + GPUS_GUARD + side->part[p].offset + (from - begin),
                   data + (from - first), to - from);
        begin = end;
    }
}

void gpus_side_learn(struct gpus_side *side)
{
    for (int p = 0; p < side->pieces; p++) {
        const struct gpus_piece *piece = &side->piece[p];
        copy(piece->gpu, piece->want + GPUS_GUARD, piece->at, piece->bytes);
    }
}

void gpus_side_close(struct gpus_side *side, const char *what)
{
    for (int p = 0; p < side->pieces; p++)
        piece_close(&side->piece[p], what);
    if (side->made)
        MPI_Type_free(&side->type);
}
