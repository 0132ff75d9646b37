#!/bin/bash
# tutti bench under one MPI on the host device: bench.sh TUTTI MPI
. "$(dirname "$0")/check.sh"
tutti=$1 mpi=$2
unset LD_PRELOAD TUTTI_RULES
export TUTTI_DEVICE=host TUTTI_HOST_STRICT=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

said=$("$tutti" bench allreduce -n 2 --mpi "$mpi" -m 8:64k -i 8 -x 2 --plot "$folder/plot.png" --json "$folder/r.json" 2>&1)
status=$?
checks=$((checks + 1))
if [ $status -eq 2 ] && grep -q Jansson <<<"$said"; then
    said=$("$tutti" bench allreduce -n 2 --mpi "$mpi" -m 8:64k -i 8 -x 2 --plot "$folder/plot.png" 2>&1)
    status=$?
fi
[ $status -eq 0 ] || fail "status $status: $said"
holds "$said" '^# Tutti .* 2 ranks, sum of float, host device, 2 GPUs$' "head"
case $mpi in
openmpi) holds "$said" '^# Open MPI v' "the library that was measured" ;;
mpich) holds "$said" '^# MPICH Version' "the library that was measured" ;;
esac
holds "$said" '^# Size +Avg +Median +Min +Max +Iterations +Algorithm +staged +x +plain +x$' "columns"
number='[0-9]+\.[0-9]{2}'
for size in 8 16 4096 65536; do
    holds "$said" "^$size( +$number){4} +8  [a-z]+ *( +$number){4}\$" "row of $size bytes"
done
checks=$((checks + 1))
rows=$(grep -cE '^[0-9]+ ' <<<"$said")
[ "$rows" -eq 14 ] || fail "$rows rows instead of 14"
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
    assert abs(r["plain"]["ratio"] * r["tutti"]["median_us"] / r["plain"]["median_us"] - 1) < 1e-9' "$folder/r.json" ||
        fail "the JSON of the bench"
fi

# Other operators and types, in place, each algorithm.
quick=("$tutti" bench allreduce -n 2 --mpi "$mpi" -i 3 -x 1)
expect 0 "max of int32, in place" "${quick[@]}" --in-place --op max --type int32 -m 4:4k
expect 0 "prod of double_complex" "${quick[@]}" --op prod --type double_complex -m 16:4k
expect 0 "minloc of double_int" "${quick[@]}" --op minloc --type double_int -m 1k:4k
expect 0 "the MPI itself does not know bfloat16" "${quick[@]}" --type bfloat16 -m 2:2k
expect 0 "not validated" "${quick[@]}" --no-validation -m 64:64
for algorithm in oneshot twoshot direct; do
    said=$("${quick[@]}" --algorithm $algorithm -m 32k:32k 2>&1)
    holds "$said" "^32768 .* $algorithm " "--algorithm $algorithm"
done
said=$(TUTTI_HOST_GPUS=1 "${quick[@]}" --algorithm leader -m 32k:32k 2>&1)
holds "$said" "^32768 .* leader " "--algorithm leader, two ranks on one GPU"
holds "$said" " 1 GPU\$" "two ranks on one GPU"

said=$("$tutti" bench overhead -n 2 --mpi "$mpi" -i 2000 -x 100 --pairs 2 2>&1)
holds "$said" '^2 +[0-9.]+ +[0-9.]+ +[0-9.]+$' "overhead: second pair"
holds "$said" '^# Median of the ratios: [0-9.]+ \([-+][0-9.]+ %\), from [0-9.]+ to [0-9.]+$' "overhead"
# Ranks from which nothing is heard are ended.
expect 1 "have not said a word for 1 seconds" "$tutti" bench overhead -n 1 --mpi "$mpi" -i 1000000000 --timeout 1
finish
