/* The edges of MPI_Pack and its like on device memory: buffers that are too small, nothing to pack, external32, types
 * that reach several memories, messages in pieces, handles that are used again, duplicates, several threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "kit.h"
#include "real_mpi.h"

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

/* MPI_ERR_TRUNCATE through the error handler, one line that says the numbers, position and buffer as they were. */
static void too_small(void)
{
    int values[12] = {0}, position = 4, error;
    struct kit_buffer device, host;
    MPI_Errhandler made;
    MPI_Datatype gaps;
    kit_open(&device, KIT_DEVICE, sizeof values);
    kit_open(&host, KIT_HOST, 64);
    char *from = kit_put(&device, 0, values, sizeof values), *to = kit_put(&host, 0, NULL, 27);
    MPI_Type_vector(6, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Comm_create_errhandler(handler, &made);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, made);
    handled = 0;
    capture_start();
    error = MPI_Pack(from, 1, gaps, to, 27, &position, MPI_COMM_WORLD);
    const char *text = capture_end();
    /* MPICH 4.0 itself writes what fits. */
    CHECK(kit_plain || (kit_class(error) == MPI_ERR_TRUNCATE && handled == 1 && position == 4),
          "MPI_Pack of 24 bytes into 23: class %d, handler %d times, position %d", kit_class(error), handled, position);
    CHECK(kit_plain || (capture_count(text, "MPI_Pack: ") == 1 && capture_count(text, "24 bytes") == 1), "said '%s'",
          text);
    int guards;
    kit_get(&host, &guards);
    CHECK(kit_plain || guards, "MPI_Pack that failed wrote");
    to = kit_put(&host, 0, NULL, 27);
    handled = 0;
    capture_start();
    error = MPI_Unpack(to, 27, &position, from, 1, gaps, MPI_COMM_WORLD);
    text = capture_end();
    CHECK(kit_plain || (error != MPI_SUCCESS && handled == 1 && position == 4), "MPI_Unpack of 24 bytes out of 23: %d",
          kit_class(error));
    const int *left = (const void *)kit_get(&device, NULL);
    CHECK(kit_plain || (left[0] == 0 && left[10] == 0), "MPI_Unpack that failed wrote");
    /* The MPI's own errors; PyPI's MPICH 5 is built without such checks. */
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    MPI_Get_library_version(library, &length);
    const char *version = strstr(library, "MPICH Version:");
    int unchecked = version && version[strcspn(version, "0123456789")] == '5';
    handled = 0;
    error = MPI_Pack(from, -1, gaps, to, 27, &position, MPI_COMM_WORLD);
    CHECK((unchecked && kit_class(error) == MPI_SUCCESS) || (kit_class(error) == MPI_ERR_COUNT && handled == 1),
          "a negative count: class %d", kit_class(error));
    MPI_Datatype raw;
    MPI_Type_vector(3, 1, 2, MPI_INT, &raw);
    handled = 0;
    error = MPI_Pack(from, 1, raw, to, 27, &position, MPI_COMM_WORLD);
    CHECK((unchecked && kit_class(error) == MPI_SUCCESS) || (kit_class(error) == MPI_ERR_TYPE && handled == 1),
          "a type that is not committed: class %d", kit_class(error));
    MPI_Type_free(&raw);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&made);
    position = 27;
    error = MPI_Pack(from, 0, gaps, to, 28, &position, MPI_COMM_WORLD);
    CHECK(error == MPI_SUCCESS && position == 27, "nothing to pack: class %d, position %d", kit_class(error), position);
    MPI_Type_free(&gaps);
    kit_close(&device);
    kit_close(&host);
}

typedef int external_call(const char *, const void *, int, MPI_Datatype, void *, MPI_Aint, MPI_Aint *);

