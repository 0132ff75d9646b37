#!/bin/bash
# Tests on the GPUs of this machine: run.sh BUILD. Builds what is missing, then the device by itself, the programs of
# tests/mpi, the Python examples, and a small matrix under compute-sanitizer. Last line: "N passed, N failed, N skipped".
# Status 1 if a test failed, one is left for another run, or there was no GPU. Needs no network. RANKS and GPUs follow from
# what the machine has. What may be set:
#   FIRST    regular expressions, blanks between them: tests whose names match the first come first, then those of the second ...
#   ONLY     a regular expression: no others; if it names CTest's tests alone, no more is built than these run
#   BUDGET   seconds, the build's among them, after which no further test is begun
#   RESUME   1: what has passed here with the same sources is not run again
#   CMAKE_FLAGS  more options for CMake, such as -DTUTTI_CUDA_FATBINS=FOLDER: kernels that are already compiled
set -u
build=${1:?build folder}
root=$(cd "$(dirname "$0")/../.." && pwd)
jobs=$(nproc 2>/dev/null || echo 4)
export CUDA_MODULE_LOADING=${CUDA_MODULE_LOADING:-LAZY}
passed=0 failed=0 skipped=0 left=0
began=$SECONDS

say() { echo "gpu-check: $*"; }
pass() { passed=$((passed + 1)); echo "$*" >>"$done_file"; say "passed: $*"; }
fail() { failed=$((failed + 1)); say "FAILED: $*"; }
skip() { skipped=$((skipped + 1)); say "skipped: $*"; }
end() {
    [ "$left" -eq 0 ] || say "$left tests are left: BUDGET is over. RESUME=1 goes on with them"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ] && [ "$left" -eq 0 ]
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
done_file=$build/gpu-passed
say "building with $jobs jobs"
# shellcheck disable=SC2086 # CMAKE_FLAGS is a list of words
if ! timeout 300 cmake -S "$root" -B "$build" "${generator[@]}" -DBUILD_TESTING=ON -DTUTTI_CUDA_OPTIMIZE=ON -DTUTTI_GPU_TESTS=ON -DTUTTI_GPU_COUNT="$gpus" \
    ${CMAKE_FLAGS:-} >"$log" 2>&1; then
    tail -n 40 "$log"
    fail "the build could not be configured"
    end
fi
grep -E '^-- .*(left out|MPIs found|CUDA device)' "$log"
mapfile -t targets < <("$root/tests/gpu/targets.sh" "$build" "${ONLY:-}")
if ! timeout 570 cmake --build "$build" -j "$jobs" ${targets[0]:+--target "${targets[@]}"} >>"$log" 2>&1; then
    grep -E -A8 'error|FAILED' "$log" | head -n 60
    fail "the build"
    end
fi

# What has passed with these sources: their hash, then a name a line.
sources=$(cd "$root" && find CMakeLists.txt bench cmake examples include src tests tools -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
if [ "${RESUME:-0}" != 1 ] || [ "$(head -n 1 "$done_file" 2>/dev/null)" != "$sources" ]; then echo "$sources" >"$done_file"; fi
late() { [ "${BUDGET:-0}" -gt 0 ] && [ $((SECONDS - began)) -ge "$BUDGET" ]; }
# turn NAME: 0: it is to be run now.
turn() {
    if [ -n "${ONLY:-}" ] && ! grep -qE -- "$ONLY" <<<"$1"; then return 1; fi
    if tail -n +2 "$done_file" | grep -qxF -- "$1"; then
        passed=$((passed + 1))
        say "passed before: $1"
        return 1
    fi
    if late; then
        left=$((left + 1))
        return 1
    fi
}

# run_tests NUMBER...: these of CTest's.
run_tests() {
    local log=$build/gpu-tests.log status its_passed its_failed its_skipped
    timeout 3600 ctest --test-dir "$build" -I "0,0,0,$(IFS=, && echo "$*")" --output-on-failure --no-tests=error 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) \.* +Passed +[0-9.]+ sec.*/\1/p' "$log" >>"$done_file"
    read -r its_passed its_failed its_skipped < <(awk -f "$root/scripts/counts.awk" "$log")
    passed=$((passed + its_passed)) failed=$((failed + its_failed)) skipped=$((skipped + its_skipped))
    if [ "$status" -ne 0 ] && [ "$its_failed" -eq 0 ]; then fail "ctest, with status $status"; fi
}

# The CTest tests of label gpu, a few at a time where there is a budget.
numbers=()
while read -r -u 3 number name; do
    turn "$name" || continue
    numbers+=("$number")
    if [ "${BUDGET:-0}" -gt 0 ] && [ ${#numbers[@]} -ge 3 ]; then
        run_tests "${numbers[@]}"
        numbers=()
    fi
done 3< <(ctest --test-dir "$build" -L gpu -N | sed -nE 's/^ *Test +#([0-9]+): (.*)/\1 \2/p' |
    awk -v first="${FIRST:-}" -f "$root/tests/gpu/first.awk")
[ ${#numbers[@]} -eq 0 ] || run_tests "${numbers[@]}"

ranks=$gpus
[ "$ranks" -ge 2 ] || ranks=2

# Unmodified mpi4py programs on the arrays of two libraries.
for package in cupy torch; do
    script=$root/examples/python/allreduce_$package.py
    turn "python with $package on $ranks ranks" || continue
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
    turn "tune, order $order" || continue
    if [ ! -x "$build/bin/tutti" ]; then
        skip "tune, order $order: the command tutti was not built"
    elif [ $order = graph ] && [ "$gpus" -lt "$ranks" ]; then
        skip "tune, order graph: calls in stream order take a GPU for each of the $ranks ranks"
    elif TUTTI_DEVICE=cuda timeout -k 5 180 "$build/bin/tutti" tune -n "$ranks" --order "$order" --time 60 --output "$build/gpu-rules" &&
        TUTTI_DEVICE=cuda TUTTI_RULES_FILE=$build/gpu-rules "$build/bin/tutti" info --rules | grep -q '^  measured .*@'; then
        pass "tune, order $order"
    else
        fail "tune, order $order"
    fi
done

# tutti bench shmem: every figure that the GPUs are enough for, all data looked at.
if ! turn "bench shmem on $ranks PEs"; then
    :
elif [ ! -x "$build/bin/tutti" ] || [ ! -e "$build/libexec/tutti/tutti-bench-shmem-cuda.so" ]; then
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
    if ! turn "memcheck of the device"; then
        :
    elif "${check[@]}" --report-api-errors no "$build/tests/gpu/gpu-device-test" small; then
        pass "memcheck of the device"
    else
        fail "memcheck of the device"
    fi
    # Packing: memory, then what warps and blocks share. A few of the test's cases, since these are slow.
    pack=$build/tests/kernels/kernels-pack
    for tool in memcheck racecheck synccheck; do
        for part in structures transposes lists; do
            turn "$tool of packing $part" || continue
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
    matrix=$(find "$build/tests/mpi" -name mpi-matrix.openmpi -o -name mpi-matrix.mpich 2>/dev/null | sort -r | head -n 1)
    if ! turn "memcheck of 100 calls on 2 ranks"; then
        :
    elif [ -z "$matrix" ]; then
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
