#!/bin/bash
# The main job: a validated MPI_Allreduce table of 4 ranks. demo.sh BUILD
# On simulated GPUs; TUTTI_DEVICE=cuda in the environment takes the machine's own.
set -u
build=${1:?build folder}
export TUTTI_DEVICE=${TUTTI_DEVICE:-host}
"$build/bin/tutti" bench allreduce -n 4 -m 8,1k,8k,64k,256k,1m -i 100 -x 10
status=$?
[ "$TUTTI_DEVICE" = host ] &&
    echo "# simulated GPUs: this shows that everything runs and is right, and what large sizes gain; the latency is not a GPU's"
exit $status
