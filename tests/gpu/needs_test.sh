#!/bin/bash
# needs.sh with a pretended nvidia-smi: which commands run, and with which status rows are skipped. queues.sh with and without the
# daemon of MPS.
set -u
needs=$(cd "$(dirname "$0")" && pwd)/needs.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck disable=SC2016 # the script expands it
printf '#!/bin/sh\nprintf "%%b" "$SMI"\n' >"$folder/nvidia-smi"
chmod +x "$folder/nvidia-smi"
export PATH=$folder:$PATH SMI
unset CUDA_VISIBLE_DEVICES
failed=0
expect() { # status text command...
    local status=$1 text=$2 got
    shift 2
    got=$("$@" 2>&1)
    local its=$?
    if [ "$its" != "$status" ] || [ "$got" != "$text" ]; then
        echo "FAILED: $* ends with $its: $got"
        failed=1
    fi
}
one='GPU 0: NVIDIA H200 (UUID: GPU-1)\n'
SMI=$one$one
expect 0 ran "$needs" 1 echo ran
expect 0 'a b' "$needs" 2 printf '%s' 'a b'
expect 5 '' "$needs" 2 bash -c 'exit 5'
expect 77 'skipped: needs 3 GPUs, and this machine has 2' "$needs" 3 echo ran
SMI="$one  MIG 1g.18gb Device 0: (UUID: MIG-1)\n  MIG 1g.18gb Device 1: (UUID: MIG-2)\n"
expect 77 'skipped: needs 2 GPUs, and this machine has 1' "$needs" 2 echo ran
SMI=$one$one
export CUDA_VISIBLE_DEVICES=1
expect 77 'skipped: needs 2 GPUs, and this machine has 1' "$needs" 2 echo ran
CUDA_VISIBLE_DEVICES=0,1
expect 0 ran "$needs" 2 echo ran
CUDA_VISIBLE_DEVICES=
expect 77 'skipped: needs 1 GPUs, and this machine has 0' "$needs" 1 echo ran

queues=$(dirname "$needs")/queues.sh name=CUDA_DEVICE_MAX_CONNECTIONS
export CUDA_MPS_PIPE_DIRECTORY=$folder
unset CUDA_DEVICE_MAX_CONNECTIONS
expect 0 32 "$queues" printenv $name
expect 0 12 env $name=12 "$queues" printenv $name
: >"$folder/control"
expect 1 '' "$queues" printenv $name
expect 0 12 env $name=12 "$queues" printenv $name
expect 0 'a b' "$queues" printf '%s' 'a b'
expect 5 '' "$queues" bash -c 'exit 5'
exit $failed
