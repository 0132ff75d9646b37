#!/bin/bash
# Programs that `tutti run` must treat in a way of their own: start.sh TUTTI SANITIZED|- NAME=PROGRAM... SANITIZED is built
# with -fsanitize=address; the others stand for programs that are linked statically with the MPI NAME.
. "$(dirname "$0")/check.sh"
tutti=$1 sanitized=$2
shift 2
unset LD_PRELOAD TUTTI_DEVICE
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The run-time library of the sanitizer comes first, also before the user's own. The MPI's own leaks are not looked for.
if [ "$sanitized" != - ]; then
    export ASAN_OPTIONS=detect_leaks=0
    libc=$(ldd "$sanitized" | sed -n 's/.*=> \(.*libc\.so\.6\) .*/\1/p')
    said=$("$tutti" run -n 2 --device host "$sanitized" 2>&1)
    holds "$said" '^ranks 2 sum 1$' "a program with the address sanitizer"
    holds "$said" '^preload .*libasan\.so[^:]*:.*/libtutti\.so$' "the sanitizer's library is first"
    said=$(LD_PRELOAD=$libc "$tutti" run -n 1 --device host "$sanitized" 2>&1)
    holds "$said" "^preload .*libasan\.so[^:]*:$libc:.*/libtutti\.so\$" "the sanitizer's library is before the user's"
fi

# A program with its MPI inside is started by that MPI's launcher, and it is said that Tutti is not in front.
export INSIDE_SAYS=$folder/says
for pair in "$@"; do
    name=${pair%%=*} program=${pair#*=} other=
    said=$("$tutti" run -n 1 "$program" 2>&1; cat "$INSIDE_SAYS"; rm -f "$INSIDE_SAYS")
    holds "$said" "is linked statically with its MPI: Tutti cannot be in front of its calls" "$name inside"
    lacks "$said" "does not say which MPI" "$name inside: the program says which"
    case "$*" in *"openmpi="*"mpich="* | *"mpich="*"openmpi="*) other=1 ;; esac
    holds "$said" "^started by $name\$" "$name inside: its launcher"
    holds "$said" "^preload -\$" "$name inside: nothing is preloaded"
    cp "$program" "$folder/stripped"
    strip "$folder/stripped" || continue
    said=$("$tutti" run -n 1 "$folder/stripped" 2>&1; cat "$INSIDE_SAYS"; rm -f "$INSIDE_SAYS")
    holds "$said" "is linked statically with its MPI" "$name inside, stripped"
    holds "$said" "^started by $name\$" "$name inside, stripped: its launcher"
    if [ -n "$other" ]; then
        [ "$name" = openmpi ] && other=mpich || other=openmpi
        expect 125 "is linked statically with" "$tutti" run --mpi $other "$program"
    fi
done
finish
