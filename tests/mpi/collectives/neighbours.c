/* Collectives with neighbours where some are MPI_PROC_NULL: on lines and grids without periods, and in a graph with
 * such edges. Their blocks of the receive buffer stay as they were, in blocking, nonblocking and persistent calls,
 * wherever the buffers lie. */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "neighbours.h"

enum { MOST = 8, COUNT = 700, GAP = 3, ROOM = MOST * (COUNT + GAP) * 2 };

static struct {
    MPI_Comm comm;
    const char *name;
    int in, out, from[MOST], to[MOST];
} place;

static int value(int from, int to, int call, int i)
{
    return from * 1000003 + (call >= ALLTOALL ? to * 10007 : 0) + i;
}

/* The type: elements that follow each other, or every second integer. */
static MPI_Datatype spaced(void)
{
    MPI_Datatype one, type;
    MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &one);
    MPI_Type_dup(one, &type);
    MPI_Type_free(&one);
    MPI_Type_commit(&type);
    return type;
}

static void try(enum neighbours_call call, enum neighbours_form form, enum kit_kind from, enum kit_kind to, int step,
                MPI_Datatype type)
{
    static int sent[ROOM], before[ROOM], want[ROOM], got[ROOM];
    struct kit_buffer in, out;
    int even = call == ALLGATHER || call == ALLTOALL, block = even ? COUNT : COUNT + GAP, guards;
    char what[160];
    snprintf(what, sizeof what, "%s %s on a %s from %s to %s memory, step %d", neighbours_forms[form],
             neighbours_names[call], place.name, from == KIT_DEVICE ? "device" : "host",
             to == KIT_DEVICE ? "device" : "host", step);
    for (int i = 0; i < ROOM; i++)
        sent[i] = -1, before[i] = want[i] = -1000 - i;
    for (int b = 0; b < (call < ALLTOALL ? 1 : place.out); b++) {
        for (int i = 0; i < COUNT; i++)
            sent[(b * block + i) * step] = value(kit_rank, place.to[b], call, i);
    }
    /* Which of two edges between the same ranks meets which is not looked at here: there are none. */
    for (int b = 0; b < place.in; b++) {
        for (int i = 0; place.from[b] != MPI_PROC_NULL && i < COUNT; i++)
            want[(b * block + i) * step] = value(place.from[b], kit_rank, call, i);
    }
    kit_open(&in, from, sizeof sent);
    kit_open(&out, to, sizeof before);
    void *send = kit_put(&in, 0, sent, sizeof sent), *receive = kit_put(&out, 0, before, sizeof before);
    const struct neighbours_blocks blocks = {COUNT, GAP, step, type, COUNT, type};
    int code = neighbours_run(call, form, place.comm, &blocks, send, receive);
    CHECK(code == MPI_SUCCESS, "%s: error class %d", what, kit_class(code));
    memcpy(got, kit_get(&out, &guards), sizeof got);
    int i = 0;
    while (i < ROOM && got[i] == want[i])
        i++;
    CHECK(i == ROOM && guards, "%s: integer %d (block %d) is %d, not %d%s", what, i, i / step / block,
          i < ROOM ? got[i] : 0, i < ROOM ? want[i] : 0, guards ? "" : ", and beside the buffer something was written");
    kit_close(&in);
    kit_close(&out);
}

static void all(const char *name)
{
    MPI_Datatype type = spaced();
    place.name = name;
    for (int call = 0; call < CALLS; call++) {
        for (int form = 0; form < (persistent_there() ? FORMS : PERSISTENT); form++) {
            try((enum neighbours_call)call, (enum neighbours_form)form, KIT_DEVICE, KIT_DEVICE, 1, MPI_INT);
            try((enum neighbours_call)call, (enum neighbours_form)form, KIT_DEVICE, KIT_DEVICE, 2, type);
            /* Of one rank in host memory: the MPI has the call on all. */
            enum kit_kind some = kit_rank == 0 ? KIT_HOST : KIT_DEVICE;
            try((enum neighbours_call)call, (enum neighbours_form)form, some, KIT_DEVICE, 1, MPI_INT);
            try((enum neighbours_call)call, (enum neighbours_form)form, KIT_DEVICE, some, 2, type);
        }
    }
    MPI_Type_free(&type);
    MPI_Comm_free(&place.comm);
}

int main(int argc, char **argv)
{
    int no[2] = {0, 0};
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);

    int line[1] = {kit_size};
    MPI_Cart_create(MPI_COMM_WORLD, 1, line, no, 0, &place.comm);
    place.in = place.out = 2;
    MPI_Cart_shift(place.comm, 0, 1, &place.from[0], &place.from[1]);
    memcpy(place.to, place.from, sizeof place.to);
    all("line");

    int grid[2] = {1, kit_size};
    MPI_Cart_create(MPI_COMM_WORLD, 2, grid, no, 0, &place.comm);
    place.in = place.out = 4;
    MPI_Cart_shift(place.comm, 0, 1, &place.from[0], &place.from[1]);
    MPI_Cart_shift(place.comm, 1, 1, &place.from[2], &place.from[3]);
    memcpy(place.to, place.from, sizeof place.to);
    all("grid");

    /* Each hears of the rank before it, and of nobody twice; the first of none, and the last has nobody to tell. */
    int before = kit_rank == 0 ? MPI_PROC_NULL : kit_rank - 1;
    int after = kit_rank == kit_size - 1 ? MPI_PROC_NULL : kit_rank + 1;
    int from[3] = {MPI_PROC_NULL, before, MPI_PROC_NULL}, to[2] = {after, MPI_PROC_NULL};
    const int weights[3] = {1, 1, 1};
#ifdef OPEN_MPI /* crashes by itself in such a graph */
    (void)from, (void)to, (void)weights;
#else
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, from, weights, 2, to, weights, MPI_INFO_NULL, 0, &place.comm);
    place.in = 3;
    place.out = 2;
    memcpy(place.from, from, sizeof from);
    memcpy(place.to, to, sizeof to);
    all("graph");
#endif
    return kit_end("neighbours");
}
