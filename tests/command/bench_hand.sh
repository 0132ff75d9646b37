#!/bin/bash
# tutti bench never-slower under one MPI on the host device: bench_hand.sh TUTTI MPI [short]. short: what depends on the MPI.
# shellcheck source=tests/command/on_host.sh
. "$(dirname "$0")/on_host.sh"
short=${3:-}

# in_step SAID: the last lines name as many rows as are marked.
in_step() {
    local marked named
    marked=$(grep -cE "^MPI_.* +$number +behind  " <<<"$1")
    named=$(grep -cE "^#   MPI_[A-Za-z_]+, [0-9]+ bytes: x $number, ." <<<"$1")
    checks=$((checks + 1))
    [ "$marked" = "$named" ] || fail "$2: $marked rows are marked, $named are named: $1"
    if [ "$marked" = 0 ]; then
        holds "$1" '^# never slower: none of [0-9]+ rows is behind copying by hand by more than ' "$2"
    else
        holds "$1" "^# never slower: $marked of [0-9]+ rows (is|are) behind copying by hand by more than " "$2"
    fi
}

json_to all.json
checks=$((checks + 1))
said=$("$tutti" bench never-slower --mpi "$mpi" -m 8,3k -i 2 -x 1 --seconds 100 --seed 7 "${json[@]}" 2>&1) || fail "every call: $said"
holds "$said" '^# Tutti .*, every call beside the same by hand: 2 ranks, host device, ' "head"
holds "$said" '^# by_hand: a copy to (pinned|ordinary) host memory, the MPI.s own call, a copy back' "what by_hand is"
holds "$said" '^# Call +Bytes +Median +Min +Max +Iterations +by_hand +x +how$' "columns"
for call in Send Sendrecv Isend Send_init Allreduce Reduce Reduce_scatter Reduce_scatter_block Scan Exscan Bcast Gather Gatherv \
    Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall \
    Neighbor_alltoallv Neighbor_alltoallw Iallreduce Ireduce Ireduce_scatter_block Iscan Ibcast Igather Iscatter Iallgather \
    Ialltoall Ialltoallv Ineighbor_alltoall Ireduce_scatter Iexscan Igatherv Iscatterv Iallgatherv Ialltoallw \
    Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoallv Ineighbor_alltoallw Put Get; do
    for bytes in 8 3072; do
        holds "$said" "^MPI_$call +$bytes( +$number){3} +[1-3]( +$number){2}  (behind|      )  [a-z]" "$call, $bytes bytes"
    done
done
quotients "$said" '^MPI_' "by hand, in units of Tutti's" 7/3=8
holds "$said" '^MPI_Send +8 .* mpi: default rules choose staging$' "why a short message is staged"
in_step "$said" "every call"
lacks "$said" 'wrong' "every call"
if [ -e "$folder/all.json" ] && command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert j["benchmark"] == "never-slower" and j["ranks"] == 2 and j["tolerance_percent"] == 5 and j["wrong"] is None
assert len(j["rows"]) == 96 and j["behind"] == sum(r["behind"] for r in j["rows"])
for r in j["rows"]:
    assert 0 < r["by_hand"]["min_us"] <= r["by_hand"]["median_us"] <= r["by_hand"]["max_us"], r
    assert abs(r["by_hand"]["ratio"] * r["tutti"]["median_us"] / r["by_hand"]["median_us"] - 1) < 1e-9, r
    assert r["behind"] == (r["tutti"]["median_us"] > 1.05 * r["by_hand"]["median_us"]), r' "$folder/all.json" || fail "the JSON"
fi

# With --limit the exit status is that of the last lines.
said=$("$tutti" bench never-slower --mpi "$mpi" --calls Bcast,MPI_Allreduce -m 64k:64k -i 3 -x 1 --limit 0 2>&1)
status=$?
in_step "$said" "--limit"
checks=$((checks + 1))
grep -q '^# never slower: none of 2 rows' <<<"$said" && expected=0 || expected=1
[ "$status" -eq "$expected" ] || fail "status $status with --limit: $said"
expect 0 "none of 2 rows is behind copying by hand by more than 1e+09 %" \
    "$tutti" bench never-slower --mpi "$mpi" --calls Bcast -m 8,64k -i 3 -x 1 --limit 1e9

if [ -z "$short" ]; then
    said=$("$tutti" bench never-slower --mpi "$mpi" -n 3 --calls messages,movers,neighbours -m 5,5000 -i 3 -x 1 2>&1)
    holds "$said" "^MPI_Scatterv +5000 " "three ranks"
    holds "$said" "^MPI_Neighbor_alltoallw +5 " "three ranks, neighbours"
    lacks "$said" '^MPI_Allreduce|wrong' "groups of calls"
    said=$("$tutti" bench never-slower --mpi "$mpi" -n 1 -m 600,600 -i 3 -x 1 2>&1)
    holds "$said" "^MPI_Neighbor_alltoall +600 " "a rank alone"
    lacks "$said" '^MPI_Send |^MPI_Isend|wrong' "a rank alone has nobody to send to"
fi
expect 2 "--calls Gathr is not known: did you mean Gather?" "$tutti" bench never-slower --calls Gathr
expect 2 "a percentage from 0 on is" "$tutti" bench never-slower --limit x
expect 2 "are more than a count of int takes" "$tutti" bench never-slower -m 1g,1g
expect 2 "did you mean never-slower?" "$tutti" bench never-slow
finish
