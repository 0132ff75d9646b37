#!/bin/bash
# tutti bench halo and pingpong under one MPI on the host device: bench_exchange.sh TUTTI MPI
# [short]. short: what depends on the MPI.
# shellcheck source=tests/command/on_host.sh
. "$(dirname "$0")/on_host.sh"
short=${3:-}
went='(staged|packed|direct)( [0-9]+, staged [0-9]+)?'

# Neighbours that are oneself, the other rank several times, and three ranks in a row.
sizes="1 3" # two: below
[ -z "$short" ] || sizes=3
for ranks in $sizes; do
    json_to halo.json
    said=$("$tutti" bench halo --mpi "$mpi" -n "$ranks" --edges 4,9 --quantities 2 -i 6 -x 1 --plot "$folder/halo.png" "${json[@]}" 2>&1)
    holds "$said" "^# Tutti .* halo exchange: $ranks ranks, host device, " "head, $ranks ranks"
    by=' +by_staged +x +went +by_packed +x +went +by_direct +x +went' values="(( +$number){2}  $went +){3}"
    holds "$said" "^# Layout +Bytes +Median +Min +Max +Iterations +Algorithm +isend +x$by +fused +x +each +x +plain +x\$" "columns"
    quotients "$said" '^[49]\^3 ' "halo, $ranks ranks, in units of Tutti's" e5/3=e4 e3/3=e2 e1/3=e0
    # (edge + 2 * rim)^3 - edge^3 sums over all neighbours: 6 faces, 12 edges, 8 corners.
    for edge in 4 9; do
        bytes=$((2 * 8 * (6 * edge * edge * 3 + 12 * edge * 9 + 8 * 27)))
        holds "$said" "^$edge\^3 +$bytes( +$number){3} +[4-6]  [a-z:_, ]+( +$number){2}$values( +$number){6}\$" "$edge cells, $ranks ranks"
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
    for way in ("tutti", "isend", "by_staged", "by_packed", "by_direct", "fused", "each", "plain"):
        t, base = r[way], r["isend" if way[:3] == "by_" else "tutti"]
        assert 0 < t["min_us"] <= t["median_us"] <= t["max_us"], t
        assert way == "tutti" or abs(t["ratio"] * base["median_us"] / t["median_us"] - 1) < 1e-9
        assert ("went" in t) == (way[:3] == "by_") and t.get("went", way[3:]).startswith(way[3:])' \
        "$folder/halo.json" || fail "the JSON of the halo exchange"
fi

said=$("$tutti" bench pingpong --mpi "$mpi" -m 1k,64k -i 6 -x 1 --plot "$folder/ping.png" 2>&1)
holds "$said" '^# Layout .* by_staged +x +went +by_packed +x +went +by_direct +x +went +packed +x +flat +x +plain +x$' "ping-pong: columns"
pair=" +$number +$number" # the counters say that each went as its rule says, from the least on that goes past the MPI
holds "$said" "^8 every 16 +1024( +$number){3} +[4-6]  [a-z:_, ]+$pair  staged +$pair  packed +$pair  direct +($pair){3}\$" "ping-pong of 1024 bytes"
holds "$said" "^8 every 16 +65536( +$number){3} +[4-6]  [a-z:_, ]+$pair  staged +$pair  packed +$pair  direct +($pair){3}\$" "ping-pong of 65536 bytes"
holds "$said" '^# by_: tutti with the rule ' "ping-pong: what the columns are"
quotients "$said" '^8 every 16 ' "ping-pong, in units of Tutti's" e5/5=e4 e3/5=e2 e1/5=e0
# All faces, edges and corners are long enough here.
said=$("$tutti" bench halo --mpi "$mpi" --edges 9 --quantities 2 -i 8 -x 1 --ways by_staged,by_packed,by_direct 2>&1)
holds "$said" "^9\^3 .*$pair$pair  staged +$pair  packed +$pair  direct *\$" "how rims went"
said=$(TUTTI_RULES='message: *@staged message_far: *@staged' "$tutti" bench pingpong --mpi "$mpi" -m 64k:64k -i 4 --ways by_direct 2>&1)
holds "$said" "^8 every 16 +65536 .*$pair  staged *\$" "no way past the MPI"
said=$(TUTTI_RULES='message: *@packed' "$tutti" bench pingpong --mpi "$mpi" -m 64k:64k -i 8 --ways by_direct 2>&1)
holds "$said" "^8 every 16 +65536( +$number){3} +[4-8]  packed for the receiver +$pair  direct *\$" "the rules in force"
said=$(TUTTI_LOG=warn TUTTI_RULES='message: *@staged' "$tutti" bench pingpong --mpi "$mpi" -m 1m:1m -i 4 --ways by_staged 2>&1)
holds "$said" "^8 every 16 +1048576 .*$pair  staged *\$" "a benchmark of staged messages"
checks=$((checks + 1))
case $said in *"went through host memory"*) fail "advice about the ways of the benchmark: $said" ;; esac
if [ -z "$short" ]; then
    said=$("$tutti" bench pingpong --mpi "$mpi" --block 3 --stride 7 -m 300,3k -i 6 -x 1 --ways packed 2>&1)
    holds "$said" '^# Layout .* packed +x$' "--ways"
    holds "$said" "^3 every 7 +300 " "blocks of 3 bytes"
fi
said=$(TUTTI_NODE_RANKS=1 TUTTI_MESSAGE_CHUNK=8192 "$tutti" bench pingpong --mpi "$mpi" -m 1k,64k -i 6 -x 1 2>&1)
holds "$said" '^# Layout .* by_staged +x +went +by_pipelined +x +went +packed +x +flat +x +plain +x$' "nodes: columns"
holds "$said" "^8 every 16 +1024 .*$pair  staged +$pair  staged +($pair){3}\$" "nodes: 1024 bytes"
holds "$said" "^8 every 16 +65536 .*$pair  staged +$pair  pipelined +($pair){3}\$" "nodes: 65536 bytes"

expect 2 "a ping-pong has two ranks" "$tutti" bench pingpong -n 3
expect 2 "one over the other" "$tutti" bench pingpong --block 16 --stride 8
expect 2 "not a whole number of blocks" "$tutti" bench pingpong --block 3 -m 100,1k
expect 2 "fewer than the rim has" "$tutti" bench halo --edges 2
expect 2 "did you mean by_direct" "$tutti" bench pingpong --ways by_drect
expect 2 "did you mean fused" "$tutti" bench halo --ways fusd
finish
