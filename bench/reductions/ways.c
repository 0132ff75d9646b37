#include "bench/reductions/ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/gpu.h"
#include "bench/common/place.h"
#include "bench/reductions/data.h"
#include "bench/reductions/enqueue.h"
#include "bench/reductions/nccl.h"
#include "bench/reductions/types.h"
#include "bench/words/energy.h"
#include "core/types.h"
#include "device/device.h"
#include "team/control.h"
#include "tutti/tutti.h"

const char *bench_way_name(int way)
{
    static const char *const names[BENCH_WAYS] = {
#define BENCH_WAY(id, name, text) name,
#include "bench/words/ways.def"
#undef BENCH_WAY
    };
    return names[way];
}

static int way_wanted(const struct bench_plan *plan, int way)
{
    return plan->ways >> way & 1;
}

static void open_staged(const struct bench_plan *plan, struct bench_ways *out)
{
    const struct tutti_device *device = tutti_device();
    out->pinned = device && device->memory.alloc_pinned &&
                  device->memory.alloc_pinned(plan->most, &out->copy_in) == 0 &&
                  device->memory.alloc_pinned(plan->most, &out->copy_out) == 0;
    if (!out->pinned) {
        out->copy_in = bench_ordinary(plan->most);
        out->copy_out = bench_ordinary(plan->most);
    }
    bench_say(plan, "staging %s", out->pinned ? "pinned" : "ordinary");
}

/* MPICH 4.0 takes MPI_IN_PLACE for an address in MPI_Reduce to a root other than 0, and crashes. */
static int mpi_can(const struct bench_plan *plan)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    const char *version = strstr(text, "MPICH Version:");
    if (plan->collective != TUTTI_COLLECTIVE_REDUCE || !plan->in_place || plan->root == 0 || !version)
        return 1;
    version += strlen("MPICH Version:");
    if (strncmp(version + strspn(version, " \t"), "4.0.", 4) != 0)
        return 1;
    bench_say(plan, "note no staged and no plain: MPICH 4.0 crashes in MPI_Reduce in place to this root");
    return 0;
}

/* Ways of blocking calls that reduce on the host or in the MPI. */
static void open_mpi_ways(const struct bench_plan *plan, struct bench_ways *out)
{
    int known = !bench_type_is_own(plan->type), can = known && mpi_can(plan);
    out->used[BENCH_STAGED] = can && way_wanted(plan, BENCH_STAGED);
    out->used[BENCH_PLAIN] = can && way_wanted(plan, BENCH_PLAIN) && bench_on_host();
    out->used[BENCH_NATIVE] = can && way_wanted(plan, BENCH_NATIVE) && bench_mpi_takes_device();
    if (!known)
        bench_say(plan, "note no staged and no plain: the MPI itself does not know %s", tutti_type_name(plan->type));
    if (out->used[BENCH_STAGED])
        open_staged(plan, out);
}

static int open_nccl_library(const struct bench_plan *plan, char *why, size_t size)
{
    const int can = bench_nccl_can(plan->collective, plan->type, plan->op);
    if (bench_on_cuda() && can == BENCH_NCCL_NO_CALL)
        snprintf(why, size, "NCCL has no such call");
    else if (bench_on_cuda() && can == BENCH_NCCL_NO_PAIR)
        snprintf(why, size, "NCCL does not reduce %s of %s", tutti_op_name(plan->op), tutti_type_name(plan->type));
    else
        return bench_nccl_open(plan, why, size);
    return 0;
}

static void open_nccl(const struct bench_plan *plan, struct bench_ways *out)
{
    unsigned any = 1u << BENCH_NCCL | 1u << BENCH_NCCL_GRAPH | 1u << BENCH_NCCL_SYM | 1u << BENCH_NCCL_SYM32;
    char why[256] = "";
    if (!(plan->ways & any))
        return;
    bench_must(tutti_copy(out->scratch, out->set[BENCH_SET_DEVICE].in, 1), "making the context that NCCL joins");
    if (!open_nccl_library(plan, why, sizeof why)) {
        if (bench_on_cuda())
            bench_say(plan, "note no nccl: %s", why);
        return;
    }
    char version[96];
    bench_nccl_version(version, sizeof version);
    bench_say(plan, "nccl %s", version);
    out->used[BENCH_NCCL] = way_wanted(plan, BENCH_NCCL);
    if (plan->order != BENCH_GRAPH)
        return;
    out->used[BENCH_NCCL_GRAPH] = way_wanted(plan, BENCH_NCCL_GRAPH);
    if (!way_wanted(plan, BENCH_NCCL_SYM) && !way_wanted(plan, BENCH_NCCL_SYM32))
        return;
    struct bench_set *set = &out->set[BENCH_SET_SYMMETRIC];
    const size_t bytes[2] = {plan->most, plan->most};
    unsigned copies = bench_nccl_symmetric(plan, 1u << BENCH_NCCL_32_CTAS, bytes, &set->in, &set->out, why, sizeof why);
    out->used[BENCH_NCCL_SYM] = way_wanted(plan, BENCH_NCCL_SYM) && copies >> BENCH_NCCL_USUAL & 1;
    out->used[BENCH_NCCL_SYM32] = way_wanted(plan, BENCH_NCCL_SYM32) && copies >> BENCH_NCCL_32_CTAS & 1;
    if (!(copies >> BENCH_NCCL_USUAL & 1))
        bench_say(plan, "note no nccl_sym: %s", why);
    else if (!(copies >> BENCH_NCCL_32_CTAS & 1))
        bench_say(plan, "note no nccl_sym32: %s", why);
}

