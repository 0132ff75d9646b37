#!/bin/bash
# tutti bench shmem under one MPI on the host device: bench_shmem.sh TUTTI MPI
# shellcheck source=tests/command/on_host.sh
. "$(dirname "$0")/on_host.sh"
unset TUTTI_SHMEM_HEAP_MB
json_to shmem.json

# Every figure, every row with a time, all data looked at.
said=$("$tutti" bench shmem --mpi "$mpi" -n 3 -m 24,4k -i 2 --seconds 0.0005 --seed 7 --plot "$folder/shmem.png" "${json[@]}" 2>&1)
times="( +$number){3}"
holds "$said" '^# Tutti .* global address space in kernels: 3 PEs, host device, ' "head"
holds "$said" '^# cutover is left out: no rules say from which size on' "no rules"
holds "$said" '^# graph and stream are left out: heaps in host memory have no stream' "no stream"
holds "$said" '^# data from seed 7, validated after each launch; ' "seed"
for call in p add fetch_add; do
    holds "$said" "^latency +$call +peer +1 +1 +1 +8$times( +$number){2}\$" "latency of $call"
done
for call in put get; do
    holds "$said" "^latency +$call +peer +1 +1 +1 +4096$times( +$number){2}\$" "latency of $call"
    holds "$said" "^bandwidth +$call +peer +1 +1 +1 +4096$times +$number\$" "bandwidth of $call"
    for to in same peer; do
        holds "$said" "^rma +$call +$to +1 +1 +1 +4096$times +$number( +$number){4}\$" "rma $call $to"
    done
    holds "$said" "^groups +$call +peer +1 +1 +1 +24$times +$number( +$number){4}\$" "groups $call"
done
holds "$said" "^latency +pingpong +peer +1 +1 +2 +24$times( +-){2}\$" "ping-pong"
for call in barrier sync; do
    holds "$said" "^latency +$call +team +1 +1 +3 +0$times( +-){2}\$" "latency of $call"
done
for call in sum fcollect; do
    holds "$said" "^latency +$call +team +1 +1 +3 +4096$times( +-){2}\$" "latency of $call"
done
for call in trip rate; do
    holds "$said" "^ring +$call +host +1 +1 +1 +0$times +$number\$" "$call of the ring"
done
for pes in 2 3; do
    for figure in fcollect broadcast; do
        holds "$said" "^$figure +$figure +team +1 +1 +$pes +4096$times( +$number){2}\$" "$figure of $pes PEs"
    done
done
for call in write write_2 read read_2; do
    holds "$said" "^access +$call +peer +1 +1 +1 +4096$times +$number\$" "access $call"
done
for figure in reduce allreduce; do
    holds "$said" "^$figure +auto +team +1 +1 +3 +4096$times( +$number){2}\$" "$figure"
    for strategy in read gather allgather alltoall tree; do
        holds "$said" "^$figure +$strategy +team +1 +1 +3 +24$times( +-){2}\$" "$figure by $strategy"
    done
done
quotients "$said" '^(reduce|allreduce|sum) +auto ' "MPI in units of Tutti's" e1/8=e0
holds "$said" "^sum +auto +team +1 +1 +3 +4096$times( +$number){2}\$" "sum"
checks=$((checks + 1))
[ -s "$folder/shmem.png" ] || [ -s "$folder/shmem.png.dat" ] || fail "no plot and no data"
if [ -e "$folder/shmem.json" ] && command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert j["benchmark"] == "shmem" and j["ranks"] == 3 and j["seed"] == 7 and j["validated"] and j["wrong"] is None
assert [f for f in dict.fromkeys(r["figure"] for r in j["rows"])] == \
    ["latency", "bandwidth", "ring", "rma", "groups", "fcollect", "broadcast", "access", "reduce", "allreduce", "sum"]
