#!/bin/bash
# words.py must see a word that is in no list, one that no header has, and a program whose macro changes a header.
# usage: words_negative.sh PYTHON3 COMPILER INCLUDE-FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3} compiler=${2:?compiler} include=${3:?headers}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -r "$include/tutti" "$tree"
failed=0
try() { # what is said, exit status, arguments
    said=$("$python" -B -S "$here/words.py" "$tree" "${@:3}" 2>&1)
    status=$?
    if [ $status -ne "$2" ] || [[ $said != *"$1"* ]]; then
        printf 'status %d, not %d with "%s"; said: %s\n' $status "$2" "$1" "${said:0:2000}"
        failed=1
    fi
}
try '' 0
try '' 0 "$compiler" -std=c11
sed -i 's/tshmem_quiet(void);/tshmem_quiet(void);\nvoid tshmem_of(int novelty);/' "$tree/tutti/shmem.h"
try 'novelty is a word of tutti/shmem.h, tutti/words_push.h says otherwise' 1
"$python" -B -S "$here/words.py" "$tree" write
try '' 0
cp "$include/tutti/shmem.h" "$tree/tutti"
try 'novelty is no word of the headers, tutti/words_pop.h says otherwise' 1
"$python" -B -S "$here/words.py" "$tree" write
sed -i '/^#undef DOUBLE$/d' "$tree/tutti/words_push.h"
try 'tutti/words_push.h is stale' 1
try 'DOUBLE' 1 "$compiler" -std=c11
exit $failed
