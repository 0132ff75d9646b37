#!/bin/bash
# tutti bench under one MPI on the host device: bench.sh TUTTI MPI [short]. short: what depends on the MPI.
# shellcheck source=tests/command/on_host.sh
. "$(dirname "$0")/on_host.sh"
short=${3:-}

json_to r.json
said=$("$tutti" bench allreduce -n 2 --mpi "$mpi" -m 8:64k -i 8 -x 2 --plot "$folder/plot.png" "${json[@]}" 2>&1)
status=$?
checks=$((checks + 1))
[ $status -eq 0 ] || fail "status $status: $said"
holds "$said" '^# Tutti .* 2 ranks, sum of float, host device, 2 GPUs$' "head"
case $mpi in
openmpi) holds "$said" '^# Open MPI v' "the library that was measured" ;;
mpich) holds "$said" '^# MPICH Version' "the library that was measured" ;;
esac
holds "$said" '^# Size +Avg +Median +Min +Max +Iterations +Algorithm +staged +x +plain +x +best +x$' "columns"
for size in 8 16 4096 65536; do
    holds "$said" "^$size( +$number){4} +8  [a-z0-9_]+ *( +$number){4}  (staged|plain) +$number\$" "row of $size bytes"
done
checks=$((checks + 1))
rows=$(grep -cE '^[0-9]+ ' <<<"$said")
[ "$rows" -eq 14 ] || fail "$rows rows instead of 14"
quotients "$said" '^[0-9]+ ' "in units of Tutti's" 8/3=9 10/3=11
checks=$((checks + 1))
awk '/^[0-9]+ / { own = $12 == "staged" ? $9 : $11; other = $12 == "staged" ? $11 : $9; bad += $13 != own || own > other }
    END { exit bad > 0 }' <<<"$said" || fail "the best way of each size: $said"
lacks "$said" '@tutti' "records of the ranks are not shown"
lacks "$said" ' mpi: ' "every size is accelerated"
checks=$((checks + 1))
[ -s "$folder/plot.png" ] || [ -s "$folder/plot.png.dat" ] || fail "no plot and no data"
if [ -e "$folder/r.json" ] && command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert j["ranks"] == 2 and j["device"] == "host" and j["validated"] and j["wrong"] is None
assert [r["bytes"] for r in j["rows"]] == [8 << i for i in range(14)]
for r in j["rows"]:
    assert r["elements"] * 4 == r["bytes"] and r["iterations"] == 8
    for way in ("tutti", "staged", "plain"):
        t = r[way]
        assert 0 < t["min_us"] <= t["average_us"] * 1.001 <= t["max_us"] * 1.002, t
    best = min(("staged", "plain"), key=lambda w: r[w]["median_us"])
    assert r["best"]["way"] == best and abs(r["best"]["ratio"] - r[best]["ratio"]) < 1e-9
    assert abs(r["plain"]["ratio"] * r["tutti"]["median_us"] / r["plain"]["median_us"] - 1) < 1e-9' "$folder/r.json" ||
        fail "the JSON of the bench"
fi

