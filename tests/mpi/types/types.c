/* MPI_Pack and MPI_Unpack of random types between all pairs of memories that have device memory in them, against the
 * MPI's own on host memory: packed bytes, positions, gaps left alone, and each side unpacks what the other has packed.
 * Argument: number of types. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "kit.h"
#include "typegen.h"

enum { MOST = 4096, COUNTS = 3, ROOM = (16 * MOST + MOST) * 2 * (COUNTS + 1), BEFORE = 13 };

static struct kit_buffer elements[2], message[2];
static unsigned char *source, *target, *want, *packed;
static long types_made, without_plan;

static void fill(unsigned char *bytes, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)random_mix(seed + i);
}

static size_t first_difference(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < n; i++) {
        if (x[i] != y[i])
            return i;
    }
    return n;
}

struct tried {
    const struct typegen *type;
    int count, large;
    size_t span, bytes;
    MPI_Count lowest;
};

static void pack(const struct tried *t, int in, int out, uint64_t *state)
{
    size_t off = random_next(state) % 16, to = random_next(state) % 16;
    char *from = (char *)kit_put(&elements[in], off, source, t->span) - t->lowest;
    char *into = kit_put(&message[out], to, NULL, BEFORE + t->bytes + 7);
    int position = BEFORE, error;
#if MPI_VERSION >= 4
    MPI_Count position_c = BEFORE;
    if (t->large) {
        error = MPI_Pack_c(from, t->count, t->type->type, into, (MPI_Count)(BEFORE + t->bytes), &position_c,
                           MPI_COMM_WORLD);
        position = (int)position_c;
    } else
#endif
        error = MPI_Pack(from, t->count, t->type->type, into, (int)(BEFORE + t->bytes), &position, MPI_COMM_WORLD);
    const char *got = kit_get(&message[out], NULL);
    size_t wrong = first_difference(got + BEFORE, want, t->bytes);
    CHECK(error == MPI_SUCCESS && position == (int)(BEFORE + t->bytes),
          "MPI_Pack %d->%d of %d x %s: class %d, position %d", in, out, t->count, t->type->text, kit_class(error),
          position);
    CHECK(wrong == t->bytes, "MPI_Pack %d->%d of %d x %s: byte %zu of %zu is %02x, not %02x", in, out, t->count,
          t->type->text, wrong, t->bytes, (unsigned char)got[BEFORE + wrong], want[wrong]);
    int around = 1;
    for (size_t i = 0; i < BEFORE; i++)
        around &= got[i] == 0x5d;
    for (size_t i = BEFORE + t->bytes; i < BEFORE + t->bytes + 7; i++)
        around &= got[i] == 0x5d;
    CHECK(around, "MPI_Pack %d->%d of %d x %s wrote beside its place", in, out, t->count, t->type->text);
    kit_get(&elements[in], NULL);
}

static void unpack(const struct tried *t, int in, int out, uint64_t *state)
{
    size_t off = random_next(state) % 16, from_off = random_next(state) % 16;
    memcpy(packed + BEFORE, want, t->bytes);
    char *from = kit_put(&message[in], from_off, packed, BEFORE + t->bytes);
    char *into = (char *)kit_put(&elements[out], off, target, t->span) - t->lowest;
    int position = BEFORE, error;
#if MPI_VERSION >= 4
    MPI_Count position_c = BEFORE;
    if (t->large) {
        error = MPI_Unpack_c(from, (MPI_Count)(BEFORE + t->bytes), &position_c, into, t->count, t->type->type,
                             MPI_COMM_WORLD);
        position = (int)position_c;
    } else
#endif
        error = MPI_Unpack(from, (int)(BEFORE + t->bytes), &position, into, t->count, t->type->type, MPI_COMM_WORLD);
    unsigned char *expect = malloc(t->span + 1);
    memcpy(expect, target, t->span);
    typegen_unpack(t->type, t->count, expect - t->lowest, want, t->bytes);
    const char *got = kit_get(&elements[out], NULL);
    size_t wrong = first_difference(got, expect, t->span);
    CHECK(error == MPI_SUCCESS && position == (int)(BEFORE + t->bytes),
          "MPI_Unpack %d->%d of %d x %s: class %d, position %d", in, out, t->count, t->type->text, kit_class(error),
          position);
    CHECK(wrong == t->span, "MPI_Unpack %d->%d of %d x %s: byte %zu of %zu is %02x, not %02x, was %02x", in, out,
          t->count, t->type->text, wrong, t->span, (unsigned char)got[wrong], expect[wrong], target[wrong]);
    free(expect);
}

static void try(uint64_t *state)
{
    struct typegen type;
    typegen_make(&type, state, 1 + (int)(random_next(state) % 4), MOST, (int)(random_next(state) % 2));
    types_made++;
    struct tried t = {
        .type = &type, .count = 1 + (int)(random_next(state) % COUNTS), .large = random_next(state) % 2 != 0};
    t.span = typegen_span(&type, t.count, &t.lowest);
    t.bytes = (size_t)(type.size * t.count);
    fill(source, t.span, random_next(state));
    fill(target, t.span, random_next(state));
    size_t got = typegen_pack(&type, t.count, source - t.lowest, want, ROOM);
    CHECK(got == t.bytes, "the MPI packs %zu bytes of %d x %s, not %zu", got, t.count, type.text, t.bytes);
    uint64_t before = kit_counted("MPI_Pack", "accelerated") + kit_counted("MPI_Pack_c", "accelerated");
    pack(&t, KIT_DEVICE, KIT_DEVICE, state);
    uint64_t after = kit_counted("MPI_Pack", "accelerated") + kit_counted("MPI_Pack_c", "accelerated");
    if (t.bytes > 0 && after == before && !kit_plain) {
        without_plan++;
        fprintf(stderr, "types: staged: %s\n", type.text);
    }
    pack(&t, KIT_DEVICE, KIT_HOST, state);
    pack(&t, KIT_HOST, KIT_DEVICE, state);
    if (t.bytes > 0 && typegen_disjoint(&type, t.count)) { /* MPICH 4.0 divides by the size of the type */
        unpack(&t, KIT_DEVICE, KIT_DEVICE, state);
        unpack(&t, KIT_DEVICE, KIT_HOST, state);
        unpack(&t, KIT_HOST, KIT_DEVICE, state);
    }
    typegen_free(&type);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    long cases = argc > 1 ? atol(argv[1]) : 300;
    for (int kind = 0; kind < 2; kind++) {
        kit_open(&elements[kind], (enum kit_kind)kind, ROOM);
        kit_open(&message[kind], (enum kit_kind)kind, ROOM);
    }
    source = malloc(ROOM);
    target = malloc(ROOM);
    want = malloc(ROOM);
    packed = malloc(ROOM);
    memset(packed, 0x33, ROOM);
    uint64_t state = random_mix(kit_seed + (uint64_t)kit_rank);
    for (long i = 0; i < cases; i++)
        try(&state);
    CHECK(kit_plain || without_plan * 50 < types_made, "%ld of %ld types have no plan", without_plan, types_made);
    free(source);
    free(target);
    free(want);
    free(packed);
    for (int kind = 0; kind < 2; kind++) {
        kit_close(&elements[kind]);
        kit_close(&message[kind]);
    }
    return kit_end("types");
}
