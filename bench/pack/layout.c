/* Layouts that are regular, and what is common to all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/pack/pack.h"

void pack_mpi(int error, const char *call)
{
    if (error != MPI_SUCCESS)
        bench_fail("%s failed with error %d", call, error);
}

uint64_t pack_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void pack_layout_free(struct pack_layout *layout)
{
    free(layout->piece);
    layout->piece = NULL;
}

struct pack_piece pack_layout_piece(const struct pack_layout *layout, size_t i)
{
    if (layout->piece)
        return layout->piece[i];
    struct pack_piece piece = {0, layout->block};
    for (int d = layout->dims - 1; d >= 0; d--) {
        piece.offset += i % layout->dim[d].count * layout->dim[d].stride;
        i /= layout->dim[d].count;
    }
    return piece;
}

void pack_layout_add(struct pack_layout *layout, size_t offset, size_t length)
{
    if (layout->n == layout->pieces_room) {
        layout->pieces_room = layout->pieces_room ? 2 * layout->pieces_room : 1024;
        layout->piece = realloc(layout->piece, layout->pieces_room * sizeof *layout->piece);
        if (!layout->piece)
            bench_fail("out of memory");
    }
    layout->piece[layout->n++] = (struct pack_piece){offset, length};
}

void pack_layout_end(struct pack_layout *layout)
{
    size_t end = 0;
    if (!layout->piece) {
        layout->n = 1;
        for (int d = 0; d < layout->dims; d++)
            layout->n *= layout->dim[d].count;
    }
    layout->bytes = 0;
    for (size_t i = 0; i < layout->n; i++) {
        struct pack_piece piece = pack_layout_piece(layout, i);
        layout->bytes += piece.length;
        if (piece.offset + piece.length > end)
            end = piece.offset + piece.length;
    }
    if (layout->room < end)
        layout->room = end;
    /* Sectors are marked: blocks may share one without being neighbours in the message. */
    unsigned char *mark = calloc(end / PACK_SECTOR / 8 + 1, 1);
    if (!mark)
        bench_fail("out of memory");
    layout->touched = 0;
    for (size_t i = 0; i < layout->n; i++) {
        struct pack_piece piece = pack_layout_piece(layout, i);
        for (size_t s = piece.offset / PACK_SECTOR; s * PACK_SECTOR < piece.offset + piece.length; s++) {
            layout->touched += mark[s / 8] >> (s % 8) & 1 ? 0 : PACK_SECTOR;
            mark[s / 8] |= (unsigned char)(1u << (s % 8));
        }
    }
    free(mark);
}

MPI_Datatype pack_layout_repeat(size_t count, size_t stride, MPI_Datatype inner)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    pack_mpi(MPI_Type_create_hvector((int)count, 1, (MPI_Aint)stride, inner, &type), "MPI_Type_create_hvector");
    pack_mpi(MPI_Type_free(&inner), "MPI_Type_free");
    return type;
}

/* number: x, y, z, edge of the cube. */
static MPI_Datatype make_part(const struct pack_layout *layout, const char *description, char *base)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const size_t x = layout->number[0], y = layout->number[1], z = layout->number[2], edge = layout->number[3];
    if (strcmp(description, "hi") == 0 || strcmp(description, "hib") == 0)
        return pack_layout_listed(layout, description, base);
    if (strcmp(description, "subarray") == 0) {
        const int sizes[] = {(int)edge, (int)edge, (int)edge}, part[] = {(int)z, (int)y, (int)x}, start[] = {0, 0, 0};
        pack_mpi(MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, MPI_BYTE, &type),
                 "MPI_Type_create_subarray");
        return type;
    }
    if (strcmp(description, "v_hv") == 0) {
        pack_mpi(MPI_Type_vector((int)y, (int)x, (int)edge, MPI_BYTE, &type), "MPI_Type_vector");
    } else {
        pack_mpi(MPI_Type_vector((int)x, 1, 1, MPI_BYTE, &type), "MPI_Type_vector");
        type = pack_layout_repeat(y, edge, type);
    }
    return pack_layout_repeat(z, edge * edge, type);
}

static void part_of_cube(size_t edge, size_t x, size_t y, size_t z, struct pack_layout *out)
{
    *out = (struct pack_layout){
        .block = x,
        .dims = 2,
        .dim = {{z, edge * edge}, {y, edge}},
        .room = edge * edge * edge,
        .description = {"v_hv_hv", "v_hv", "hi", "hib", "subarray"},
        .descriptions = 5,
        .make = make_part,
        .number = {x, y, z, edge},
    };
    snprintf(out->name, sizeof out->name, "%zu/%zu/%zu", x, y, z);
    pack_layout_end(out);
}

