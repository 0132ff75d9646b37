#include "moves_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "kit.h"

/* More levels in all and MPICH 4.0 alone loses the last 8 bytes of each message that replaces another: it has more than
 * 1024 types then. */
enum { LEVELS = 210 };
const struct moves_layout moves_layouts[TYPES] = {{1, 4, {0}},     {1, 8, {4}},        {2, 8, {0, 4}},
                                                  {2, 16, {0, 8}}, {3, 12, {0, 4, 8}}, {3, 20, {0, 8, 12}}};
MPI_Datatype moves_types[2][TYPES];

void moves_types_make(void)
{
    for (int t = 0; t < TYPES; t++) {
        MPI_Datatype apart;
        const int at[] = {moves_layouts[t].at[0] / 4, moves_layouts[t].at[1] / 4, moves_layouts[t].at[2] / 4};
        MPI_Type_create_indexed_block(moves_layouts[t].ints, 1, at, MPI_INT, &apart);
        MPI_Type_create_resized(apart, 0, moves_layouts[t].extent, &moves_types[0][t]);
        MPI_Type_free(&apart);
        MPI_Type_contiguous(1, moves_types[0][t], &moves_types[1][t]);
        for (int level = 1; level < LEVELS && t % 2; level++) {
            MPI_Type_contiguous(1, moves_types[1][t], &apart);
            MPI_Type_free(&moves_types[1][t]);
            moves_types[1][t] = apart;
        }
        for (int deep = 0; deep < 2; deep++)
            MPI_Type_commit(&moves_types[deep][t]);
    }
}

void moves_types_free(void)
{
    for (int t = 0; t < 2 * TYPES; t++)
        MPI_Type_free(&moves_types[t / TYPES][t % TYPES]);
}

/* ---- the sum ---- */

static struct {
    MPI_Request request;
    int n, kind, *want;
    struct kit_buffer memory[2][2]; /* by side and kind */
} sum;
enum { SUM_IN, SUM_OUT };

void moves_sum_open(int most)
{
    sum.want = malloc((size_t)most * sizeof(int));
    for (int i = 0; i < 4; i++)
        kit_open(&sum.memory[i / 2][i % 2], (enum kit_kind)(i % 2), (size_t)most * sizeof(int) + 64);
}

void moves_sum_close(void)
{
    for (int i = 0; i < 4; i++)
        kit_close(&sum.memory[i / 2][i % 2]);
    free(sum.want);
}

void moves_sum_begin(MPI_Comm comm, int kind, int n, const int *mine, const int *want)
{
    sum.n = n;
    sum.kind = kind;
    memcpy(sum.want, want, (size_t)n * sizeof(int));
    const void *const in = kit_put(&sum.memory[SUM_IN][kind], 4, mine, (size_t)n * 4);
    void *const out = kit_put(&sum.memory[SUM_OUT][kind], 8, NULL, (size_t)n * 4);
    MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, comm, &sum.request);
}

int moves_sum_end(void)
{
    int guards;
    const int error = MPI_Wait(&sum.request, MPI_STATUS_IGNORE);
    const char *const got = kit_get(&sum.memory[SUM_OUT][sum.kind], &guards);
    return error == MPI_SUCCESS && guards && memcmp(got, sum.want, (size_t)sum.n * 4) == 0 ? 0 : -1;
}