static void external(int in, int out)
{
    enum { COUNT = 5, ALL = 2 * COUNT };
    double values[ALL], empty[ALL];
    struct kit_buffer from, to;
    unsigned char want[256];
    external_call *real = (external_call *)real_mpi_function("MPI_Pack_external");
    for (int i = 0; i < ALL; i++) {
        values[i] = 1.25 * i + kit_rank;
        empty[i] = -7;
    }
    MPI_Datatype gaps;
    MPI_Type_vector(COUNT, 1, 2, MPI_DOUBLE, &gaps);
    MPI_Type_commit(&gaps);
    kit_open(&from, (enum kit_kind)in, sizeof values);
    kit_open(&to, (enum kit_kind)out, sizeof want);
    MPI_Aint wanted = 0, position = 8;
    real("external32", values, 1, gaps, want, sizeof want, &wanted);
    char *at = kit_put(&to, 3, NULL, 8 + (size_t)wanted);
    int error =
        MPI_Pack_external("external32", kit_put(&from, 0, values, sizeof values), 1, gaps, at, 8 + wanted, &position);
    CHECK(error == MPI_SUCCESS && position == 8 + wanted, "MPI_Pack_external %d->%d: class %d, position %ld", in, out,
          kit_class(error), (long)position);
    CHECK(memcmp(kit_get(&to, NULL) + 8, want, (size_t)wanted) == 0, "MPI_Pack_external %d->%d: wrong bytes", in, out);
    at = kit_put(&to, 3, want, (size_t)wanted);
    position = 0;
    error = MPI_Unpack_external("external32", at, wanted, &position, kit_put(&from, 0, empty, sizeof empty), 1, gaps);
    const double *got = (const void *)kit_get(&from, NULL);
    int wrong = 0;
    for (int i = 0; i < ALL; i++)
        wrong += got[i] != (i % 2 ? empty[i] : values[i]);
    CHECK(error == MPI_SUCCESS && position == wanted && wrong == 0,
          "MPI_Unpack_external %d->%d: class %d, position %ld, %d wrong", out, in, kit_class(error), (long)position,
          wrong);
    MPI_Type_free(&gaps);
    kit_close(&from);
    kit_close(&to);
}

/* MPI_BOTTOM with parts in both kinds of memory. */
static void both_memories(void)
{
    int a[8], b[8], lengths[] = {3, 2}, position = 0;
    if (kit_plain) /* MPICH 4.0 refuses MPI_BOTTOM here */
        return;
    struct kit_buffer device, host, message;
    for (int i = 0; i < 8; i++) {
        a[i] = 10 + i;
        b[i] = 20 + i;
    }
    kit_open(&device, KIT_DEVICE, sizeof a);
    kit_open(&host, KIT_HOST, sizeof b);
    kit_open(&message, KIT_HOST, 20);
    MPI_Aint places[2];
    MPI_Get_address((int *)kit_put(&device, 0, a, sizeof a) + 2, &places[0]);
    MPI_Get_address((int *)kit_put(&host, 0, b, sizeof b) + 1, &places[1]);
    MPI_Datatype absolute;
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    char *packed = kit_put(&message, 0, NULL, 20);
    int error = MPI_Pack(MPI_BOTTOM, 1, absolute, packed, 20, &position, MPI_COMM_WORLD);
    const int want[] = {12, 13, 14, 21, 22}, other[] = {1, 2, 3, 4, 5};
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(&message, NULL), want, sizeof want) == 0,
          "device and host memory in one type: class %d", kit_class(error));
    packed = kit_put(&message, 0, other, sizeof other);
    position = 0;
    error = MPI_Unpack(packed, 20, &position, MPI_BOTTOM, 1, absolute, MPI_COMM_WORLD);
    const int *on_device = (const void *)kit_get(&device, NULL), *on_host = (const void *)kit_get(&host, NULL);
    CHECK(error == MPI_SUCCESS && on_device[1] == 11 && on_device[2] == 1 && on_device[4] == 3 && on_device[5] == 15 &&
              on_host[0] == 20 && on_host[1] == 4 && on_host[2] == 5 && on_host[3] == 23,
          "unpacked into device and host memory: class %d", kit_class(error));
    MPI_Type_free(&absolute);
    kit_close(&device);
    kit_close(&host);
    kit_close(&message);
}

