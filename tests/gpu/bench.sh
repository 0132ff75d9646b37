#!/bin/bash
# Measurements on the GPUs of this machine: bench.sh BUILD [RESULTS]. Tables, JSON and plots go to RESULTS (default
# BUILD/gpu-results), with machine.txt beside them. What may be set:
#   PLAN          parts, in this order: graph blocking messages movers files file_ways windows types pairs phases shared pack halo never shmem partitioned
#                 overhead (default: all but file_ways and the last)
#   GPUS          numbers of GPUs for graph and blocking (default: all, then half of them, down to 2)
#   SIZES         bytes (default: those of the project's tables, 8 to 512m)
#   PACK_SIZES    bytes of plain strides (4k,64k,1m,8m,64m,256m; tiny and far blocks up to 8m)
#   EDGES         of the halo exchange (64,128,256)
#   MESSAGE_SIZES, MOVER_SIZES  bytes of messages and of what a rank moves to one other (8 to 64m)
#   FILE_SIZES, FILE_FOLDER  bytes of a rank's part of a file (64k to 256m), and where the file lies (/tmp)
#   NEVER_SIZES   bytes of the calls beside copying by hand (8,256,1k,8k,64k,1m,16m)
#   POINT         seconds for one way at one size (0.25)
#   BUDGET        seconds after which no further run is started (480)
#   SECONDS_EACH  most of one run (180)
#   MPI           the MPI to use, as tutti bench --mpi takes it. Intel MPI's own CUDA path is measured beside (`native`)
#                 where I_MPI_OFFLOAD=1 I_MPI_OFFLOAD_MODE=cuda are set.
set -u
build=${1:?build folder}
results=${2:-$build/gpu-results}
root=$(cd "$(dirname "$0")/../.." && pwd)
jobs=$(nproc 2>/dev/null || echo 4)
plan=" ${PLAN:-graph blocking messages movers files windows types pairs phases shared pack halo never shmem partitioned} "
sizes=${SIZES:-8,2k,8k,32k,128k,512k,2m,8m,32m,128m,512m}
small=${SMALL_SIZES:-8,2k,8k,32k,64k,128k,512k,2m,16m}
point=${POINT:-0.25}
budget=${BUDGET:-480}
each=${SECONDS_EACH:-180}
failed=0 left_out=0 started=$SECONDS

gpus=0
if command -v nvidia-smi >/dev/null; then gpus=$(timeout 60 nvidia-smi -L 2>/dev/null | grep -c '^GPU '); fi
if [ "$gpus" -eq 0 ]; then
    echo "gpu-bench: no GPU was found: nvidia-smi -L lists none" >&2
    exit 1
fi
if [ ! -x "$build/bin/tutti" ]; then
    generator=()
    if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
    mkdir -p "$build"
    { timeout 300 cmake -S "$root" -B "$build" "${generator[@]}" -DTUTTI_CUDA_OPTIMIZE=ON && timeout 570 cmake --build "$build" -j "$jobs"; } \
        >"$build/gpu-bench.log" 2>&1 || { tail -n 40 "$build/gpu-bench.log"; exit 1; }
    started=$SECONDS
fi
mkdir -p "$results"
counts=${GPUS:-$(for ((n = gpus; n >= 2; n /= 2)); do echo "$n"; done)}

# What was measured on what.
{
    date -u +%Y-%m-%dT%H:%MZ
    uname -sr
    timeout 60 nvidia-smi --query-gpu=index,name,driver_version,clocks.sm,clocks.mem --format=csv,noheader
    timeout 60 nvidia-smi topo -m
    for view in "" --machine --rules; do timeout 60 "$build/bin/tutti" info $view; done
    echo "plan:$plan sizes: $sizes"
} >"$results/machine.txt" 2>&1

in_plan() { [[ $plan == *" $1 "* ]]; }

# bench NAME COLLECTIVE RANKS [options]
bench() {
    local name=$1 collective=$2 ranks=$3 began=$SECONDS
    shift 3
    if [ $((SECONDS - started)) -ge "$budget" ]; then
        echo "== $name: left out, $budget seconds have passed (BUDGET)"
        left_out=$((left_out + 1))
        return
    fi
    echo "== $name"
    local files=(--json "$results/$name.json")
    [ -n "${MPI:-}" ] && files+=(--mpi "$MPI")
    command -v gnuplot >/dev/null && files+=(--plot "$results/$name.png")
    if ! timeout -k 5 "$each" "$build/bin/tutti" bench "$collective" -n "$ranks" --device cuda --seconds "$point" \
        --timeout 60 "${files[@]}" "$@" >"$results/$name.txt" 2>"$results/$name.err"; then
        failed=$((failed + 1))
        echo "gpu-bench: $name failed:" >&2
        tail -n 20 "$results/$name.err" >&2
    fi
    cat "$results/$name.txt"
    [ -s "$results/$name.err" ] || rm -f "$results/$name.err"
    echo "== $name took $((SECONDS - began)) s"
}

