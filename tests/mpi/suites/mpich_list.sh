#!/bin/bash
# A list of MPICH's test suite with its heap in simulated device memory, with the library and without:
# mpich_list.sh MPICH BUILD LIST [MPI [NAME...]]. MPICH: a checkout (test/mpi is used). LIST: io, rma ... MPI: mpich (default) or openmpi.
# Prints a line for each test that fails, and the counts; what the compiler and the tests print goes to the file KEEP.
# Tests that need much memory (mem=) are left out. The exit status is 1 if a test fails with the library alone.
# What may be set:
#   MPICC, MPIRUN  compiler and launcher of another version of that MPI
#   MOST           a test that the list runs with more ranks has this many (8)
#   LIMIT          seconds of a run (90)
#   BEFORE         a command that each run is given to
#   RESULTS        a file that gets "NAME ARGUMENTS: PLAIN LIBRARY" for each test, 1 if it passed; tests in it are not run again
set -u
mpich=$(realpath "${1:?checkout of MPICH}") build=$(realpath "${2:?build folder}") list=${3:?list} mpi=${4:-mpich}
shift 3
shift $(($# > 0))
here=$(realpath "$(dirname "$0")")
compiler=${MPICC:-mpicc.$mpi} results=${RESULTS:-/dev/null}
read -ra before <<<"${BEFORE:-}"
made=$(mktemp -d)
trap '[ -n "${KEEP:-}" ] && cat "$made/log" "$made/out" >"$KEEP"; rm -rf "$made"' EXIT
suite=$mpich/test/mpi
cat >"$made/mpitestconf.h" <<'END'
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_UNISTD_H 1
#define HAVE_STDARG_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_GETRUSAGE 1
#define HAVE_LONG_LONG 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_USLEEP 1
#define HAVE_MPI_WIN_CREATE 1
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
#define MTEST_HAVE_MIN_MPI_VERSION(a, b) (MPI_VERSION > (a) || (MPI_VERSION == (a) && MPI_SUBVERSION >= (b)))
END
: >"$made/mtest_mpix.h" # of MPICH itself
flags=(-O1 -w "-I$made" "-I$suite/include" "-I$suite/util")
util=()
for file in mtest.c mtest_common.c dtypes.c mtest_single.c; do
    [ -e "$suite/util/$file" ] || continue
    "$compiler" "${flags[@]}" -c "$suite/util/$file" -o "$made/${file%.c}.o" 2>>"$made/log" && util+=("$made/${file%.c}.o")
done
launch=("${before[@]}" timeout -k 5 "${LIMIT:-90}" "${MPIRUN:-mpirun.$mpi}")
yield='' # ranks of MPICH that wait leave the core
if [ "$mpi" = openmpi ]; then
    launch+=(--allow-run-as-root --oversubscribe)
elif [ -e "$build/tests/libtutti-yield.so" ]; then
    yield=$build/tests/libtutti-yield.so
fi

# runs PROGRAM ENV...: whether it ends well, with " No Errors".
runs() {
    local program=$1
    shift
    (cd "$made" && "${launch[@]}" -n "$ranks" env "$@" "$program" "${arguments[@]}" 2>&1 </dev/null | tee -a out | grep -q 'No Errors')
}
plain=0 with=0 all=0 unbuilt=0 worse=0
while read -r name ranks rest; do
    case $name in '' | '#'*) continue ;; esac
    case $rest in *mem=*) continue ;; esac
    [ $# -gt 0 ] && [[ " $* " != *" $name "* ]] && continue
    arguments=()
    for word in $rest; do
        case $word in arg=*) arguments+=("${word#arg=}") ;; -*) arguments+=("$word") ;; esac
    done
    sed 's/: . .$//' "$results" 2>/dev/null | grep -qxF -- "$name${arguments:+ ${arguments[*]}}" && continue
    [ "$ranks" -le "${MOST:-8}" ] || ranks=${MOST:-8}
    source=$(sed -n "s/^ *${name}_SOURCES *= *//p" "$suite/$list/Makefile.am" | awk '{print $1}')
    mapfile -t defined < <(sed -n "s/^ *${name}_CPPFLAGS *= *//p" "$suite/$list/Makefile.am" | grep -oE -- '-D[A-Za-z0-9_]+')
    [ -e "$suite/$list/${source:=$name.c}" ] || continue
    if ! "$compiler" "${flags[@]}" "${defined[@]}" -include "$here/heap.h" "$suite/$list/$source" "${util[@]}" -lm -o "$made/$name" 2>>"$made/log"; then
        unbuilt=$((unbuilt + 1))
        echo "$name: does not compile with this MPI"
        continue
    fi
    all=$((all + 1))
    alone=0 library=0
    runs "$made/$name" "LD_PRELOAD=$yield" && alone=1
    runs "$made/$name" "LD_PRELOAD=$build/lib/libtutti.so:$build/lib/libtutti-core.so${yield:+:$yield}" TUTTI_DEVICE=host TUTTI_RULES_FILE=/dev/null && library=1
    echo "$name${arguments:+ ${arguments[*]}}: $alone $library" >>"$results"
    plain=$((plain + alone)) with=$((with + library))
    [ $alone -eq 1 ] && [ $library -eq 0 ] && worse=$((worse + 1)) && echo "$name${arguments:+ ${arguments[*]}} ($ranks ranks in the list): fails with the library alone"
    [ $alone -eq 0 ] && echo "$name${arguments:+ ${arguments[*]}}: $([ $library -eq 1 ] && echo "passes with the library alone" || echo "fails without the library too")"
done < <(grep -v '^#' "$suite/$list/testlist.in" 2>/dev/null || cat "$suite/$list/testlist")
echo "$list: $all tests, $plain pass without the library, $with with it; $unbuilt do not compile"
[ $worse -eq 0 ]
