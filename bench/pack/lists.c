/* Types that list the blocks of a layout, and layouts that are committed alone: long lists, and all the others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/pack/pack.h"
#include "core/clock.h"

struct list {
    int n, *lengths, *places;
    MPI_Aint *offsets;
    MPI_Datatype *types;
};

double pack_list_us;

static void *list_room(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (!memory)
        bench_fail("out of memory");
    return memory;
}

MPI_Datatype pack_layout_listed(const struct pack_layout *layout, const char *description, const char *base)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    struct list list = {.n = (int)layout->n};
    uint64_t start = tutti_now_ns();
    list.lengths = list_room(layout->n, sizeof *list.lengths);
    list.places = list_room(layout->n, sizeof *list.places);
    list.offsets = list_room(layout->n, sizeof *list.offsets);
    list.types = list_room(layout->n, sizeof *list.types);
    for (size_t i = 0; i < layout->n; i++) {
        struct pack_piece piece = pack_layout_piece(layout, i);
        list.lengths[i] = (int)piece.length;
        list.places[i] = (int)piece.offset;
        list.offsets[i] = (MPI_Aint)piece.offset + (layout->absolute ? (MPI_Aint)base : 0);
        list.types[i] = MPI_BYTE;
    }
    pack_list_us += (double)(tutti_now_ns() - start) * 1e-3;
#define IS(name) (strcmp(description, name) == 0)
    if (IS("hib"))
        pack_mpi(MPI_Type_create_hindexed_block(list.n, list.lengths[0], list.offsets, MPI_BYTE, &type),
                 "MPI_Type_create_hindexed_block");
    else if (IS("indexed_block"))
        pack_mpi(MPI_Type_create_indexed_block(list.n, list.lengths[0], list.places, MPI_BYTE, &type),
                 "MPI_Type_create_indexed_block");
    else if (IS("indexed"))
        pack_mpi(MPI_Type_indexed(list.n, list.lengths, list.places, MPI_BYTE, &type), "MPI_Type_indexed");
    else if (IS("struct"))
        pack_mpi(MPI_Type_create_struct(list.n, list.lengths, list.offsets, list.types, &type),
                 "MPI_Type_create_struct");
    else
        pack_mpi(MPI_Type_create_hindexed(list.n, list.lengths, list.offsets, MPI_BYTE, &type),
                 "MPI_Type_create_hindexed");
#undef IS
    start = tutti_now_ns();
    free(list.lengths);
    free(list.places);
    free(list.offsets);
    free(list.types);
    pack_list_us += (double)(tutti_now_ns() - start) * 1e-3;
    return type;
}

enum { ENTRIES = 100000 };

static MPI_Datatype make_listed(const struct pack_layout *layout, const char *description, char *base)
{
    return pack_layout_listed(layout, description, base);
}

static void add_irregular(struct pack_layout *out, int equal)
{
    size_t at = 0;
    for (size_t i = 0; i < ENTRIES; i++) {
        size_t length = equal ? 8 : 1 + pack_mix(2 * i) % 16;
        pack_layout_add(out, at, length);
        at += length + 8 * (1 + pack_mix(2 * i + 1) % 6);
    }
}

int pack_layout_lists(int i, struct pack_layout *out)
{
    static const struct bench_plan no_plan;
    static const struct pack_plan part = {.kind = PACK_ARTICLE, .cube = 1024, .parts = "8/1024/128"};
    if (i == 3)
        return pack_layout_make(&no_plan, &part, 0, out);
    if (i > 3)
        return pack_layout_ddtbench(i - 4, out);
    *out = (struct pack_layout){.make = make_listed};
    if (i == 0) {
        snprintf(out->name, sizeof out->name, "100k of any length");
        out->description[out->descriptions++] = "hi";
        out->description[out->descriptions++] = "indexed";
        out->description[out->descriptions++] = "struct";
        add_irregular(out, 0);
    } else {
        snprintf(out->name, sizeof out->name, i == 1 ? "100k of 8" : "100k of 8 every 16");
        out->description[out->descriptions++] = "hi";
        out->description[out->descriptions++] = "hib";
        out->description[out->descriptions++] = "indexed_block";
        if (i == 1)
            add_irregular(out, 1);
        for (size_t k = 0; i == 2 && k < ENTRIES; k++)
            pack_layout_add(out, 16 * k, 8);
    }
    pack_layout_end(out);
    return 1;
}
