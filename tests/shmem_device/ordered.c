/* Put with signal: data of every length and alignment, with delays between the stores of the data and the signal and
 * before they are read; a PE that sees the signal sees the data. `broken`: compiled with the release of the signal left
 * out (TUTTI_DEV_RELEASE). x86 keeps stores in order all the same, so it is the thread sanitizer that must see it. Then
 * by the ring, and by a wire that carries out requests late and in any order. Then barriers of two PEs around the
 * repetition of the packets' numbers, and an exchange that must not take old packets. */
#include "shmem_device/pes_ring.h"

#include "tutti/device.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "support/check.h"
#include "support/random.h"

enum { ROUNDS = 400, PES = 4 };
static const char *const hows[] = {"loads and stores", "the ring", "either", "nodes", "the wire"};

static struct pes pes;

static void delay(uint64_t *random)
{
    for (uint64_t turns = random_next(random) % 8 ? 0 : random_next(random) % 2000; turns > 0; turns--)
        tutti_dev_load_acquire32(&pes.abort[0]);
    if (random_next(random) % 16 == 0)
        tutti_dev_pause();
}

/* Rounds of a ring: what round r brings to a PE is known. Two places take turns; the answer says that one is free. */
static enum pes_ring_how ring;

static void body(int pe, void *context)
{
    long *const wrong = context;
    uint64_t random = random_mix(check_seed() + (uint64_t)pe);
    struct program_heap *const heap = pes.heap[pe];
    const int to = (pe + 1) % PES, from = (pe + PES - 1) % PES;
    for (uint64_t r = 1; r <= ROUNDS; r++) {
        const size_t n = random_mix(r) % 3000, at = random_mix(r * 3) % 16, place = r % 2 * (PROGRAM_PART / 2);
        char *const dest = heap->in + place + at;
        memset(heap->out + at, (int)(r * 7 + (uint64_t)pe), n);
        if (r > 2) /* the receiver has read what was in this place */
            tshmem_signal_wait_until(&heap->signals[to][1], TSHMEM_CMP_GE, r - 2);
        delay(&random);
        if (r % 3 == 0) {
            tshmem_putmem_signal_block(dest, heap->out + at, n, &heap->signals[pe][0], 1, TSHMEM_SIGNAL_ADD, to);
        } else if (r % 3 == 1) {
            tshmem_putmem_signal_nbi_warp(dest, heap->out + at, n, &heap->signals[pe][0], r, TSHMEM_SIGNAL_SET, to);
        } else { /* the same by hand */
            tshmem_putmem_nbi(dest, heap->out + at, n, to);
            delay(&random);
            tshmem_fence();
            tutti_dev_signal(&heap->signals[pe][0], r, TSHMEM_SIGNAL_SET, to);
        }
        /* What is fetched is there past quiet, and atomics add up. */
        tshmem_getmem_nbi_warp(heap->gotten, heap->source + 64 * (r % 8), 64 + n % 64, from);
        tshmem_uint64_atomic_add(&heap->counters[0], r, to);
        wrong[pe] += tshmem_uint64_atomic_fetch_add(&heap->words[pe][0], 1, to) != r - 1;
        tshmem_quiet_warp();
        for (size_t i = 0; i < 64 + n % 64; i++)
            wrong[pe] += heap->gotten[i] != (char)(64 * (r % 8) + i + (size_t)from);
        tshmem_signal_wait_until(&heap->signals[from][0], TSHMEM_CMP_GE, r);
        delay(&random);
        for (size_t i = 0; i < n; i++)
            wrong[pe] += dest[i] != (char)(r * 7 + (uint64_t)from);
        tutti_dev_signal(&heap->signals[pe][1], r, TSHMEM_SIGNAL_SET, from);
        if (ring != PES_RING_FAR) { /* what was put before a barrier is there after it */
            tshmem_uint64_p(&heap->waited[pe][0], r, to);
            if (r % 2)
                tshmem_barrier_all();
            else
                tshmem_barrier_block(TSHMEM_TEAM_WORLD);
            wrong[pe] += heap->waited[from][0] != r;
            tshmem_sync_all();
        }
    }
    tshmem_quiet();
}

