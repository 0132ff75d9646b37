/* Which heap a kernel finds for a PE among very many, and how all members of a team exchange with all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shmem/local/steps.h"
#include "support/check.h"

static const struct tshmem_state *state_here;
#define TSHMEM_STATE() state_here
#define TSHMEM_KERNELS
#include "tutti/device.h"

/* PEs first, first + step ... are this node's. */
static void steps(int first, int step, int count)
{
    static char heap[TSHMEM_NEAR_MAX];
    struct tshmem_state state = {.bytes = sizeof state, .me = first, .pes = TSHMEM_PES_MAX, .heap_bytes = 1};
    long wrong = 0;
    tutti_shmem_steps(first, step, &state);
    for (int i = 0; i < count; i++)
        state.peer[i] = &heap[i];
    for (int pe = -2; pe < TSHMEM_PES_MAX + 2; pe++) {
        const int ahead = pe - first, is_near = ahead >= 0 && ahead % step == 0 && ahead / step < count;
        wrong += tutti_dev_peer(&state, pe) != (is_near ? &heap[ahead / step] : NULL);
    }
    CHECK(wrong == 0, "%d PEs from %d on, %d apart: %ld are wrong", count, first, step, wrong);
}

static void meeting(int size)
{
    unsigned char *const known = calloc((size_t)size * (size_t)size, 1);
    int most = 0;
    for (int me = 0; me < size; me++)
        known[(size_t)me * (size_t)size + (size_t)me] = 1;
    for (int round = 0; round < TUTTI_SHMEM_ROUNDS; round++) {
        unsigned char *const before = malloc((size_t)size * (size_t)size);
        memcpy(before, known, (size_t)size * (size_t)size);
        for (int me = 0; me < size; me++) {
            struct tutti_shmem_hop hop, theirs;
            for (int j = 1; tutti_shmem_hop(size, me, round, j, &hop); j++) {
                tutti_shmem_hop(size, hop.from, round, j, &theirs);
                most = hop.number > most ? hop.number : most;
                CHECK(theirs.to == me && theirs.number == hop.number && theirs.count == hop.count, "%d: hop %d", size,
                      hop.number);
                for (int i = 0; i < hop.count; i++) {
                    const size_t of = (size_t)((hop.from - i + size) % size);
                    CHECK(before[(size_t)hop.from * (size_t)size + of], "%d: PE %d does not have that of %zu", size,
                          hop.from, of);
                    known[(size_t)me * (size_t)size + of] = 1;
                }
            }
        }
        free(before);
    }
    CHECK(!memchr(known, 0, (size_t)size * (size_t)size), "of %d members some do not hear from all", size);
    CHECK(most < TUTTI_SHMEM_HOPS, "%d hops of the host", most);
    CHECK(most < TSHMEM_NEAR_MAX, "%d hops of kernels", most);
    free(known);
}

int main(void)
{
    for (int step = 1; step <= 70; step++)
        steps(step % 5, step, step % 2 ? TSHMEM_NEAR_MAX : 1 + step % 40);
    steps(4095, 1, 1);
    steps(4032, 1, 64);
    steps(3, 1024, 4);
    for (int size = 1; size < 80; size++)
        meeting(size);
    meeting(512);
    meeting(777);
    meeting(TSHMEM_PES_MAX);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
