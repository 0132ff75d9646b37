#!/bin/bash
# How programs written for OpenSHMEM begin, fail and end: the status of the job, and what is printed.
# ends.sh PART LAUNCHER OPTIONS... -- PROGRAM: the launcher's command, to which -n, ranks and settings are added.
set -u
part=$1
shift
launch=()
while [ "$1" != -- ]; do
    launch+=("$1")
    shift
done
program=$2
log=$(mktemp)
trap 'rm -f "$log" "$log.launcher"' EXIT
failed=0
runs=0
shown=0
complain() {
    echo "$name: $*"
    [ "$shown" = "$runs" ] || sed 's/^/    /' "$log" # once a run
    shown=$runs
    failed=$((failed + 1))
}
# run RANKS STATUS "SETTINGS" ARGUMENTS...: STATUS "bad" is any but 0
run() {
    local ranks=$1 wanted=$2 settings=$3 status
    shift 3
    name="$settings $*"
    runs=$((runs + 1))
    # Ranks write to a file: Hydra may lose the output of a job that it ends. What the launcher says comes behind it.
    : >"$log"
    # shellcheck disable=SC2086,SC2016 # settings are several words; for the rank's shell
    timeout -k 2 30 "${launch[@]/@RANKS@/$ranks}" env $settings sh -c 'log=$0; exec "$@" >>"$log" 2>&1' "$log" \
        "$program" "$@" >"$log.launcher" 2>&1
    status=$?
    sed 's/^/launcher: /' "$log.launcher" >>"$log"
    [ $status -ne 124 ] || complain "stands still"
    if [ "$wanted" = bad ]; then
        [ $status -ne 0 ] || complain "status 0"
    else
        [ $status -eq "$wanted" ] || complain "status $status, not $wanted"
    fi
}
holds() { grep -qE -- "$1" "$log" || complain "not printed: $1"; }
lacks() { ! grep -qE -- "$1" "$log" || complain "printed: $1"; }
times() { [ "$(grep -cE -- "$2" "$log")" -eq "$1" ] || complain "not printed $1 times: $2"; }

# error NAME "TEXT": the program ends with status 1 and says so; where errors are returned it goes on.
error() {
    run 2 1 "" "$1"
    holds "$2"
    holds "The program ends"
    lacks "goes on$"
}

case $part in
start)
    run 3 0 "" start 0
    holds "PE 1 has done its work"
    holds "PE 2 has done its work"
    run 2 5 "" start 5
    holds "PE 1 has done its work"
    run 2 0 "TUTTI_NODE_RANKS=1" start 0
    holds "PE 1 has done its work"
    ;;
leave)
    for settings in "" TUTTI_NODE_RANKS=1; do
        run 3 7 "$settings" leave 7
        for pe in 0 1 2; do
            holds "handler of PE $pe"
            holds "stdio of PE $pe"
        done
        lacks "goes on"
    done
    run 2 0 "" leave 0
    holds "handler of PE 1"
    lacks "goes on"
    run 2 4 "" all 4
    ;;
stuck)
    run 2 9 "" stuck
    ;;
errors)
    error put "shmem_put: 8 bytes at .* not in the heap"
    error put-constant "shmem_put: .* is a constant of the program"
    error align "shmem_align: an alignment of 24"
    error atomic "shmem_atomic_fetch_xor: there is no PE 2"
    error wait "shmem_wait_until_any: 77 is no comparison: SHMEM_CMP_EQ"
    error context "shmem_ctx_put: .* is no context"
    error old "shmem_broadcast64: 8 bytes at .* not in the heap"
    error lock "shmem_clear_lock: PE . does not have the lock"
    run 2 0 TUTTI_SHMEM_ERRORS=return put
    times 2 "goes on$"
    lacks tshmem
    ;;
differ)
    error counts "shmem_broadcast: count (5 here, 6 on PE 1|6 here, 5 on PE 0); nothing"
    error roots "shmem_broadcast: root (1 here, 0 on PE 1|0 here, 1 on PE 0); nothing"
    error types "shmem_sum_reduce: type (int32 here, float on PE 1|float here, int32 on PE 0); nothing"
    error operations "shmem_(sum_reduce here, shmem_max_reduce on PE 1|max_reduce here, shmem_sum_reduce on PE 0); nothing"
    error calls "shmem_(broadcast here, shmem_fcollect on PE 1|fcollect here, shmem_broadcast on PE 0); nothing"
    error sync "shmem_(sync_all here, shmem_broadcast on PE 1|broadcast here, shmem_sync_all on PE 0); nothing"
    error barrier "shmem_(barrier_all here, shmem_fcollect on PE 1|fcollect here, shmem_barrier_all on PE 0); nothing"
    ;;
finalize)
    error finalize "shmem_(finalize here, shmem_barrier_all on PE 1|barrier_all here, shmem_finalize on PE 0); nothing"
    error finalize-team "in shmem_team_sync for PE 0 \(which is in shmem_finalize\)"
    for settings in TUTTI_SHMEM_ERRORS=return "TUTTI_SHMEM_ERRORS=return TUTTI_NODE_RANKS=1"; do
        for what in sync finalize finalize-team; do
            run 3 0 "$settings" $what
            holds "PE 1 goes on"
            holds "PE 2 goes on"
        done
    done
    ;;
settings)
    size="TUTTI_SHMEM_HEAP_MOST_MB=1 SHMEM_SYMMETRIC_SIZE"
    for value in 3.1mkk 3250586 .0031G; do
        run 2 0 "$size=$value" sizes 4100000 4200000
        holds "sizes are right"
    done
    run 2 0 "TUTTI_SHMEM_HEAP_MOST_MB=1 SMA_SYMMETRIC_SIZE=2M" sizes 2000000 2100000
    holds "sizes are right"
    run 2 0 "$size=1G TUTTI_SHMEM_HEAP_MB=2" sizes 2000000 2100000
    holds "sizes are right"
    for value in 20x -5 3T; do
        run 2 bad "$size=$value" init
        holds "SHMEM_SYMMETRIC_SIZE=$value is no size"
        lacks "goes on"
    done
    run 2 0 "SHMEM_VERSION=1 SHMEM_INFO=1 SHMEM_DEBUG=1" init
    times 1 "^Tutti .*, OpenSHMEM 1"
    times 1 "^SHMEM_SYMMETRIC_SIZE="
    times 1 "^TUTTI_SHMEM_HEAP_MB="
    holds "shmem_init: PE 1 of 2"
    run 2 0 "" init
    lacks "OpenSHMEM|SHMEM_"
    ;;
down) # without libtutti.so in front, and with it, but a heap that cannot be made
    run 1 1 "" init
    holds "shmem_init: libtutti.so is not in front of an MPI: start the program by tutti run"
    lacks "goes on"
    run 1 1 "" down 1
    holds "gives a status"
    holds "shmem_barrier_all: there is no address space, since shmem_init failed: libtutti.so is not in front"
    run 1 0 "" down 0
    holds "shmem_barrier_all: the address space is not up: call tshmem_init first" # nothing has said yet that it has other names
    ;;
refused)
    run 2 bad TUTTI_SHMEM_HEAP_MB=1048576 init
    holds "shmem_init: "
    lacks "goes on"
    run 2 bad TUTTI_SHMEM_HEAP_MB=1048576 down 1
    holds "gives a status"
    holds "shmem_barrier_all: there is no address space, since shmem_init failed: "
    ;;
*)
    echo "no part $part"
    exit 2
    ;;
esac
echo "$part: $runs runs, $failed complaints"
[ "$failed" -eq 0 ]
