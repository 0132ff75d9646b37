#!/bin/bash
# Figures over hosts of namespaces: bench.sh TUTTI LAUNCHER HOSTS RANKS RATE [OPTION of tutti bench allreduce...]
# The rows of allreduce_nodes, each in a run of its own over the same cables. Open MPI.
# shellcheck source=tests/mpi/hosts/hosts.sh
. "$(dirname "$0")/hosts.sh"
hosts_enter "$@"
tutti=$(realpath "$1") launcher=$2 many=$3 ranks=$4 rate=$5
shift 5
hosts_figures "$launcher" "$many" "$ranks" "$rate"
for row in single_leader multi_leader pipelined; do
    echo "# $row, $many hosts of $ranks, $rate"
    hosts_on 1 env TUTTI_DEVICE=host TUTTI_RULES_FILE=/dev/null TUTTI_RULES="allreduce_nodes:*@$row" "$tutti" bench allreduce \
        --mpi "$launcher" -n $((many * ranks)) --mpi-args "$arguments" --ways none "$@" || exit 1
done
