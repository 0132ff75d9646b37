/* Messages of MPI_PACKED from device memory, beside the same from host memory, which are the MPI's alone: received as
 * MPI_PACKED and as types with and without gaps, in device and in host memory, by all forms of receives. Messages of
 * up to 479 bytes go from GPU to GPU; longer ones are staged, since the receiver's type may be any. */
#include <stddef.h>
#include <string.h>

#include "kit.h"

enum { MOST = 6000, TAG = 7, ROUNDS = 60, LEAST = 8, SHORT = 480 };
enum how { RECV, IRECV, MPROBE, SENDRECV, ROOMY, HOWS };
static const char *const hows[HOWS] = {"MPI_Recv", "MPI_Irecv", "MPI_Mrecv", "MPI_Sendrecv", "MPI_Recv with room"};

/* The same on all ranks. */
static uint64_t draws;
static uint64_t draw_alike(uint64_t n)
{
    return random_next(&draws) % n;
}

struct mixed {
    double d;
    int i;
};
struct odd {
    short s;
    char c[5];
};
enum { TYPES = 7 };
static MPI_Datatype types[TYPES];
static int sizes[TYPES];

static MPI_Datatype structure(int n, const int lengths[], const MPI_Aint at[], const MPI_Datatype of[], MPI_Aint extent)
{
    MPI_Datatype made, resized;
    MPI_Type_create_struct(n, lengths, at, of, &made);
    MPI_Type_create_resized(made, 0, extent, &resized);
    MPI_Type_free(&made);
    MPI_Type_commit(&resized);
    return resized;
}

static void types_make(void)
{
    types[0] = MPI_PACKED;
    types[1] = MPI_BYTE;
    types[2] = MPI_INT;
    types[3] = MPI_DOUBLE;
    types[4] = structure(2, (const int[]){1, 1}, (const MPI_Aint[]){0, offsetof(struct mixed, i)},
                         (const MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, sizeof(struct mixed));
    types[5] = structure(2, (const int[]){1, 5}, (const MPI_Aint[]){0, offsetof(struct odd, c)},
                         (const MPI_Datatype[]){MPI_SHORT, MPI_CHAR}, sizeof(struct odd));
    MPI_Type_vector(2, 1, 3, MPI_INT, &types[6]);
    MPI_Type_commit(&types[6]);
    for (int t = 0; t < TYPES; t++)
        MPI_Type_size(types[t], &sizes[t]);
}

/* What a receive leaves. */
struct came {
    char memory[MOST];
    int count, packed, elements, source, tag;
};

static void receive(enum how how, void *memory, int count, MPI_Datatype type, struct came *out)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    switch (how) {
    case RECV:
        MPI_Recv(memory, count, type, 0, TAG, MPI_COMM_WORLD, &status);
        break;
    case ROOMY:
        MPI_Recv(memory, 2 * count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        break;
    case IRECV:
        MPI_Irecv(memory, count, type, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        break;
    case MPROBE:
        MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, type, &out->count);
        CHECK(out->count == count, "%d elements are probed, %d sent", out->count, count);
        MPI_Mrecv(memory, count, type, &message, &status);
        break;
    case SENDRECV:
    case HOWS:
        MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, memory, count, type, 0, TAG, MPI_COMM_WORLD, &status);
        break;
    }
    MPI_Get_count(&status, type, &out->count);
    MPI_Get_count(&status, MPI_PACKED, &out->packed);
    MPI_Get_elements(&status, type, &out->elements);
    out->source = status.MPI_SOURCE;
    out->tag = status.MPI_TAG;
}

/* The same message from memory of one kind to memory of another. */
static void exchange(struct kit_buffer *from, struct kit_buffer *to, const char *data, enum how how, int t, int count,
                     struct came *out)
{
    int guards;
    const int bytes = count * sizes[t];
    void *sent = kit_put(from, 0, data, (size_t)bytes), *got = kit_put(to, 0, NULL, MOST);
    memset(out, 0, sizeof *out);
    if (kit_rank == 0)
        MPI_Send(sent, bytes, MPI_PACKED, 1, TAG, MPI_COMM_WORLD);
    else
        receive(how, got, count, types[t], out);
    memcpy(out->memory, kit_get(to, &guards), MOST);
    CHECK(guards, "bytes beside the buffer");
}

static void round_run(struct kit_buffer from[2], struct kit_buffer to[2], int most)
{
    static char data[MOST];
    static struct came plain, came;
    const int t = (int)draw_alike(TYPES), count = 1 + (int)draw_alike((uint64_t)(most / sizes[t]));
    const enum how how = (enum how)draw_alike(HOWS);
    for (int i = 0; i < MOST; i++)
        data[i] = (char)draw_alike(256);
    exchange(&from[KIT_HOST], &to[KIT_HOST], data, how, t, count, &plain);
    for (int into = 0; into < 2; into++) {
        const int bytes = count * sizes[t], few = bytes >= LEAST && bytes < SHORT;
        const uint64_t fast = kit_counted("MPI_Send", "accelerated");
        exchange(&from[KIT_DEVICE], &to[into], data, how, t, count, &came);
        CHECK(memcmp(&came, &plain, sizeof came) == 0,
              "%s of %d elements of type %d into %s memory: %d, %d, %d and not %d, %d, %d", hows[how], count, t,
              into == KIT_HOST ? "host" : "device", came.count, came.packed, came.elements, plain.count, plain.packed,
              plain.elements);
        if (!kit_plain && !kit_left_to_mpi() && kit_rank == 0)
            CHECK(kit_counted("MPI_Send", "accelerated") - fast == (uint64_t)few, "a message of %d bytes is %s", bytes,
                  few ? "staged" : "accelerated");
    }
}

int main(int argc, char **argv)
{
    struct kit_buffer from[2], to[2];
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("packed", "two ranks");
    draws = kit_seed;
    types_make();
    for (int k = 0; k < 2; k++) {
        kit_open(&from[k], k == 0 ? KIT_HOST : KIT_DEVICE, MOST);
        kit_open(&to[k], k == 0 ? KIT_HOST : KIT_DEVICE, MOST);
    }
    /* Messages are staged until the receiver has passed memory of a GPU. */
    MPI_Sendrecv(kit_put(&from[KIT_DEVICE], 0, NULL, SHORT), SHORT, MPI_BYTE, 1 - kit_rank, TAG,
                 kit_put(&to[KIT_DEVICE], 0, NULL, SHORT), SHORT, MPI_BYTE, 1 - kit_rank, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < ROUNDS; i++) {
        round_run(from, to, SHORT - 1);
        round_run(from, to, MOST / 4);
    }
    for (int k = 0; k < 2; k++) {
        kit_close(&from[k]);
        kit_close(&to[k]);
    }
    for (int t = 4; t < TYPES; t++)
        MPI_Type_free(&types[t]);
    return kit_end("packed");
}
