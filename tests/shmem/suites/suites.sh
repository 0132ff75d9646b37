#!/usr/bin/env bash
# Compiles public OpenSHMEM suites and applications unchanged, by oshcc and oshc++, and runs them.
#
#     suites.sh PREFIX SOURCES [SUITE | SUITE/PROGRAM]...
#
# PREFIX   an installed Tutti (cmake --install build --prefix PREFIX).
# SOURCES  a folder with one folder for each suite, under the name that recipes.sh has for it, as its authors publish it.
#          Beside it a file NAME.version may hold the version for the table. The suites are not part of Tutti.
# SUITE    the suites, or the programs of them (a pattern of the shell), to be run. Without any: all that SOURCES has.
#
# Each program runs on 2 and on 4 PEs of one node, and on 2 PEs with a virtual node each. A line is printed for each run
# that fails (its output is kept in WORK), and at the end a table of counts. The status is 0 if no run fails but those
# that programs.txt lists as the fault of the program.
#
# Environment:
#     WORK     folder for copies, binaries and output; default SOURCES/.work
#     LIMIT    seconds for one run; default 60
#     PES      layouts to run; default "near2 near4 far2"
#     ONLY     "compile": compile, and run nothing. "run": run what an earlier call has compiled. "table": print the table
#     LONG     1: run programs, too, that programs.txt calls long
#     PYTHON   for shmem4py: a Python with cffi, numpy and setuptools; default python3
#     MPI      which MPI, as for tutti run --mpi; default: that of oshcc
#
# A suite is a function of recipes.sh; what is particular to a program is a row of programs.txt.
set -u

usage() {
    sed -n '2,/^set -u/{/^#/s/^# \{0,1\}//p}' "$0"
    exit 2
}
[ $# -ge 2 ] || usage
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "$1" && pwd) || exit 2
sources=$(cd "$2" && pwd) || exit 2
shift 2
[ -x "$prefix/bin/oshcc" ] || { echo "$prefix/bin/oshcc is missing: install Tutti there first" >&2; exit 2; }

work=${WORK:-$sources/.work}
limit=${LIMIT:-60}
layouts=${PES:-near2 near4 far2}
only=${ONLY:-all}
export PATH=$prefix/bin:$PATH
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
ulimit -S -s "$(ulimit -H -s)" # some programs have large arrays on their stack
mkdir -p "$work"
work=$(cd "$work" && pwd)

# Of the suite that is being made: its name, its copy, its binaries, what it prints when a value is wrong.
suite='' copy='' bin='' bad='' pattern='*'

# flat NAME: a name of a program as a name of a file.
flat() { printf %s "${1//\//__}"; }

# of KEY PROGRAM: what programs.txt says of the program under that key; the last row that fits.
of() {
    local row_suite row_program row_key rest found=''
    while read -r row_suite row_program row_key rest; do
        # shellcheck disable=SC2053
        [ "$row_key" = "$1" ] && [[ $suite == $row_suite ]] && [[ $2 == $row_program ]] && found=$rest
    done <"$here/programs.txt"
    printf %s "$found"
}

# program NAME FILE: FILE is an executable, or is missing since its compilation failed. To be called by recipes.
program() {
    if [ -x "$2" ]; then
        printf '%s\t%s\n' "$1" "$2" >>"$work/$suite.programs"
    else
        printf '%s\t-\n' "$1" >>"$work/$suite.programs"
        [ -n "$(of fault "$1")$(of lacks "$1")" ] || echo "$suite/$1: does not compile"
    fi
}

# each [FLAG...] -- SOURCE...: every source is a program. Flags may hold further sources.
each() {
    local flags=() source name compiler
    while [ "$1" != -- ]; do flags+=("$1") && shift; done
    shift
    for source; do
        name=${source%.*}
        # shellcheck disable=SC2053
        if [[ $name != $pattern ]] || [ -n "$(of skip "$name")" ]; then continue; fi
        case $source in *.c) compiler=oshcc ;; *) compiler=oshc++ ;; esac
        rm -f "$bin/$(flat "$name")"
        (cd "$(dirname "$source")" && $compiler -w "$(basename "$source")" "${flags[@]}" -o "$bin/$(flat "$name")" -lm) \
            >"$work/$suite.out/$(flat "$name").compile" 2>&1
        program "$name" "$bin/$(flat "$name")"
    done
}

# build COMMAND...: a step of the suite's own build system, in the folder where the recipe is.
build() {
    "$@" >>"$work/$suite.out/build" 2>&1 || echo "$suite: '$*' fails; see $work/$suite.out/build"
}

compile() {
    : >"$work/$suite.programs"
    mkdir -p "$work/$suite.out" "$bin"
    if [ ! -d "$copy" ]; then
        cp -r "$sources/$suite" "$copy"
    fi
    (cd "$copy" && "suite_${suite//-/_}")
}

