#!/bin/bash
# Figures of data movers over hosts of namespaces: moves.sh TUTTI LAUNCHER HOSTS RANKS RATE MOVER "RULE..." [OPTION of tutti bench MOVER...]
# Each rule (alltoall_nodes:*@joined) in a run of its own over the same cables, beside the plain MPI on host memory. Open MPI.
# shellcheck source=tests/mpi/hosts/hosts.sh
. "$(dirname "$0")/hosts.sh"
hosts_enter "$@"
tutti=$(realpath "$1") launcher=$2 many=$3 ranks=$4 rate=$5 mover=$6 rules=$7
shift 7
hosts_figures "$launcher" "$many" "$ranks" "$rate"
for rule in $rules; do
    echo "# $mover, $rule, $many hosts of $ranks, $rate"
    hosts_on 1 env TUTTI_DEVICE=host TUTTI_RULES_FILE=/dev/null TUTTI_RULES="$rule" "$tutti" bench "$mover" \
        --mpi "$launcher" -n $((many * ranks)) --mpi-args "$arguments" --ways plain "$@" || exit 1
done
