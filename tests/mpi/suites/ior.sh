#!/bin/bash
# IOR by MPI-IO with its buffers in simulated device memory, with the library and without: ior.sh IOR BUILD [MPI [NAME...]].
# IOR: a checkout of hpc/ior. MPI: openmpi (default) or mpich. Every run writes, reads and compares its data (-w -r -W -R).
# Prints a line for each way and number of ranks; the exit status is 1 if a run fails with the library alone, or if the
# library staged no access. What may be set:
#   NPS      numbers of ranks ("2 3")
#   LIMIT    seconds of a run (60)
#   FOLDER   of the file (/dev/shm)
# Two ways fail without the library too: IOR reads strided types, whose elements lie over each other, as if they did not.
set -u
ior=$(realpath "${1:?checkout of IOR}") build=$(realpath "${2:?build folder}") mpi=${3:-openmpi}
shift 2
shift $(($# > 0))
here=$(realpath "$(dirname "$0")")
made=$(mktemp -d)
file=${FOLDER:-/dev/shm}/tutti-ior-$$
trap 'rm -rf "$made" "$file"*' EXIT
cat >"$made/config.h" <<'END'
#define USE_MPIIO_AIORI 1
#define USE_POSIX_AIORI 1
#define HAVE_SYSCONF 1
#define HAVE_GETTIMEOFDAY 1
#define HAVE_STATVFS 1
#define HAVE_SYS_STATVFS_H 1
#define HAVE_SYS_PARAM_H 1
#define HAVE_SYS_MOUNT_H 1
#define HAVE_SYS_IOCTL_H 1
#define HAVE_FCNTL_H 1
#define HAVE_STRINGS_H 1
#define HAVE_UNISTD_H 1
#define META_NAME "ior"
#define META_VERSION "0"
#define PACKAGE_NAME "ior"
#define PACKAGE_VERSION "0"
#define PACKAGE_STRING "ior"
#include <mpi.h>
#if MPI_VERSION >= 4
#define HAVE_MPI_FILE_READ_C 1
#endif
END
sources=()
for name in ior mdtest utilities parse_options ior-output option md-workbench aiori aiori-DUMMY aiori-MPIIO aiori-POSIX ior-main; do
    sources+=("$ior/src/$name.c")
done
if ! "mpicc.$mpi" -O1 -w -D_GNU_SOURCE -DHAVE_CONFIG_H "-I$made" "-I$ior/src" -include "$here/heap.h" "${sources[@]}" -lm -o "$made/ior" 2>"$made/log"; then
    grep -m 5 error "$made/log"
    exit 1
fi
launch=(timeout -k 5 "${LIMIT:-60}" "mpirun.$mpi")
yield=''
if [ "$mpi" = openmpi ]; then
    launch+=(--allow-run-as-root --oversubscribe)
elif [ -e "$build/tests/libtutti-yield.so" ]; then
    yield=$build/tests/libtutti-yield.so
fi
library=$build/lib/libtutti.so:$build/lib/libtutti-core.so${yield:+:$yield}

# runs RANKS ENV... -- ARGUMENTS: whether the run ends well and finds its data.
runs() {
    local ranks=$1 set=()
    shift
    while [ "$1" != -- ]; do
        set+=("$1")
        shift
    done
    shift
    rm -f "$file"*
    "${launch[@]}" -n "$ranks" env "${set[@]}" "$made/ior" -a MPIIO -w -r -W -R "$@" -o "$file" >"$made/out" 2>&1 </dev/null &&
        ! grep -qE 'WARNING|ERROR|ncorrect' "$made/out"
}
worse=0 all=0 plain=0 with=0
while IFS='|' read -r name arguments; do
    [ $# -gt 0 ] && [[ " $* " != *" $name "* ]] && continue
    read -ra words <<<"$arguments"
    for ranks in ${NPS:-2 3}; do
        alone=0 both=0
        runs "$ranks" "LD_PRELOAD=$yield" -- "${words[@]}" && alone=1
        runs "$ranks" "LD_PRELOAD=$library" TUTTI_DEVICE=host TUTTI_RULES_FILE=/dev/null TUTTI_STATS=1 -- "${words[@]}" && both=1
        grep -qE 'MPI_File_(write|read).* staged' "$made/out" || both=0
        all=$((all + 1)) plain=$((plain + alone)) with=$((with + both))
        [ $alone -eq 1 ] && [ $both -eq 0 ] && worse=$((worse + 1))
        echo "$name, $ranks ranks: $([ $alone -eq 1 ] && echo right || echo wrong) without the library, $([ $both -eq 1 ] && echo right || echo wrong) with it"
    done
done <<'END'
collective|-c -b 1m -t 256k -s 4
independent|-b 1m -t 256k -s 4
large|-b 24m -t 24m
large-collective|-c -b 24m -t 24m
odd-collective|-c -b 1000000 -t 100000 -s 3
file-for-each|-F -b 16m -t 4m -s 2
file-for-each-collective|-F -c -b 16m -t 4m -s 2
others-data|-C -b 2m -t 512k -s 2
random-ranks|-Z -b 2m -t 512k -s 2
random-offsets|-z -b 2m -t 64k -G 99 --random-offset-seed=7
view|-b 1m -t 256k -s 4 --mpiio.useFileView
view-collective|-c -b 1m -t 256k -s 4 --mpiio.useFileView
view-large|-b 32m -t 8m --mpiio.useFileView
view-file-for-each|-F -b 256k -t 256k -s 8 --mpiio.useFileView
strided|-b 256k -t 256k -s 8 --mpiio.useFileView --mpiio.useStridedDatatype
strided-collective|-c -b 256k -t 256k -s 8 --mpiio.useFileView --mpiio.useStridedDatatype
preallocated|-b 1m -t 256k -s 2 --mpiio.preallocate
synced|-e -Y -b 1m -t 256k -s 2
small|-b 4k -t 8 -s 2
small-collective|-c -b 1k -t 8 -s 2
several-files|-m -i 3 -b 1m -t 256k -s 2
timestamps|-G 12345 -l timestamp -b 1m -t 256k -s 4
incompressible|-l i -G 5 -b 1m -t 256k -s 4
END
echo "IOR: $all runs, $plain right without the library, $with with it"
[ $worse -eq 0 ]
