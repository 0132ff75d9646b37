/* MPI_Alltoallv in pieces of the scratch, where rank 1 has memory of the host: a rank whose own block is the
 * longest, a rank that has short blocks alone and so needs fewer pieces than its peers, and blocks of any length. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { RANKS = 4, LONG = 6 << 20 /* more than the scratch of the test, 4 MiB */, SHORT = 600, UNIT = 8, ROUNDS = 4 };

static struct kit_buffer out, in, host_out, host_in;
static MPI_Datatype gapped;     /* eight bytes, and a gap of eight: what rank 1 sends */
static int sizes[RANKS][RANKS]; /* [from][to] */

enum { OWN, ONE_PAIR, ANY, CASES };
static const char *const names[CASES] = {"a long block of a rank's own", "one pair with a long block", "any blocks"};

static unsigned char value(int from, int to, int at, int round)
{
    return (unsigned char)(from * 31 + to * 7 + at + at / 251 + round * 5);
}

static void draw(int which, uint64_t *state)
{
    for (int from = 0; from < kit_size; from++) {
        for (int to = 0; to < kit_size; to++)
            sizes[from][to] = which == ANY ? (int)(random_next(state) % (LONG / 2)) / UNIT * UNIT : SHORT;
    }
    if (which == OWN)
        sizes[1][1] = LONG;
    else if (which == ONE_PAIR)
        sizes[1][0] = LONG;
}

/* Returns 1 if the ranks moved the data themselves. */
static int call(int which, int round)
{
    int counts[2][RANKS], places[2][RANKS], all[2] = {0, 0};
    for (int r = 0; r < kit_size; r++) {
        counts[0][r] = sizes[kit_rank][r];
        counts[1][r] = sizes[r][kit_rank];
        for (int side = 0; side < 2; side++) {
            places[side][r] = all[side];
            all[side] += counts[side][r];
        }
    }
    const int gaps = kit_rank == 1, sent = gaps ? 2 * all[0] : all[0];
    unsigned char *const data = calloc(1, (size_t)(sent > all[1] ? sent : all[1]));
    for (int r = 0; r < kit_size; r++) {
        for (int i = 0; i < counts[0][r]; i++) {
            const int at = places[0][r] + i;
            data[gaps ? at / UNIT * 2 * UNIT + at % UNIT : at] = value(kit_rank, r, i, round);
        }
        counts[0][r] /= gaps ? UNIT : 1;
        places[0][r] /= gaps ? UNIT : 1;
    }
    const int on_host = kit_rank == 1 && round > 0; /* the first call is made by ranks that have met their GPU */
    const void *const from = kit_put(on_host ? &host_out : &out, 0, data, (size_t)sent);
    void *const to = kit_put(on_host ? &host_in : &in, 0, NULL, (size_t)all[1]);
    const uint64_t before = kit_counted("MPI_Alltoallv", "accelerated");
    CHECK(MPI_Alltoallv(from, counts[0], places[0], gaps ? gapped : MPI_BYTE, to, counts[1], places[1], MPI_BYTE,
                        MPI_COMM_WORLD) == MPI_SUCCESS,
          "%s: an error", names[which]);
    for (int r = 0; r < kit_size; r++) {
        for (int i = 0; i < counts[1][r]; i++)
            data[places[1][r] + i] = value(r, kit_rank, i, round);
    }
    int guards;
    const int same = memcmp(kit_get(on_host ? &host_in : &in, &guards), data, (size_t)all[1]) == 0;
    CHECK(same && guards, "%s, round %d: wrong data", names[which], round);
    free(data);
    return kit_counted("MPI_Alltoallv", "accelerated") > before;
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size < 3 || kit_size > RANKS)
        kit_skip("moves_pieces", "needs the library in front, and three or four ranks");
    uint64_t state = kit_seed;
    MPI_Datatype eight;
    MPI_Type_contiguous(UNIT, MPI_BYTE, &eight);
    MPI_Type_create_resized(eight, 0, 2 * UNIT, &gapped);
    MPI_Type_commit(&gapped);
    MPI_Type_free(&eight);
    kit_open(&out, KIT_DEVICE, (size_t)RANKS * LONG);
    kit_open(&in, KIT_DEVICE, (size_t)RANKS * LONG);
    kit_open(&host_out, KIT_HOST, (size_t)RANKS * LONG);
    kit_open(&host_in, KIT_HOST, (size_t)RANKS * LONG);
    for (int which = 0; which < CASES; which++) {
        int moved = 0;
        for (int round = 0; round < ROUNDS; round++) {
            draw(which, &state);
            moved += call(which, round) && round > 0;
        }
        CHECK(moved > 0 || kit_rank == 1, "%s: the MPI has made all calls", names[which]);
    }
    kit_close(&out);
    kit_close(&in);
    kit_close(&host_out);
    kit_close(&host_in);
    MPI_Type_free(&gapped);
    return kit_end("moves_pieces");
}
