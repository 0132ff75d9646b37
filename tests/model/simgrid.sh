#!/bin/bash
# tutti model and SimGrid held against each other: within 20 % where nothing is shared. simgrid.sh TUTTI SIMULATION
set -u
tutti=$1 simulation=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/phases" <<END
{"benchmark": "allreduce", "ranks": 2, "nodes": 2, "rows": [{"bytes": 1024, "algorithm": "multi_leader", "phases_us": {"kernel": 3}}]}
END
quiet=(--cfg=network/model:CM02 --cfg=network/TCP-gamma:0 --cfg=network/crosstraffic:0 --log=root.threshold:warning)
checks=0 failed=0
# pair NETWORK NODES EXCHANGE BYTES TOLERANCE: 10 GB/s, 5 us
pair() {
    local said us
    said=$("$tutti" model --phases "$scratch/phases" --nodes "$2" -m "$4" --exchange "$3" --latency 5 --overhead 0 --bandwidth 10 \
        --combine 20 --goal "$scratch/goal" | sed -n 's/^# exchange: .*: \([0-9.]*\) us$/\1/p')
    us=$("$simulation" "$scratch/goal" "$1" 10000 5 "$scratch/platform.xml" "${quiet[@]}" 2>"$scratch/log")
    checks=$((checks + 1))
    echo "$1, $2 nodes, $3, $4 bytes: model $said us, simulation $us us"
    awk -v a="$said" -v b="$us" -v most="$5" 'BEGIN { exit !(a > 0 && b > 0 && a <= b * (1 + most) && b <= a * (1 + most)) }' || {
        echo "FAILED: more than $5 apart: $(cat "$scratch/log")"
        failed=$((failed + 1))
    }
}
for nodes in 2 3 8 16; do
    for exchange in all_at_once doubling slices ring; do
        for bytes in 8k 1m 4m; do
            pair star $nodes $exchange $bytes 0.2
        done
    done
done
for network in fat_tree dragonfly; do
    for exchange in slices ring doubling; do
        pair $network 64 $exchange 4m 0.2
    done
done
pair fat_tree 1024 doubling 4m 0.2
echo "simgrid: $checks checks, $failed failed"
[ $failed -eq 0 ]
