#!/bin/bash
# Measurements on the CPU: bench.sh BUILD. Results as JSON and PNG under BUILD/results.
# On simulated GPUs, memory from Tutti's allocator, beside the same call of the MPI on ordinary memory ("plain"); and what
# the library costs a program that uses host memory alone.
set -u
build=${1:?build folder}
tutti=$build/bin/tutti
out=$build/results
mkdir -p "$out"
export TUTTI_DEVICE=host
failed=0
for mpi in openmpi mpich; do
    command -v mpirun.$mpi >/dev/null || { echo "bench: mpirun.$mpi is missing: skipped"; continue; }
    plot=()
    command -v gnuplot >/dev/null && plot=(--plot "$out/allreduce-host-2-$mpi.png")
    "$tutti" bench allreduce --mpi mpirun.$mpi -n 2 -m 8:16m --json "$out/allreduce-host-2-$mpi.json" "${plot[@]}" || failed=1
    for collective in reduce reduce_scatter scan; do
        "$tutti" bench $collective --mpi mpirun.$mpi -n 2 -m 8,1k,64k,1m,16m --json "$out/$collective-host-2-$mpi.json" || failed=1
    done
    "$tutti" bench allreduce --mpi mpirun.$mpi -n 2 -m 1m --ops all --types all --json "$out/pairs-host-2-$mpi.json" || failed=1
    for layout in "article --cube 128" "blocks -m 4k,64k,1m" ddtbench commit; do
        # shellcheck disable=SC2086 # words of options
        "$tutti" bench pack --mpi mpirun.$mpi --layout $layout --seconds 0.05 --json "$out/pack-${layout%% *}-host-$mpi.json" || failed=1
    done
    "$tutti" bench halo --mpi mpirun.$mpi -n 2 --edges 16,64 --json "$out/halo-host-2-$mpi.json" || failed=1
    "$tutti" bench pingpong --mpi mpirun.$mpi -m 1k,64k,1m --json "$out/pingpong-host-2-$mpi.json" || failed=1
    "$tutti" bench never-slower --mpi mpirun.$mpi -n 2 --json "$out/never-slower-host-2-$mpi.json" || failed=1
    "$tutti" bench overhead --mpi mpirun.$mpi -n 2 --pairs 15 --limit 3 --json "$out/overhead-2-$mpi.json" || failed=1
done
echo "results: $out"
exit $failed
