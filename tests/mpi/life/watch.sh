#!/bin/bash
# A rank is killed in the middle of calls: the others report an error or end by themselves, and nothing is left behind.
# watch.sh RUNS LAUNCHER OPTIONS... -- PROGRAM [MODE]: MODE is an argument of the program, "killed" by default. The launcher's options make it leave the survivors alone.
runs=$1
shift
# shellcheck source=tests/mpi/launched.sh
. "$(dirname "$0")/../launched.sh"
mode=${1:-killed}
told=0
for run in $(seq "$runs"); do
    call=$((run == 1 ? 0 : RANDOM % 200)) # call 0: before the ranks have met in any call
    log=$scratch/log.$run
    : >"$log"
    marked_start "$mode" "$call"
    marked_wait_for "killed at"
    grep -q "killed at" "$log" || say "run $run, call $call: the rank did not come to its end: $(tail -n 5 "$log")"
    marked_end
    grep -q "wrong result\|goes on as if" "$log" && say "run $run, call $call: $(grep "wrong result\|goes on as if" "$log")"
    told=$((told + $(grep -c "survivor . told" "$log")))
done
nothing_shared
echo "watch: $runs runs, $told survivors told, $failed failed"
if [ "$told" -eq 0 ] && [[ " ${launch[*]} " == *" -disable-auto-cleanup "* ]]; then
    echo "watch: Hydra ended all survivors before they could report, as it may"
elif [ "$told" -eq 0 ]; then
    echo "watch: no survivor has reported the death"
    tail -n 20 "$scratch"/log.*
    exit 1
fi
[ $failed -eq 0 ]