# What is wrong with a file of rules is said by one of the ranks, by all where they are asked for more.
echo nonsense >"$folder/rules"
for log in warn:1 info:3; do
    said=$(TUTTI_LOG=${log%:*} TUTTI_RULES_FILE=$folder/rules "$tutti" bench allreduce -n 3 --mpi "$mpi" -m 64,64 -i 3 -x 1 --ways none 2>&1)
    checks=$((checks + 1))
    [ "$(grep -c "^tutti.*: $folder/rules: .*; the file is ignored" <<<"$said")" -eq ${log#*:} ] ||
        fail "TUTTI_LOG=${log%:*}: a wrong file of rules: $said"
done

quick=("$tutti" bench allreduce -n 2 --mpi "$mpi" -i 3 -x 1)
if [ -z "$short" ]; then
    # Other operators and types, in place, each algorithm.
    expect 0 "max of int32, in place" "${quick[@]}" --in-place --op max --type int32 -m 4:4k
    expect 0 "prod of double_complex" "${quick[@]}" --op prod --type double_complex -m 16:4k
    expect 0 "minloc of double_int" "${quick[@]}" --op minloc --type double_int -m 1k:4k
    expect 0 "the MPI itself does not know bfloat16" "${quick[@]}" --type bfloat16 -m 2:2k
    expect 0 "not validated" "${quick[@]}" --no-validation -m 64:64
    for algorithm in oneshot twoshot direct; do
        said=$("${quick[@]}" --algorithm $algorithm -m 32k:32k 2>&1)
        holds "$said" "^32768 .* $algorithm " "--algorithm $algorithm"
    done
    # What cannot be measured by the algorithm that was asked for is refused, before any of it is measured.
    refused() { # refused TEXT OPTION...
        local text=$1
        shift
        said=$("${quick[@]}" -m 64,64k "$@" 2>&1)
        status=$?
        checks=$((checks + 1))
        [ $status -eq 2 ] || fail "status $status instead of 2: $*"
        holds "$said" "^tutti: --algorithm $text" "refused: $*"
        lacks "$said" '^# Size|^64 ' "nothing is measured: $*"
    }
    refused 'chain does not do MPI_Allreduce of 64 bytes, sum of float, with 2 ranks here \(oneshot would\)' --algorithm chain
    holds "$said" '^tutti: chain: MPI_Reduce alone' "what the algorithm is for"
    refused 'leader does not do' --algorithm leader
    refused 'll does not do MPI_Allreduce of 64 bytes, .* with 1 rank here \(copy would\)' -n 1 --algorithm ll
    refused 'oneshot does not do MPIX_Allreduce_enqueue back to back of 64 bytes' --order stream --algorithm oneshot
    refused 'chain does not do MPI_Allreduce of 64 bytes, max of int32' --ops max --types int32 --algorithm chain
    TUTTI_NODE_RANKS=1 refused 'direct does not do .* \(mpi: ranks on several nodes would\)' --algorithm direct
    said=$(TUTTI_HOST_GPUS=1 "${quick[@]}" --algorithm leader -m 32k:32k 2>&1)
    holds "$said" "^32768 .* leader " "--algorithm leader, two ranks on one GPU"
    holds "$said" " 1 GPU\$" "two ranks on one GPU"
fi

# The family: blocking and in stream order, in place too; what other ways there are, and their columns.
collectives="reduce reduce_scatter reduce_scatter_block scan exscan"
[ -z "$short" ] || collectives=reduce
for collective in $collectives; do
    call=MPI_${collective^}
    some=("$tutti" bench "$collective" -n 2 --mpi "$mpi" -m "8,4k,64k" -x 1)
    said=$("${some[@]}" -i 4 2>&1)
    holds "$said" "^# Tutti .* $call latency: 2 ranks, sum of float, host device" "$collective: head"
    holds "$said" "^65536( +$number){4} +4  [a-z0-9_]+ *( +$number){4}  (staged|plain) +$number\$" "$collective: 64 KiB"
    lacks "$said" ' mpi: ' "$collective: every size is accelerated"
    case $collective in reduce | reduce_scatter | scan) # exscan, reduce_scatter_block: as scan, reduce_scatter
        expect 0 "65536 " "${some[@]}" -i 4 --in-place --type double --op max --ways none
        expect 0 "65536 " "${some[@]}" -i 20 --order stream --in-place --type int32 --op bxor
        ;;
    esac
    said=$("${some[@]}" -i 20 --order stream 2>&1)
    holds "$said" "^# Tutti .* MPIX_${collective^}_enqueue back to back latency: 2 ranks" "$collective in stream order: head"
    holds "$said" "^65536( +$number){4} +27  [a-z0-9_]+ *\$" "$collective in stream order: 64 KiB"
    lacks "$said" ' mpi: ' "$collective in stream order: accelerated"
done
expect 0 "root changing" "$tutti" bench reduce -n 2 --mpi "$mpi" -m 8,4k -i 6 -x 1 --root all
expect 0 "root 1" "$tutti" bench reduce -n 2 --mpi "$mpi" -m 8,4k -i 6 -x 1 --root 1 --in-place
expect 0 "root changing" "$tutti" bench reduce -n 2 --mpi "$mpi" -m 8,4k -i 27 -x 1 --root all --order stream
said=$("$tutti" bench allreduce -n 2 --mpi "$mpi" -m 8,2k,64k -i 20 -x 1 --order stream --seconds 1 2>&1)
holds "$said" "^2048( +$number){4} +27  [a-z0-9_]+ *\$" "allreduce in stream order"
said=$("$tutti" bench allreduce -n 2 --mpi "$mpi" -m 4m,4m -i 1000000 -x 1 --ways none --seconds 0.05 2>&1)
lacks "$said" "^4194304 .*  *1000000  " "--seconds makes calls fewer"
holds "$said" "^4194304( +$number){4} +[0-9]+  " "--seconds"

said=$("$tutti" bench overhead -n 2 --mpi "$mpi" -i 2000 -x 100 --pairs 2 2>&1)
holds "$said" '^2 +[0-9.]+ +[0-9.]+ +[0-9.]+$' "overhead: second pair"
told=0 quotients "$said" '^[12] ' "overhead, in units of the time without" 3/2=4
holds "$said" '^# Median of the ratios: [0-9.]+ \([-+][0-9.]+ %\), from [0-9.]+ to [0-9.]+$' "overhead"
said=$("$tutti" bench host -n 2 --mpi "$mpi" --calls all --pairs 1 --seconds 0.001 2>&1)
for call in rank comm_dup startall_1k isend_vector iallgather put_flush file_read_at; do
    holds "$said" "^$call +[0-9.]+ +[0-9.]+ +[0-9.]+\$" "host: $call"
done
said=$("$tutti" bench host -n 2 --mpi "$mpi" --calls isend_1k --pairs 1 --seconds 0.001 2>&1)
holds "$said" '^isend_1k +[0-9.]+ +[0-9.]+ +[0-9.]+$' "host: one call"
lacks "$said" '^sendrecv' "host: one call alone"
# Ranks from which nothing is heard are ended.
expect 1 "have not said a word for 1 seconds" "$tutti" bench overhead -n 1 --mpi "$mpi" -i 1000000000 --timeout 1
[ -z "$short" ] || finish

# Pairs of type and operator beside the sum of float; types that only the library knows too.
said=$("$tutti" bench allreduce -n 2 --mpi "$mpi" -m 4k -i 4 -x 1 --ops sum,max,minloc --types float,int64,bfloat16,2int \
    --plot "$folder/pairs.png" 2>&1)
holds "$said" '^# Type +Op +Size .* reference +x$' "pairs: columns"
for pair in "float +sum" "float +max" "int64 +max" "bfloat16 +sum" "2int +minloc"; do
    holds "$said" "^$pair +4096( +$number){4} +4  [a-z0-9_]+ *( +$number){2}\$" "pair $pair"
done
quotients "$said" '^[a-z0-9]+ +[a-z]+ +4096 ' "pairs, beside the sum of float" 10/5=11
lacks "$said" "^2int +sum" "pairs that are not legal"
checks=$((checks + 1))
[ -s "$folder/pairs.png" ] || [ -s "$folder/pairs.png.dat" ] || fail "no plot of pairs and no data"

# Phases: they add up to the call.
json_to phases.json
said=$("$tutti" bench allreduce -n 2 --mpi "$mpi" -m 8,64k -i 12 -x 2 --seconds 0.02 --phases --plot "$folder/phases.png" "${json[@]}" 2>&1)
holds "$said" '^# Size +Whole +entry +arrival +mapping +launch +kernel +notice +copies +leader +hand-out +mpi' "phases: columns"
holds "$said" "^65536( +$number){11} +12  [a-z0-9_]+ *\$" "phases of 64 KiB"
checks=$((checks + 1))
[ -s "$folder/phases.png" ] || [ -s "$folder/phases.png.dat" ] || fail "no plot of phases and no data"
if [ -e "$folder/phases.json" ] && command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
for r in j["rows"]:
    p = r["phases_us"]
    assert 0 < r["whole_us"] and r["stream_order_us"] > 0 and abs(sum(p.values()) / r["whole_us"] - 1) < 1e-3, r
    assert p["arrival"] > 0 and p["launch"] > 0 and p["kernel"] > 0 and p["copies"] == 0 and p["leader"] == 0, r' \
        "$folder/phases.json" || fail "the JSON of the phases"
fi
said=$(TUTTI_HOST_GPUS=1 "$tutti" bench allreduce -n 2 --mpi "$mpi" -m 64k -i 4 -x 1 --phases 2>&1)
holds "$said" '^# .*kernel and notice are not separated' "phases of ranks that share a GPU: no calls in stream order"
holds "$said" '^65536( +[-0-9.]+)+ ' "phases of ranks that share a GPU"
said=$(TUTTI_NODE_RANKS=1 TUTTI_RULES='allreduce_nodes:*@multi_leader' "$tutti" bench allreduce -n 2 --mpi "$mpi" -m 64k,64k -i 4 -x 1 --phases 2>&1)
holds "$said" '^# Size .* mpi +copy out +leaders +copy in ' "phases over nodes: columns"
holds "$said" "^65536( +$number){6} +-( +$number){7} +4  multi_leader *\$" "phases over nodes"
said=$("$tutti" bench reduce_scatter -n 2 --mpi "$mpi" -m 64k,64k -i 4 -x 1 --seconds 0.02 --phases --algorithm staged 2>&1)
holds "$said" "^65536 .* staged" "phases of a staged call"

said=$(TUTTI_STATS=times "$tutti" bench allreduce -n 2 --mpi "$mpi" -m 64k,64k -i 10 -x 0 --ways none 2>&1)
holds "$said" 'where the time of 22 blocking reductions went, us each: arrival [0-9.]+, .*kernel [0-9.]+' "TUTTI_STATS=times"
finish