static void one(enum pes_ring_how how)
{
    long wrong[PES] = {0};
    pes_open(&pes, PES, 100000);
    for (int pe = 0; pe < PES; pe++) {
        for (size_t i = 0; i < 1024; i++)
            pes.heap[pe]->source[i] = (char)(i + (size_t)pe);
    }
    ring = how;
    pes_serve(&pes, how, 64, check_seed() | 1);
    pes_run(&pes, body, wrong);
    pes_serve_end(&pes, 1);
    for (int pe = 0; pe < PES; pe++) {
        CHECK(wrong[pe] == 0, "by %s PE %d has read %ld old bytes", hows[how], pe, wrong[pe]);
        CHECK(pes.abort[pe] == 0, "by %s PE %d has aborted", hows[how], pe);
        CHECK(pes.heap[pe]->counters[0] == ROUNDS * (ROUNDS + 1) / 2, "by %s the sum at PE %d is %llu", hows[how], pe,
              (unsigned long long)pes.heap[pe]->counters[0]);
    }
    pes_close(&pes);
}

enum { AROUND = 40 }; /* barriers, of which some are before the repetition */

static void around_body(int pe, void *context)
{
    long *const wrong = context;
    struct program_heap *const heap = pes.heap[pe];
    const struct timespec late = {.tv_nsec = 20000000};
    uint64_t got[2];
    uint64_t *const reached = (uint64_t *)(void *)heap->out + 1; /* barriers that this PE has begun */
    for (uint64_t i = 0; i < AROUND; i++) {
        if (i % 8 == 4 * (uint64_t)pe)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        tshmem_uint64_p(reached, i + 1, pe);
        if (i % 2)
            tshmem_sync_warp(TSHMEM_TEAM_WORLD);
        else
            tshmem_barrier_block(TSHMEM_TEAM_WORLD);
        wrong[pe] += tshmem_uint64_g(reached, 1 - pe) < i + 1;
    }
    for (uint64_t i = 0; i < 2; i++) {
        const uint64_t own = 100 * i + (uint64_t)pe;
        memcpy(heap->out, &own, sizeof own);
        if (pe == (int)i) /* the other one looks for its packet meanwhile */
            nanosleep(&late, NULL);
        tshmem_fcollectmem(TSHMEM_TEAM_WORLD, heap->in, heap->out, sizeof own);
        memcpy(got, heap->in, sizeof got);
        wrong[pe] += got[0] != 100 * i || got[1] != 100 * i + 1;
    }
}

/* Barriers alone repeat the packets' numbers. old: number of the packets that lie there, whose step the exchange could
 * be. */
static void around(uint32_t old)
{
    long wrong[2] = {0};
    pes_open(&pes, 2, 100000);
    for (int pe = 0; pe < 2; pe++) {
        struct tshmem_area *const area = (struct tshmem_area *)(void *)pes.heap[pe]->areas[0];
        area->sequence[TSHMEM_BY_DEVICE] = (UINT64_C(1) << 32) - 36;
        for (size_t i = 0; i < sizeof area->packets; i += 8) {
            const uint64_t half = 77 | (uint64_t)old << 32;
            memcpy(&area->packets[0][0] + i, &half, 8);
        }
    }
    pes_run(&pes, around_body, wrong);
    CHECK(wrong[0] + wrong[1] == 0 && pes.abort[0] + pes.abort[1] == 0,
          "packets of step %u: old ones were taken, or a barrier did not wait", old);
    pes_close(&pes);
}

int main(void)
{
    for (uint32_t old = 5; old < 7; old++) { /* steps of the exchanges if packets were not renewed; if they were */
        around(old);
        around(old + 33);
    }
    for (int how = 0; how < PES_RING_HOWS; how++)
        one((enum pes_ring_how)how);
    printf("%d rounds, %ld checks, %ld failed\n", ROUNDS, check_done(), check_failed());
    return check_failed() != 0;
}
