#!/bin/bash
# The last rank is killed, or its launch fails, while kernels of the others wait for it in their streams: all that go on
# report it and end within 40 s, and the others' reports name the rank.
# stream_failure.sh MODE RANKS LAUNCHER OPTIONS... -- PROGRAM: the options name the ranks, and make it leave the survivors alone.
mode=$1 ranks=$2
shift 2
over_nodes=0
[[ $* = *TUTTI_NODE_RANKS* ]] && over_nodes=1
# shellcheck source=tests/mpi/launched.sh
. "$(dirname "$0")/../launched.sh"
last=$((ranks - 1))
survivors=$last
[ "$mode" = launch ] && survivors=$ranks
: >"$log"
marked_start "$mode"
marked_wait_for "^fails: rank\|skipped"
if grep -q "skipped" "$log"; then
    cat "$log"
    wait $launcher
    exit 77
fi
grep -q "fails: rank $last" "$log" || say "the rank did not come to its failure"
marked_end
told=$(grep -c "survivor .* told$" "$log")
[ "$told" -eq "$survivors" ] || say "$told of $survivors survivors have reported all"
# Between nodes a report may name the call alone.
grep "^tutti" "$log" | grep -v "^tutti\[$last\]" | grep -q "rank $last\b" || [ $over_nodes -eq 1 ] || say "no report of the others names rank $last"
nothing_shared
echo "stream_failure $mode: $told survivors told, $failed failed"
[ $failed -eq 0 ] && exit
cat "$log"
exit 1
