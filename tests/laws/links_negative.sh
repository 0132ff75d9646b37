#!/bin/bash
# links.py must see a link to a missing file, to a missing heading, a result that is not cited, and a list of results that names a
# missing one. usage: links_negative.sh PYTHON3
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/docs/results/day"
failed=0
try() { # expected text, expected status
    output=$("$python" -B -S "$here/links.py" "$tree" 2>&1)
    status=$?
    if [ $status -ne "$2" ] || [[ $output != *"$1"* ]]; then
        printf 'status %d, not %d with "%s"; output: %s\n' $status "$2" "$1" "$output"
        failed=1
    fi
}
good() {
    # shellcheck disable=SC2016 # code of a document
    printf '# Top\n[a](docs/a.md) [b](docs/a.md#the-calls-of-kernels) [c](https://example.org/x) `[d](no.md)`\n' >"$tree/README.md"
    # shellcheck disable=SC2016
    printf '# A\n\n## The `calls` of kernels\n[t](../README.md#top) [r](results/day/table.json) [h](#a)\n' >"$tree/docs/a.md"
    : >"$tree/docs/results/day/table.json"
    : >"$tree/docs/results/day/machine.txt"
}
good
try '' 0
echo '[x](docs/b.md)' >>"$tree/README.md"
try 'README.md:3: docs/b.md: there is no such file' 1
good
echo '[x](docs/a.md#the-calls)' >>"$tree/README.md"
try 'README.md:3: docs/a.md#the-calls: there is no such heading' 1
good
: >"$tree/docs/results/day/old.json"
try 'docs/results/day/old.json: no document cites it' 1
echo '[x](docs/results/day)' >>"$tree/README.md"
try '' 0
echo '- table.json, gone.txt: a table' >"$tree/docs/results/day/README.md"
try 'docs/results/day/README.md: gone.txt: there is no such file' 1
rm "$tree/docs/results/day/README.md"
rm "$tree/docs/results/day/machine.txt"
try 'docs/results/day: has no machine.txt' 1
exit $failed
