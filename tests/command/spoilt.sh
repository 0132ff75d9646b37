#!/bin/bash
# A bench with a wrong result reports it, shows no figures of it and ends with 1: spoilt.sh TUTTI MPI SPOILER [short].
# short: what depends on the MPI.
# shellcheck source=tests/command/on_host.sh
. "$(dirname "$0")/on_host.sh"
spoiler=$3 short=${4:-}
unset SPOIL

# spoilt WHOSE ROW WHAT...: without the spoiler `tutti WHAT...` shows a line that matches ROW and ends with 0; with it not.
spoilt() {
    local whose=$1 row=$2 said status
    shift 2
    said=$("$tutti" "$@" --mpi "$mpi" 2>&1)
    status=$?
    checks=$((checks + 1))
    [ $status -eq 0 ] || fail "status $status: $*: $said"
    holds "$said" "$row" "$*"
    lacks "$said" 'wrong' "$*"
    said=$(LD_PRELOAD=$spoiler:$LD_PRELOAD SPOIL=$whose "$tutti" "$@" --mpi "$mpi" 2>&1)
    status=$?
    checks=$((checks + 1))
    [ $status -eq 1 ] || fail "status $status of results that are wrong: $*: $said"
    holds "$said" '^tutti: wrong result: ' "$*, spoilt"
    lacks "$said" "$row" "$*, spoilt"
}

quick=(-n 2 -i 3 -x 1 --ways none)
collectives="allreduce reduce reduce_scatter scan"
[ -z "$short" ] || collectives=allreduce
for collective in $collectives; do
    spoilt calls '^4096 ' bench "$collective" "${quick[@]}" -m 4k,4k
done
if [ -z "$short" ]; then
    spoilt calls '^4194304 ' bench allreduce "${quick[@]}" -m 4m,4m # of which places are looked at
    spoilt calls '^4096 ' bench allreduce "${quick[@]}" -m 4k,4k --in-place
    spoilt stream '^4096 ' bench allreduce "${quick[@]}" -m 4k,4k --order stream
fi
spoilt packs '^8 every 16 ' bench pack --layout blocks -m 64k,64k -i 4 -x 1 --ways none
spoilt packs '^8 every 16 ' bench pingpong -m 64k,64k -i 4 -x 1 --ways none
spoilt packs '^MPI_Send +65536 ' bench never-slower --calls Send -m 64k,64k -i 4 -x 1
spoilt calls '^allreduce .* 4096 ' bench partitioned --figures allreduce --ways tutti,blocking -m 4k,4k -i 3 -x 1
spoilt packs '^9\^3 ' bench halo -n 2 --edges 9 -i 4 -x 1 --ways none
# Messages and data movers, by kernels.
export TUTTI_RULES='message: *@direct bcast: *@fetch allgather: *@fetch'
spoilt packs '^65536 ' bench latency -m 64k,64k -i 4 -x 1 --ways none
spoilt packs '^65536 ' bench bw -m 64k,64k -i 4 -x 1 --ways none --window 4
spoilt packs '^message +MPI_Psend +4 +65536 ' bench partitioned --figures message --ways tutti,blocking --partitions 1,4 -m 64k,64k -i 3 -x 1
spoilt packs '^65536 ' bench bcast -m 64k,64k -i 4 -x 1 --ways none
if [ -z "$short" ]; then
    spoilt packs '^6291456 ' bench allgather -m 6m,6m -i 2 -x 0 --ways none # of which places are looked at
fi
unset TUTTI_RULES
# What gives other bits than the default is not chosen.
said=$(TUTTI_RULES_FILE=$folder/rules LD_PRELOAD=$spoiler:$LD_PRELOAD SPOIL=direct "$tutti" tune -n 2 --mpi "$mpi" --rounds 1 --largest 64 --collective allreduce 2>&1)
status=$?
checks=$((checks + 1))
[ $status -eq 1 ] || fail "status $status of results that are wrong: tune: $said"
holds "$said" '^tutti: wrong result: allreduce by direct, 64 bytes' "tune"
lacks "$(cat "$folder/rules")" '@direct' "rules for an algorithm that gives wrong results"

# The record says it too.
if "$tutti" bench allreduce --mpi "$mpi" "${quick[@]}" -m 8,8 --json "$folder/r.json" >/dev/null 2>&1 &&
    command -v python3 >/dev/null; then
    LD_PRELOAD=$spoiler:$LD_PRELOAD SPOIL=calls "$tutti" bench allreduce --mpi "$mpi" "${quick[@]}" -m 8,8 --json "$folder/r.json" >/dev/null 2>&1
    checks=$((checks + 1))
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert j["wrong"] and j["rows"] == [], j' "$folder/r.json" || fail "the JSON of results that are wrong"
fi
# Where nobody looks there is nothing to be seen, and the table says that nobody looked.
said=$(LD_PRELOAD=$spoiler:$LD_PRELOAD SPOIL=calls "$tutti" bench allreduce --mpi "$mpi" "${quick[@]}" -m 8,8 --no-validation 2>&1)
holds "$said" 'not validated' "results that nobody looks at"
finish