# Each loop begins with all GPUs; what matters most comes first, so that a budget that ends early leaves out the rest.
most=${counts%%[[:space:]]*}
for n in $counts; do
    for collective in allreduce reduce reduce_scatter; do
        in_plan graph && bench "$collective-$n-gpus-graph" $collective "$n" -m "$sizes" --order graph
    done
    in_plan blocking || continue
    bench "allreduce-$n-gpus" allreduce "$n" -m "$sizes" --ways nccl,native
    [ "$n" = "$most" ] || continue
    for collective in reduce reduce_scatter; do
        bench "$collective-$n-gpus" $collective "$n" -m "$sizes" --ways nccl,native
    done
    bench "allreduce-$n-gpus-staged" allreduce "$n" -m "8,2k,8k,32k,128k,512k,2m,8m" --ways staged
done
# Messages between two GPUs, then pairs of all; staging by hand and by the library at the sizes where it may matter alone.
if in_plan messages && [ -n "$most" ]; then
    for name in latency bw bibw; do
        bench "$name" $name 2 -m "${MESSAGE_SIZES:-8,1k,16k,64k,512k,1m,4m,8m,16m,64m}" --ways nccl,native --seconds 0.1
    done
    bench "mbw_mr-$most-gpus" mbw_mr "$((most / 2 * 2))" -m "${MESSAGE_SIZES:-8,1k,16k,64k,512k,4m}" --ways nccl,native --seconds 0.1
    for name in latency bw; do
        bench "$name-staged" $name 2 -m 8,1k,8k,64k,1m --ways hand,staged --seconds 0.05
    done
    bench latency-fresh latency 2 -m 8,4k,64k,256k,4m --ways hand,staged --seconds 0.02 --fresh 100
fi
# Data movers: blocking calls, nonblocking ones with their overlap, then those beside staging.
if in_plan movers && [ -n "$most" ]; then
    for name in bcast allgather alltoall gather scatter neighbor_alltoall alltoallv; do
        bench "$name-$most-gpus" "$name" "$most" -m "${MOVER_SIZES:-8,1k,8k,64k,256k,1m,4m,16m,64m}" --ways nccl,nccl_ce,native --seconds 0.1
    done
    for name in bcast allgather alltoall; do
        bench "$name-$most-gpus-graph" $name "$most" -m "${MOVER_SIZES:-8,1k,8k,64k,256k,1m,4m,16m,64m}" --order graph --seconds 0.1
    done
    for n in $counts; do
        for name in bcast allgather alltoall; do
            bench "$name-$n-gpus-overlap" "$name" "$n" --nonblocking -m 8,8k,64k,1m,16m --ways nccl,native --seconds 0.1
            [ "$n" = "$most" ] ||
                bench "$name-$n-gpus" $name "$n" -m "${MOVER_SIZES:-8,1k,8k,64k,256k,1m,4m,16m,64m}" --ways nccl,nccl_ce,native --seconds 0.1
        done
    done
    for name in bcast allgather alltoall; do
        bench "$name-$most-gpus-staged" $name "$most" -m 8,1k,8k,64k,1m --ways hand,staged --seconds 0.05
    done
fi
# Files, beside the MPI on pinned host memory; one rank alone is measured too.
if in_plan files; then
    for n in 1 ${most:-}; do
        for name in file_write file_read; do
            bench "$name-$n" $name "$n" -m "${FILE_SIZES:-64k,1m,4m,16m,64m,256m}" --folder "${FILE_FOLDER:-/tmp}"
            bench "$name-$n-all" $name "$n" -m "${FILE_SIZES:-64k,1m,4m,16m,64m,256m}" --folder "${FILE_FOLDER:-/tmp}" --collective
        done
    done
fi
# What the rules of file accesses choose from: each way alone.
if in_plan file_ways; then
    for name in file_write file_read; do
        for way in whole kernel pieces even; do
            TUTTI_RULES="$name: *@$way" bench "$name-1-$way" $name 1 -m "${FILE_SIZES:-4k,16k,64k,256k,1m,2m,4m,16m,64m}" \
                --folder "${FILE_FOLDER:-/tmp}" --ways host --seconds 0.1
        done
    done
fi
# Operations on windows.
if in_plan windows && [ -n "$most" ]; then
    for name in put get accumulate; do
        for sync in flush fence; do
            bench "$name-$sync" $name 2 -m 8,1k,8k,64k,512k,4m --sync $sync --seconds 0.1
        done
        bench "$name-host-window" $name 2 -m 8,1k,8k,64k,512k,4m --host-window --seconds 0.1
    done
