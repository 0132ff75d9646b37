#!/bin/bash
# tutti energy under one MPI on the host device, with a pretended NVML and a pretended powercap tree: energy.sh TUTTI MPI NVML [short].
# short: what depends on the MPI.
# shellcheck source=tests/command/on_host.sh
. "$(dirname "$0")/on_host.sh"
nvml=$3 short=${4:-}
export TUTTI_ENERGY_NVML=$nvml FAKE_NVML_WATTS=100,250 TUTTI_ENERGY_POWERCAP=$folder/powercap

# domain NAME-OF-FOLDER NAME MICROJOULES RANGE
domain() {
    mkdir -p "$folder/powercap/$1"
    echo "$2" >"$folder/powercap/$1/name"
    echo "$3" >"$folder/powercap/$1/energy_uj"
    echo "$4" >"$folder/powercap/$1/max_energy_range_uj"
}
domain intel-rapl:0 package-0 1000000 262143328850
domain intel-rapl:1 package-1 9000000 9500000
[ -n "$short" ] || domain intel-rapl:0:0 dram 500000 65712999613

# ---- a command ----

# Without a launcher.
alone() {
# The command itself turns the counters: 4 J of package-0; package-1 wraps, 0.5 + 1.5 J; DRAM 0.25 J.
json_to run.json
turn="cd $folder/powercap; echo 5000000 >intel-rapl:0/energy_uj; echo 1500000 >intel-rapl:1/energy_uj; echo 750000 >intel-rapl:0:0/energy_uj; exit 7"
said=$("$tutti" energy --interval 5 --csv "$folder/run.csv" --plot "$folder/run.png" "${json[@]}" -- sh -c "$turn" 2>&1)
status=$?
checks=$((checks + 1))
[ $status -eq 7 ] || fail "status $status instead of the program's: $said"
holds "$said" '^tutti: package-0 +4\.000 ' "package-0"
holds "$said" '^tutti: package-1 +2\.000 ' "package-1 wraps"
holds "$said" '^tutti: dram-0 +0\.250 ' "DRAM"
holds "$said" '^tutti: sum of packages +6\.000 J, ' "sum of the packages"
holds "$said" '^tutti: gpu 0 .* Pretended GPU' "gpu 0"
holds "$said" '^tutti: all that is known ' "sum"
checks=$((checks + 1))
[ -s "$folder/run.png" ] || [ -s "$folder/run.png.dat" ] || fail "no plot and no data"
holds "$(cat "$folder/run.csv")" '^seconds,gpu 0 W,gpu 0 J,gpu 1 W,gpu 1 J,package-0 W,package-0 J,dram-0 W,dram-0 J,package-1 W,package-1 J$' "head of the CSV file"
checks=$((checks + 1))
awk -F, 'NR > 1 { n++; bad += $2 != 100 || $4 != 250 || $1 <= before; before = $1; last = $7 } END { exit bad > 0 || n < 2 || last != 4 }' \
    before=-1e9 "$folder/run.csv" || fail "the CSV file: $(cat "$folder/run.csv")"
if [ -e "$folder/run.json" ] && command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 - "$folder/run.json" <<'END' || fail "the JSON of a command"
import json, sys
j = json.load(open(sys.argv[1]))
s = {x["name"]: x for x in j["sources"]}
assert j["status"] == 7 and j["command"][0] == "sh" and j["seconds"] > 0
assert abs(s["package-0"]["joules"] - 4) < 1e-9 and abs(s["package-1"]["joules"] - 2) < 1e-9 and s["package-0"]["integral"] is None
assert s["gpu 1"]["integral"] > 0 and s["gpu 1"]["id"] == "GPU-fake-1" and s["gpu 1"]["cap_w"] == 700
assert len(j["watts"]) > 1 and all(len(row) == 1 + len(s) for row in j["watts"])
END
fi

# What is missing is unavailable, with its reason; it is no 0 and does not come into sums.
said=$(TUTTI_ENERGY_NVML=/nowhere/libnvidia-ml.so TUTTI_ENERGY_POWERCAP=/nowhere "$tutti" energy -- true 2>&1)
holds "$said" '^tutti: gpu +unavailable: no NVML' "no NVML"
holds "$said" '^tutti: package +unavailable: /nowhere: No such file' "no powercap"
holds "$said" '^tutti: dram +unavailable: ' "no DRAM"
lacks "$said" 'sum of|all that is known' "no sums of what is unavailable"
rm -r "$folder/powercap/intel-rapl:0:0"
said=$("$tutti" energy -- true 2>&1)
holds "$said" '^tutti: dram +unavailable: no domain dram' "no domain"
holds "$said" '^tutti: package-0 +unavailable: ' "a counter that did not change"
holds "$(TUTTI_ENERGY_GPUS=none "$tutti" energy -- true 2>&1)" '^tutti: package-0' "no GPUs wanted"
lacks "$(TUTTI_ENERGY_GPUS=none "$tutti" energy -- true 2>&1)" '^tutti: gpu' "no GPUs wanted"
}
[ -n "$short" ] || alone