assert len(j["rows"]) == 3 + 2 + 2 + 2 * (6 + 1 + 4 + 2 + 2 + 2 + 4 + 6 + 6 + 1), len(j["rows"])
for r in j["rows"]:
    t = r["tutti"]
    assert 0 <= t["min_us"] <= t["median_us"] <= t["max_us"], t
    assert ("gb_per_s" in t) == (r["figure"] in ("bandwidth", "rma", "groups", "access")), r
    assert ("requests_per_us" in t) == (r["figure"] == "ring"), r
    assert ("engine" in r) == (r["figure"] in ("rma", "groups", "fcollect", "broadcast")) and ("mpi" in r) == (r["call"] == "auto"), r
    alone = r["figure"] == "latency" and r["call"] in ("p", "add", "fetch_add", "put", "get", "get_quiet")
    assert ("ring" in r) == (alone or r["figure"] in ("rma", "groups")) and "cutover" not in r, r' \
        "$folder/shmem.json" || fail "the JSON"
fi

# In the order of a stream: heaps in memory of the device, which has no graphs.
said=$(TUTTI_SHMEM_HEAP=device "$tutti" bench shmem --mpi "$mpi" -n 2 --figures graph,stream -m 24,4k -i 3 --seconds 0.0005 2>&1)
holds "$said" '^# graph is left out: this device has no graphs$' "no graphs"
for call in barrier sync; do
    holds "$said" "^stream +$call +team +- +- +2 +0$times\$" "$call in a stream"
done
for call in sum broadcast fcollect alltoall; do
    holds "$said" "^stream +$call +team +- +- +2 +24$times\$" "$call of 24 bytes in a stream"
    holds "$said" "^stream +$call +team +- +- +2 +4096$times\$" "$call of 4096 bytes in a stream"
done
lacks "$said" '^graph ' "what the device has not"

# Each figure's own sizes.
said=$("$tutti" bench shmem --mpi "$mpi" -n 1 --figures latency --ways tutti -i 1 --seconds 0.0001 2>&1)
for size in 4 8 1024 16384; do
    holds "$said" "^latency +sum +team +1 +1 +1 +$size$times\$" "own sizes: $size"
done
lacks "$said" '^latency +sum +team +1 +1 +1 +(64|4096|65536) ' "other sizes"

# One figure, one way, one PE: nothing else is shown.
said=$("$tutti" bench shmem --mpi "$mpi" -n 1 --figures rma,allreduce --ways tutti -m 64:64 -i 1 2>&1)
holds "$said" "^rma +put +same +1 +1 +1 +64$times +$number\$" "one way"
holds "$said" "^allreduce +tree +team +1 +1 +1 +64$times\$" "one PE"
lacks "$said" 'peer|^(sum|access|reduce) |engine' "what was not asked for"

# By the ring from the size on that the rules say.
said=$(TUTTI_RULES="shmem_put_1: 0-999@direct *@copy_engine" "$tutti" bench shmem --mpi "$mpi" -n 2 --figures groups --ways tutti,ring,cutover -m 64,4k -i 2 --seconds 0.0005 2>&1)
for size in 64 4096; do
    holds "$said" "^groups +put +peer +1 +1 +1 +$size$times +$number( +$number){4}\$" "the cutover at $size"
done
said=$(TUTTI_SHMEM_RING=off "$tutti" bench shmem --mpi "$mpi" -n 1 --figures rma --ways tutti,ring -m 64:64 -i 1 2>&1)
holds "$said" '^# ring and cutover are left out: there is no ring' "no ring"
holds "$said" "^rma +put +same +1 +1 +1 +64$times +$number\$" "without a ring"
said=$(TUTTI_SHMEM_RING=off "$tutti" bench shmem --mpi "$mpi" -n 1 --figures ring,latency --ways tutti -m 64:64 -i 1 2>&1)
holds "$said" "^latency +put +same +1 +1 +1 +64$times\$" "a latency without a ring"
lacks "$said" '^ring ' "the figure of a ring that is not there"

expect 2 "did you mean allreduce" "$tutti" bench shmem --figures allreduc
expect 2 "did you mean engine" "$tutti" bench shmem --ways engin
expect 2 "not a multiple of 8" "$tutti" bench shmem -m 8,12
expect 2 "at most 64 launches" "$tutti" bench shmem -i 65
finish
