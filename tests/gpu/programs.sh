#!/bin/bash
# Real programs on the GPUs of this machine, unmodified, with Tutti in front: programs.sh BUILD [DIR]. DIR holds their
# sources, each under the name of its repository; a program whose sources are missing is skipped. Each row of programs/*.sh
# prints one line: its name, what the program printed, the figure without Tutti beside it, passed, failed or skipped with the
# reason. Last line: "N passed, N failed, N skipped". Status 1 if a row failed, none passed, or one is left for another run.
# Logs: BUILD/gpu-programs/ROW.log. What is not built is built in BUILD/gpu-programs/made. BUILD may be a folder that Tutti
# was installed in, or a build folder of another tree: it is used as it is. What may be set:
#   FIRST     regular expressions, blanks between them: rows whose names match the first come first, then those of the second ...
#   ONLY      a regular expression: no others
#   BUDGET    seconds, the build's among them, after which no further row is begun
#   PLAIN     0: no runs without Tutti, which take about as long again
#   GROUP     GPUs of a row (all). Several groups work at the same time.
#   BESIDE    how many rows of Heat, stream-triggering and mpi4py-all run at a time in a group (1). All others are alone in theirs.
#   LOGS      a folder in place of BUILD/gpu-programs
#   BUILT     1: BUILD is used as it is in any case
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
mkdir -p "$build" && build=$(cd "$build" && pwd) || exit 2
mkdir -p "${LOGS:-$build/gpu-programs}/made" && logs=$(cd "${LOGS:-$build/gpu-programs}" && pwd) || exit 2
made=$logs/made # read by the parts
if [ -n "$sources" ]; then sources=$(cd "$sources" && pwd) || exit 2; fi
passed=0 failed=0 skipped=0 left=0
began=$SECONDS
outcomes=$logs/outcomes.$$ queue=$logs/queue.$$

say() { echo "gpu-programs: $*"; }
end() {
    rm -rf "$outcomes" "$queue"
    [ "$left" -eq 0 ] || say "$left rows are left: BUDGET is over"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ] && [ "$left" -eq 0 ]
    exit
}

visible=${CUDA_VISIBLE_DEVICES:-}
if [ -z "$visible" ] && command -v nvidia-smi >/dev/null; then
    visible=$(timeout 60 nvidia-smi -L 2>/dev/null | sed -nE 's/^GPU ([0-9]+):.*/\1/p' | paste -sd ,)
fi
# use_gpus LIST: these GPUs are those of the rows that follow.
use_gpus() {
    gpus=$(tr ',' '\n' <<<"$1" | grep -c .)
    ranks=$((gpus < 2 ? 2 : gpus))
    [ -z "$1" ] || export CUDA_VISIBLE_DEVICES=$1
}
use_gpus "$visible"
# shellcheck source=tests/gpu/programs/common.sh
. "$here/common.sh"
for part in hpcg jacobi nvshmem torch halo heat cupy omb triggering others checked; do
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
built_elsewhere() { [ "${BUILT:-0}" = 1 ] || { [ -e "$build/lib/libtutti.so" ] && ! grep -qxF "# For build in directory: $build" "$build/CMakeCache.txt" 2>/dev/null; }; }
generator=()
if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
# shellcheck disable=SC2046,SC2086 # CMAKE_FLAGS and the targets are lists of words
if ! built_elsewhere && ! { { [ -e "$build/CMakeCache.txt" ] || timeout 300 cmake -S "$root" -B "$build" "${generator[@]}" -DTUTTI_CUDA_OPTIMIZE=ON ${CMAKE_FLAGS:-}; } &&
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
    if "${1}_can" "$2" && ready "$1"; then
        "${1}_run" "$2"
        status=$?
    else
        status=77
    fi
    case $status in
    0) status=passed && say "passed: $2: $says ($((SECONDS - start)) s)" ;;
    77) status=skipped && say "skipped: $2: $reason" ;;
    *)
        say "FAILED: $2: ${reason:-status $status}${says:+; $says} ($((SECONDS - start)) s; $log)"
        status=failed
        ;;
    esac
    echo $status >>"$outcomes"
}

# ready PART: one at a time makes what a part needs.
ready() {
    local status lock
    exec {lock}>"$made/$1.lock" && flock "$lock"
    "${1}_ready"
    status=$?
    exec {lock}>&-
    return $status
}

# The rows lie in a folder, a file each: alone.NUMBER, or beside.NUMBER. The runner that moves the file away runs the row.
mkdir -p "$queue/taken" && : >"$outcomes" || exit 2
number=1000
while read -r part row; do
    if [ -n "${ONLY:-}" ] && ! grep -qE -- "$ONLY" <<<"$row"; then continue; fi
    number=$((number + 1))
    kind=alone
    [[ ! $row =~ $beside ]] || kind=beside
    echo "$part $row" >"$queue/$kind.$number"
done < <(for part in "${parts[@]}"; do "${part}_rows" | sed "s/^/$part /"; done |
    awk -v first="${FIRST:-}" -f "$root/tests/gpu/first.awk")

# work KIND: the rows of this kind, one after the other, until none is left.
work() {
    local file part row
    trap 'end_processes; exit 130' INT TERM
    for file in "$queue/$1".*; do
        if [ "${BUDGET:-0}" -gt 0 ] && [ $((SECONDS - began)) -ge "$BUDGET" ]; then return; fi
        if ! mv "$file" "$queue/taken/" 2>/dev/null; then continue; fi
        read -r part row <"$queue/taken/${file##*/}"
        run_row "$part" "$row"
    done
}

# work_group GPUS KINDS...
work_group() {
    local kind i n workers=()
    trap 'kill "${workers[@]}" 2>/dev/null; wait; exit 130' INT TERM
    use_gpus "$1"
    shift
    for kind; do
        workers=() n=1
        [ "$kind" = alone ] || n=${BESIDE:-1}
        for ((i = 0; i < n; i++)); do
            work "$kind" &
            workers+=($!)
        done
        wait "${workers[@]}"
    done
}

IFS=, read -ra all <<<"$visible"
group=${GROUP:-${#all[@]}}
groups=()
trap 'kill "${groups[@]}" 2>/dev/null; wait; exit 130' INT TERM
for ((i = 0; i == 0 || i + group <= ${#all[@]}; i += group)); do
    # The last of several groups begins with rows that may run beside each other.
    kinds=(alone beside)
    if [ $i -gt 0 ] && [ $((i + 2 * group)) -gt ${#all[@]} ]; then kinds=(beside alone); fi
    work_group "$(IFS=, && echo "${all[*]:i:group}")" "${kinds[@]}" &
    groups+=($!)
    [ "$group" -gt 0 ] || break
done
wait "${groups[@]}"
passed=$(grep -cx passed "$outcomes") failed=$(grep -cx failed "$outcomes") skipped=$(grep -cx skipped "$outcomes")
left=$(find "$queue" -maxdepth 1 -type f | wc -l)
end
