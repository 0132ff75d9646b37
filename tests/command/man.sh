#!/bin/bash
# Manual pages: each has the text of its command's --help, word by word, and man finds nothing wrong: man.sh TUTTI PAGES SOURCES
. "$(dirname "$0")/check.sh"
tutti=$1 pages=$2 sources=$3
export ARGP_HELP_FMT=rmargin=4000 LC_ALL=C # the command breaks no line
[ -d "$pages" ] || { echo "no manual pages in this build: scdoc was not there"; exit 77; }
# The text of a page without its layout.
plain() { sed -E 's/\\-/-/g; s/\\f.//g; s/\\&//g; s/\\e/\\/g; s/\\//g' ${1:+"$pages/$1"}; }

words() { tr -cs '[:alnum:]' '\n' | sed '/^$/d'; }
# same PAGE WORD...: the page has the words of `tutti WORD... --help` in their order, and no others but names of sections.
same() {
    local page=$1 difference
    shift
    difference=$(diff <("$tutti" "$@" --help | sed -E 's/^Usage: //; /^Mandatory or optional/d; /^Examples:$/d' | words) \
        <(sed -n '/^\.SH SYNOPSIS/,/^\.SH SEE ALSO/p' "$pages/man1/$page.1" | grep -v '^\.' | plain | words))
    checks=$((checks + 1))
    [ -z "$difference" ] || fail "$page(1) (>) differs from tutti $* --help (<): $(head -n 8 <<<"$difference" | tr '\n' ' ')"
}
# options PAGE WORD...: those of `tutti WORD... --help`
options() {
    local page=$1 text option
    shift
    text=$(plain "man1/$page.1") || { fail "no page $page(1)"; return; }
    for option in $("$tutti" "$@" --help | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p'); do
        checks=$((checks + 1))
        grep -qE -- "(^|[ ,])$option(=|\$)" <<<"$text" || fail "$page(1) does not name $option"
    done
    same "$page" "$@"
}
for command in run info energy tune model; do
    options tutti-$command $command
done
benches=$("$tutti" bench --help | sed -nE 's/^  ([a-z_-]+) +[^ ].*$/\1/p' | grep -vx tutti)
for bench in $benches; do
    options "tutti-bench-${bench//_/-}" bench "$bench"
    holds "$(plain man1/tutti-bench.1)" "^$bench\$" "tutti-bench(1)"
done
for call in $("$tutti" energy --help | sed -nE 's/^  ([a-z_-]+) +[^ ].*$/\1/p' | grep -vx tutti); do
    options "tutti-energy-${call//_/-}" energy "$call"
    holds "$(plain man1/tutti-energy.1)" "^$call\$" "tutti-energy(1)"
done
for command in run info bench energy tune model; do
    holds "$(plain man1/tutti.1)" "^$command\$" "tutti(1) names its commands"
    holds "$(plain man1/tutti.1)" "tutti-$command\(1\)" "tutti(1) leads to its commands"
done
same tutti
same tutti-bench bench
for call in $(grep -ohE '#define MPIX_[A-Za-z_]+ +tutti_MPIX' "$sources"/include/tutti/mpix*.h | awk '{ print $2 }'); do
    checks=$((checks + 1))
    [ -s "$pages/man3/$call.3" ] || fail "no page $call(3)"
done
text=$(plain man7/tutti-mpix.7)
holds "$text" '^Collectives in stream order' "tutti-mpix(7) has the text of mpix.h"
for page in "$pages"/man3/MPIX_*.3; do # those that are no link to another
    grep -q '^\.so ' "$page" || holds "$text" "$(basename "$page" .3)\(3\)" "tutti-mpix(7) leads to its pages"
done
text=$(plain man7/tshmem.7)
for call in $(grep -oE '^(TUTTI_API|TSHMEM_CALL) .*' "$sources/include/tutti/shmem.h" | grep -oE '\btshmem_[a-z0-9_]+\(' | sort -u); do
    checks=$((checks + 1))
    [[ $text = *"$call"* ]] || fail "tshmem(7) does not name $call"
done
lacks "$text" 'TUTTI_API|__attribute__' "macros of the header"
# As man would have them formatted, in one process for all pages; man itself shows one of them.
if command -v groff >/dev/null && command -v man >/dev/null && man --version >/dev/null 2>&1; then
    cd "$pages" || exit 1
    said=$(LC_ALL=C.UTF-8 groff -t -mandoc -ww -rLL=80n -Tutf8 -Z man*/* 2>&1 >/dev/null)
    checks=$((checks + 1))
    [ -z "$said" ] || fail "pages: $said"
    said=$(MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -l -Tutf8 -Z man1/tutti.1 2>&1 >/dev/null)
    checks=$((checks + 1))
    [ -z "$said" ] || fail "man: $said"
fi
finish
