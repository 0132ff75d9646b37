#!/bin/bash
# A list of MPICH's test suite with its heap in simulated device memory, with the library and without:
# mpich_list.sh MPICH BUILD LIST [MPI [NAME...]]. MPICH: a checkout (test/mpi is used). LIST: io, rma, coll, threads/pt2pt ...
# MPI: mpich (default) or openmpi. Arguments of the tests that choose memory (-memtype=random, -evenmemtype=device) choose between
# the host device's memory and ordinary memory (cuda/cuda_runtime_api.h).
# Prints a line for each test that fails, and the counts; what the compiler and the tests print goes to the file KEEP.
# Tests that need much memory (mem=) are left out. The exit status is 1 if a test fails with the library alone.
# What may be set:
#   MPICC, MPIRUN  compiler and launcher of another version of that MPI
#   MOST           a test that the list runs with more ranks has this many (8)
#   LIMIT          seconds of a run (90)
#   BEFORE         a command that each run is given to
#   TESTLIST       the list's file: testlist.in, or testlist.gpu (types and memory drawn at random)
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
#define HAVE_CUDA 1
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
#define MTEST_HAVE_MIN_MPI_VERSION(a, b) (MPI_VERSION > (a) || (MPI_VERSION == (a) && MPI_SUBVERSION >= (b)))
END
: >"$made/mtest_mpix.h" # of MPICH itself
mkdir "$made/dtpools" && cp "$made/mpitestconf.h" "$made/dtpoolsconf.h" # dtpools includes ../dtpoolsconf.h
flags=(-O1 -w "-I$made" "-I$made/dtpools" "-I$suite/include" "-I$suite/util" "-I$suite/dtpools/include" "-I$here/cuda")
threads=()
grep -q 'Makefile_threads' "$suite/$list/Makefile.am" && threads=(-DMTEST_USE_THREAD)
# A test that has run() in place of main() is one of several in a program of MPICH's; here it gets its own.
cat >"$made/main.c" <<'END'
#include "mpitest.h"
#include <stdlib.h>
#include <string.h>
int run(const char *arguments);
int main(int argc, char **argv)
{
    MTest_Init(&argc, &argv);
    size_t bytes = 1;
    for (int i = 1; i < argc; i++)
        bytes += strlen(argv[i]) + 1;
    char *arguments = calloc(1, bytes);
    for (int i = 1; i < argc; i++)
        strcat(strcat(arguments, i > 1 ? " " : ""), argv[i]);
    const int wrong = run(arguments);
    MTest_Finalize(wrong);
    return MTestReturnValue(wrong);
}
END
util=()
for file in "$suite"/util/{mtest,mtest_common,dtypes,mtest_single,mtest_thread}.c "$suite"/dtpools/src/*.c "$made/main.c"; do
    [ -e "$file" ] || continue
    case $file:${threads:+threads} in */mtest_single.c:threads | */mtest_thread.c:) continue ;; esac
    object=$made/$(basename "${file%.c}").o
    "$compiler" "${flags[@]}" "${threads[@]}" -c "$file" -o "$object" 2>>"$made/log" && [ "$file" != "$made/main.c" ] && util+=("$object")
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
    read -ra sources < <(sed -n "s/^ *${name}_SOURCES *= *//p" "$suite/$list/Makefile.am")
    [ ${#sources[@]} -gt 0 ] || sources=("$name.c")
    mapfile -t defined < <(sed -n "s/^ *${name}_CPPFLAGS *= *//p" "$suite/$list/Makefile.am" | grep -oE -- '-D[A-Za-z0-9_]+')
    sources=("${sources[@]/#/$suite/$list/}")
    [ -e "${sources[0]}" ] || continue
    main=()
    grep -qE '\bmain *\(' "${sources[@]}" || main=("$made/main.o")
    if ! "$compiler" "${flags[@]}" "${threads[@]}" "${defined[@]}" -include "$here/heap.h" "${sources[@]}" "${main[@]}" "${util[@]}" -lm -o "$made/$name" 2>>"$made/log"; then
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
done < <(grep -hv '^#' "$suite/$list/${TESTLIST:-testlist.in}" 2>/dev/null || cat "$suite/$list/testlist")
echo "$list: $all tests, $plain pass without the library, $with with it; $unbuilt do not compile"
[ $worse -eq 0 ]
