/* Messages of random lengths and forms from several allocations, some of which are freed, while mapping is slow
 * (TUTTI_HOST_MAPPING_US). */
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { TAG = 4, MOST_BYTES = 700000, PROGRAMS = 150, ALLOCATIONS = 5, FLIGHTS = 6 };
static char *data;

static void contents(char *to, long bytes, long number)
{
    for (long i = 0; i < bytes; i++)
        to[i] = (char)(number * 37 + i + i / 251);
}

/* The last two need a receive that is open. */
enum { SEND, SSEND, ISEND, ISSEND, RSEND, IRSEND, FORMS };

struct drawn {
    long bytes;
    int from, where, form;
    MPI_Datatype type; /* of a byte */
};

/* posted: the receives are open before. */
static struct drawn draw(uint64_t *state, int posted)
{
    struct drawn d;
    d.bytes = 8 + (long)(random_next(state) % (random_next(state) % 4 ? 3000 : 600000));
    d.from = (int)(random_next(state) % ALLOCATIONS);
    d.where = (int)(random_next(state) % 4096);
    d.form = (int)(random_next(state) % (posted ? FORMS : RSEND));
    d.type = random_next(state) % 2 ? MPI_CHARACTER : MPI_BYTE;
    return d;
}

static void start(const struct drawn *d, const char *from, MPI_Request *request)
{
    static int (*const sends[FORMS])(const void *, int, MPI_Datatype, int, int,
                                     MPI_Comm) = {[SEND] = MPI_Send, [SSEND] = MPI_Ssend, [RSEND] = MPI_Rsend};
    static int (*const starts[FORMS])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = {
        [ISEND] = MPI_Isend, [ISSEND] = MPI_Issend, [IRSEND] = MPI_Irsend};
    if (sends[d->form])
        sends[d->form](from, (int)d->bytes, d->type, 1, TAG, MPI_COMM_WORLD);
    else
        starts[d->form](from, (int)d->bytes, d->type, 1, TAG, MPI_COMM_WORLD, request);
}

/* Both ranks draw the same messages. The receiver has an allocation of its own for each that is open. */
static void random_programs(void)
{
    struct kit_buffer of[ALLOCATIONS], to[FLIGHTS];
    uint64_t state = kit_seed;
    const size_t most = MOST_BYTES;
    char *at[ALLOCATIONS];
    for (int i = 0; i < ALLOCATIONS; i++)
        kit_open(&of[i], KIT_DEVICE, most);
    for (int i = 0; i < FLIGHTS; i++)
        kit_open(&to[i], KIT_DEVICE, most);
    for (int program = 0; program < PROGRAMS && !check_failed(); program++) {
        MPI_Request request[FLIGHTS];
        struct drawn d[FLIGHTS];
        const int n = 1 + (int)(random_next(&state) % FLIGHTS), fresh = (int)(random_next(&state) % ALLOCATIONS);
        contents(data, (long)most, program);
        for (int i = 0; i < ALLOCATIONS && kit_rank == 0; i++)
            at[i] = kit_put(&of[i], 0, data, most);
        const int posted = (int)(random_next(&state) % 2);
        for (int i = 0; i < n; i++) {
            d[i] = draw(&state, posted);
            request[i] = MPI_REQUEST_NULL;
            if (kit_rank == 1)
                MPI_Irecv(kit_put(&to[i], 0, NULL, most), (int)d[i].bytes, d[i].type, 0, TAG, MPI_COMM_WORLD,
                          &request[i]);
        }
        if (posted)
            MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < n && kit_rank == 0; i++)
            start(&d[i], at[d[i].from] + d[i].where, &request[i]);
        CHECK(MPI_Waitall(n, request, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "program %d: Waitall", program);
        for (int i = 0; i < n && kit_rank == 1; i++)
            CHECK(memcmp(kit_get(&to[i], NULL), data + d[i].where, (size_t)d[i].bytes) == 0,
                  "program %d, message %d of %d: bytes are wrong", program, i, n);
        if (random_next(&state) % 3 == 0 && kit_rank == 0) {
            kit_close(&of[fresh]);
            kit_open(&of[fresh], KIT_DEVICE, most);
        }
    }
    for (int i = 0; i < ALLOCATIONS; i++)
        kit_close(&of[i]);
    for (int i = 0; i < FLIGHTS; i++)
        kit_close(&to[i]);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("mapping_random", "needs two ranks, and the library in front");
    data = malloc(MOST_BYTES);
    random_programs();
    free(data);
    return kit_end("mapping_random");
}
