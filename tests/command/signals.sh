#!/bin/bash
# Signals: Ctrl-C says a word and gives 130; however the command is ended, no rank stays. signals.sh TUTTI MPI PROGRAM
. "$(dirname "$0")/check.sh"
tutti=$1 mpi=$2 program=$3
unset LD_PRELOAD TUTTI_RULES
export TUTTI_DEVICE=host
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TUTTI_TEST_MARK=signals-$$ # in the environment of all that the command starts

# Ids of what was started and is there: ranks alone, or all.
there() {
    local environment id exe
    for environment in $(grep -lsz "^TUTTI_TEST_MARK=$TUTTI_TEST_MARK\$" /proc/[0-9]*/environ); do
        id=${environment//[!0-9]/}
        exe=$(readlink "/proc/$id/exe") || continue
        case $1:$exe in
        ranks:*/tutti-bench-* | ranks:*/command-hello* | all:*/tutti* | all:*mpi* | all:*hydra* | all:*/orte* | all:*/command-hello*) echo "$id" ;;
        esac
    done
}
started() { # starts COMMAND... in a session of its own, waits for its two ranks
    setsid "$@" >"$folder/out" 2>&1 &
    run=$!
    until [ "$(there ranks | wc -l)" -ge 2 ] || ! kill -0 "$run" 2>/dev/null; do
        sleep 0.1
    done
    sleep 0.2 # into the loop
}
# Runs a command under a terminal of its own, where SIGINT of this process is Ctrl-C.
cat >"$folder/terminal.py" <<'END'
import os, pty, signal, sys
child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
signal.signal(signal.SIGINT, lambda *_: os.write(terminal, b"\3"))
try:
    while said := os.read(terminal, 4096):
        os.write(1, said.replace(b"\r", b""))
except OSError: # the end of a terminal
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
END
# ended SIGNAL WHOM STATUS COMMAND...: to the command alone, to its process group, or by its terminal
ended() {
    local signal=$1 whom=$2 want=$3 got left
    shift 3
    started "$@"
    if [ "$whom" = group ]; then kill -"$signal" -- "-$run"; else kill -"$signal" "$run"; fi
    wait $run 2>/dev/null
    got=$?
    for ((i = 0; i < 400; i++)); do # the launcher may take a moment
        left=$(there all)
        [ -z "$left" ] && break
        sleep 0.1
    done
    checks=$((checks + 2))
    [ "$got" -eq "$want" ] || fail "SIG$signal to the $whom: status $got instead of $want: $* :: $(cat "$folder/out")"
    [ -z "$left" ] || fail "SIG$signal to the $whom leaves $(for id in $left; do tr '\0' ' ' <"/proc/$id/cmdline"; done): $*"
    # shellcheck disable=SC2086 # a list of processes
    [ -z "$left" ] || kill -9 $left
    if [ "$signal" = INT ]; then
        holds "$(cat "$folder/out")" '^tutti: interrupted: the ranks are ended$' "the answer to Ctrl-C: $*"
    fi
}

bench=("$tutti" bench overhead -n 2 --mpi "$mpi" -i 1000000000)
ended INT command 130 "${bench[@]}"
ended INT group 130 "${bench[@]}"
ended TERM command 143 "${bench[@]}"
ended KILL command 137 "${bench[@]}"
ended HUP command 129 "$tutti" bench allreduce -n 2 --mpi "$mpi" -i 1000000 -m 1m,1m --ways none
ended TERM command 143 "$tutti" tune -n 2 --mpi "$mpi" --time 300 --output "$folder/rules"
ended KILL command 137 "$tutti" tune -n 2 --mpi "$mpi" --time 300 --output "$folder/rules"
stays=("$tutti" run -n 2 --mpi "$mpi" "$program" stay)
ended INT command 130 "${stays[@]}"
if command -v python3 >/dev/null; then
    ended INT terminal 130 python3 "$folder/terminal.py" "${stays[@]}"
    ended INT terminal 130 python3 "$folder/terminal.py" "${bench[@]}"
fi
ended TERM command 143 "${stays[@]}"
ended KILL command 137 "${stays[@]}"
finish
