#!/bin/bash
# needs.sh GPUS COMMAND...: runs the command on a machine with so many GPUs. Otherwise prints the reason and ends with 77 (skipped).
set -u
need=${1:?number of GPUs}
shift
gpus=0
if command -v nvidia-smi >/dev/null; then gpus=$(timeout 60 nvidia-smi -L 2>/dev/null | grep -c '^GPU '); fi
if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then # of these alone
    visible=$(tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .)
    if [ "$visible" -lt "$gpus" ]; then gpus=$visible; fi
fi
if [ "$gpus" -lt "$need" ]; then
    echo "skipped: needs $need GPUs, and this machine has $gpus"
    exit 77
fi
exec "$@"