static void set_allocate(const struct bench_plan *plan, struct bench_set *set, int ordinary)
{
    if (ordinary) {
        set->in = bench_ordinary(plan->most);
        set->out = bench_ordinary(plan->most);
        return;
    }
    bench_must(tutti_alloc(plan->most, &set->in), "allocating device memory");
    bench_must(tutti_alloc(plan->most, &set->out), "allocating device memory");
}

/* 1 if a way that is wanted puts calls into a stream. */
static int ways_in_stream(const struct bench_plan *plan)
{
    return plan->order != BENCH_HOST || plan->phases || (plan->energy.trials && plan->energy.ways >> ENERGY_STREAM & 1);
}

void bench_ways_open(const struct bench_plan *plan, struct bench_ways *out)
{
    char why[256];
    if (!bench_mpi.preloaded)
        bench_fail("libtutti.so is not in front of the MPI: start this with `tutti bench`");
    *out = (struct bench_ways){.bytes = 0};
    if (bench_mpi_type(plan->type) == MPI_DATATYPE_NULL)
        bench_fail("this MPI has no type for %s", tutti_type_name(plan->type));
    bench_choose_gpu(plan);
    out->scratch = bench_ordinary(plan->most);
    set_allocate(plan, &out->set[BENCH_SET_DEVICE], 0);
    out->used[BENCH_TUTTI] = 1;
    if (ways_in_stream(plan) || bench_on_cuda()) {
        if (!bench_gpu_open(why, sizeof why))
            bench_fail("%s", why);
    }
    if (plan->order == BENCH_GRAPH && !bench_gpu_has_graphs())
        bench_fail("--order graph needs CUDA: the host device has no graphs; --order stream runs there");
    if (ways_in_stream(plan)) {
        snprintf(why, sizeof why, "the ranks are on several nodes");
        out->ordered = (plan->nodes == 1 || plan->order != BENCH_HOST) && bench_enqueue_open(why, sizeof why);
        if (!out->ordered && plan->order != BENCH_HOST)
            bench_fail("calls in stream order: %s", why);
        if (!out->ordered)
            bench_say(plan, plan->phases ? "note kernel and notice are not separated: %s" : "note no stream: %s", why);
    }
    if (plan->pairs) {
        out->used[BENCH_REFERENCE] = 1;
        set_allocate(plan, &out->set[BENCH_SET_REFERENCE], 0);
    } else if (!plan->phases) {
        if (plan->order == BENCH_HOST)
            open_mpi_ways(plan, out);
        open_nccl(plan, out);
    }
    if (out->used[BENCH_PLAIN])
        set_allocate(plan, &out->set[BENCH_SET_PLAIN], 1);
    for (int way = 0; way < BENCH_WAYS; way++) {
        if (out->used[way])
            bench_say(plan, "way %s", bench_way_name(way));
    }
}

void bench_ways_close(struct bench_ways *ways)
{
    const struct tutti_device *device = tutti_device();
    bench_nccl_close();
    bench_enqueue_close();
    bench_gpu_close();
    for (int s = 0; s < BENCH_SETS; s++) { /* symmetric memory is NCCL's own */
        if (s == BENCH_SET_PLAIN || s == BENCH_SET_SYMMETRIC)
            continue;
        tutti_free(ways->set[s].in);
        tutti_free(ways->set[s].out);
    }
    free(ways->set[BENCH_SET_PLAIN].in);
    free(ways->set[BENCH_SET_PLAIN].out);
    if (ways->pinned) {
        device->memory.free_pinned(ways->copy_in);
        device->memory.free_pinned(ways->copy_out);
    } else {
        free(ways->copy_in);
        free(ways->copy_out);
    }
    free(ways->call.counts);
    free(ways->reference.counts);
    free(ways->scratch);
}

void bench_ways_size(const struct bench_plan *plan, struct bench_ways *ways, size_t bytes)
{
    ways->bytes = bytes;
    bench_call_make(plan, plan->type, plan->op, bytes, &ways->call);
    if (ways->used[BENCH_REFERENCE])
        bench_call_make(plan, TUTTI_TYPE_F32, TUTTI_OP_SUM, bytes, &ways->reference);
}

struct bench_call *bench_way_calls(struct bench_ways *ways, int way)
{
    return way == BENCH_REFERENCE ? &ways->reference : &ways->call;
}

struct bench_set *bench_way_set(struct bench_ways *ways, int way)
{
    return &ways->set[way == BENCH_PLAIN                                 ? BENCH_SET_PLAIN
                      : way == BENCH_REFERENCE                           ? BENCH_SET_REFERENCE
                      : way == BENCH_NCCL_SYM || way == BENCH_NCCL_SYM32 ? BENCH_SET_SYMMETRIC
                                                                         : BENCH_SET_DEVICE];
}
