#!/bin/bash
# Under the library a program prints what it prints without it, and nothing else; with TUTTI_STATS=1 the table of calls goes
# to standard error. quiet.sh LIBRARY LAUNCHER OPTIONS... -- PROGRAM
set -u
library=$1
shift
launch=()
while [ "$1" != -- ]; do
    launch+=("$1")
    shift
done
program=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0
fail() {
    echo "quiet: $*"
    failed=$((failed + 1))
}
try() { # name, words
    local name=$1
    shift
    timeout -k 2 60 "${launch[@]}" env "$@" >"$name.out" 2>"$name.err" || fail "$name: exit status $?: $(cat "$name.err")"
}
try without "$program"
try with LD_PRELOAD="$library" TUTTI_DEVICE=host "$program"
try automatic LD_PRELOAD="$library" "$program"
try off LD_PRELOAD="$library" TUTTI_DEVICE=none "$program"
try stats LD_PRELOAD="$library" TUTTI_DEVICE=host TUTTI_STATS=1 "$program"
try allocated LD_PRELOAD="$library" TUTTI_DEVICE=host TUTTI_HOST_STRICT=0 TUTTI_STATS=1 "$program" allocated
for name in with automatic off stats allocated; do
    cmp -s without.out $name.out || fail "$name: standard output differs: $(cat $name.out)"
done
for name in with automatic off; do
    grep -q tutti $name.err && fail "$name: on standard error: $(cat $name.err)"
done
grep -q "0 wrong" without.out || fail "the program itself fails: $(cat without.out)"
grep -q "^tutti: call " stats.err || fail "no table of calls: $(cat stats.err)"
grep "MPI_Allreduce " stats.err | grep "passed" | grep -q "host memory" || fail "the table lacks host calls: $(cat stats.err)"
[ "$(grep -c "^tutti: call " stats.err)" = 1 ] || fail "the table is there $(grep -c "^tutti: call " stats.err) times"
grep "MPI_Allreduce " allocated.err | grep -q "accelerated" ||
    fail "memory of MPI_Alloc_mem was not used as device memory: $(cat allocated.err)"
echo "quiet: $failed failed"
[ $failed -eq 0 ]
