/* Access patterns of applications, after DDTBench (Schneider, Gerstenberger, Hoefler: "Micro-applications for
 * communication data access patterns and MPI datatypes", EuroMPI 2012). Each is described as the application does and
 * once more as a list of its blocks (hi). */
#include <stdio.h>
#include <string.h>

#include "bench/pack/pack.h"
#include "core/clock.h"

enum { FLOAT_BYTES = 4, DOUBLE_BYTES = 8 };

static void ddt_describe(struct pack_layout *out, const char *name, const char *description,
                         MPI_Datatype (*make)(const struct pack_layout *, const char *, char *))
{
    *out = (struct pack_layout){.description = {description, "hi"}, .descriptions = 2, .make = make};
    snprintf(out->name, sizeof out->name, "%s", name);
}

/* Blocks of `block` elements, `stride` bytes apart, and `outer` of these. */
struct nest {
    const char *name;
    size_t element, block, count, stride, outer, outer_stride;
};
static const struct nest nests[] = {
    /* 16^4 sites of 24 bytes, every other one: two halves of a plane in each time slice */
    {"MILC su3 zdown", FLOAT_BYTES, 6 * 128, 16, 16 * 16 * 16 / 2 * 24, 2, 16 * 16 * 16 * 16 / 2 * 24},
    {"NAS LU x", DOUBLE_BYTES, 5, 512, 40, 1, 0},
    {"NAS LU y", DOUBLE_BYTES, 5, 512, 40 * 514, 1, 0},
    {"NAS MG x", DOUBLE_BYTES, 1, 128, 130 * 8, 128, 130 * 130 * 8},
    {"NAS MG y", DOUBLE_BYTES, 128, 128, 130 * 130 * 8, 1, 0},
    {"NAS MG z", DOUBLE_BYTES, 128, 128, 130 * 8, 1, 0},
    {"SPECFEM3D mt", FLOAT_BYTES, 3, 7680, 24, 1, 0},
};
enum { NESTS = sizeof nests / sizeof nests[0] };

/* number: which of them. */
static MPI_Datatype make_nest(const struct pack_layout *layout, const char *description, char *base)
{
    const struct nest *nest = &nests[layout->number[0]];
    MPI_Datatype type = MPI_DATATYPE_NULL, basic = nest->element == FLOAT_BYTES ? MPI_FLOAT : MPI_DOUBLE;
    int count = (int)nest->count, block = (int)nest->block;
    if (strcmp(description, "hi") == 0)
        return pack_layout_listed(layout, description, base);
    if (nest->stride == nest->block * nest->element)
        pack_mpi(MPI_Type_contiguous(count * block, basic, &type), "MPI_Type_contiguous");
    else
        pack_mpi(MPI_Type_vector(count, block, (int)(nest->stride / nest->element), basic, &type), "MPI_Type_vector");
    return nest->outer > 1 ? pack_layout_repeat(nest->outer, nest->outer_stride, type) : type;
}

static void ddt_nested(size_t which, struct pack_layout *out)
{
    const struct nest *nest = &nests[which];
    size_t bytes = nest->block * nest->element;
    ddt_describe(out, nest->name, nest->stride == bytes ? "contiguous" : "vector", make_nest);
    out->number[0] = which;
    out->block = bytes;
    out->dims = nest->outer > 1 ? 2 : 1;
    out->dim[out->dims - 1].count = nest->count;
    out->dim[out->dims - 1].stride = nest->stride;
    if (nest->outer > 1) {
        out->dim[0].count = nest->outer;
        out->dim[0].stride = nest->outer_stride;
    }
}

/* WRF: halos of four fields of floats over the plane, three with levels and two of those with several quantities,
 * [quantity][y][level][x], one behind the other. */
enum { WRF_FIELDS = 9, WRF_X = 110, WRF_LEVELS = 34, WRF_Y = 110, WRF_QUANTITIES = 3, WRF_RIM = 3, WRF_INNER = 100 };

/* Extents of field f, slowest first. */
static void wrf_field(int f, size_t extent[4])
{
    extent[0] = f >= 7 ? WRF_QUANTITIES : 1;
    extent[1] = WRF_Y;
    extent[2] = f >= 4 ? WRF_LEVELS : 1;
    extent[3] = WRF_X;
}

static size_t wrf_elements(int f)
{
    size_t extent[4];
    wrf_field(f, extent);
    return extent[0] * extent[1] * extent[2] * extent[3];
}

