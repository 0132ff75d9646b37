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
for command in run info bench energy tune help; do
    holds "$(offers tutti "")" "^$command\$" "commands"
done
checks=$((checks + 1))
[ "$(offers tutti be)" = bench ] || fail "be: $(offers tutti be)"
for of in bench energy; do
    for name in $("$tutti" $of --help | sed -nE 's/^  ([a-z_-]+) +[^ ].*$/\1/p' | grep -vx tutti); do
        holds "$(offers tutti $of "")" "^$name\$" "names of $of"
        for option in $("$tutti" $of "$name" --help | sed -nE 's/^ +(-., )?(--[a-z-]+=?).*/\2/p'); do
            holds "$(offers tutti $of "$name" "--")" "^$option\$" "options of $of $name"
        done
    done
done
holds "$(offers tutti energy "ba")" '^bash$' "a program"
for command in run info energy tune; do
    for option in $("$tutti" $command --help | sed -nE 's/^ +(-., )?(--[a-z-]+=?).*/\2/p'); do
        holds "$(offers tutti $command "--")" "^$option\$" "options of $command"
    done
done
lacks "$(offers tutti info "--")" '^--mpi' "options of another command"
holds "$(offers tutti run --device = ho)" '^host$' "a value behind ="
holds "$(offers tutti run --device cu)" '^cuda$' "a value"
holds "$(offers tutti bench allreduce --order = "")" '^graph$' "an order"
holds "$(offers tutti help tu)" '^tune$' "a command to be helped with"
finish
