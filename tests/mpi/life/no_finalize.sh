#!/bin/bash
# A program that never calls MPI_Finalize: it ends in time, without a signal, and nothing is left behind.
# no_finalize.sh MODE LAUNCHER OPTIONS... -- PROGRAM
mode=$1
shift
# shellcheck source=tests/mpi/launched.sh
. "$(dirname "$0")/../launched.sh"
timeout -k 2 30 "${launch[@]}" "$program" "$mode" >"$log" 2>&1
status=$?
if [ $status -eq 124 ] || [ $status -ge 128 ] || grep -q "[Ss]ignal 11\|[Ss]egmentation\|[Ss]ignal 6\|FAILED rank" "$log" ||
    ! grep -q "leaving, 0 failed" "$log"; then
    say "exit status $status: $(cat "$log")"
fi
nothing_shared
echo "no_finalize by $mode: $failed failed"
[ $failed -eq 0 ]
