#!/bin/bash
# core.sh LIBRARIES INSTALLED MPI: with LD_LIBRARY_PATH=INSTALLED the front end of an MPI takes the core of that folder, which
# calls its own functions without looking them up; the core of LIBRARIES looks them up, as tests need.
set -u
libraries=$1 installed=$2 mpi=$3
fail() {
    echo "install-core: $*" >&2
    exit 1
}
# Functions of a library that it calls through its table.
looked_up() {
    comm -12 <(nm -D --defined-only "$1" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u) \
        <(readelf -rW "$1" | awk '/JUMP_SL/ { sub(/@.*/, "", $5); print $5 }' | sort -u)
}
taken=$(LD_LIBRARY_PATH=$installed ldd "$libraries/libtutti-$mpi.so" | awk '$1 == "libtutti-core.so.0" { print $3 }')
[ "$taken" = "$installed/libtutti-core.so.0" ] || fail "the front end of $mpi takes '$taken', not the core of $installed"
few=$(looked_up "$installed/libtutti-core.so.0")
[ -z "$few" ] || fail "the core that is installed looks up functions of its own, for example $(head -n 3 <<<"$few" | tr '\n' ' ')"
[ -n "$(looked_up "$libraries/libtutti-core.so.0")" ] || fail "the core of the tests looks up none of its functions: they cannot be replaced"
