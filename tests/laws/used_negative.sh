#!/bin/bash
# used.py must report functions and objects that a single source uses, and accept what is allowed: it gets tiny object files.
# usage: used_negative.sh PYTHON3 C-COMPILER
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3} cc=${2:?compiler}
command -v nm >/dev/null || { echo "skipped: there is no nm"; exit 77; }
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
build=$tree/build
failed=0
compile() { # object's place in the build folder, source's in the tree, text
    local object=$build/$1
    mkdir -p "${object%/*}" "$tree/${2%/*}"
    printf '%s\n' "$3" >"$tree/$2"
    "$cc" -c -o "$object" "$tree/$2" || exit 1
    rows+=("$(printf '{"directory": "%s", "command": "%s -c -o %s %s/%s", "file": "%s/%s"}' "$build" "$cc" "$1" "$tree" "$2" "$tree" "$2")")
}
library() { # object, source, text
    compile "$@"
    echo "$build/$1" >>"$build/objects"
}
core() { library "CMakeFiles/core.dir/src/$1.o" "src/$1" "$2"; }
expect() { # status, what must be said
    local said status
    (IFS=,; echo "[${rows[*]}]") >"$build/compile_commands.json"
    said=$("$python" -B -S "$here/used.py" "$build" "$build/objects" "$tree" 2>&1)
    status=$?
    if [ $status -ne "$1" ] || [[ $said != *"$2"* ]]; then
        printf 'wanted: %s, "%s"\ngot: %s, "%s"\n' "$1" "$2" $status "$said"
        failed=1
    fi
}
begin() { # two sources that use each other's
    rm -rf "${tree:?}"/*
    mkdir -p "$build"
    rows=()
    core coll/a.c 'extern int word; int g(void); int f(void); static int own; int f(void) { return own + word + g(); }'
    core team/a.c 'int word; int f(void); int g(void); int g(void) { return f(); }'
}
begin
expect 0 '3 names: each is exported or used by another source'
core coll/b.c 'int h(void); int h(void) { return 1; } int i(void); int i(void) { return h(); }'
expect 1 'h is used in coll/b.c alone'
expect 1 'i is used in coll/b.c alone' # by nobody
begin
core coll/b.c 'int table[2];'
expect 1 'table is used in coll/b.c alone'
begin # the same source twice is one
for front in one two; do
    library "src/mpi/CMakeFiles/$front.dir/door/b.c.o" src/mpi/door/b.c 'int h(void); int h(void) { return 1; } int (*i)(void) = h;'
done
library src/mpi/CMakeFiles/two.dir/door/c.c.o src/mpi/door/c.c 'extern int (*i)(void); int MPI_Init(void); int MPI_Init(void) { return i(); }'
expect 1 'h is used in mpi/door/b.c alone'
begin # a test uses it, or a source that this build leaves out
core coll/b.c 'int h(void); int h(void) { return 1; }'
compile tests/CMakeFiles/t.dir/t.c.o tests/t.c 'int h(void); int main(void) { return h(); }'
expect 0 '4 names'
rm "$build/tests/CMakeFiles/t.dir/t.c.o"
expect 0 '4 names'
echo 'int main(void) { return 0; }' >"$tree/tests/t.c"
expect 1 'h is used in coll/b.c alone'
echo '#include "b.inc"' >"$tree/tests/t.c"
echo 'h()' >"$tree/tests/b.inc"
expect 0 '4 names'
begin # what stands beside a source that is built says nothing
core coll/b.c 'int h(void); int h(void) { return 1; }'
echo 'h()' >"$tree/src/coll/b.inc"
expect 1 'h is used in coll/b.c alone'
begin # exported, in either way; weak, as headers have it
mkdir -p "$tree/include/tutti"
printf '#define TUTTI_API __attribute__((visibility("default")))\nTUTTI_API const char *h(int);\n' >"$tree/include/tutti/tutti.h"
core coll/b.c 'const char *h(int); const char *h(int i) { return i ? "" : 0; }'
core coll/c.c '__attribute__((visibility("default"))) void *i(void); void *i(void) { return 0; }'
core coll/d.c '__attribute__((weak)) int k(void) { return 1; }'
expect 0 '5 names'
sed -i 's/^TUTTI_API //' "$tree/include/tutti/tutti.h"
expect 1 'h is used in coll/b.c alone'
begin
rm "$build/CMakeFiles/core.dir/src/coll/a.c.o"
expect 1 'not built'
NM=/no/such/nm expect 77 'there is no nm'
exit $failed
