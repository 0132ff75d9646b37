#!/bin/bash
# Real programs on the GPUs of this machine, unmodified, with Tutti in front: programs.sh BUILD [DIR]. DIR holds their
# sources, each under the name of its repository; a program whose sources are missing is skipped. Each row of programs/*.sh
# prints one line: its name, what the program printed, the figure without Tutti beside it, passed, failed or skipped with the
# reason. Last line: "N passed, N failed, N skipped". Status 1 if a row failed, none passed, or one is left for another run.
# Logs: BUILD/gpu-programs/ROW.log. What is not built is built in BUILD/gpu-programs/made. What may be set:
#   FIRST     regular expressions, blanks between them: rows whose names match the first come first, then those of the second ...
#   ONLY      a regular expression: no others
#   BUDGET    seconds, the build's among them, after which no further row is begun
#   PLAIN     0: no runs without Tutti, which take about as long again
#   PREPARE   a folder: builds, copies there what a run needs, and stops. It then serves as DIR on a machine that lacks a compiler.
#   MPIRUN    the launcher (mpirun.openmpi or mpirun); MPICC and MPICXX: its compilers
#   CMAKE_FLAGS  more options for CMake where Tutti is not configured yet
#   CUDA_ARCH what the programs' kernels are compiled for (sm_90)
# shellcheck disable=SC2034,SC2154 # programs/*.sh read and set variables
set -u
build=${1:?build folder}
sources=${2:-}
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/gpu/programs
jobs=$(nproc 2>/dev/null || echo 4)
mkdir -p "$build/gpu-programs/made" && build=$(cd "$build" && pwd) || exit 2
logs=$build/gpu-programs
made=$build/gpu-programs/made # read by the parts
if [ -n "$sources" ]; then sources=$(cd "$sources" && pwd) || exit 2; fi
passed=0 failed=0 skipped=0 left=0
began=$SECONDS

say() { echo "gpu-programs: $*"; }
end() {
    [ "$left" -eq 0 ] || say "$left rows are left: BUDGET is over"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ] && [ "$left" -eq 0 ]
    exit
}

gpus=0
if command -v nvidia-smi >/dev/null; then gpus=$(timeout 60 nvidia-smi -L 2>/dev/null | grep -c '^GPU '); fi
if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then gpus=$(tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .); fi
ranks=$gpus
[ "$ranks" -ge 2 ] || ranks=2
# shellcheck source=tests/gpu/programs/common.sh
. "$here/common.sh"
for part in hpcg jacobi nvshmem torch halo heat cupy omb triggering; do
    # shellcheck source=/dev/null
    . "$here/$part.sh"
done

if [ -n "${PREPARE:-}" ]; then
    mkdir -p "$PREPARE" && prepared=$(cd "$PREPARE" && pwd) || exit 2
    for part in "${parts[@]}"; do
        reason=''
        if "${part}_ready" && "${part}_prepare" "$prepared"; then
            passed=$((passed + 1))
            say "prepared: $part"
        else
            skipped=$((skipped + 1))
            say "skipped: $part: $reason"
        fi
    done
    end
fi

# The library itself: the targets that a program under Tutti needs, no tests.
generator=()
if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
# shellcheck disable=SC2046,SC2086 # CMAKE_FLAGS and the targets are lists of words
if ! { { [ -e "$build/CMakeCache.txt" ] || timeout 300 cmake -S "$root" -B "$build" "${generator[@]}" -DTUTTI_CUDA_OPTIMIZE=ON ${CMAKE_FLAGS:-}; } &&
    timeout 570 cmake --build "$build" -j "$jobs" --target tutti tutti-core tutti-openshmem tutti-nvshmem-device $(front_targets); } >"$logs/build.log" 2>&1; then
    tail -n 40 "$logs/build.log"
    failed=1
    end
fi

cd "$logs" || exit 2
# run_row PART ROW
run_row() {
    local start=$SECONDS status
    says='' reason='' log=$logs/$2.log
    if "${1}_can" "$2" && "${1}_ready"; then
        "${1}_run" "$2"
        status=$?
    else
        status=77
    fi
    case $status in
    0) passed=$((passed + 1)) && say "passed: $2: $says ($((SECONDS - start)) s)" ;;
    77) skipped=$((skipped + 1)) && say "skipped: $2: $reason" ;;
    *) failed=$((failed + 1)) && say "FAILED: $2: ${reason:-status $status}${says:+; $says} ($((SECONDS - start)) s; $log)" ;;
    esac
}

while read -r -u 3 part row; do
    if [ -n "${ONLY:-}" ] && ! grep -qE -- "$ONLY" <<<"$row"; then continue; fi
    if [ "${BUDGET:-0}" -gt 0 ] && [ $((SECONDS - began)) -ge "$BUDGET" ]; then
        left=$((left + 1))
        continue
    fi
    run_row "$part" "$row"
done 3< <(for part in "${parts[@]}"; do "${part}_rows" | sed "s/^/$part /"; done |
    awk -v first="${FIRST:-}" -f "$root/tests/gpu/first.awk")
end
