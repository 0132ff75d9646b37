# shellcheck shell=bash disable=SC2034
# Sourced by tests that start ranks themselves: NAME OWN... LAUNCHER OPTIONS... -- PROGRAM WORD..., after the test has shifted its OWN
# arguments away. Sets launch, program, log and scratch; `say` reports a failure. Leaves the words behind PROGRAM as arguments.
set -u
launch=()
while [ "$1" != -- ]; do
    launch+=("$1")
    shift
done
program=$2
shift 2
scratch=$(mktemp -d)
log=$scratch/log
trap 'rm -rf "$scratch"' EXIT
failed=0
say() {
    echo "$(basename "$0" .sh): $*"
    failed=$((failed + 1))
}

# ---- nothing is left behind ----
shared() { find /dev/shm -iname '*tutti*' | sort; }
shared_before=$(shared)
nothing_shared() {
    [ "$(shared)" = "$shared_before" ] || say "left in /dev/shm: $(shared)"
}

# ---- ranks whose launcher does not wait for them: they have a mark in their environment ----
mark=tutti-$(basename "$0" .sh)-$$-$RANDOM
# marked_start WORD...: starts the program with these words in the background; `launcher` is the id.
marked_start() {
    TUTTI_TEST_MARK=$mark timeout -k 2 60 "${launch[@]}" env TUTTI_TEST_MARK="$mark" "$program" "$@" >"$log" 2>&1 &
    launcher=$!
}
marked_wait_for() { # PATTERN: until the log has it, at most 30 s
    for _ in $(seq 300); do
        grep -q "$1" "$log" && break
        kill -0 $launcher 2>/dev/null || break
        sleep 0.1
    done
}
is_running() { # ID NAME: a process of this name that is not a zombie
    local name state
    read -r name 2>/dev/null <"/proc/$1/comm" && [ "$name" = "$2" ] && read -r state 2>/dev/null <"/proc/$1/stat" &&
        [[ ${state##*) } != [ZX]* ]]
}
marked_left() { # ids of ranks that are still here; one process reads the environments of all
    local name folder
    name=$(basename "$program")
    while read -r folder; do
        is_running "${folder#/proc/}" "${name:0:15}" && echo "${folder#/proc/}"
    done < <(grep -lzxF "TUTTI_TEST_MARK=$mark" /proc/[0-9]*/environ 2>/dev/null | sed 's,/environ$,,')
}
# marked_end: waits for all ranks, 42 s at most, and ends those that are left; then the launcher. Environments are read again
# only when the ranks that were seen have ended: that takes a hundred times as long as a look at them.
marked_end() {
    local rest id name seen=''
    name=$(basename "$program")
    for _ in $(seq 420); do # mostly a few seconds; a rank that hangs does so forever
        for id in $seen; do
            is_running "$id" "${name:0:15}" && break
            id=''
        done
        if [ -z "${id:-}" ]; then
            seen=$(marked_left)
            [ -z "$seen" ] && break
        fi
        sleep 0.1
    done
    rest=$(marked_left)
    if [ -n "$rest" ]; then
        say "still here after 42 s: $rest"
        # shellcheck disable=SC2086 # a list of numbers
        kill -9 $rest
    fi
    for _ in $(seq 50); do
        kill -0 $launcher 2>/dev/null || break
        sleep 0.1
    done
    kill -0 $launcher 2>/dev/null && kill $launcher
    wait $launcher 2>/dev/null
    [ $? -eq 124 ] && say "the ranks did not end within 60 s: $(tail -n 5 "$log")"
}
