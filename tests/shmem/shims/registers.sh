#!/bin/bash
# registers.sh SOURCE FOLDER COMPILER...: no kernel of SOURCE takes more than the 64 registers that each thread of a block of 1024
# has, compiled as relocatable code, whose linker counts those of the functions that it calls; those of which two such blocks are
# to fit on a multiprocessor (with _two in their names) no more than 32, and those of which three blocks of 512 are (_three) no
# more than 40. FOLDER: for what is made.
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
# A line a kernel: its name as the compiler has it, its registers.
used=$(sed -nE "s/.*Function properties for '?([^':]+).*/\1/p; s/.*used ([0-9]+) registers.*/\1/p" <<<"$said" | paste -d' ' - -)
echo "$used"
[ "$(wc -l <<<"$used")" -eq "$(grep -c '^__global__' "$source")" ] || exit 1
while read -r name n; do
    most=64
    case $name in *_two*) most=32 ;; *_three*) most=40 ;; esac
    if [ "$n" -gt "$most" ]; then
        echo "$name takes more than $most registers"
        exit 1
    fi
done <<<"$used"

