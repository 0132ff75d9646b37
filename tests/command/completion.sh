#!/bin/bash
# The completion for bash offers commands, benchmarks, options and values: completion.sh TUTTI COMPLETION
. "$(dirname "$0")/check.sh"
tutti=$1
# shellcheck source=/dev/null
. "$2" || exit 1

# offers WORD... : what is offered for the last of the words
offers() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _tutti
    printf '%s\n' "${COMPREPLY[@]}"
}
for command in run info bench energy tune model help; do
    holds "$(offers tutti "")" "^$command\$" "commands"
done
checks=$((checks + 1))
[ "$(offers tutti be)" = bench ] || fail "be: $(offers tutti be)"
# has OFFERED WORD WHAT: a line of what was offered is the word
has() {
    checks=$((checks + 1))
    [[ $'\n'$1$'\n' = *$'\n'"$2"$'\n'* ]] || fail "$3: $2 is not among: $1"
}
options_of() { "$tutti" "$@" --help | sed -nE 's/^ +(-., )?(--[a-z-]+=?).*/\2/p'; }
for of in bench energy; do
    names=$(offers tutti $of "")
    for name in $("$tutti" $of --help | sed -nE 's/^  ([a-z_-]+) +[^ ].*$/\1/p' | grep -vx tutti); do
        has "$names" "$name" "names of $of"
        offered=$(offers tutti $of "$name" "--")
        for option in $(options_of $of "$name"); do
            has "$offered" "$option" "options of $of $name"
        done
    done
done
holds "$(offers tutti energy "ba")" '^bash$' "a program"
for command in run info energy tune model; do
    offered=$(offers tutti $command "--")
    for option in $(options_of $command); do
        has "$offered" "$option" "options of $command"
    done
done
lacks "$(offers tutti info "--")" '^--mpi' "options of another command"
holds "$(offers tutti run --device = ho)" '^host$' "a value behind ="
holds "$(offers tutti run --device cu)" '^cuda$' "a value"
holds "$(offers tutti bench allreduce --order = "")" '^graph$' "an order"
holds "$(offers tutti help tu)" '^tune$' "a command to be helped with"
finish
