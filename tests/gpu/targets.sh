#!/bin/bash
# The targets that the tests on GPUs with such names need: targets.sh BUILD REGULAR-EXPRESSION. BUILD is configured, for Ninja.
# Prints nothing if all is to be built: without an expression, for another generator, or if a row that is no CTest test matches.
set -u
build=$(cd "${1:?build folder}" && pwd -P) || exit 2
only=${2:-}
[ -n "$only" ] && [ -e "$build/build.ninja" ] || exit 0
others="python with cupy torch on ranks
tune, order host graph
bench shmem on PEs
memcheck racecheck synccheck of packing the device calls"
if grep -qE -- "$only" <<<"$others"; then exit 0; fi
ninja=$(sed -n 's/^CMAKE_MAKE_PROGRAM:[A-Z]*=//p' "$build/CMakeCache.txt")
known=$("$ninja" -C "$build" -t targets all | sed -nE 's/^([^:]+): .*/\1/p')
{
    printf '%s\n' tutti tutti-core tutti-openmpi tutti-mpich tutti-mpiabi tutti-command
    # CTest prints each test's command before its name. What lies in the build folder is a target.
    ctest --test-dir "$build" -L gpu -N -V | awk -v only="$only" '/^[0-9]+: Test command: / { command = $0 }
        /^ *Test +#[0-9]+: / { name = $0; sub(/.*: /, "", name); if (name ~ only) print command }' |
        grep -oE "[\":]$build/[^\":]+" | cut -c"$((${#build} + 3))-"
} | sort -u | grep -xF -f <(printf '%s\n' "$known")
