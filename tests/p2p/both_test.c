/* What a kernel and copy engines fetch at the same time: every byte of random jobs once. A kernel that stays fetches
 * the first bytes of one job that a call waits for alone, as many as the rules say, or the copy engines fetch all;
 * either may end first, fail, or not be there. With launches and copies of its own in front of the core's. both_test
 * [seed] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/status.h"
#include "p2p/own.h"
#include "rules/rules.h"
#include "support/check.h"
#include "support/random.h"

enum { ROUNDS = 1000, MOST = 64 << 10, JOBS = 6, CUT = 4096, ALL = MOST * JOBS };

static uint64_t state;
static unsigned char by[ALL]; /* what has fetched each byte */
enum { NONE, KERNEL, COPIES, TWICE };
static int kernel_status, copies_status, kernel_end, copies_end; /* of the starts and of the ends */
static int kernel_open, copies_open, kernel_left, copies_left;
static int is_there, begun, nexts, overs; /* a kernel takes the launch; launches, and calls for each */

static unsigned drawn(unsigned n)
{
    return (unsigned)(random_next(&state) % n);
}

/* A job's place in by[] is where it is packed. */
static void mark(const struct tutti_pack_job *jobs, unsigned n, unsigned char who)
{
    for (unsigned i = 0; i < n; i++) {
        const size_t at = (size_t)((unsigned char *)jobs[i].packed - by);
        CHECK(jobs[i].bytes > 0 && at + jobs[i].bytes <= ALL && at % MOST == jobs[i].first, "a job is nowhere");
        for (size_t b = at; b < at + jobs[i].bytes; b++)
            by[b] = by[b] == NONE ? who : TWICE;
    }
}

int tutti_pack_begin(int gpu, const struct tutti_pack_job *jobs, unsigned n, unsigned how,
                     struct tutti_pack_flight *out)
{
    (void)gpu;
    CHECK((how & 0xff) == (TUTTI_PACK_ALONE | TUTTI_PACK_BESIDE), "the kernel is launched in another way");
    if (kernel_status != TUTTI_OK)
        return kernel_status;
    begun++;
    memset(out, 0, sizeof *out);
    out->left = !is_there;
    if (is_there)
        mark(jobs, n, KERNEL);
    kernel_open = 1;
    kernel_left = is_there ? (int)drawn(4) : 0;
    return TUTTI_OK;
}

void tutti_pack_stay_for_next(struct tutti_pack_flight *flight)
{
    CHECK(begun && flight->left == !is_there, "a kernel is launched for the next call before this one has begun");
    CHECK(copies_status != TUTTI_OK || copies_open, "the launch for the next call is in the way of this one");
    nexts++;
}

void tutti_pack_over(struct tutti_pack_flight *flight)
{
    (void)flight;
    CHECK(!kernel_open && !copies_open, "the time until the next call begins too early");
    overs++;
}

int tutti_pack_poll(struct tutti_pack_flight *flight)
{
    (void)flight;
    CHECK(kernel_open, "a kernel is asked that has ended");
    if (kernel_left-- > 0)
        return 0;
    kernel_open = 0;
    return kernel_end == TUTTI_OK || !is_there ? 1 : kernel_end;
}

int tutti_pack_reached(int gpu, const struct tutti_pack_job *jobs, unsigned n, unsigned how)
{
    (void)gpu;
    CHECK(how == 0, "a second kernel that may stay");
    mark(jobs, n, COPIES);
    return copies_end;
}

int tutti_pack_copies(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make)
{
    (void)gpu, (void)may_make;
    if (copies_status != TUTTI_OK)
        return copies_status;
    mark(jobs, n, COPIES);
    return copies_end;
}

int tutti_pack_copies_begin(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make,
                            struct tutti_copy_flight *out)
{
    (void)gpu, (void)may_make;
    if (copies_status != TUTTI_OK)
        return copies_status;
    mark(jobs, n, COPIES);
    memset(out, 0, sizeof *out);
    copies_open = 1;
    copies_left = (int)drawn(4);
    return TUTTI_OK;
}

int tutti_pack_copies_poll(struct tutti_copy_flight *flight)
{
    (void)flight;
    CHECK(copies_open, "copies are asked for that have ended");
    if (copies_left-- > 0)
        return 0;
    copies_open = 0;
    return copies_end == TUTTI_OK ? 1 : copies_end;
}

