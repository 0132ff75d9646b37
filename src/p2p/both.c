/* Protocol `both`: as `engines`, while a kernel fetches the first bytes of the messages. A copy engine begins some
 * microseconds after the call, a kernel that stays much sooner (two H200: 8 and 3 us), and the two share the link after
 * that. So the kernel has the bytes that it moves until the engines begin; rules of the section `message_kernel` say
 * how many. Messages of a rank to itself go as by `direct`: there is no link to be kept busy. */
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

static const struct tutti_names shares = {"share of the kernel", "half, or bytes such as 512k and 2m", both_find};
static const struct tutti_section section = {"message_kernel", &shares};
static struct tutti_rules_room room = {.section = &section, .sections = 1, .known = "message_kernel"};

__attribute__((constructor)) static void both_register(void)
{
    tutti_rules_register(&room);
}

/* Bytes that the kernel has, of so many. */
static uint64_t kernel_bytes(uint64_t bytes)
{
    int from = tutti_rules_in_force();
    const int share = tutti_rules_next(room.first, bytes, &from);
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
    return both->copies_ended < 0 ? both->copies_ended : both->kernel_ended < 0 ? both->kernel_ended : TUTTI_OK;
}

int tutti_both_run(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make, unsigned how)
{
    struct tutti_pack_job first[TUTTI_BATCH], rest[TUTTI_BATCH];
    struct both both = {.kernel_ended = 0};
    uint64_t bytes = 0;
    for (unsigned i = 0; i < n; i++)
        bytes += jobs[i].bytes;
    uint64_t left = kernel_bytes(bytes);
    if (left >= bytes)
        return TUTTI_ERR_UNAVAILABLE;
    unsigned firsts = 0, rests = 0;
    for (unsigned i = 0; i < n; i++) {
        const uint64_t some = left < jobs[i].bytes ? left / CUT * CUT : jobs[i].bytes;
        rest[rests] = jobs[i];
        cut_job(&rest[rests], &first[firsts], some);
        left = left < jobs[i].bytes ? 0 : left - some;
        firsts += some > 0;
        rests += rest[rests].bytes > 0;
    }
    if (firsts == 0)
        return tutti_pack_copies(gpu, jobs, n, may_make);
    int status = tutti_pack_begin(gpu, first, firsts, how, &both.kernel);
    if (status != TUTTI_OK)
        return status == TUTTI_ERR_UNAVAILABLE ? tutti_pack_copies(gpu, jobs, n, may_make) : status;
    status = tutti_pack_copies_begin(gpu, rest, rests, may_make, &both.copies);
    if (status == TUTTI_ERR_UNAVAILABLE) {
        status = tutti_pack_reached(gpu, rest, rests, how & ~(unsigned)TUTTI_PACK_ALONE);
        both.copies_ended = status == TUTTI_OK ? 1 : status;
    }
    return both_await(&both);
}
