#!/bin/bash
# Under the library a program prints what it prints without it, and nothing else; with TUTTI_STATS=1 the table of calls goes
# to standard error. output.sh LIBRARY LAUNCHER OPTIONS... -- PROGRAM
library=$1
shift
# shellcheck source=tests/mpi/launched.sh
. "$(dirname "$0")/../launched.sh"
cd "$scratch" || exit 1
try() { # name, words
    local name=$1
    shift
    timeout -k 2 60 "${launch[@]}" env "$@" >"$name.out" 2>"$name.err" || say "$name: exit status $?: $(cat "$name.err")"
}
try without "$program"
try with LD_PRELOAD="$library" TUTTI_DEVICE=host "$program"
try automatic LD_PRELOAD="$library" "$program"
try off LD_PRELOAD="$library" TUTTI_DEVICE=none "$program"
try stats LD_PRELOAD="$library" TUTTI_DEVICE=host TUTTI_STATS=1 "$program"
try allocated LD_PRELOAD="$library" TUTTI_DEVICE=host TUTTI_HOST_STRICT=0 TUTTI_STATS=1 "$program" allocated
for name in with automatic off stats allocated; do
    cmp -s without.out $name.out || say "$name: standard output differs: $(cat $name.out)"
done
for name in with automatic off; do
    grep -q tutti $name.err && say "$name: on standard error: $(cat $name.err)"
done
grep -q "0 wrong" without.out || say "the program itself fails: $(cat without.out)"
grep -q "^tutti: call " stats.err || say "no table of calls: $(cat stats.err)"
grep "MPI_Allreduce " stats.err | grep "passed" | grep -q "host memory" || say "the table lacks host calls: $(cat stats.err)"
[ "$(grep -c "^tutti: call " stats.err)" = 1 ] || say "the table is there $(grep -c "^tutti: call " stats.err) times"
grep "MPI_Allreduce " allocated.err | grep -q "accelerated" ||
    say "memory of MPI_Alloc_mem was not used as device memory: $(cat allocated.err)"
for part in "${library%/*}"/libtutti-openmpi.so "${library%/*}"/libtutti-mpich.so; do
    [ -e "$part" ] || continue
    try part LD_PRELOAD="$part" TUTTI_DEVICE=host "$program"
    grep -q "^tutti: ${part##*/} is in LD_PRELOAD, where it does nothing: put libtutti.so there" part.err ||
        say "no word about ${part##*/} in LD_PRELOAD: $(cat part.err)"
done
echo "output: $failed failed"
[ $failed -eq 0 ]
