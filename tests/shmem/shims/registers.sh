#!/bin/bash
# registers.sh SOURCE FOLDER COMPILER...: no kernel of SOURCE takes more than the 64 registers that each thread of a block of 1024
# has, compiled as relocatable code, whose linker counts those of the functions that it calls. FOLDER: for what is made.
set -u
source=${1:?source} folder=${2:?folder}
shift 2
mkdir -p "$folder"
if ! "$@" -rdc=true -arch=sm_90 -c "$source" -o "$folder/registers.o" ||
    ! said=$("$1" -arch=sm_90 -dlink "$folder/registers.o" -o "$folder/linked.o" -Xnvlink -v 2>&1); then
    echo "the kernels could not be compiled"
    echo "${said:-}"
    exit 1
fi
mapfile -t used < <(grep -o 'used [0-9]* registers' <<<"$said" | grep -o '[0-9]*')
echo "registers of ${#used[@]} kernels: ${used[*]}"
[ "${#used[@]}" -eq "$(grep -c '^__global__' "$source")" ] || exit 1
for n in "${used[@]}"; do
    [ "$n" -le 64 ] || exit 1
done
