#!/bin/bash
# The main job: a validated MPI_Allreduce table of 4 ranks. demo.sh BUILD
# On simulated GPUs; TUTTI_DEVICE=cuda in the environment takes the machine's own.
set -u
build=${1:?build folder}
export TUTTI_DEVICE=${TUTTI_DEVICE:-host}
exec "$build/bin/tutti" bench allreduce -n 4 -m 8:1048576 -i 100 -x 10
