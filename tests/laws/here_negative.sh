#!/bin/bash
# What here.py must find: here_negative.sh PYTHON. In a house of its own.
set -eu
python=$1
here=$(cd "$(dirname "$0")" && pwd)
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house/include/tutti" "$house/src/shmem"
echo 'int tshmem_call(void);' >"$house/include/tutti/shmem.h"
write() { # text of a source
    printf '%s\n' "$1" >"$house/src/shmem/source.c"
}
holds() {
    "$python" -B -S "$here/here.py" "$house" >/dev/null || { echo "refused: $1"; exit 1; }
}
fails() {
    if "$python" -B -S "$here/here.py" "$house" >/dev/null; then
        echo "not found: $1"
        exit 1
    fi
}
write $'int tshmem_call(void)\n{\n    return use(tutti_shmem_here());\n}'
holds "a function of the API"
write $'static int below(void)\n{\n    return use(tutti_shmem_here());\n}'
fails "a function below the API"
write $'int tshmem_call(void)\n{\n    return use(&tutti_shmem_process);\n}'
fails "the object by its name"
write $'static struct tutti_shmem *kept = tutti_shmem_here();'
fails "outside of a function"
echo "here.py finds what it must"
