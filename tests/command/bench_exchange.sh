#!/bin/bash
# tutti bench halo and pingpong under one MPI on the host device: bench_exchange.sh TUTTI MPI
. "$(dirname "$0")/check.sh"
tutti=$1 mpi=$2
unset LD_PRELOAD TUTTI_RULES
export TUTTI_DEVICE=host TUTTI_HOST_STRICT=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
number='[0-9]+\.[0-9]{2}'
has_json=1
"$tutti" bench halo --mpi "$mpi" -n 1 --edges 4 -i 4 --ways none --json "$folder/probe.json" 2>&1 | grep -q Jansson && has_json=0

# Neighbours that are oneself, the other rank several times, and three ranks in a row.
for ranks in 1 2 3; do
    files=(--plot "$folder/halo.png")
    [ $has_json -eq 1 ] && files+=(--json "$folder/halo.json")
    said=$("$tutti" bench halo --mpi "$mpi" -n $ranks --edges 4,9 --quantities 2 -i 6 -x 1 "${files[@]}" 2>&1)
    holds "$said" "^# Tutti .* halo exchange: $ranks ranks, host device, " "head, $ranks ranks"
    holds "$said" '^# Layout +Bytes +Median +Min +Max +Iterations +Algorithm +isend +x +fused +x +each +x +plain +x$' "columns"
    # (edge + 2 * rim)^3 - edge^3 sums over all neighbours: 6 faces, 12 edges, 8 corners.
    for edge in 4 9; do
        bytes=$((2 * 8 * (6 * edge * edge * 3 + 12 * edge * 9 + 8 * 27)))
        holds "$said" "^$edge\^3 +$bytes( +$number){3} +[4-6]  [a-z:_ ]+( +$number){8}\$" "$edge cells, $ranks ranks"
    done
done
checks=$((checks + 1))
[ -s "$folder/halo.png" ] || [ -s "$folder/halo.png.dat" ] || fail "no plot and no data"
if [ -e "$folder/halo.json" ] && command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert j["benchmark"] == "halo" and j["ranks"] == 3 and j["radius"] == 3 and j["quantities"] == 2 and j["wrong"] is None
assert [r["layout"] for r in j["rows"]] == ["4^3", "9^3"]
for r in j["rows"]:
    for way in ("tutti", "isend", "fused", "each", "plain"):
        t = r[way]
        assert 0 < t["min_us"] <= t["median_us"] <= t["max_us"], t
        assert way == "tutti" or abs(t["ratio"] * r["tutti"]["median_us"] / t["median_us"] - 1) < 1e-9' \
        "$folder/halo.json" || fail "the JSON of the halo exchange"
fi

said=$("$tutti" bench pingpong --mpi "$mpi" -m 1k,64k -i 6 -x 1 --plot "$folder/ping.png" 2>&1)
holds "$said" '^# Layout .* packed +x +flat +x +plain +x$' "ping-pong: columns"
for size in 1024 65536; do
    holds "$said" "^8 every 16 +$size( +$number){3} +[4-6]  [a-z:_ ]+( +$number){6}\$" "ping-pong of $size bytes"
done
said=$("$tutti" bench pingpong --mpi "$mpi" --block 3 --stride 7 -m 300,3k -i 6 -x 1 --ways packed 2>&1)
holds "$said" '^# Layout .* packed +x$' "--ways"
holds "$said" "^3 every 7 +300 " "blocks of 3 bytes"

expect 2 "a ping-pong has two ranks" "$tutti" bench pingpong -n 3
expect 2 "one over the other" "$tutti" bench pingpong --block 16 --stride 8
expect 2 "not a whole number of blocks" "$tutti" bench pingpong --block 3 -m 100,1k
expect 2 "fewer than the rim has" "$tutti" bench halo --edges 2
expect 2 "did you mean fused" "$tutti" bench halo --ways fusd
finish
