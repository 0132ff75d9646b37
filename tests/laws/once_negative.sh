#!/bin/bash
# once.py must see a function and an object that two sources define, and let pass what may be: tiny object files are given to it.
# usage: once_negative.sh PYTHON3 C-COMPILER
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3} cc=${2:?compiler}
command -v nm >/dev/null || { echo "skipped: there is no nm"; exit 77; }
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
failed=0
add() { # object's place in the build folder, text
    local object=$build/$1
    mkdir -p "${object%/*}"
    printf '%s\n' "$2" | "$cc" -x c -c -o "$object" - || exit 1
    echo "$object" >>"$build/objects"
}
expect() { # status, what must be said
    local said status
    said=$("$python" -B -S "$here/once.py" "$build" "$build/objects" 2>&1)
    status=$?
    if [ $status -ne "$1" ] || [[ $said != *"$2"* ]]; then
        printf 'wanted: %s, "%s"\ngot: %s, "%s"\n' "$1" "$2" $status "$said"
        failed=1
    fi
}
begin() { # two sources that may be beside each other
    rm -rf "$build"/{CMakeFiles,src,objects}
    add CMakeFiles/core.dir/src/coll/a.c.o 'static int own; int f(void); int f(void) { return own; }'
    add CMakeFiles/core.dir/src/team/a.c.o 'static int own; int f(void); int g(void); int g(void) { return f() + own; }'
}
begin
expect 0 '2 names: each is defined once'
for front in one two; do # the same source twice
    add "src/mpi/CMakeFiles/$front.dir/door/a.c.o" 'int h(void); int h(void) { return 1; }'
done
for isa in base avx2; do
    add "CMakeFiles/kernels-$isa.dir/src/kernels/a.c.o" 'int same = 1;'
done
add src/mpi/CMakeFiles/one.dir/b.c.o 'int MPI_Init(void); int MPI_Init(void) { return 1; }'
add src/mpi/CMakeFiles/stub.dir/c.c.o 'int MPI_Init(void); int MPI_Init(void) { return 2; }'
expect 0 '4 names: each is defined once'
add CMakeFiles/core.dir/src/coll/b.c.o 'int f(void); int f(void) { return 2; }'
expect 1 'f is defined in coll/a.c and coll/b.c'
begin
add src/mpi/CMakeFiles/two.dir/b.c.o 'const int f = 1;' # not linked with each other, one as an object
expect 1 'f is defined in coll/a.c and mpi/b.c'
begin
add src/mpi/CMakeFiles/two.dir/b.c.o '__attribute__((weak)) int g(void) { return 1; }'
expect 1 'g is defined in mpi/b.c and team/a.c'
begin
rm "$build/CMakeFiles/core.dir/src/coll/a.c.o"
expect 1 'not built'
NM=/no/such/nm expect 77 'there is no nm'
exit $failed