/* More than one piece of pinned memory (TUTTI_STAGING_MB=1). */
static void pieces(void)
{
    enum { BLOCKS = 700000, BYTES = BLOCKS * 4 };
    struct kit_buffer device, host;
    uint32_t *values = malloc(2 * BYTES), *packed = malloc(BYTES);
    for (uint32_t i = 0; i < 2 * BLOCKS; i++)
        values[i] = i * 2654435761u;
    kit_open(&device, KIT_DEVICE, 2 * BYTES);
    kit_open(&host, KIT_HOST, BYTES);
    MPI_Datatype gaps;
    MPI_Type_vector(BLOCKS, 1, 2, MPI_UINT32_T, &gaps);
    MPI_Type_commit(&gaps);
    int position = 0, wrong = 0;
    void *from = kit_put(&device, 0, values, 2 * BYTES), *to = kit_put(&host, 0, NULL, BYTES);
    int error = MPI_Pack(from, 1, gaps, to, BYTES, &position, MPI_COMM_WORLD);
    memcpy(packed, kit_get(&host, NULL), BYTES);
    for (uint32_t i = 0; i < BLOCKS; i++)
        wrong += packed[i] != values[2 * i];
    CHECK(error == MPI_SUCCESS && wrong == 0, "packed in pieces: class %d, %d wrong", kit_class(error), wrong);
    for (uint32_t i = 0; i < BLOCKS; i++)
        packed[i] = ~packed[i];
    to = kit_put(&host, 0, packed, BYTES);
    position = 0;
    error = MPI_Unpack(to, BYTES, &position, from, 1, gaps, MPI_COMM_WORLD);
    const uint32_t *got = (const void *)kit_get(&device, NULL);
    for (uint32_t i = 0; i < 2 * BLOCKS - 1; i++)
        wrong += got[i] != (i % 2 ? values[i] : ~values[i]);
    CHECK(error == MPI_SUCCESS && wrong == 0, "unpacked in pieces: class %d, %d wrong", kit_class(error), wrong);
    MPI_Type_free(&gaps);
    kit_close(&device);
    kit_close(&host);
    free(values);
    free(packed);
}

/* Types made, used and freed so fast that the MPI uses their handles again, on several threads. */
struct worker {
    int number, rounds, wrong;
    char *from, *to;
};

static void *work(void *with)
{
    struct worker *w = with;
    int host[64];
    for (int round = 0; round < w->rounds; round++) {
        int blocks = 2 + (round + w->number) % 5, stride = 2 + round % 3, position = 0;
        MPI_Datatype made, copy;
        MPI_Type_vector(blocks, 1, stride, MPI_INT, &made);
        MPI_Type_commit(&made);
        MPI_Type_dup(made, &copy);
        if (round % 2)
            MPI_Type_free(&made);
        if (MPI_Pack(w->from, 1, copy, host, sizeof host, &position, MPI_COMM_WORLD) != MPI_SUCCESS)
            w->wrong++;
        for (int i = 0; i < blocks; i++)
            w->wrong += host[i] != i * stride;
        w->wrong += position != 4 * blocks;
        MPI_Type_free(&copy);
        if (round % 2 == 0)
            MPI_Type_free(&made);
    }
    return NULL;
}

static void again(int threads)
{
    enum { MOST = 4 };
    struct kit_buffer device;
    struct worker workers[MOST];
    pthread_t thread[MOST];
    int values[64];
    for (int i = 0; i < 64; i++)
        values[i] = i;
    kit_open(&device, KIT_DEVICE, sizeof values);
    char *from = kit_put(&device, 0, values, sizeof values);
    for (int i = 0; i < threads; i++)
        workers[i] = (struct worker){.number = i, .rounds = 500, .from = from};
    for (int i = 1; i < threads; i++)
        pthread_create(&thread[i], NULL, work, &workers[i]);
    work(&workers[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < threads; i++)
        CHECK(workers[i].wrong == 0, "%d of %d threads: %d wrong", i, threads, workers[i].wrong);
    kit_close(&device);
}

int main(int argc, char **argv)
{
    int level = kit_start(&argc, &argv, MPI_THREAD_MULTIPLE);
    too_small();
    for (int kinds = 0; kinds < 4; kinds++)
        external(kinds & 1, kinds >> 1);
    both_memories();
    pieces();
    again(1);
    if (level == MPI_THREAD_MULTIPLE)
        again(4);
    return kit_end("types_pack");
}
