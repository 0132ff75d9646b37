#!/bin/bash
# A rank is killed in the middle of calls: the others report an error or end by themselves, and nothing is left behind.
# watch.sh RUNS LAUNCHER OPTIONS... -- PROGRAM [MODE]: MODE is what the program is told, "killed" otherwise. The launcher's options make it leave the survivors alone.
set -u
runs=$1
shift
launch=()
while [ "$1" != -- ]; do
    launch+=("$1")
    shift
done
program=$2
mode=${3:-killed}
mark=tutti-watch-$$-$RANDOM
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
told=0
say() {
    echo "run $run (killed in call $call): $*"
    failed=$((failed + 1))
}
left() { # processes of this run that are still here
    for folder in /proc/[0-9]*; do
        if tr '\0' '\n' 2>/dev/null <"$folder/environ" | grep -qx "TUTTI_TEST_MARK=$mark.$run" &&
            grep -q watch "$folder/comm" 2>/dev/null && ! grep -q '^State:.*[ZX]' "$folder/status" 2>/dev/null; then
            basename "$folder"
        fi
    done
}
shared_before=$(find /dev/shm -iname '*tutti*' | sort)
for run in $(seq "$runs"); do
    call=$((run == 1 ? 0 : RANDOM % 200)) # call 0: before the ranks have met in any call
    log=$scratch/log.$run
    : >"$log"
    TUTTI_TEST_MARK=$mark.$run timeout -k 2 60 "${launch[@]}" env TUTTI_TEST_MARK="$mark.$run" "$program" "$mode" "$call" \
        >"$log" 2>&1 &
    launcher=$!
    for _ in $(seq 300); do # until the kill
        grep -q "killed at" "$log" && break
        kill -0 $launcher 2>/dev/null || break
        sleep 0.1
    done
    grep -q "killed at" "$log" || say "the rank did not come to its end: $(tail -n 5 "$log")"
    for _ in $(seq 400); do # mostly a few seconds; who hangs hangs for ever
        [ -z "$(left)" ] && break
        sleep 0.1
    done
    rest=$(left)
    if [ -n "$rest" ]; then
        say "still here after 40 s: $rest"
        # shellcheck disable=SC2086 # a list of numbers
        kill -9 $rest
    fi
    for _ in $(seq 50); do
        kill -0 $launcher 2>/dev/null || break
        sleep 0.1
    done
    kill -0 $launcher 2>/dev/null && kill $launcher
    wait $launcher 2>/dev/null
    grep -q "wrong result\|goes on as if" "$log" && say "$(grep "wrong result\|goes on as if" "$log")"
    told=$((told + $(grep -c "survivor . told" "$log")))
done
shared=$(find /dev/shm -iname '*tutti*' | sort)
[ "$shared" = "$shared_before" ] || say "left in /dev/shm: $shared"
echo "watch: $runs runs, $told survivors told, $failed failed"
if [ "$told" -eq 0 ] && [[ " ${launch[*]} " == *" -disable-auto-cleanup "* ]]; then
    echo "watch: Hydra ended all survivors before they could say anything, as it may"
elif [ "$told" -eq 0 ]; then
    echo "watch: no survivor was told"
    tail -n 20 "$scratch"/log.*
    exit 1
fi
[ $failed -eq 0 ]
