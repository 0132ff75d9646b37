#!/bin/bash
# tutti bench pack under one MPI on the host device: bench_pack.sh TUTTI MPI
# shellcheck source=tests/command/on_host.sh
. "$(dirname "$0")/on_host.sh"
pack=("$tutti" bench pack --mpi "$mpi")

# The article's descriptions of three parts of a small cube.
json_to r.json
quick=(--cube 32 --parts "1/32/32,4/16/16,32/32/1" -i 8 -x 1)
said=$("${pack[@]}" "${quick[@]}" --plot "$folder/plot.png" "${json[@]}" 2>&1)
status=$?
checks=$((checks + 1))
[ $status -eq 0 ] || fail "status $status: $said"
holds "$said" '^# Tutti .* MPI_Pack, MPI_Unpack, layouts: article: 1 rank, host device, 1 GPU$' "head"
holds "$said" '^# Layout +Description +Call +Bytes +Blocks +Median +Min +Max +Iterations +Algorithm +plain +x +blocks +x +limit +x$' "columns"
for part in 1/32/32 4/16/16 32/32/1; do
    for description in v_hv_hv v_hv hi hib subarray; do
        for call in pack unpack; do
            holds "$said" "^$part +$description +$call +1024 +[0-9]+( +$number){3} +[4-8]  [a-z]+ +( +$number){6}\$" "$part, $description, $call"
        done
    done
    holds "$said" "^# $part: slowest by fastest description: pack [0-9.]+, unpack [0-9.]+\$" "spread of $part"
done
holds "$said" '^# widest: pack [0-9.]+ \([0-9/]+\), unpack ' "the widest spread"
quotients "$said" '^[0-9/]+ +[a-z_]+ +(un)?pack ' "in units of Tutti's" 11/6=12 13/6=14 15/6=16
lacks "$said" ' mpi: |staged|failed' "every call is accelerated"
lacks "$said" '@tutti' "records of the rank are not shown"
checks=$((checks + 1))
[ -s "$folder/plot.png" ] || [ -s "$folder/plot.png.dat" ] || fail "no plot and no data"
if [ -e "$folder/r.json" ] && command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert j["benchmark"] == "pack" and j["layouts"] == "article" and j["validated"] and j["wrong"] is None
assert len(j["rows"]) == 30 and len(j["spreads"]) == 3
sectors = {"1/32/32": 32 ** 3, "4/16/16": 256 * 32, "32/32/1": 1024}
blocks = {"1/32/32": 1024, "4/16/16": 256, "32/32/1": 32}
for r in j["rows"]:
    assert r["bytes"] == 1024 and r["sector_bytes"] == sectors[r["layout"]] and r["block_count"] == blocks[r["layout"]], r
    assert r["call"] in ("pack", "unpack") and r["algorithm"], r
    for way in ("tutti", "plain", "blocks", "limit"):
        t = r[way]
        assert 0 < t["min_us"] <= t["median_us"] <= t["max_us"] and not t["extrapolated"], t
        assert way == "tutti" or abs(t["ratio"] * r["tutti"]["median_us"] / t["median_us"] - 1) < 1e-9
for s in j["spreads"]:
    for call in ("pack", "unpack"):
        of = [r["tutti"]["median_us"] for r in j["rows"] if r["layout"] == s["layout"] and r["call"] == call]
        assert len(of) == 5 and abs(max(of) / min(of) / s[call] - 1) < 1e-3, s' "$folder/r.json" || fail "the JSON of packing"
fi

# All parts of a cube: every length of a row.
said=$("${pack[@]}" --cube 16 -i 4 -x 0 --ways none --descriptions v_hv,hib 2>&1)
for part in 1/16/16 2/16/8 2/8/16 4/8/8 16/16/1 16/4/4 16/1/16; do
    holds "$said" "^$part +v_hv +pack +256 " "part $part"
done

# Plain layouts by size, with one description and with all.
said=$("${pack[@]}" --layout blocks --block 8 --stride 16 -m 1k,64k,1m -i 4 -x 1 --plot "$folder/blocks.png" 2>&1)
for size in 1024 65536 1048576; do
    holds "$said" "^8 every 16 +vector +unpack +$size +$((size / 8))( +$number){3} +4 " "blocks, $size bytes"
done
lacks "$said" 'subarray' "one description"
expect 0 "not validated" "${pack[@]}" --layout blocks --block 7 --stride 7 -m 700,7k -i 4 --descriptions all --no-validation
said=$("${pack[@]}" --layout blocks --block 5 --stride 13 -m 5000,500 -i 4 -x 0 --descriptions all --ways blocks,limit 2>&1)
for description in vector subarray hvector resized hib; do
    holds "$said" "^5 every 13 +$description +pack +5000 +1000 " "blocks as $description"
done
lacks "$said" 'plain' "--ways"

# Patterns of applications.
said=$("${pack[@]}" --layout ddtbench -i 4 -x 0 --seconds 0.02 2>&1)
for pattern in "WRF x +vector" "WRF x +subarray" "WRF y +hi" "MILC su3 zdown +vector" "NAS LU x +contiguous" "NAS LU y +vector" \
    "NAS MG x +vector" "NAS MG y +hi" "NAS MG z +vector" "LAMMPS full +struct" "LAMMPS atomic +struct" "SPECFEM3D oc +indexed_block" \
    "SPECFEM3D cm +struct" "SPECFEM3D mt +vector" "FFT2D +resized"; do
    holds "$said" "^$pattern +unpack +[0-9]+ +[0-9]+( +$number){3} +4 " "$pattern"
done

# Time to commit.
said=$("${pack[@]}" --layout commit --seconds 0.05 --plot "$folder/commit.png" 2>&1)
holds "$said" '^# Layout +Description +Bytes +Blocks +Median +Iterations +plain +x +all +x +plain_all +x +first +x$' "commit: columns"
quotients "$said" '^(100k|8/1024)' "commit, in units of Tutti's" e7/e9=e6 e3/e5=e2
for list in "100k of any length +hi" "100k of any length +struct" "100k of 8 +hib" "100k of 8 every 16 +indexed_block" "8/1024/128 +subarray"; do
    holds "$said" "^$list +[0-9]+ +[0-9]+ +$number +[0-9]+( +$number){6}( +$number| +-){2}\$" "commit of $list"
done

# What is refused.
expect 2 "has one rank" "${pack[@]}" -n 2
expect 2 "did you mean article" "${pack[@]}" --layout artcle
expect 2 "is not a power of two" "${pack[@]}" --cube 100
expect 2 "no number is above the cube's edge, 64" "${pack[@]}" --cube 64 --parts 8/128/8
expect 2 "8/1024/128 is a part" "${pack[@]}" --parts 8/8
expect 2 "one over the other" "${pack[@]}" --layout blocks --block 16 --stride 8
expect 2 "not a whole number of blocks" "${pack[@]}" --layout blocks --block 16 -m 100,1k
expect 2 "did you mean vector" "${pack[@]}" --descriptions vectr
expect 1 "no layout has the descriptions" "${pack[@]}" --cube 16 --descriptions darray
finish
