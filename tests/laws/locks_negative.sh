#!/bin/bash
# locks.py must see a lock that is left out, one that is kept, and a call that does not ask whether other threads are there. usage:
# locks_negative.sh PYTHON3 CLANG SOURCE-FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3} clang=${2:?clang} source=${3:?source folder}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/src/core"
cp "$source/src/core/lock.h" "$tree/src/core/lock.h"
failed=0
begin='#include "core/lock.h"\nstatic struct tutti_lock lock;\nstatic int list TUTTI_GUARDED(lock);\nstatic int find(void) TUTTI_HOLDS(lock)\n{\n    return list;\n}\nint tutti_door_alone(void);'
try() { # the rest of a source, expected output, expected exit status
    printf '%b\n' "$begin\n$1" >"$tree/src/core/a.c"
    printf '[{"directory": "%s", "file": "src/core/a.c", "command": "cc -Isrc -DLONG=\\"a b\\" -c src/core/a.c"}]' "$tree" >"$tree/commands"
    said=$("$python" -B -S "$here/locks.py" "$clang" "$tree" "$tree/commands" 2>&1)
    status=$?
    if [ $status -eq 77 ]; then exit 77; fi
    if [ $status -ne "$3" ] || [[ $said != *"$2"* ]]; then
        printf 'of: %s\nstatus %d, said: %s\n' "$1" $status "$said"
        failed=1
    fi
}
take='tutti_lock_take_alone(&lock, tutti_door_alone());' give='tutti_lock_give(&lock);'
try "int f(void) { $take int a = find() + list; $give return a; }" '1 sources' 0
try "int f(void) { return find(); }" "calling function 'find' requires holding lock 'lock'" 1
try "int f(void) { return list; }" "reading variable 'list' requires holding lock 'lock'" 1
try "void f(void) { list = 1; }" "writing variable 'list' requires holding lock 'lock'" 1
try "int f(void) { $take return find(); }" 'is still held at the end of function' 1
try "void f(void) { $give }" "releasing mutex 'lock' that was not held" 1
try "int f(void) { if (!tutti_lock_try_alone(&lock, tutti_door_alone())) return 0; int a = list; $give return a; }" '1 sources' 0
try "int f(void) { (void)tutti_lock_try(&lock); return list; }" "requires holding lock" 1
try "void f(void) { tutti_lock_take_alone(&lock, 1); $give }" 'src/core/a.c:9: tutti_lock_take_alone() does not ask' 1
try "void f(void) { tutti_lock_take_alone(&lock, 0); $give }" '1 sources' 0
printf '[]' >"$tree/none"
"$python" -B -S "$here/locks.py" "$clang" "$tree" "$tree/none" >/dev/null && { echo "no source is no breach"; failed=1; }
exit $failed
