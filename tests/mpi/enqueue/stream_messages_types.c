/* Messages in stream order whose elements have gaps, compared with plain MPI in host memory that holds the same bytes.
 */
#include "stream_messages.h"

#include <stdlib.h>
#include <string.h>

#include "tutti/tutti.h"

enum { LAYOUTS = 4, REGION = 1 << 20, REGIONS = 3 };

/* So many integers as elements of another layout; 0: side by side. */
static MPI_Datatype make_type(int layout, int ints, int *count)
{
    MPI_Datatype type = MPI_INT;
    *count = ints;
    if (layout == 0 || ints == 0)
        return type;
    *count = 1;
    if (layout == 1) {
        MPI_Type_vector(ints, 1, 2, MPI_INT, &type);
    } else if (layout == 2) { /* a gap behind each element */
        MPI_Type_create_resized(MPI_INT, 0, 12, &type);
        *count = ints;
    } else { /* a list of blocks, backwards */
        int lengths[3] = {ints / 3, ints / 3, ints - ints / 3 * 2}, places[3] = {2 * ints, ints, 3};
        MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

/* One message in a ring: from the first region to the second, or of a later one to the third. */
static void shift(struct messages *m, char *shadow, const int layout[2], const int ints[2], int started)
{
    const int next = (kit_rank + 1) % kit_size, last = (kit_rank + kit_size - 1) % kit_size;
    const int from = started ? REGION : 0, to = started ? 2 * REGION : REGION;
    int count[2];
    MPI_Datatype type[2];
    MPI_Request request[2];
    for (int side = 0; side < 2; side++)
        type[side] = make_type(layout[side], ints[side], &count[side]);
    if (started)
        FINE(MPIX_Irecv_enqueue(m->memory + to, count[1], type[1], last, 5, m->comm, &request[0]));
    FINE(MPIX_Isend_enqueue(m->memory + from, count[0], type[0], next, 5, m->comm, &request[1]));
    if (started) {
        FINE(MPIX_Waitall_enqueue(2, request, MPI_STATUSES_IGNORE));
    } else {
        FINE(MPIX_Recv_enqueue(m->memory + to, count[1], type[1], last, 5, m->comm, MPI_STATUS_IGNORE));
        FINE(MPIX_Wait_enqueue(&request[1], MPI_STATUS_IGNORE));
    }
    MPI_Sendrecv(shadow + from, count[0], type[0], next, 5, shadow + to, count[1], type[1], last, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int side = 0; side < 2; side++) {
        if (type[side] != MPI_INT)
            MPI_Type_free(&type[side]);
    }
}

void messages_types(struct messages *m)
{
    static const int sizes[] = {1, 3, 50, 1000, 30000, 70000};
    char *shadow = malloc((size_t)REGIONS * REGION), *got = malloc((size_t)REGIONS * REGION);
    uint64_t random = kit_seed + (uint64_t)kit_rank;
    for (int turn = 0; turn < LAYOUTS * LAYOUTS; turn++) {
        const int layout[2] = {turn % LAYOUTS, turn / LAYOUTS};
        for (size_t i = 0; i < (size_t)REGIONS * REGION / 8; i++)
            ((uint64_t *)(void *)shadow)[i] = random_next(&random);
        CHECK(tutti_copy(m->memory, shadow, (size_t)REGIONS * REGION) == 0, "contents");
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) { /* some receives are longer than their messages */
            const int ints[2] = {sizes[i], sizes[i] + (turn + (int)i) % 3};
            shift(m, shadow, layout, ints, 0);
            shift(m, shadow, layout, ints, 1);
        }
        CHECK(tutti_stream_sync(m->stream) == 0 && tutti_copy(got, m->memory, (size_t)REGIONS * REGION) == 0,
              "the stream");
        CHECK(memcmp(got, shadow, (size_t)REGIONS * REGION) == 0, "layouts %d and %d", layout[0], layout[1]);
    }
    free(shadow);
    free(got);
}
