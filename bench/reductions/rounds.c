/* Around the timed calls: input, results, and the blocking call of each way. */
#include <stdio.h>
#include <string.h>

#include "bench/common/by_hand.h"
#include "bench/common/gpu.h"
#include "bench/reductions/data.h"
#include "bench/reductions/nccl.h"
#include "bench/reductions/ways.h"
#include "core/types.h"
#include "tutti/tutti.h"

void bench_way_prepare(const struct bench_plan *plan, struct bench_ways *ways, int way, uint64_t seed)
{
    struct bench_set *set = bench_way_set(ways, way);
    const struct bench_call *call = bench_way_calls(ways, way);
    size_t bytes = bench_call_bytes(call);
    if (!set->filled || set->seed != seed || set->count != call->count || set->type != call->type ||
        set->op != call->op) {
        bench_fill(call->type, call->op, seed, plan->rank, 0, call->count, ways->scratch);
        bench_must(tutti_copy(set->in, ways->scratch, bytes), "copying to the device");
        *set = (struct bench_set){set->in, set->out, 1, call->type, call->op, seed, call->count};
    }
    bench_way_restore(plan, ways, way);
}

void bench_way_restore(const struct bench_plan *plan, struct bench_ways *ways, int way)
{
    struct bench_set *set = bench_way_set(ways, way);
    const struct bench_call *call = bench_way_calls(ways, way);
    if (plan->in_place)
        bench_must(tutti_copy(set->out, set->in, bench_call_bytes(call)), "copying on the device");
}

void bench_way_spoil(const struct bench_plan *plan, struct bench_ways *ways, int way)
{
    struct bench_set *set = bench_way_set(ways, way);
    const struct bench_call *call = bench_way_calls(ways, way);
    size_t bytes = bench_call_bytes(call);
    if (plan->in_place)
        return;
    memset(ways->scratch, 0xa5, bytes);
    bench_must(tutti_copy(set->out, ways->scratch, bytes), "copying to the device");
}

void bench_way_call(const struct bench_plan *plan, struct bench_ways *ways, int way)
{
    struct bench_set *set = bench_way_set(ways, way);
    const struct bench_call *call = bench_way_calls(ways, way);
    struct bench_part part = bench_part_of(call);
    size_t size = tutti_type_size(call->type), result = part.count * size;
    (void)plan;
    switch (way) {
    case BENCH_STAGED:
        if (bench_in_place_here(call)) {
            bench_copy_by_hand(ways->copy_out, set->out, call->count * size, "copying from the device");
        } else {
            bench_copy_by_hand(ways->copy_in, set->in, call->count * size, "copying from the device");
        }
        bench_call_mpi(call, ways->copy_in, ways->copy_out, 1);
        bench_copy_by_hand(set->out, ways->copy_out, result, "copying to the device");
        break;
    case BENCH_PLAIN:
    case BENCH_NATIVE:
        bench_call_mpi(call, set->in, set->out, 1);
        break;
    case BENCH_NCCL:
        bench_nccl_enqueue(call, set->in, set->out, bench_gpu_stream(), BENCH_NCCL_USUAL);
        bench_gpu_sync();
        break;
    default:
        bench_call_mpi(call, set->in, set->out, 0);
    }
}

static int is_nccl(int way)
{
    return way >= BENCH_NCCL && way <= BENCH_NCCL_SYM32;
}

/* Elements from..from + n of this rank's result; 1 if right. */
static int check_place(struct bench_ways *ways, int way, uint64_t seed, int exact, size_t from, size_t n,
                       struct bench_wrong *wrong)
{
    const struct bench_call *call = bench_way_calls(ways, way);
    struct bench_part part = bench_part_of(call);
    size_t size = tutti_type_size(call->type);
    char *out = bench_way_set(ways, way)->out;
    if (is_nccl(way))
        out = bench_nccl_result(call, out);
    bench_must(tutti_copy(ways->scratch, out + from * size, n * size), "copying from the device");
    return bench_check(call->type, call->op, seed, part.depth, part.begin + from, exact, ways->scratch, n, wrong);
}

/* The library combines in rank order inside a node, and then in the order of the nodes. */
static int is_in_rank_order(const struct bench_plan *plan)
{
    return plan->nodes == 1 || plan->nodes == plan->size;
}

int bench_way_check(const struct bench_plan *plan, struct bench_ways *ways, int way, uint64_t seed, int exact)
{
    exact = exact && is_in_rank_order(plan);
    enum { PLACES = 64, PLACE_BYTES = 64 << 10 };
    const struct bench_call *call = bench_way_calls(ways, way);
    struct bench_part part = bench_part_of(call);
    size_t size = tutti_type_size(call->type), n = PLACE_BYTES / size;
    struct bench_wrong wrong = {0};
    int right = 1, first;
    if (part.count * size <= BENCH_CHECK_FULL) {
        right = part.count == 0 || check_place(ways, way, seed, exact, 0, part.count, &wrong);
    } else {
        for (size_t p = 0; p < PLACES && right; p++)
            right = check_place(ways, way, seed, exact, (part.count - n) / (PLACES - 1) * p, n, &wrong) &&
                    (p > 0 || check_place(ways, way, seed, exact, part.count - n, n, &wrong));
    }
    int mine = right ? plan->size : plan->rank;
    bench_mpi.Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == plan->size)
        return 1;
    char text[400] = "";
    if (plan->rank == first)
        snprintf(text, sizeof text, "%s, %s of %s, %zu bytes, rank %d: element %zu of %zu is %s, right is %s",
                 bench_way_name(way), tutti_op_name(call->op), tutti_type_name(call->type), ways->bytes, plan->rank,
                 wrong.element, call->count, wrong.got, wrong.right);
    bench_mpi.Bcast(text, (int)sizeof text, MPI_CHAR, first, MPI_COMM_WORLD);
    bench_say(plan, "wrong %s", text);
    return 0;
}
