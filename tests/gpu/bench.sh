#!/bin/bash
# Measurements on the GPUs of this machine: bench.sh BUILD [RESULTS]. For 1, 2, 4 ... ranks, a GPU each as far as they go, and
# for 4 ranks on one GPU: tutti bench allreduce beside the staged call, the MPI's own device path and NCCL where they are
# here. Tables, JSON and plots go to RESULTS (default BUILD/gpu-results). SIZES, ITERATIONS, SECONDS_EACH may be set.
set -u
build=${1:?build folder}
results=${2:-$build/gpu-results}
root=$(cd "$(dirname "$0")/../.." && pwd)
jobs=$(nproc 2>/dev/null || echo 4)
sizes=${SIZES:-8:512m}
each=${SECONDS_EACH:-540}
failed=0

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
    { timeout 300 cmake -S "$root" -B "$build" "${generator[@]}" && timeout 570 cmake --build "$build" -j "$jobs"; } \
        >"$build/gpu-bench.log" 2>&1 || { tail -n 40 "$build/gpu-bench.log"; exit 1; }
fi
mkdir -p "$results"

# What was measured on what.
{
    date -u +%Y-%m-%dT%H:%MZ
    uname -sr
    timeout 60 nvidia-smi --query-gpu=index,name,driver_version,clocks.sm,clocks.mem --format=csv,noheader
    timeout 60 nvidia-smi topo -m
    timeout 60 "$build/bin/tutti" info
} >"$results/machine.txt" 2>&1

options=(-m "$sizes")
[ -n "${ITERATIONS:-}" ] && options+=(-i "$ITERATIONS")

# bench NAME RANKS [options]
bench() {
    local name=$1 ranks=$2
    shift 2
    echo "== $name"
    local files=(--json "$results/$name.json")
    command -v gnuplot >/dev/null && files+=(--plot "$results/$name.png")
    if timeout -k 5 "$each" "$build/bin/tutti" bench allreduce -n "$ranks" --device cuda "${options[@]}" "${files[@]}" "$@" \
        >"$results/$name.txt" 2>"$results/$name.err"; then
        cat "$results/$name.txt"
    else
        failed=$((failed + 1))
        cat "$results/$name.txt"
        echo "gpu-bench: $name failed:" >&2
        tail -n 20 "$results/$name.err" >&2
    fi
}

for ((ranks = gpus; ranks >= 2; ranks /= 2)); do
    bench "allreduce-$ranks-gpus" "$ranks"
done
# Ranks that share one GPU.
CUDA_VISIBLE_DEVICES=0 bench allreduce-4-ranks-1-gpu 4 -m "8:16m"
CUDA_VISIBLE_DEVICES=0 bench allreduce-2-ranks-1-gpu 2 -m "8:16m"

# A program on host memory must not notice the library.
if timeout 60 "$build/bin/tutti" bench --help 2>/dev/null | grep -q overhead; then
    timeout -k 5 "$each" "$build/bin/tutti" bench overhead -n 2 --pairs 15 --limit 3 >"$results/overhead.txt" 2>&1 || failed=$((failed + 1))
    cat "$results/overhead.txt"
fi
echo "gpu-bench: results in $results, $failed failed"
[ "$failed" -eq 0 ]