/* The i-th of "8/1024/128,16/1024/64". */
static int listed_part(const struct pack_plan *pack, int i, struct pack_layout *out)
{
    const char *at = pack->parts;
    for (; i > 0 && at; i--) {
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    char *end = NULL;
    size_t extent[3] = {0, 0, 0};
    for (int d = 0; at && d < 3; d++) {
        extent[d] = strtoull(at, &end, 10);
        at = *end ? end + 1 : end;
    }
    if (!end)
        return 0;
    part_of_cube(pack->cube, extent[0], extent[1], extent[2], out);
    return 1;
}

/* Parts of edge^2 bytes: for each length of a row the longest planes, the most even ones, and the flattest. */
static int layout_part(const struct pack_plan *pack, int i, struct pack_layout *out)
{
    if (*pack->parts)
        return listed_part(pack, i, out);
    const size_t edge = pack->cube;
    for (size_t x = 1; x <= edge; x *= 2) {
        size_t area = edge * edge / x, even = 1, seen[3] = {0}, n = 0;
        while (even * even < area)
            even *= 2;
        const size_t planes[3] = {edge, even, area / edge};
        for (int p = 0; p < 3; p++) {
            size_t y = planes[p];
            if (y == 0 || y > edge || area / y > edge || area / y == 0)
                continue;
            int known = 0;
            for (size_t s = 0; s < n; s++)
                known |= seen[s] == y;
            if (known)
                continue;
            seen[n++] = y;
            if (i-- == 0) {
                part_of_cube(edge, x, y, area / y, out);
                return 1;
            }
        }
    }
    return 0;
}

/* number: block, stride. */
static MPI_Datatype make_strided(const struct pack_layout *layout, const char *description, char *base)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, inner = MPI_DATATYPE_NULL;
    const int block = (int)layout->number[0], stride = (int)layout->number[1], n = (int)layout->n;
    if (strcmp(description, "hib") == 0)
        return pack_layout_listed(layout, description, base);
    if (strcmp(description, "vector") == 0) {
        pack_mpi(MPI_Type_vector(n, block, stride, MPI_BYTE, &type), "MPI_Type_vector");
        return type;
    }
    if (strcmp(description, "subarray") == 0) {
        const int sizes[] = {n, stride}, part[] = {n, block}, start[] = {0, 0};
        pack_mpi(MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_BYTE, &type),
                 "MPI_Type_create_subarray");
        return type;
    }
    pack_mpi(MPI_Type_contiguous(block, MPI_BYTE, &inner), "MPI_Type_contiguous");
    if (strcmp(description, "hvector") == 0)
        return pack_layout_repeat(layout->n, layout->number[1], inner);
    MPI_Datatype wide = MPI_DATATYPE_NULL;
    pack_mpi(MPI_Type_create_resized(inner, 0, stride, &wide), "MPI_Type_create_resized");
    pack_mpi(MPI_Type_contiguous(n, wide, &type), "MPI_Type_contiguous");
    pack_mpi(MPI_Type_free(&wide), "MPI_Type_free");
    pack_mpi(MPI_Type_free(&inner), "MPI_Type_free");
    return type;
}

static int layout_strided(const struct bench_plan *plan, const struct pack_plan *pack, int i, struct pack_layout *out)
{
    enum { LISTED = 1 << 20 }; /* longer lists are not made */
    if (i >= plan->n_sizes)
        return 0;
    size_t n = plan->sizes[i] / pack->block;
    *out = (struct pack_layout){
        .block = pack->block,
        .dims = 1,
        .dim = {{n ? n : 1, pack->stride}},
        .description = {"vector", "subarray", "hvector", "resized", "hib"},
        .descriptions = n <= LISTED ? 5 : 4,
        .make = make_strided,
        .number = {pack->block, pack->stride},
    };
    snprintf(out->name, sizeof out->name, "%zu every %zu", pack->block, pack->stride);
    pack_layout_end(out);
    return 1;
}

int pack_layout_make(const struct bench_plan *plan, const struct pack_plan *pack, int i, struct pack_layout *out)
{
    *out = (struct pack_layout){.n = 0};
    switch (pack->kind) {
    case PACK_ARTICLE:
        return layout_part(pack, i, out);
    case PACK_STRIDED:
        return layout_strided(plan, pack, i, out);
    case PACK_DDTBENCH:
        return pack_layout_ddtbench(i, out);
    case PACK_COMMIT:
        return pack_layout_lists(i, out);
    }
    return 0;
}
