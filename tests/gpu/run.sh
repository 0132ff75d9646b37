#!/bin/bash
# Tests on the GPUs of this machine: run.sh BUILD. Builds what is missing, then the device by itself, the programs of
# tests/mpi, the Python examples, and a small matrix under compute-sanitizer. Last line: "N passed, N failed, N skipped".
# Status 1 where a test failed or there was no GPU. Needs no network. RANKS and GPUs follow from what the machine has.
set -u
build=${1:?build folder}
root=$(cd "$(dirname "$0")/../.." && pwd)
jobs=$(nproc 2>/dev/null || echo 4)
export CUDA_MODULE_LOADING=${CUDA_MODULE_LOADING:-LAZY}
passed=0 failed=0 skipped=0

say() { echo "gpu-check: $*"; }
pass() { passed=$((passed + 1)); say "passed: $*"; }
fail() { failed=$((failed + 1)); say "FAILED: $*"; }
skip() { skipped=$((skipped + 1)); say "skipped: $*"; }
end() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}

gpus=0
if command -v nvidia-smi >/dev/null; then gpus=$(timeout 60 nvidia-smi -L 2>/dev/null | grep -c '^GPU '); fi
if [ "$gpus" -eq 0 ]; then
    fail "no GPU was found: nvidia-smi -L lists none"
    end
fi
timeout 60 nvidia-smi --query-gpu=index,name,memory.total,driver_version --format=csv,noheader

if ! echo '#include <xxhash.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
    fail "xxhash.h was not found: install libxxhash-dev, or set CPATH to a folder that holds it"
    end
fi
if ! echo '#include <uthash.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
    say "uthash.h was not found: install uthash-dev, or set CPATH to a folder that holds it, for the front ends of the MPIs"
fi
generator=()
if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
mkdir -p "$build"
log=$build/gpu-check.log
say "building with $jobs jobs"
if ! timeout 300 cmake -S "$root" -B "$build" "${generator[@]}" -DBUILD_TESTING=ON -DTUTTI_CUDA_OPTIMIZE=ON -DTUTTI_GPU_TESTS=ON -DTUTTI_GPU_COUNT="$gpus" >"$log" 2>&1; then
    tail -n 40 "$log"
    fail "the build could not be configured"
    end
fi
grep -E '^-- .*(left out|MPIs found|CUDA device)' "$log"
if ! timeout 570 cmake --build "$build" -j "$jobs" >>"$log" 2>&1; then
    grep -E -A8 'error|FAILED' "$log" | head -n 60
    fail "the build"
    end
fi

# The CTest tests of label gpu.
timeout 1800 ctest --test-dir "$build" -L gpu --output-on-failure --no-tests=error 2>&1 | tee "$build/gpu-tests.log"
ctest_status=${PIPESTATUS[0]}
read -r its_passed its_failed its_skipped < <(awk '
    /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
        if ($0 ~ /\*\*\*Skipped/) skipped++
        else if ($0 ~ / Passed +[0-9.]+ sec/) passed++
        else failed++
    }
    END { print passed + 0, failed + 0, skipped + 0 }' "$build/gpu-tests.log")
passed=$((passed + its_passed)) failed=$((failed + its_failed)) skipped=$((skipped + its_skipped))
if [ "$ctest_status" -ne 0 ] && [ "$its_failed" -eq 0 ]; then fail "ctest, with status $ctest_status"; fi

ranks=$gpus
[ "$ranks" -ge 2 ] || ranks=2

# Unmodified mpi4py programs on the arrays of two libraries.
for package in cupy torch; do
    script=$root/examples/python/allreduce_$package.py
    if ! timeout 120 python3 -c "import mpi4py, $package" 2>/dev/null; then
        skip "python with $package: python3 cannot import mpi4py and $package"
    elif [ ! -x "$build/bin/tutti" ]; then
        skip "python with $package: the command tutti was not built"
    elif TUTTI_DEVICE=cuda timeout -k 5 240 "$build/bin/tutti" run -n "$ranks" python3 "$script"; then
        pass "python with $package on $ranks ranks"
    else
        fail "python with $package on $ranks ranks"
    fi
