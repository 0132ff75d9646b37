#!/bin/bash
# The last rank is killed, or its launch fails, while kernels of the others wait for it in their streams: all that go on are
# told and end within 40 s, and what the others say names the rank.
# stream_failure.sh MODE RANKS LAUNCHER OPTIONS... -- PROGRAM: the options name the ranks, and make it leave the survivors alone.
set -u
mode=$1
ranks=$2
shift 2
launch=()
while [ "$1" != -- ]; do
    launch+=("$1")
    shift
done
program=$2
last=$((ranks - 1))
survivors=$last
[ "$mode" = launch ] && survivors=$ranks
mark=tutti-stream-failure-$$-$RANDOM
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
say() {
    echo "stream_failure $mode: $*"
    failed=$((failed + 1))
}
left() { # processes of this run that are still here
    for folder in /proc/[0-9]*; do
        if tr '\0' '\n' 2>/dev/null <"$folder/environ" | grep -qx "TUTTI_TEST_MARK=$mark" &&
            grep -q stream_fail "$folder/comm" 2>/dev/null && ! grep -q '^State:.*[ZX]' "$folder/status" 2>/dev/null; then
            basename "$folder"
        fi
    done
}
shared_before=$(find /dev/shm -iname '*tutti*' | sort)
TUTTI_TEST_MARK=$mark timeout -k 2 60 "${launch[@]}" env TUTTI_TEST_MARK="$mark" "$program" "$mode" \
    >"$log" 2>&1 &
launcher=$!
for _ in $(seq 300); do # until it fails
    grep -q "^fails: rank\|skipped" "$log" && break
    kill -0 $launcher 2>/dev/null || break
    sleep 0.1
done
if grep -q "skipped" "$log"; then
    cat "$log"
    wait $launcher
    exit 77
fi
grep -q "fails: rank $last" "$log" || say "the rank did not come to its failure"
for _ in $(seq 420); do
    [ -z "$(left)" ] && break
    sleep 0.1
done
rest=$(left)
if [ -n "$rest" ]; then
    say "still here after 42 s: $rest"
    # shellcheck disable=SC2086 # a list of numbers
    kill -9 $rest
fi
for _ in $(seq 50); do
    kill -0 $launcher 2>/dev/null || break
    sleep 0.1
done
kill -0 $launcher 2>/dev/null && kill $launcher
wait $launcher 2>/dev/null
told=$(grep -c "survivor .* told$" "$log")
[ "$told" -eq "$survivors" ] || say "$told of $survivors survivors were told all"
grep "^tutti" "$log" | grep -v "^tutti\[$last\]" | grep -q "rank $last\b" || say "nothing that the others say names rank $last"
shared=$(find /dev/shm -iname '*tutti*' | sort)
[ "$shared" = "$shared_before" ] || say "left in /dev/shm: $shared"
echo "stream_failure $mode: $told survivors told, $failed failed"
[ $failed -eq 0 ] && exit
cat "$log"
exit 1
