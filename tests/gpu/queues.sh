#!/bin/bash
# queues.sh COMMAND...: runs the command with as many hardware queues for streams as `tutti run` gives: 32, and where the daemon of MPS
# listens as many as the driver gives, since all processes of a GPU share its queues there.
set -u
if [ ! -e "${CUDA_MPS_PIPE_DIRECTORY:-/tmp/nvidia-mps}/control" ]; then
    export CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-32}
fi
exec "$@"
