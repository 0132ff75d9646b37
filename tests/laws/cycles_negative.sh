#!/bin/bash
# cycles.py must see each kind of cycle, and let pass what may be: tiny object files with both are given to it.
# usage: cycles_negative.sh PYTHON3 C-COMPILER
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3} cc=${2:?compiler}
command -v nm >/dev/null || { echo "skipped: there is no nm"; exit 77; }
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
failed=0

begin() { # limits
    rm -rf "$build"/{CMakeFiles,src,objects}
    printf '%s\n' "$@" >"$build/limits"
}
add() { # object's place in the build folder, its function, functions that it calls
    local object=$build/$1 own=$2
    mkdir -p "${object%/*}"
    {
        printf 'void %s(void);\n' "${@:2}"
        printf 'void %s(void)\n{\n' "$own"
        [ $# -eq 2 ] || printf '    %s();\n' "${@:3}"
        printf '}\n'
    } | "$cc" -x c -c -o "$object" - || exit 1
    echo "$object" >>"$build/objects"
}
core() { add "CMakeFiles/core.dir/src/$1.c.o" "${@:2}"; }
look() { said=$("$python" -B -S "$here/cycles.py" "$build" "$build/objects" "$build/limits" 2>&1); }
expect() { # status, what must be said
    look
    local status=$?
    if [ $status -ne "$1" ] || [[ $said != *"$2"* ]]; then
        printf 'wanted: %s, "%s"\ngot: %s, "%s"\n' "$1" "$2" $status "$said"
        failed=1
    fi
}
ring() { # folder, how many files, each of which calls the next
    for ((i = 0; i < $2; i++)); do
        core "$1/ring$i" "ring_$i" "ring_$(((i + 1) % $2))"
    done
}

begin ''
core team/low low
core coll/high high low elsewhere
core coll/top top high low
expect 0 '3 files: no cycle'

begin ''
core team/low low high
core coll/high high low
core core/lowest lowest
expect 1 'a cycle of folders: coll team'
[[ $said == *'closed by coll/high.c -> team/low.c: low'* || $said == *'closed by team/low.c -> coll/high.c: high'* ]] ||
    { echo "the edge is not named: $said"; failed=1; }

begin ''
core device/device device host
core device/host/host host device
expect 1 'a cycle of folders: device device/host'

begin ''
ring coll 3
expect 0 'no cycle'
begin 'coll 3'
ring coll 3
expect 0 'coll: there is no cycle of folders in this build: the limit can go'
begin ''
ring coll 4
expect 1 'a cycle of 4 files, where 3 may be: coll/ring0.c coll/ring1.c coll/ring2.c coll/ring3.c'
expect 1 'closed by coll/ring0.c -> coll/ring1.c: ring_1'

# The edge that is named is the one that opens the cycle, not any.
begin ''
core team/a a b c d
core team/b b c d
core team/c c d
core team/d d a
expect 1 'closed by team/d.c -> team/a.c: a'

# Another target, whose folder is not the build folder's own; one source twice; limits of a folder and those in it.
begin 'mpi 4'
for front in one two; do
    add "src/mpi/CMakeFiles/$front.dir/door.c.o" door request
    add "src/mpi/CMakeFiles/$front.dir/request/request.c.o" request more
    add "src/mpi/CMakeFiles/$front.dir/more.c.o" more last
    add "src/mpi/CMakeFiles/$front.dir/last.c.o" last door
done
expect 0 '4 files: no cycle'
sed -i 's/4/5/' "$build/limits"
expect 0 'mpi: the largest cycle of this build has 4 files: the limit of 5 can go down'
sed -i 's/5/3/' "$build/limits"
expect 1 'a cycle of 4 files, where 3 may be: mpi/door.c mpi/last.c mpi/more.c mpi/request/request.c'
[[ $said != *folders* ]] || { echo "a limit covers the folders too: $said"; failed=1; }
printf '# none\n' >"$build/limits"
expect 1 'a cycle of folders: mpi mpi/request'
printf 'mpi 4\n' >"$build/limits"
core coll/down down door
expect 0 'no cycle'
core coll/beside beside down
add src/mpi/CMakeFiles/one.dir/up.c.o up beside
add src/mpi/CMakeFiles/one.dir/last.c.o last door up
expect 1 'a cycle of folders: coll mpi'

# Nothing to look at, or with.
begin ''
ring coll 2
NM=/no/such/nm expect 77 'there is no nm'
rm "$build/CMakeFiles/core.dir/src/coll/ring0.c.o"
expect 1 'not built'
exit $failed
