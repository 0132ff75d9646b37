#!/bin/bash
# tutti model beside measured calls over hosts of namespaces: model.sh TUTTI LAUNCHER HOSTS RANKS MBIT SIZES [SECONDS [TIMES]]
# The rows of allreduce_nodes, the phases of multi_leader, and what the model predicts from those phases and the cables:
# MBIT / 8 bytes a us, of which 1448 in 1514 are a message's (TCP with time stamps over Ethernet). Each row is measured
# TIMES times, in turns; the least mean counts, since other programs can only make a call slower. Open MPI.
# shellcheck source=tests/mpi/hosts/hosts.sh
. "$(dirname "$0")/hosts.sh"
hosts_enter "$@"
tutti=$(realpath "$1") launcher=$2 many=$3 ranks=$4 mbit=$5 sizes=$6 seconds=${7:-2} times=${8:-2}
hosts_figures "$launcher" "$many" "$ranks" "${mbit}mbit"
measure() { # ROW FILE OPTION...
    local row=$1 file=$2
    shift 2
    hosts_on 1 env TUTTI_DEVICE=host TUTTI_RULES_FILE=/dev/null TUTTI_RULES="allreduce_nodes:*@$row" "$tutti" bench allreduce \
        --mpi "$launcher" -n $((many * ranks)) --mpi-args "$arguments" -m "$sizes" --seconds "$seconds" --json "$file" "$@" >"$scratch/log" 2>&1 ||
        { cat "$scratch/log"; exit 1; }
}
measure multi_leader "$scratch/phases" --phases
for turn in $(seq "$times"); do
    for row in single_leader multi_leader pipelined; do
        measure $row "$scratch/$row.$turn" --ways none
    done
done
wire=$(awk -v m="$mbit" 'BEGIN { printf "%.6f", m / 8e3 * 1448 / 1514 }')
"$tutti" model --phases "$scratch/phases" --nodes "$many" -m "$sizes" --bandwidth "$wire" --latency "${TUTTI_TEST_LATENCY_US:-100}" \
    --exchange slices --json "$scratch/model" >/dev/null || exit 1
echo "# $many hosts of $ranks, $mbit Mbit/s, load $(cut -d' ' -f1-3 /proc/loadavg), least mean of $times runs, ms; the wire: bytes of a host in one direction"
python3 - "$scratch" "$times" "$wire" "$many" <<'TABLE'
import json, sys
folder, times, wire, many = sys.argv[1], int(sys.argv[2]), 1e3 * float(sys.argv[3]), int(sys.argv[4])
rows = ("single_leader", "multi_leader", "pipelined")
def load(name): return json.load(open(f"{folder}/{name}"))
def mean(row): return next(way["average_us"] for way in row.values() if isinstance(way, dict) and "average_us" in way)
model = {row["bytes"]: row["predicted"] for row in load("model")["rows"]}
least = {}
for row in rows:
    for turn in range(1, times + 1):
        for at in load(f"{row}.{turn}")["rows"]:
            least[row, at["bytes"]] = min(mean(at), least.get((row, at["bytes"]), 1e18))
print(f"{'bytes':>10} {'wire':>8}", *(f"{row:>14} {'model':>8} {'ratio':>6} {'of wire':>8}" for row in rows))
for size in model:
    ideal = 2 * (many - 1) / many * size / wire
    print(f"{size:>10} {ideal / 1e3:8.1f}", *(f"{least[row, size] / 1e3:14.1f} {model[size][row]['us'] / 1e3:8.1f} "
          f"{least[row, size] / model[size][row]['us']:6.2f} {ideal / least[row, size]:7.0%} " for row in rows))
for at in load("phases")["rows"]:
    print(at["bytes"], f"{at['whole_us'] / 1e3:.1f} ms:", ", ".join(f"{n} {us / 1e3:.1f}" for n, us in at["phases_us"].items() if us > 50))
TABLE