static void once(unsigned share)
{
    struct tutti_pack_job jobs[JOBS];
    const unsigned n = drawn(4) ? 1 : 1 + drawn(JOBS), how = drawn(8) ? TUTTI_PACK_ALONE : 0;
    uint64_t bytes = 0, kernels = 0, moved = 0;
    memset(by, NONE, sizeof by);
    begun = nexts = overs = 0;
    for (unsigned i = 0; i < n; i++) {
        const uint64_t first = drawn(2) ? drawn(1000) : 0, whole = (uint64_t)CUT * (1 + drawn(5));
        const uint64_t length = drawn(8) ? 1 + drawn(drawn(3) ? MOST - 1000 : 3 * CUT) : whole;
        jobs[i] = (struct tutti_pack_job){.packed = by + (size_t)i * MOST + first, .first = first, .bytes = length};
        bytes += length;
    }
    const uint64_t asked = share ? (uint64_t)share * 1024 : bytes / 2;
    const int alone = n == 1 && how && asked >= CUT;
    const int status = tutti_both_run(0, jobs, n, 1, how);
    CHECK(!kernel_open && !copies_open, "it ends before what it has started");
    CHECK(nexts == begun && overs == begun, "%d launches, %d for the next call, %d ended", begun, nexts, overs);
    int first = 1, late = 0;
    for (unsigned i = 0; i < n; i++) {
        const unsigned char *const at = jobs[i].packed;
        for (uint64_t b = 0; b < jobs[i].bytes; b++) {
            moved += at[b] == KERNEL || at[b] == COPIES;
            kernels += at[b] == KERNEL;
            late |= at[b] == KERNEL && !first;
            first &= at[b] == KERNEL;
        }
    }
    CHECK(!late, "the kernel does not fetch the first bytes");
    if (alone && asked / CUT * CUT >= bytes) {
        CHECK(status == TUTTI_ERR_UNAVAILABLE && moved == 0, "few bytes are a kernel's alone: status %d", status);
        return;
    }
    if (alone && kernel_status == TUTTI_ERR_DEVICE) {
        CHECK(status == TUTTI_ERR_DEVICE && moved == 0, "a kernel that fails: status %d", status);
        return;
    }
    const int asks = alone && kernel_status == TUTTI_OK, has_kernel = asks && is_there;
    if (!asks && copies_status != TUTTI_OK) {
        CHECK(status == copies_status && moved == 0, "there are no copies: status %d", status);
        return;
    }
    const int fine = copies_end == TUTTI_OK && (!has_kernel || kernel_end == TUTTI_OK);
    CHECK(status == (fine ? TUTTI_OK : copies_end != TUTTI_OK ? copies_end : kernel_end), "status %d", status);
    CHECK(moved == bytes, "%llu of %llu bytes", (unsigned long long)moved, (unsigned long long)bytes);
    CHECK(kernels == (has_kernel ? asked / CUT * CUT : 0), "the kernel fetches %llu bytes, not %llu",
          (unsigned long long)kernels, (unsigned long long)asked);
}

int main(int argc, char **argv)
{
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : tutti_now_ns();
    printf("seed %llu\n", (unsigned long long)state);
    static const unsigned shares[] = {0, 1, 4, 20, 100};
    static const int starts[] = {TUTTI_OK, TUTTI_OK, TUTTI_OK, TUTTI_ERR_UNAVAILABLE, TUTTI_ERR_DEVICE};
    for (unsigned s = 0; s < sizeof shares / sizeof *shares; s++) {
        char rule[64], wrong[160];
        snprintf(rule, sizeof rule, shares[s] ? "message_kernel: *@%uk" : "message_kernel: *@half", shares[s]);
        CHECK(tutti_rules_set(rule, wrong, sizeof wrong) == TUTTI_OK, "%s", wrong);
        tutti_rules_follow(1);
        for (int i = 0; i < ROUNDS; i++) {
            kernel_status = starts[drawn(5)];
            copies_status = starts[drawn(4)];
            is_there = (int)drawn(2);
            kernel_end = drawn(6) ? TUTTI_OK : TUTTI_ERR_DEVICE;
            copies_end = drawn(6) ? TUTTI_OK : TUTTI_ERR_PEER;
            once(shares[s]);
        }
    }
    static const char *const wrongs[] = {"0", "12", "2mm", "m", "-1m", "whole", "9999999999999999999g"};
    for (unsigned i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        char rule[64], wrong[160];
        snprintf(rule, sizeof rule, "message_kernel: *@%s", wrongs[i]);
        CHECK(tutti_rules_check(rule, wrong, sizeof wrong) != TUTTI_OK, "a share of %s", wrongs[i]);
    }
    printf("%ld checks\n", check_done());
    return check_failed() != 0;
}
