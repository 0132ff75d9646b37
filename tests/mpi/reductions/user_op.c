/* What kernels do not reduce is still right on device memory, through the host: user-defined operators, commutative or
 * not, long double, derived types, pairs of a user's own; and it is counted. The user's function never sees a device
 * pointer. */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "tutti/tutti.h"

enum { COUNT = 777, ROOM = COUNT * 64 };
static struct kit_buffer in, out;
static long device_pointers, applied;

struct matrix {
    int64_t a, b, c, d; /* of 2 x 2, modulo 1009 */
};

static struct matrix product(struct matrix x, struct matrix y)
{
    return (struct matrix){(x.a * y.a + x.b * y.c) % 1009, (x.a * y.b + x.b * y.d) % 1009,
                           (x.c * y.a + x.d * y.c) % 1009, (x.c * y.b + x.d * y.d) % 1009};
}

static void look(const void *a, const void *b)
{
    applied++;
    if (!kit_plain)
        device_pointers += tutti_is_device(a) || tutti_is_device(b);
}

/* inout = in * inout: not commutative. */
static void multiply(void *in_, void *inout_, int *length, MPI_Datatype *type)
{
    struct matrix *x = in_, *y = inout_;
    look(in_, inout_);
    (void)type;
    for (int i = 0; i < *length; i++)
        y[i] = product(x[i], y[i]);
}

static void longest(void *in_, void *inout_, int *length, MPI_Datatype *type)
{
    int *x = in_, *y = inout_;
    look(in_, inout_);
    (void)type;
    for (int i = 0; i < *length; i++)
        y[i] = x[i] > y[i] ? x[i] : y[i];
}

static struct matrix matrix_of(int rank, int i)
{
    uint64_t r = random_mix(kit_seed + (uint64_t)rank * 7919 + (uint64_t)i);
    return (struct matrix){(int64_t)(r % 1009), (int64_t)(r >> 12 & 511), (int64_t)(r >> 24 & 511),
                           (int64_t)(r >> 36 & 511)};
}

static void not_commutative(int in_place)
{
    MPI_Op op;
    MPI_Datatype type;
    static struct matrix mine[COUNT], want[COUNT];
    MPI_Op_create(multiply, 0, &op);
    MPI_Type_contiguous(4, MPI_INT64_T, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < COUNT; i++) {
        mine[i] = matrix_of(kit_rank, i);
        want[i] = matrix_of(0, i);
        for (int r = 1; r < kit_size; r++)
            want[i] = product(want[i], matrix_of(r, i));
    }
    void *to = kit_put(&out, 0, in_place ? mine : NULL, sizeof mine);
    int error = MPI_Allreduce(in_place ? MPI_IN_PLACE : kit_put(&in, 0, mine, sizeof mine), to, COUNT, type, op,
                              MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(&out, NULL), want, sizeof want) == 0,
          "products of matrices%s: class %d", in_place ? " in place" : "", kit_class(error));
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

static void commutative(void)
{
    MPI_Op op;
    int mine[COUNT], want[COUNT];
    MPI_Op_create(longest, 1, &op);
    for (int i = 0; i < COUNT; i++) {
        mine[i] = (kit_rank * 31 + i) % 17;
        want[i] = i % 17;
        for (int r = 1; r < kit_size; r++)
            want[i] = (r * 31 + i) % 17 > want[i] ? (r * 31 + i) % 17 : want[i];
    }
    void *to = kit_put(&out, 0, NULL, sizeof mine);
    int error = MPI_Allreduce(kit_put(&in, 0, mine, sizeof mine), to, COUNT, MPI_INT, op, MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(&out, NULL), want, sizeof want) == 0, "largest by a user's function");
    MPI_Op_free(&op);
}

/* Strided elements: what lies between them stays as it was. */
static void strided_sum(void *in_, void *inout_, int *length, MPI_Datatype *type)
{
    enum { STRIDE = 3, SPAN = 4 * STRIDE };
    int *x = in_, *y = inout_;
    look(in_, inout_);
    (void)type;
    for (int i = 0; i < *length; i++)
        for (int j = 0; j < 4; j++)
            y[i * SPAN + j * STRIDE] += x[i * SPAN + j * STRIDE];
}

static void strided(int in_place)
{
    enum { STRIDE = 3, SPAN = 4 * STRIDE, ALL = SPAN * 25 };
    MPI_Op op;
    MPI_Datatype vector, type;
    MPI_Op_create(strided_sum, 1, &op);
    MPI_Type_vector(4, 1, STRIDE, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, SPAN * (MPI_Aint)sizeof(int), &type);
    MPI_Type_commit(&type);
    int mine[ALL], before[ALL], want[ALL];
    for (int i = 0; i < ALL; i++) {
        mine[i] = kit_rank * 1000 + i;
        before[i] = in_place ? mine[i] : -i;
        want[i] = i % STRIDE ? before[i] : kit_size * (kit_size - 1) / 2 * 1000 + kit_size * i;
    }
    void *to = kit_put(&out, 0, before, sizeof mine);
    int error =
        MPI_Allreduce(in_place ? MPI_IN_PLACE : kit_put(&in, 0, mine, sizeof mine), to, 25, type, op, MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(&out, NULL), want, sizeof want) == 0,
          "sum over a strided type%s: class %d", in_place ? " in place" : "", kit_class(error));
    MPI_Type_free(&vector);
    MPI_Type_free(&type);
    MPI_Op_free(&op);
}

static void long_double(MPI_Op op)
{
    static long double mine[COUNT], want[COUNT];
    int product_of = op == MPI_PROD;
    for (int i = 0; i < COUNT; i++) {
        want[i] = product_of;
        for (int r = 0; r < kit_size; r++) {
            long double value = (long double)(r + 1) + (long double)(i % 8) * 0x1p-60L;
            if (product_of)
                value = r % 2 ? 0.5L : 2 + i;
            want[i] = product_of ? want[i] * value : want[i] + value;
            if (r == kit_rank)
                mine[i] = value;
        }
    }
    void *to = kit_put(&out, 0, NULL, sizeof mine);
    int error = MPI_Allreduce(kit_put(&in, 0, mine, sizeof mine), to, COUNT, MPI_LONG_DOUBLE, op, MPI_COMM_WORLD);
    const long double *got = (const void *)kit_get(&out, NULL);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += got[i] != want[i];
    CHECK(error == MPI_SUCCESS && wrong == 0, "%s of long double: class %d, %d elements are wrong",
          product_of ? "product" : "sum", kit_class(error), wrong);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    kit_open(&in, KIT_DEVICE, ROOM);
    kit_open(&out, KIT_DEVICE, ROOM);
    for (int in_place = 0; in_place < 2; in_place++) {
        not_commutative(in_place);
        strided(in_place);
    }
    commutative();
    long_double(MPI_SUM);
    long_double(MPI_PROD);
    CHECK(device_pointers == 0, "%ld of %ld times a user's function was given a device pointer", device_pointers,
          applied);
    CHECK(kit_plain || kit_counted("MPI_Allreduce", "") >= 7, "%llu calls are counted of 7",
          (unsigned long long)kit_counted("MPI_Allreduce", ""));
    CHECK(kit_counted("MPI_Allreduce", "accelerated") == 0, "a call is counted as accelerated that cannot have been");
    kit_close(&in);
    kit_close(&out);
    return kit_end("user");
}
