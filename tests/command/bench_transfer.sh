#!/bin/bash
# tutti bench latency, bw ... neighbor_alltoallv under one MPI on the host device: bench_transfer.sh TUTTI MPI [short].
# short: what depends on the MPI.
# shellcheck source=tests/command/on_host.sh
. "$(dirname "$0")/on_host.sh"
short=${3:-}

# measured NAME COLUMNS VALUES OPTION...: a row of each of two sizes, and the same in the JSON file.
measured() {
    local name=$1 columns=$2 values=$3
    shift 3
    json_to "$name.json"
    bench_rows "$name" " +$columns +Iterations +Algorithm +hand +x +staged +x +plain +x +best +x" \
        "( +$number){$values} +[0-9]+  [a-z].*( +$number){6}  (hand|staged|plain) +$number" "${json[@]}" "$@"
    [ -e "$folder/$name.json" ] && command -v python3 >/dev/null || return
    checks=$((checks + 1))
    python3 - "$folder/$name.json" "$name" <<'END' || fail "$name: the JSON file"
import json, sys
j, name = json.load(open(sys.argv[1])), sys.argv[2]
assert j["benchmark"] == name and j["wrong"] is None and j["validated"] and j["seed"] == 9 and j["device"] == "host"
assert [r["bytes"] for r in j["rows"]] == [8, 20480]
for r in j["rows"]:
    own = r["tutti"]
    for way in ("tutti", "hand", "staged", "plain"):
        t = r[way]
        assert 0 < t["min_us"] and 0 < t["median_us"], t
        assert way == "tutti" or abs(t["ratio"] * own["median_us"] / t["median_us"] - 1) < 1e-9, t
        messages = {"bw": 1, "bibw": 2, "mbw_mr": j["ranks"] // 2}.get(name, 0) * j["window"]
        if messages:
            assert abs(t["gb_per_s"] * t["median_us"] * 1000 / (messages * r["bytes"]) - 1) < 1e-9, t
        if name == "mbw_mr":
            assert abs(t["messages_per_us"] * t["median_us"] / messages - 1) < 1e-9, t
        if j["nonblocking"]:
            right = max(0, 100 - 100 * (t["overall_us"] - t["compute_us"]) / t["pure_us"])
            assert t["overall_us"] >= t["compute_us"] > 0 and abs(t["overlap_percent"] - right) < 1e-6, t
            assert 0 < t["start_median_us"] and 0 < t["wait_median_us"] <= t["wait_most_us"] >= t["wait_us"], t
            assert 0 < t["pure_median_us"] and 0 <= t["overlap_median_percent"] <= 100, t
    assert r["best"]["ratio"] == min(r[w]["ratio"] for w in ("hand", "staged", "plain"))
END
}
times='Avg +Median +Min +Max'
overlap='Overall +Compute +Start +Wait +Pure +Overlap % +Start 50% +Wait 50% +Wait max +Pure 50% +Overlap 50%'
measured latency "$times" 4 --plot "$folder/latency.png"
checks=$((checks + 1))
[ -s "$folder/latency.png" ] || [ -s "$folder/latency.png.dat" ] || fail "no plot and no data"
said=$("$tutti" bench latency --mpi "$mpi" -m 8k,64k -i 4 -x 1 --ways none --steps 2>&1)
for step in 'send called' 'rendezvous posted' 'RTS sent' 'ATS seen' 'RTS seen' 'launch returned' 'kernel seen' 'ATS set' 'post to RTS seen'; do
    holds "$said" "^#   $step +[1-9][0-9]* .(0\\.[5-9]|[12]\\.)[0-9]+. +[1-9][0-9]* .(0\\.[5-9]|[12]\\.)[0-9]+.\$" "steps: $step" # a receiver that is late has its message packed
done
said=$("$tutti" bench latency --mpi "$mpi" -m 8k,100k -i 4 -x 1 --ways hand,staged --fresh 3 2>&1)
for size in 8192 102400; do
    holds "$said" "^# first calls of new memory, $size bytes, median us .worst of 20.: tutti hand staged\$" "first calls: head"
done
for call in 1 2 3; do
    lines=$(grep -cE "^#   call $call( +[0-9]+\.[0-9] .[0-9]+\.[0-9].){3}\$" <<<"$said")
    checks=$((checks + 1))
    [ "$lines" -eq 2 ] || fail "first calls: $lines lines of call $call"
done
measured bw 'GB/s +Median' 2 --window 8 --plot "$folder/bw.png"
measured mbw_mr 'GB/s +M/s +Median' 3 -n 4 --window 5
measured bcast "$times" 4
measured alltoall "$times" 4 -n 3
measured neighbor_alltoall "$times" 4 -n 3
measured allgather "$overlap" 11 --nonblocking --tests 2
holds "$said" '^# Tutti .* MPI_Iallgather overlap: 2 ranks' "allgather, nonblocking: head"
# In stream order, where the library has the calls.
movers="latency bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv"
[ -z "$short" ] || movers="latency allgather"
for name in $movers; do
    said=$("$tutti" bench $name --mpi "$mpi" -m 8,20k -i 20 -x 1 --order stream --seed 9 2>&1)
    if grep -q 'the library has no MPIX_' <<<"$said"; then break; fi
    call=MPIX_${name^}_enqueue
    [ $name != latency ] || call="MPIX_Send_enqueue and MPIX_Recv_enqueue"
    holds "$said" "^# Tutti .* $call back to back latency.*: 2 ranks, host device" "$name in stream order: head"
    for size in 8 20480; do
        holds "$said" "^$size( +$number){4} +[0-9]+  [a-z].* - +0\.00\$" "$name in stream order, $size bytes"
    done
    lacks "$said" 'wrong' "$name in stream order"
done
if [ -z "$short" ]; then
    measured bibw 'GB/s +Median' 2 --window 8
    for name in gather alltoallv; do # the others: below in stream order, or above
        measured $name "$times" 4 -n 3
    done
    measured neighbor_alltoall "$times" 4 -n 2
    for name in neighbor_allgather neighbor_allgatherv neighbor_alltoallv; do
        measured $name "$times" 4 -n 3
    done
    for name in bcast alltoallv neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv; do
        measured $name "$overlap" 11 --nonblocking
    done
    # Buffers in host memory.
    for memory in send recv,pinned root others,pinned; do
        said=$("$tutti" bench scatterv --mpi "$mpi" -n 3 -m 8,20k -i 10 -x 2 --host-memory $memory --ways hand,staged 2>&1)
        holds "$said" "^# in host memory: ${memory%,*}\$" "host memory: head"
        for size in 8 20480; do
            holds "$said" "^$size( +$number){4} +[0-9]+  stored into results or through the windows( +$number){4}  (hand|staged) +$number\$" \
                "scatterv, host memory of $memory, $size bytes"
        done
        lacks "$said" 'wrong' "scatterv, host memory of $memory"
    done
    # Larger than what is compared in full, a rank alone, windows by hand in parts, no other way.
    expect 0 "6291456 " "$tutti" bench bcast --mpi "$mpi" -m 6m,6m -i 2 -x 0
    expect 0 "4096 " "$tutti" bench alltoall --mpi "$mpi" -n 1 -m 4k,4k -i 2 -x 0
    expect 0 "100 " "$tutti" bench bw --mpi "$mpi" -m 100,100 -i 2 -x 0 --window 1024 --ways hand
    said=$("$tutti" bench scatter --mpi "$mpi" -m 8,8 -i 2 --ways none 2>&1)
    holds "$said" '^# Size .* Algorithm +best +x$' "no other way"
fi
expect 2 "tutti bench latency has two ranks" "$tutti" bench latency -n 3
expect 2 "tutti bench mbw_mr has pairs of ranks" "$tutti" bench mbw_mr -n 3
expect 2 "--nonblocking is missing" "$tutti" bench bcast --tests 3
expect 2 "has no form in stream order" "$tutti" bench neighbor_allgather --order stream
expect 2 "leave out --order" "$tutti" bench bcast --order stream --nonblocking
expect 2 "calls in stream order take device memory" "$tutti" bench bcast --order stream --host-memory root
expect 2 "did you mean root?" "$tutti" bench bcast --host-memory rot
expect 2 "--order graph needs CUDA" "$tutti" bench allgather --order graph
expect 2 "more than a displacement of int takes" "$tutti" bench alltoall -n 4 -m 1g,1g
expect 2 "there is no option --window" "$tutti" bench bcast --window 3
expect 2 "did you mean staged?" "$tutti" bench bw --ways stagd
expect 2 "did you mean neighbor_alltoall?" "$tutti" bench neighbour_alltoall
finish
