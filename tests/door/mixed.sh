#!/bin/bash
# Jobs in which some ranks have no Tutti: mixed.sh much|little|near PROGRAM PRELOAD YIELD LAUNCHER... near: on one machine.
set -u
much=$1 program=$2 preload=$3 yield=$4
shift 4
launcher=("$@")
export TUTTI_DEVICE=host TUTTI_RULES_FILE=/dev/null TUTTI_WAIT=yield TUTTI_STALL_SECONDS=1
# job WORDS NAME PROGRAM... : of these programs; WORDS: lines that say that ranks have no Tutti.
job() {
    local words=$1 name=$2 said
    shift 2
    said=$(timeout 20 "${launcher[@]}" "$@" 2>&1) || { echo "$name: status $?: $said" && exit 1; }
    grep -q "^mixed: $name ranks, 0 wrong$" <<<"$said" || { echo "$name: results: $said" && exit 1; }
    [ "$(grep -c 'ha[sv]e\? no Tutti in front' <<<"$said")" -eq "$words" ] || { echo "$name: not $words lines: $said" && exit 1; }
}
with="LD_PRELOAD=$preload"
without="LD_PRELOAD=$yield"
job 1 3 -n 1 env "$without" "$program" : -n 2 env "$with" "$program"
if [ "$much" = much ]; then
    job 1 2 -n 1 env "$with" "$program" : -n 1 env "$without" "$program"
    job 1 2 -n 1 env "$with" "$program" : -n 1 env "$with" TUTTI_DEVICE=none "$program"
fi
# Each rank a machine of its own.
[ "$much" = near ] || job 1 2 -n 1 env "$with" TUTTI_NODE_RANKS=1 "$program" : -n 1 env "$without" "$program"
[ "$much" != much ] || job 1 2 -n 1 env "$without" "$program" : -n 1 env "$with" TUTTI_NODE_RANKS=1 "$program"
exit 0
