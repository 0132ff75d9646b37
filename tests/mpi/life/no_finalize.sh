#!/bin/bash
# A program that never calls MPI_Finalize: it ends in time, without a signal, and nothing is left behind.
# leave.sh MODE LAUNCHER OPTIONS... -- PROGRAM
set -u
mode=$1
shift
launch=()
while [ "$1" != -- ]; do
    launch+=("$1")
    shift
done
program=$2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
before=$(find /dev/shm -iname '*tutti*' | sort)
timeout -k 2 30 "${launch[@]}" "$program" "$mode" >"$log" 2>&1
status=$?
if [ $status -eq 124 ] || [ $status -ge 128 ] || grep -q "[Ss]ignal 11\|[Ss]egmentation\|[Ss]ignal 6\|FAILED rank" "$log" ||
    ! grep -q "leaving, 0 failed" "$log"; then
    echo "leave: exit status $status"
    cat "$log"
    exit 1
fi
if [ "$(find /dev/shm -iname '*tutti*' | sort)" != "$before" ]; then
    echo "leave: left in /dev/shm: $(ls /dev/shm)"
    exit 1
fi
echo "leave: fine by $mode"
