#!/bin/bash
# tutti bench partitioned under one MPI on the host device: bench_partitioned.sh TUTTI MPI [short].
# short: what depends on the MPI.
# shellcheck source=tests/command/on_host.sh
. "$(dirname "$0")/on_host.sh"
short=${3:-}
json_to partitioned.json
rows() { grep -cE "^$1 " <<<"$said"; }
times=" +$number +([0-9]+)"
# measured OPTION...: the benchmark ends with success; its output is in `said`.
measured() {
    local status
    said=$("$tutti" bench partitioned --mpi "$mpi" -i 4 -x 1 --seed 9 --timeout 60 "$@" 2>&1)
    status=$?
    checks=$((checks + 1))
    [ $status -eq 0 ] || fail "status $status: $*: $said"
    holds "$said" '^# Tutti .* partitioned communication: [0-9]+ ranks, host device, ' "$*: head"
    holds "$said" '^# data from seed 9, validated in the timed loop; ' "$*: seed"
    lacks "$said" 'wrong|@tutti' "$*"
}
measured -m 8,20k --partitions 1,4,5 --plot "$folder/partitioned.png" "${json[@]}"
holds "$said" '^# nccl is left out: ' "NCCL"
for size in 8 20480; do
    holds "$said" "^sync +kernel +1 +$size +$number$times +$number +$number\$" "sync of $size bytes"
    holds "$said" "^message +MPI_Psend +1 +$size( +$number){3}$times( +$number)+\$" "a message of $size bytes"
    holds "$said" "^allreduce +MPIX_Pallreduce +1 +$size( +$number){3}$times( +$number)+\$" "a sum of $size bytes"
done
for partitions in 4 5; do
    holds "$said" "^message +MPI_Psend +$partitions +20480 " "a message of $partitions partitions"
    lacks "$said" "^message +MPI_Psend +$partitions +8 " "8 bytes in $partitions partitions"
done
for call in MPI_Psend_init MPI_Precv_init MPIX_Pallreduce_init MPIX_Prequest_create 'MPIX_Pbuf_prepare, first' 'MPIX_Pbuf_prepare, later'; do
    holds "$said" "^overhead +$call +5 +20480 +$number$times\$" "overhead of $call"
done
quotients "$said" '^message ' "MPI_Send in units of Tutti's" e3/7=e2
checks=$((checks + 1))
[ "$(rows sync) $(rows message) $(rows allreduce) $(rows overhead)" = "2 4 4 6" ] || fail "numbers of rows: $said"
checks=$((checks + 1))
[ -s "$folder/partitioned.png" ] || [ -s "$folder/partitioned.png.dat" ] || fail "no plot and no data"
if [ -e "$folder/partitioned.json" ] && command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert j["benchmark"] == "partitioned" and j["ranks"] == 2 and j["validated"] and j["wrong"] is None
assert len(j["rows"]) == 2 + 4 + 4 + 6, len(j["rows"])
for r in j["rows"]:
    assert isinstance(r["call"], str) and r["partitions"] > 0 and r["bytes"] in (8, 20480), r
    t = r["tutti"]
    assert 0 <= t["min_us"] <= t["median_us"] <= t["max_us"], t
    goodput = r["figure"] in ("message", "allreduce")
    assert ("gb_per_s" in t) == goodput and ("blocking" in r) == goodput, r
    if goodput:
        assert 0 < t["prepared_median_us"] <= t["max_us"], t
    assert ("warp" in r) == (r["figure"] == "message") and ("kernel" in r) == (r["figure"] == "sync"), r' \
        "$folder/partitioned.json" || fail "the JSON"
fi
# Between virtual nodes, and with a rank that takes no part in messages.
said=$(export TUTTI_NODE_RANKS=1; "$tutti" bench partitioned --mpi "$mpi" -i 3 -x 0 --figures message,allreduce -m 8,4k --partitions 2 2>&1)
holds "$said" '^# enqueue is left out: ' "stream order between nodes"
holds "$said" '^message +MPI_Psend +2 +4096 ' "a message between nodes"
holds "$said" '^allreduce +MPIX_Pallreduce +2 +4096 ' "a sum between nodes"
if [ -z "$short" ]; then
    measured -n 3 -m 4k,4k --figures message,allreduce --partitions 4 --ways tutti,host
    holds "$said" '^message +MPI_Psend +4 +4096 ' "three ranks"
    lacks "$said" 'thread|blocking|^sync|^overhead' "three ranks: ways and figures"
    expect 2 "did you mean overhead" "$tutti" bench partitioned --figures overhed
    expect 2 "did you mean engine" "$tutti" bench partitioned --ways engin
    expect 2 "multiple of 4" "$tutti" bench partitioned -m 8,10
    expect 2 "partitions" "$tutti" bench partitioned --partitions 1,2000
fi
finish