/* What of it goes: a rim in x (direction 0) or in y. */
static void wrf_part(int f, size_t direction, size_t part[4], size_t start[4])
{
    wrf_field(f, part);
    memset(start, 0, 4 * sizeof *start);
    part[1] = direction ? WRF_RIM : WRF_INNER;
    part[3] = direction ? WRF_INNER : WRF_RIM;
    start[1] = direction ? 2 : 5;
    start[3] = direction ? 5 : 2;
}

/* number: direction. A struct of addresses. */
static MPI_Datatype make_wrf(const struct pack_layout *layout, const char *description, char *base)
{
    MPI_Datatype all = MPI_DATATYPE_NULL, type[WRF_FIELDS];
    MPI_Aint address[WRF_FIELDS];
    int one[WRF_FIELDS];
    size_t before = 0;
    if (strcmp(description, "hi") == 0)
        return pack_layout_listed(layout, description, base);
    for (int f = 0; f < WRF_FIELDS; f++) {
        size_t size[4], part[4], start[4], pitch = FLOAT_BYTES, offset = 0;
        int sizes[4], parts[4], starts[4];
        wrf_field(f, size);
        wrf_part(f, layout->number[0], part, start);
        for (int d = 0; d < 4; d++) {
            sizes[d] = (int)size[d];
            parts[d] = (int)part[d];
            starts[d] = (int)start[d];
        }
        if (strcmp(description, "subarray") == 0) {
            pack_mpi(MPI_Type_create_subarray(4, sizes, parts, starts, MPI_ORDER_C, MPI_FLOAT, &type[f]),
                     "MPI_Type_create_subarray");
        } else {
            pack_mpi(MPI_Type_contiguous(parts[3], MPI_FLOAT, &type[f]), "MPI_Type_contiguous");
            for (int d = 3; d >= 0; d--) {
                offset += start[d] * pitch;
                if (d < 3 && size[d] > 1)
                    type[f] = pack_layout_repeat(part[d], pitch, type[f]);
                pitch *= size[d];
            }
        }
        address[f] = (layout->absolute ? (MPI_Aint)base : 0) + (MPI_Aint)(FLOAT_BYTES * before + offset);
        one[f] = 1;
        before += wrf_elements(f);
    }
    pack_mpi(MPI_Type_create_struct(WRF_FIELDS, one, address, type, &all), "MPI_Type_create_struct");
    for (int f = 0; f < WRF_FIELDS; f++)
        pack_mpi(MPI_Type_free(&type[f]), "MPI_Type_free");
    return all;
}

static void ddt_wrf(size_t direction, struct pack_layout *out)
{
    ddt_describe(out, direction ? "WRF y" : "WRF x", "vector", make_wrf);
    out->description[1] = "subarray";
    out->description[out->descriptions++] = "hi";
    out->absolute = 1;
    out->number[0] = direction;
    size_t before = 0;
    for (int f = 0; f < WRF_FIELDS; f++) {
        size_t size[4], part[4], start[4];
        wrf_field(f, size);
        wrf_part(f, direction, part, start);
        for (size_t i = 0; i < part[0] * part[1] * part[2]; i++) {
            size_t level = i % part[2] + start[2], y = i / part[2] % part[1] + start[1], q = i / part[2] / part[1];
            size_t at = ((q * size[1] + y) * size[2] + level) * size[3] + start[3];
            pack_layout_add(out, FLOAT_BYTES * (before + at), FLOAT_BYTES * part[3]);
        }
        before += wrf_elements(f);
    }
    out->room = FLOAT_BYTES * before;
}

/* LAMMPS and SPECFEM3D: the same atoms or points of several arrays that lie one behind the other. number: arrays,
 * entries, elements of an array; bytes of an entry in the first array and in the others; bytes of the basic type. */
enum { ARRAYS = 6 };

static MPI_Datatype make_chosen(const struct pack_layout *layout, const char *description, char *base)
{
    enum { ENTRIES = 7680 };
    const size_t arrays = layout->number[0], n = layout->number[1], elements = layout->number[2];
    MPI_Datatype all = MPI_DATATYPE_NULL, type[ARRAYS] = {MPI_DATATYPE_NULL};
    MPI_Aint address[ARRAYS] = {0}, at = layout->absolute ? (MPI_Aint)base : 0;
    int one[ARRAYS] = {0}, place[ENTRIES];
    size_t before = 0;
    if (strcmp(description, "hi") == 0)
        return pack_layout_listed(layout, description, base);
    for (size_t a = 0; a < arrays; a++) {
        const size_t bytes = layout->number[a == 0 ? 3 : 4], basic = layout->number[5], length = bytes / basic;
        const uint64_t start = tutti_now_ns();
        for (size_t i = 0; i < n && i < ENTRIES; i++)
            place[i] = (int)((layout->piece[a * n + i].offset - before) / basic);
        pack_list_us += (double)(tutti_now_ns() - start) * 1e-3;
        pack_mpi(MPI_Type_create_indexed_block((int)n, (int)length, place,
                                               basic == FLOAT_BYTES ? MPI_FLOAT : MPI_DOUBLE, &type[a]),
                 "MPI_Type_create_indexed_block");
        address[a] = at + (MPI_Aint)before;
        one[a] = 1;
        before += elements * bytes;
    }
    if (arrays == 1)
        return type[0];
    pack_mpi(MPI_Type_create_struct((int)arrays, one, address, type, &all), "MPI_Type_create_struct");
    for (size_t a = 0; a < arrays; a++)
        pack_mpi(MPI_Type_free(&type[a]), "MPI_Type_free");
    return all;
}