fi
if [ -n "$most" ]; then
    for type in double int32; do
        in_plan types && bench "allreduce-$most-gpus-graph-$type" allreduce "$most" -m "$sizes" --order graph --type $type
    done
    in_plan pairs && bench "allreduce-$most-gpus-pairs" allreduce "$most" -m 16m --order graph --ops all --types all --seconds 0.1
    for collective in allreduce reduce reduce_scatter; do
        in_plan phases && bench "$collective-$most-gpus-phases" $collective "$most" -m "$sizes" --phases
    done
fi
# Ranks that share GPUs.
if in_plan shared; then
    CUDA_VISIBLE_DEVICES=0 bench allreduce-4-ranks-1-gpu allreduce 4 -m "$small" --ways native
    [ "$gpus" -ge 2 ] && bench "allreduce-$((2 * gpus))-ranks-$gpus-gpus" allreduce $((2 * gpus)) -m "$small" --ways native
fi
# Packing, on one GPU: parts of a cube in all descriptions, plain strides by size, patterns of applications, commits.
if in_plan pack; then
    bench pack-article pack 1 --seconds 0.05
    for blocks in 1/2 4/8 8/16 8/512 16/32 32/64 64/128 512/1024; do
        sizes_of=4k,64k,1m,8m,64m,256m
        case $blocks in 1/2 | 4/8 | 8/512) sizes_of=4k,64k,1m,8m ;; esac
        bench "pack-blocks-${blocks/\//-of-}" pack 1 --layout blocks --block "${blocks%/*}" --stride "${blocks#*/}" \
            -m "${PACK_SIZES:-$sizes_of}" --seconds 0.1
    done
    bench pack-ddtbench pack 1 --layout ddtbench --seconds 0.1
    bench pack-commit pack 1 --layout commit
fi
# Typed messages between GPUs: the halo exchange, and the ping-pong of blocks.
if in_plan halo; then
    for n in $counts; do
        bench "halo-$n-gpus" halo "$n" --edges "${EDGES:-64,128,256}"
    done
    if [ "$gpus" -ge 2 ]; then
        for block in 1 8 64 512; do
            bench "pingpong-$block" pingpong 2 --block $block -m 4k,64k,1m,16m
        done
    fi
fi
# Every call beside the same by hand: the last lines of each table name those that are behind.
if in_plan never; then
    for n in $counts; do
        bench "never-slower-$n-gpus" never-slower "$n" -m "${NEVER_SIZES:-8,256,1k,8k,64k,1m,16m}" --seconds 0.05
    done
fi
# The global address space, in kernels and in streams; on one GPU two PEs share it. What single calls take comes first, of
# all numbers of GPUs; then the figures of the papers, with fewer launches. At most
# 150 s for a number of GPUs.
at_most() { if [ "$each" -lt "$1" ]; then echo "$each"; else echo "$1"; fi; }
if in_plan shmem; then
    for n in ${counts:-2}; do
        each=$(at_most 60) bench "shmem-calls-$n-pes" shmem "$n" --seconds 0.005 --figures latency,bandwidth,ring
        each=$(at_most 50) bench "shmem-streams-$n-pes" shmem "$n" --seconds 0.005 --ways tutti,nvshmem --figures graph,stream
    done
    for n in ${counts:-2}; do
        each=$(at_most 40) bench "shmem-papers-$n-pes" shmem "$n" --seconds 0.005 -i 3 -m 8,4k,256k,2m \
            --figures rma,groups,fcollect,broadcast,access,reduce,allreduce,sum
    done
fi
# Partitioned communication beside other ways, also between virtual nodes. At most 70 s for a number of GPUs.
if in_plan partitioned; then
    for n in $counts; do
        each=$(at_most 45) bench "partitioned-$n-gpus" partitioned "$n" -m 8,1k,64k,512k,1m,16m --partitions 1,16,64 --seconds 0.03
        TUTTI_NODE_RANKS=1 each=$(at_most 25) bench "partitioned-$n-nodes" partitioned "$n" --figures message,allreduce -m 8,64k,1m \
            --partitions 1,16 --ways tutti,host,blocking --seconds 0.03
    done
fi
# A program on host memory must not notice the library.
if in_plan overhead; then
    timeout -k 5 "$each" "$build/bin/tutti" bench overhead -n 2 --pairs 15 --limit 3 >"$results/overhead.txt" 2>&1 || failed=$((failed + 1))
    cat "$results/overhead.txt"
fi
echo "gpu-bench: results in $results, $failed failed, $left_out left out, $((SECONDS - started)) s"
[ "$failed" -eq 0 ]