# run LAYOUT PROGRAM FILE: one line in the results: suite, program, layout, ok or what is wrong.
run() {
    local layout=$1 name=$2 file=$3 out result status want args seconds vars
    out="$work/$suite.out/$(flat "$name").$layout"
    args=$(of args "$name") vars=$(of env "$name") want=$(of status "$name") seconds=$(of seconds "$name")
    want=${want%% *} args=${args//\{\}/$(basename "$name")}
    # shellcheck disable=SC2086
    (cd "$(of in "$name" | sed "s|^|$copy/|; s|^$|$copy|")" &&
        { [ "${layout#far}" = "$layout" ] || export TUTTI_NODE_RANKS=1; } &&
        exec env ${vars//@/$copy} timeout -k 5 "${seconds:-$limit}" oshrun ${MPI:+--mpi="$MPI"} -n "${layout: -1}" "$file" $args) >"$out" 2>&1 </dev/null
    status=$?
    if [ $status = 124 ] || [ $status = 137 ]; then
        result="no end within ${seconds:-$limit} s"
    elif [ $status != "${want:-0}" ] && [ "$want" != any ]; then
        result="status $status"
    elif [ -n "$bad" ] && grep -E -q -e "$bad" "$out"; then
        result=$(grep -E -m 1 -e "$bad" "$out" | cut -c 1-100)
    else
        result=ok
    fi
    printf '%s\t%s\t%s\t%s\n' "$suite" "$name" "$layout" "$result" >>"$work/results"
    [ "$result" = ok ] || [ -n "$(of fault "$name")$(of lacks "$name")" ] || echo "$suite/$name: $layout: $result"
}

run_all() {
    local name file layout pes
    while IFS=$'\t' read -r name file; do
        # shellcheck disable=SC2053
        [[ $name == $pattern ]] || continue
        [ "$file" != - ] || continue
        [ -z "$(of long "$name")" ] || [ -n "${LONG:-}" ] || continue
        pes=$(of pes "$name")
        for layout in $layouts; do
            [ "$pes" != 2 ] || layout=${layout/4/2} # the same with fewer PEs
            [[ " ${pes:-2 4} " == *" ${layout: -1} "* ]] && run "$layout" "$name" "$file"
        done
    done <"$work/$suite.programs"
}

# A row of the table: counts of the last result of each run.
row() {
    local programs made fault_names version
    programs=$(wc -l <"$work/$suite.programs")
    made=$(grep -v -c -P '\t-$' "$work/$suite.programs")
    version=$(cat "$sources/$suite.version" 2>/dev/null || echo)
    fault_names=$(cut -f 1 "$work/$suite.programs" | while read -r name; do
        [ -z "$(of fault "$name")" ] || echo "$name"
    done)
    awk -F '\t' -v suite="$suite" -v version="$version" -v programs="$programs" -v made="$made" -v faults="$fault_names" '
        BEGIN { n = split(faults, list, "\n"); for (i = 1; i <= n; i++) fault[list[i]] = 1 }
        $1 == suite { last[$2 "\t" $3] = $4 }
        END {
            for (run in last) {
                split(run, of, "\t"); runs++
                if (last[run] == "ok") ok++; else if (of[1] in fault) own++; else wrong++
            }
            printf "| %s | %s | %d | %d | %d | %d | %d | %d |\n", suite, version, programs, made, runs, ok, own, wrong
        }' "$work/results"
}

# shellcheck source=tests/shmem/suites/recipes.sh
. "$here/recipes.sh"

if [ $# = 0 ]; then
    for folder in "$sources"/*/; do
        name=$(basename "$folder")
        declare -F "suite_${name//-/_}" >/dev/null && set -- "$@" "$name"
    done
fi
touch "$work/results"
rows=()
for what; do
    suite=${what%%/*} pattern='*' bad=''
    [ "$what" = "$suite" ] || pattern=${what#*/}
    declare -F "suite_${suite//-/_}" >/dev/null || { echo "$suite: recipes.sh has no such suite" >&2; exit 2; }
    [ -d "$sources/$suite" ] || { echo "$suite: $sources has no such folder" >&2; exit 2; }
    copy=$work/$suite bin=$work/$suite.bin
    bad=$(of bad '*')
    case $only in all | compile) compile ;; esac
    case $only in all | run) run_all ;; esac
    rows+=("$(row)")
done
echo '| suite | version | programs | compile | runs | end well | the program is wrong | do not end well |'
echo '|---|---|---|---|---|---|---|---|'
printf '%s\n' "${rows[@]}"
printf '%s\n' "${rows[@]}" | awk -F '|' '{ wrong += $9 } END { exit wrong > 0 }'