# Ranks of a launcher, each with its processor seconds; with what the machine draws at rest.
# NVML lists rank 0 on both GPUs and rank 1 on the second.
mkdir "$folder/users"
export FAKE_NVML_USERS=$folder/users
# shellcheck disable=SC2016 # the ranks expand it
work='if [ "${OMPI_COMM_WORLD_RANK-$PMI_RANK}" = 0 ]; then echo $$ >>"$FAKE_NVML_USERS/0"; fi; echo $$ >>"$FAKE_NVML_USERS/1"
i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; sleep 1'
said=$("$tutti" energy --idle 0.2 -- "$tutti" run -q -n 2 --mpi "$mpi" sh -c "$work" 2>&1)
holds "$said" '^tutti: rank 0: [0-9.]+ s, [0-9.]+ processor seconds \(process [0-9]+\), gpu 0: [0-9.]+ J, gpu 1: [0-9.]+ J \(2 ranks\)$' "rank 0"
holds "$said" '^tutti: rank 1: [0-9.]+ s, [0-9.]+ processor seconds \(process [0-9]+\), gpu 1: [0-9.]+ J \(2 ranks\)$' "rank 1"
lacks "$said" '^tutti: rank 2' "two ranks"
holds "$said" 'less idle J' "less idle"
expect 127 "there is no such program" "$tutti" energy -- ./nothing-of-this-name
expect 125 "no program was named" "$tutti" energy --idle 1
expect 125 "--idle never is not valid" "$tutti" energy --idle never -- true
expect 125 "did you mean --plot" "$tutti" energy --plt x.png -- true
expect 143 "tutti: package-0" "$tutti" energy -- sh -c 'kill -TERM $$'

# ---- calls ----

windows=(--window-seconds 0.2 --updates 1 --trials 2 -n 2 --mpi "$mpi" --seed 9)
# measured NAME VARIANTS OPTION...
measured() {
    local name=$1 variants=$2 way
    shift 2
    json_to "$name.json"
    said=$("$tutti" energy "$name" "${windows[@]}" --variants "$variants" "${json[@]}" "$@" 2>&1)
    status=$?
    checks=$((checks + 1))
    [ $status -eq 0 ] || fail "status $status: $name: $said"
    holds "$said" "^# Tutti .* energy: $name, 2 ranks.*, host device, 2 GPUs\$" "$name: head"
    for way in ${variants//,/ }; do
        holds "$said" "^[0-9]+ +$way " "$name: $way"
    done
    holds "$said" '^# dram: unavailable: no domain dram' "$name: DRAM"
    lacks "$said" 'wrong|@tutti' "$name"
    [ -e "$folder/$name.json" ] && command -v python3 >/dev/null || return
    checks=$((checks + 1))
    python3 - "$folder/$name.json" "$variants" <<'END' || fail "$name: the JSON file"
import json, sys
j, ways = json.load(open(sys.argv[1])), sys.argv[2].split(",")
assert j["wrong"] is None and j["validated"] and j["trials"] == 2 and j["rows"]
assert [s["name"] for s in j["sources"]] == ["gpu 0", "gpu 1", "package-0", "package-1", "dram"], j["sources"]
def close(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b))
for row in j["rows"]:
    assert [w for w in row if isinstance(row[w], dict)] == ways, row.keys()
    idle = row.get("idle")
    for way in ways:
        c = row[way]
        us, parts, net = c["us"]["mean"], c["of_a_call"], c["less_idle"]
        # The pretended GPUs draw 350 W at all times. Packages did not change: unavailable, never 0.
        assert 100 < parts["gpu_integral"]["mean"] / us * 1e6 < 1000, c
        assert parts["package"]["mean"] is None and parts["dram"]["mean"] is None and c["trials"] == 2
        assert way == "idle" or c["calls"] >= 2 and parts["cpu"]["mean"] >= 0
        if parts["gpu"]["mean"] is None:
            continue # the counter was not updated in a window
        assert close(c["joules"], parts["gpu"]["mean"]) and close(c["joule_seconds"], c["joules"] * us * 1e-6), c
        assert close(c["joules_a_byte"] * row["bytes"] * (2 if j["energy"] == "pingpong" else 1), c["joules"]), c
        assert (net["gpu"]["mean"] is None) == (idle is None or idle["of_a_call"]["gpu"]["mean"] is None), c
END
}
measured allreduce idle,auto,spin,yield,sleep,stream,staged,plain -m 64k --plot "$folder/joules.png"
checks=$((checks + 1))
[ -s "$folder/joules.png" ] || [ -s "$folder/joules.png.dat" ] || fail "no plot of joules and no data"
[ -z "$short" ] || finish
measured reduce sleep,staged -m 4k --type double --op max
measured alltoall idle,spin,stream,staged -m 4k
measured bcast idle,sleep,stream -m 4k
measured pingpong idle,spin,sleep,staged -m 64k
measured globalsum idle,auto,sleep,kernel -m 4k
measured grid_allreduce idle,spin,kernel -m 8,64k
measured grid_reduce kernel -m 4k
# A machine whose GPUs cannot be read: the times stay, the joules are unavailable.
said=$(TUTTI_ENERGY_NVML=/nowhere/libnvidia-ml.so TUTTI_ENERGY_POWERCAP=/nowhere "$tutti" energy allreduce "${windows[@]}" -m 4k --variants spin 2>&1)
holds "$said" '^# without a context: unavailable$' "nothing can be read"
holds "$said" '^# gpu: unavailable: no NVML' "why"
holds "$said" "^4096 +spin +[0-9.e+-]+ .* - +- " "joules that are unavailable"
# Waits for kernels that may be slept through (that they are: tests/coll/nap_test.c); every result is checked in the timed loop.
said=$(TUTTI_WAIT=auto "$tutti" bench allreduce -n 2 --mpi "$mpi" -m 8m,8m -i 30 -x 1 --ways none 2>&1)
holds "$said" '^8388608 .* 30 ' "the row of a bench that may nap"
expect 2 "did you mean spin?" "$tutti" energy allreduce --variants spim
expect 2 "there is no option --order" "$tutti" energy allreduce --order stream
expect 2 "--window-seconds 0 is not valid" "$tutti" energy bcast --window-seconds 0
finish
