# shellcheck shell=bash disable=SC2034
# Sourced by tests of the command on the host device, with the test's own arguments: TUTTI MPI ... Provides check.sh, a folder that
# is removed at the end, and what tables are compared with.
# shellcheck source=tests/command/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/check.sh"
tutti=$1 mpi=$2
unset TUTTI_RULES
export TUTTI_DEVICE=host TUTTI_HOST_STRICT=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
number='[0-9]+\.[0-9]{2}'
# The option --json of a benchmark is in `json` after json_to FILE; empty if this build has no JSON.
has_json=1 json=()
"$tutti" info --json >/dev/null 2>&1 || has_json=0
json_to() {
    [ $has_json -eq 0 ] || json=(--json "$folder/$1")
}
