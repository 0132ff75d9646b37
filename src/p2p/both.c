/* Protocol `both`: as `engines`, while a kernel that stays fetches the first bytes of the message. A copy engine begins
 * some microseconds after the call, such a kernel much sooner (two H200: 8 and 3 us), and the two share the link after
 * that. So the kernel has about the bytes that it moves until the engine begins; rules of the section `message_kernel`
 * say how many. The launch of a kernel takes the host as long as the engine takes to begin. So a message for which none
 * is there goes to the engine alone, and the kernel for the next one is launched while the engine copies. Several
 * messages at once keep the link busy by engines. Messages of a rank to itself go as by `direct`. */
#include <limits.h>
#include <string.h>

#include "core/settings.h"
#include "core/size.h"
#include "p2p/own.h"
#include "progress/engine.h"

/* ---- rules ---- */

enum { HALF /* other choices: KiB */, KIB = 1024 };

static int both_find(const char *name)
{
    size_t bytes;
    if (strcmp(name, "half") == 0)
        return HALF;
    if (!tutti_size_read(&name, &bytes) || *name || bytes < KIB || bytes / KIB > INT_MAX)
        return -1;
    return (int)(bytes / KIB);
}

TUTTI_RULES_SECTION(both_rules, "message_kernel", .what = "share of the kernel",
                    .known = "half, or bytes such as 512k and 2m", .find = both_find)

/* Bytes that the kernel has, of so many. */
static uint64_t kernel_bytes(uint64_t bytes)
{
    int from = tutti_rules_in_force();
    const int share = tutti_rules_next(both_rules.first, bytes, &from);
    return share <= HALF ? bytes / 2 : (uint64_t)share * KIB;
}

/* ---- sender ---- */

static int both_post(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_pack_job *job)
{
    send->rndv->engines = TUTTI_ENGINES_REST;
    return tutti_direct_ops.post(worker, send, job);
}

const struct tutti_protocol_ops tutti_both_ops = {.reaches = tutti_rndv_reaches,
                                                  .can = tutti_engines_can,
                                                  .cost = tutti_engines_cost,
                                                  .post = both_post,
                                                  .cancel = tutti_rndv_cancel,
                                                  .instead = TUTTI_PROTOCOL_packed};

/* ---- receiver ---- */

enum { CUT = 4096 /* bytes: engines move whole pages */ };

/* Leaves what follows the first `bytes` of the job in *job, and these in *first. */
static void cut_job(struct tutti_pack_job *job, struct tutti_pack_job *first, uint64_t bytes)
{
    *first = *job;
    first->bytes = bytes;
    job->first += bytes;
    job->bytes -= bytes;
    job->packed = (char *)job->packed + (job->packed ? bytes : 0);
}

/* What is moved at the same time, and how it has ended: 0: not yet. */
struct both {
    struct tutti_pack_flight kernel;
    struct tutti_copy_flight copies;
    int kernel_ended, copies_ended;
};

static int both_have_ended(void *with)
{
    struct both *const both = with;
    both->copies_ended = both->copies_ended ? both->copies_ended : tutti_pack_copies_poll(&both->copies);
    both->kernel_ended = both->kernel_ended ? both->kernel_ended : tutti_pack_poll(&both->kernel);
    return both->copies_ended != 0 && both->kernel_ended != 0;
}

static int both_await(struct both *both)
{
    const int status = tutti_progress_wait(&(const struct tutti_wait){.done = both_have_ended,
                                                                      .with = both,
                                                                      .seconds = tutti_settings()->timeout_seconds,
                                                                      .quiet = 1,
                                                                      .spins = TUTTI_COPIES_SPINS});
    if (!both->copies_ended)
        both->copies_ended = tutti_pack_copies_leave(&both->copies, status);
    if (!both->kernel_ended)
        both->kernel_ended = tutti_pack_end(&both->kernel);
    tutti_pack_over(&both->kernel);
    return both->copies_ended < 0 ? both->copies_ended : both->kernel_ended < 0 ? both->kernel_ended : TUTTI_OK;
}

int tutti_both_run(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make, unsigned how)
{
    struct tutti_pack_job first, rest = jobs[0];
    const uint64_t bytes = jobs[0].bytes, some = kernel_bytes(bytes) / CUT * CUT;
    if (n > 1 || !(how & TUTTI_PACK_ALONE) || some == 0)
        return tutti_pack_copies(gpu, jobs, n, may_make);
    if (some >= bytes)
        return TUTTI_ERR_UNAVAILABLE;
    cut_job(&rest, &first, some);
    struct both both = {.kernel_ended = 0};
    const unsigned beside = (unsigned)(rest.bytes >> 10) << TUTTI_PACK_BESIDE_SHIFT;
    int status = tutti_pack_begin(gpu, &first, 1, how | TUTTI_PACK_BESIDE | beside, &both.kernel);
    if (status != TUTTI_OK)
        return status == TUTTI_ERR_UNAVAILABLE ? tutti_pack_copies(gpu, jobs, n, may_make) : status;
    const struct tutti_pack_job *const others = both.kernel.left ? jobs : &rest;
    status = tutti_pack_copies_begin(gpu, others, 1, may_make, &both.copies);
    if (status == TUTTI_ERR_UNAVAILABLE) {
        status = tutti_pack_reached(gpu, others, 1, how & ~(unsigned)TUTTI_PACK_ALONE);
        both.copies_ended = status == TUTTI_OK ? 1 : status;
    }
    tutti_pack_stay_for_next(&both.kernel);
    return both_await(&both);
}
