#!/bin/bash
# Makes the manual pages with scdoc, out of --help and the public headers: man.sh TUTTI SOURCES VERSION OUT
set -eu
tutti=$1 sources=$2 version=$3 out=$4
here=$sources/scripts/man
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ARGP_HELP_FMT=rmargin=4000 LC_ALL=C # a description is one line

# command NAME TEXT SEE WORD...: the page of `tutti WORD...`
command_page() {
    local name=$1 text=$2 see=$3
    shift 3
    "$tutti" "$@" --help | awk -f "$here/scdoc.awk" -f "$here/help.awk" -v name="$name" -v text="$text" -v version="$version" -v see="$see" \
        >"$work/$name.1.scd"
}
# "name: text" of the list in a help text
listed() { sed -nE 's/^  ([a-z_-]+) +([^ ].*)$/\1:\2/p' | grep -v '^\(tutti\|help\|-\)'; }

see="*tutti-mpix*(7), *tshmem*(7)"
while IFS=: read -r command text; do
    see="*tutti-$command*(1), $see"
    command_page "tutti-$command" "$text" "*tutti*(1)" "$command"
done < <("$tutti" --help | listed)
command_page tutti "GPUs under any MPI" "$see"
while IFS=: read -r bench text; do
    command_page "tutti-bench-${bench//_/-}" "${text}" "*tutti-bench*(1), *tutti*(1)" bench "$bench"
done < <("$tutti" bench --help | listed)
while IFS=: read -r call text; do
    command_page "tutti-energy-${call//_/-}" "${text}" "*tutti-energy*(1), *tutti*(1)" energy "$call"
done < <("$tutti" energy --help | listed)
awk -f "$here/scdoc.awk" -f "$here/header.awk" -v pages=mpix -v folder="$work" -v version="$version" "$sources/include/tutti/mpix.h"
# group_page ABOUT HEADER...: one page for the calls of a header that mpix.h includes
group_page() {
    awk -f "$here/scdoc.awk" -f "$here/header.awk" -v pages=group -v about="$1" -v folder="$work" -v version="$version" "${@:2}"
}
group_page "queues of persistent messages in stream order" "$sources"/include/tutti/mpix_queue.{h,def}
group_page "partitioned collectives" "$sources"/include/tutti/mpix_pcoll.{h,def}
group_page "partitioned requests in kernels" "$sources/include/tutti/mpix_prequest.h"
awk -f "$here/scdoc.awk" -f "$here/header.awk" -v pages=tshmem -v folder="$work" -v version="$version" "$sources/include/tutti/shmem.h"

rm -rf "$out"
for page in "$work"/*.scd; do
    name=$(basename "$page" .scd)
    mkdir -p "$out/man${name##*.}"
    scdoc <"$page" >"$out/man${name##*.}/$name" || { echo "man.sh: $name: scdoc refuses it" >&2; exit 1; }
done
mv "$work"/*.3 "$out/man3/"
