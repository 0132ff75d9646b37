#!/bin/bash
# What public.py must find: public_negative.sh PYTHON. In a house of its own.
set -eu
python=$1
here=$(cd "$(dirname "$0")" && pwd)
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house/include/tutti"
try() { # expected status, expected text, text of a header
    local output status=0
    printf '%s\n' "$3" >"$house/include/tutti/a.h"
    output=$("$python" -B -S "$here/public.py" "$house") || status=$?
    if [ "$status" -ne "$1" ] || [[ $output != *"$2"* ]]; then
        echo "status $status, not $1 with \"$2\": $output: $3"
        exit 1
    fi
}
try 0 '2 calls' $'/* Head. */\n\n/* Local. It adds. */\nTUTTI_API int tutti_add(int a);\nTUTTI_API int tutti_more(int a,\n                         int b);'
try 0 '1 calls' $'/* Head. All calls are local. */\n\n/* It adds. */\nTUTTI_API int tutti_add(int a);'
try 0 '1 calls' $'/* Head. */\n\n/* ---- order: local ---- */\n\nTUTTI_API int tutti_add(int a);'
try 0 '2 calls' $'/* Head. */\n\n/* Each is collective. */\n/* It adds. */\nTUTTI_API int tutti_add(int a);\n/* It takes away. */\nTUTTI_API int tutti_take(int a);'
try 1 'tutti_add: has no comment' $'/* Head. All calls are local. */\n\nTUTTI_API int tutti_add(int a);'
try 1 'a.h:6: tutti_add: its comment does not state' $'/* Head.\n * Local calls. */\n\n/* It adds. */\n#define X\nTUTTI_API int tutti_add(int a);'
try 1 'tutti_add: its comment does not state' $'/* Head. */\n\n/* Local. */\nTUTTI_API int tutti_sub(int a);\n\n/* It adds. */\nTUTTI_API int tutti_add(int a);'
echo "public.py finds what it must"
