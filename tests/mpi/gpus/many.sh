#!/bin/bash
# Random programs about GPUs of many seeds: many.sh PROCESSES SEED COMMAND...
# Starts the command (a launcher with mpi-gpus) again and again with TUTTI_TEST_SEED from SEED on; ends at the first one that
# fails, or that takes more than two minutes, with its seed.
processes=${1:?how many} seed=${2:?the first seed}
shift 2
for ((i = 0; i < processes; i++, seed++)); do
    if ! said=$(TUTTI_TEST_SEED=$seed timeout -k 5 120 "$@" 2>&1); then
        echo "$said"
        echo "seed $seed failed: TUTTI_TEST_SEED=$seed $*"
        exit 1
    fi
done
echo "$processes seeds, none failed"
