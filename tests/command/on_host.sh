# shellcheck shell=bash disable=SC2034
# Sourced by tests of the command on the host device, with the test's own arguments: TUTTI MPI ... Provides check.sh, a folder that
# is removed at the end, and what tables are compared with.
# shellcheck source=tests/command/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/check.sh"
tutti=$1 mpi=$2
unset TUTTI_RULES
export TUTTI_DEVICE=host TUTTI_HOST_STRICT=1
# Ranks of Open MPI look for no network and no other devices (cmake/mpi.cmake): half of each of many starts.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=^ofi,openib,uct HWLOC_PLUGINS_PATH=/nonexistent
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
number='[0-9]+\.[0-9]{2}'
# The option --json of a benchmark is in `json` after json_to FILE; empty if this build has no JSON.
has_json=1 json=()
"$tutti" info --json >/dev/null 2>&1 || has_json=0
json_to() {
    [ $has_json -eq 0 ] || json=(--json "$folder/$1")
}
# bench_rows NAME COLUMNS ROW OPTION...: runs the benchmark with two sizes. COLUMNS are those behind the size, ROW is a row behind
# it, as patterns. The output is in `said`.
bench_rows() {
    local name=$1 columns=$2 row=$3 status size
    shift 3
    said=$("$tutti" bench "$name" --mpi "$mpi" -m 8,20k -i 4 -x 1 --seconds 100 --seed 9 "$@" 2>&1)
    status=$?
    checks=$((checks + 1))
    [ $status -eq 0 ] || fail "status $status: $name $*: $said"
    holds "$said" '^# data from seed 9, validated in the timed loop' "$name: seed"
    holds "$said" "^# Size$columns\$" "$name: columns"
    for size in 8 20480; do
        holds "$said" "^$size$row\$" "$name of $size bytes"
    done
    lacks "$said" 'wrong|@tutti' "$name"
}