static void ddt_chosen(const char *name, size_t arrays, size_t n, size_t first, size_t others, size_t basic,
                       int absolute, struct pack_layout *out)
{
    enum { GAP = 8 };
    const size_t elements = n * GAP;
    const size_t numbers[] = {arrays, n, elements, first, others, basic};
    ddt_describe(out, name, arrays > 1 ? "struct" : "indexed_block", make_chosen);
    out->absolute = absolute;
    memcpy(out->number, numbers, sizeof numbers);
    for (size_t a = 0, before = 0; a < arrays; a++) {
        const size_t bytes = a == 0 ? first : others;
        for (size_t i = 0; i < n; i++)
            pack_layout_add(out, before + (GAP * i + pack_mix(i) % GAP) * bytes, bytes);
        before += elements * bytes;
        out->room = before;
    }
}

/* FFT2D: columns of a part of a matrix of complex numbers, one after the other. number: rows and columns of the part,
 * columns of the matrix. */
static MPI_Datatype make_transpose(const struct pack_layout *layout, const char *description, char *base)
{
    MPI_Datatype number = MPI_DATATYPE_NULL, column = MPI_DATATYPE_NULL, narrow = MPI_DATATYPE_NULL, all = number;
    const int n = (int)layout->number[0], width = (int)layout->number[1];
    if (strcmp(description, "hi") == 0)
        return pack_layout_listed(layout, description, base);
    pack_mpi(MPI_Type_contiguous(2, MPI_DOUBLE, &number), "MPI_Type_contiguous");
    pack_mpi(MPI_Type_vector(n, 1, width, number, &column), "MPI_Type_vector");
    pack_mpi(MPI_Type_create_resized(column, 0, 2 * DOUBLE_BYTES, &narrow), "MPI_Type_create_resized");
    pack_mpi(MPI_Type_contiguous(n, narrow, &all), "MPI_Type_contiguous");
    pack_mpi(MPI_Type_free(&number), "MPI_Type_free");
    pack_mpi(MPI_Type_free(&column), "MPI_Type_free");
    pack_mpi(MPI_Type_free(&narrow), "MPI_Type_free");
    return all;
}

static void ddt_transpose(size_t n, size_t width, struct pack_layout *out)
{
    ddt_describe(out, "FFT2D", "resized", make_transpose);
    out->number[0] = n;
    out->number[1] = width;
    out->room = n * width * 2 * DOUBLE_BYTES;
    for (size_t column = 0; column < n; column++) {
        for (size_t row = 0; row < n; row++)
            pack_layout_add(out, (row * width + column) * 2 * DOUBLE_BYTES, 2 * DOUBLE_BYTES);
    }
}

int pack_layout_ddtbench(int i, struct pack_layout *out)
{
    enum { LAMMPS = 3062, SPECFEM = 7680 };
    if (i < 2) {
        ddt_wrf((size_t)i, out);
    } else if (i < 2 + (int)NESTS) {
        ddt_nested((size_t)i - 2, out);
    } else {
        switch (i - 2 - (int)NESTS) {
        case 0:
            ddt_chosen("LAMMPS full", 6, LAMMPS, 24, 8, DOUBLE_BYTES, 1, out);
            break;
        case 1:
            ddt_chosen("LAMMPS atomic", 4, LAMMPS, 24, 8, DOUBLE_BYTES, 1, out);
            break;
        case 2:
            ddt_chosen("SPECFEM3D oc", 1, SPECFEM, 4, 4, FLOAT_BYTES, 0, out);
            break;
        case 3:
            ddt_chosen("SPECFEM3D cm", 2, SPECFEM, 12, 12, FLOAT_BYTES, 0, out);
            break;
        case 4:
            ddt_transpose(256, 1024, out);
            break;
        default:
            return 0;
        }
    }
    pack_layout_end(out);
    return 1;
}
