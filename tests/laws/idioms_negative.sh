#!/bin/bash
# idioms.py must see an idiom in each kind of text, also over two lines, and must let pass code and other texts. usage: idioms_negative.sh PYTHON3
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{docs,include/tutti,src/core,src/mpi,tests/core}
list=$tree/list
failed=0
try() { # expected text, expected status, more arguments
    output=$("$python" -B -S "$here/idioms.py" "$tree" "$list" "${@:3}" 2>&1)
    status=$?
    if [ $status -ne "$2" ] || [[ $output != *"$1"* ]]; then
        printf 'status %d, not %d with "%s"; output: %s\n' $status "$2" "$1" "$output"
        failed=1
    fi
}
breach() { # file, text, expected line, kind
    printf '%b\n' "$2" >"$tree/$1"
    try "$1:$3: $4: \"has come\"" 1
    rm "$tree/$1"
}
printf '# a comment\n   0    0    0    0  \\bhas\\s+come\\b\n' >"$list"
try '' 0
breach README.md 'A message has come.' 1 documents
breach docs/a.md 'A message has\ncome.' 1 documents
breach include/tutti/a.h 'int a;\n/* A message has\n * come. */' 2 headers
breach include/tutti/a.def 'ROW(a, "it has come")' 1 headers
breach src/mpi/a.c '/* a */\nsay("it has "\n    "come");' 2 messages
breach src/core/a.c 'int a; // it has come' 1 comments
breach tests/core/a.c '/* Tests what has come. */\nint a;' 1 comments
breach tests/core/a.sh '#!/bin/bash\n# Tests what has come.' 2 comments

printf 'int has, come; /* has */ int b = has come; /* come */\n' >"$tree/include/tutti/a.h"
printf '/* it has come */ say("no"); // it has come\n' >"$tree/src/mpi/a.c"
printf '/* A test. */\nint a; /* it has come */\n' >"$tree/tests/core/a.c"
try '' 0

# Counts fall, never rise.
printf 'It has come, it has come.\n' >"$tree/README.md"
printf '   3    0    0    0  \\bhas\\s+come\\b\n' >"$list"
try 'documents: only 2 times' 1
try '' 0 write
try '' 0
grep -q '^ *2 ' "$list" || { echo "write has not stored 2: $(cat "$list")"; failed=1; }
printf 'It has come, it has come, it has come.\n' >"$tree/README.md"
try 'documents: 3 times' 1 write
grep -q '^ *2 ' "$list" || { echo "write has raised a count: $(cat "$list")"; failed=1; }
exit $failed
