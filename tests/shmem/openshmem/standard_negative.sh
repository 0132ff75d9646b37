#!/bin/bash
# standard.py must see a function that is missing, one with other types, a type that a generic name does not take, and a constant
# that the preprocessor does not know. usage: standard_negative.sh PYTHON3 COMPILER INCLUDE-FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3} compiler=${2:?compiler} include=${3:?headers}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0
try() { # what is said, exit status, file, what sed changes there
    rm -rf "$tree/tutti"
    cp -r "$include/tutti" "$tree"
    [ -n "${3:-}" ] && sed -i "$4" "$tree/tutti/$3"
    said=$("$python" -B -S "$here/standard.py" "$here/standard.txt" - "$compiler" -x c -std=c11 -Wall -Werror \
        -I "$tree/tutti/openshmem" -I "$tree" 2>&1)
    status=$?
    if [ $status -ne "$2" ] || [[ $said != *"$1"* ]]; then
        printf '%s: status %d, not %d with "%s"; said: %s\n' "${4:-}" $status "$2" "$1" "${said:0:2000}"
        failed=1
    fi
}
try 'prototypes of the standard' 0
try 'shmem_n_pes' 1 shmem_calls.def '/, _n_pes)/d'
try 'shmem_int_put' 1 shmem_calls.def 's/_put, type \*, const type \*, size_t, int/_put, type *, const type *, int, int/'
try 'shmem_atomic_inc' 1 shmem_choices.h '/#define shmem_atomic_inc/d'
try 'SHMEM_MINOR_VERSION' 1 shmem_types.h 's/#define TSHMEM_MINOR_VERSION 5/enum { TSHMEM_MINOR_VERSION = 5 };/'
exit $failed