done

# tutti tune: every algorithm, blocking and in graphs, its results compared with the default's, and rules that can be read.
for order in host graph; do
    if [ ! -x "$build/bin/tutti" ]; then
        skip "tune, order $order: the command tutti was not built"
    elif [ $order = graph ] && [ "$gpus" -lt "$ranks" ]; then
        skip "tune, order graph: calls in stream order take a GPU for each of the $ranks ranks"
    elif TUTTI_DEVICE=cuda timeout -k 5 180 "$build/bin/tutti" tune -n "$ranks" --order "$order" --time 60 --output "$build/gpu-rules" &&
        TUTTI_DEVICE=cuda TUTTI_RULES_FILE=$build/gpu-rules "$build/bin/tutti" info | grep -q '^  measured .*@'; then
        pass "tune, order $order"
    else
        fail "tune, order $order"
    fi
done

# tutti bench shmem: every figure that the GPUs are enough for, all data looked at.
if [ ! -x "$build/bin/tutti" ] || [ ! -e "$build/libexec/tutti/tutti-bench-shmem-cuda.so" ]; then
    skip "bench shmem: the command tutti or the kernels of the bench were not built"
elif TUTTI_DEVICE=cuda timeout -k 5 180 "$build/bin/tutti" bench shmem -n "$ranks" -m 8,4k,64k,1m -i 2 --seconds 0.002; then
    pass "bench shmem on $ranks PEs"
else
    fail "bench shmem on $ranks PEs"
fi

# Memory checked: the device alone, then a few calls of two ranks.
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
check=(timeout -k 5 300 "$sanitizer" --tool memcheck --error-exitcode 9 --target-processes all)
if [ -z "$sanitizer" ]; then
    skip "memcheck: compute-sanitizer was not found"
elif [ ! -x "$build/tests/gpu/gpu-device-test" ]; then
    skip "memcheck: the CUDA device was not built"
else
    # `small` leaves out the reset of the GPU. Sharing private memory is refused by the driver, which is no error here.
    if "${check[@]}" --report-api-errors no "$build/tests/gpu/gpu-device-test" small; then
        pass "memcheck of the device"
    else
        fail "memcheck of the device"
    fi
    # Packing: memory, then what warps and blocks share. A few of the test's cases, since these are slow.
    pack=$build/tests/kernels/kernels-pack
    for tool in memcheck racecheck synccheck; do
        for part in structures transposes lists; do
            if [ ! -x "$pack" ]; then
                skip "$tool of packing $part: kernels-pack was not built (it takes cmocka)"
            elif TUTTI_DEVICE=cuda TUTTI_TEST_EVERY=60 timeout -k 5 300 "$sanitizer" --tool $tool --error-exitcode 9 \
                --report-api-errors no "$pack" $part; then
                pass "$tool of packing $part"
            else
                fail "$tool of packing $part"
            fi
        done
    done
    matrix=$(ls "$build"/tests/mpi/mpi-matrix.openmpi "$build"/tests/mpi/mpi-matrix.mpich 2>/dev/null | head -n 1)
    if [ -z "$matrix" ]; then
        skip "memcheck of calls: mpi-matrix was not built"
    elif [ ! -x "$build/bin/tutti" ]; then
        skip "memcheck of calls: the command tutti was not built"
    elif TUTTI_DEVICE=cuda timeout -k 5 400 "$build/bin/tutti" run -n 2 \
            "$sanitizer" --tool memcheck --error-exitcode 9 --report-api-errors no "$matrix" 100; then
        pass "memcheck of 100 calls on 2 ranks"
    else
        fail "memcheck of 100 calls on 2 ranks"
    fi
fi
end
