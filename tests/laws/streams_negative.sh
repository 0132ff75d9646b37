#!/bin/bash
# streams.py must see a call without a form, and lines that leave out nothing or too much. usage: streams_negative.sh PYTHON3 COMPILER
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3} compiler=${2:?compiler}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/include/tutti"
failed=0
try() { # header, list, what is said, exit status
    printf '%b\n' "$1" >"$tree/include/tutti/shmem.h"
    printf '%b\n' "$2" >"$tree/left_out"
    said=$("$python" -B -S "$here/streams.py" "$compiler" "$tree" "$tree/left_out" 2>&1)
    status=$?
    if [ $status -ne "$4" ] || [[ $said != *"$3"* ]]; then
        printf 'of: %s, %s\nstatus %d, said: %s\n' "$1" "$2" $status "$said"
        failed=1
    fi
}
form='int tshmem_int_g_on_stream(int *value, void *stream);'
both="int tshmem_int_g(void);\\n$form"
try "$both" '' '1 calls, 1 of them' 0
try "$both\\nvoid tshmem_free(void *at);" 'tshmem_free frees' '2 calls, 1 of them' 0
try "$both\\n#define A(t) int tshmem_##t##_p(int value);\\nA(int)" '' 'tshmem_int_p has no form' 1
try "int tshmem_int_g\\n(void);\\nint tshmem_int_p_on_stream(void *stream);" '' 'tshmem_int_g has no form' 1
try "$both" 'tshmem_int_* it has one' 'tshmem_int_g has a form in stream order' 1
try "$both" 'tshmem_free frees' 'tshmem_free leaves nothing out' 1
try "$both\\nvoid tshmem_free(void *at);" 'tshmem_free' 'a reason is missing' 1
try '#include "nowhere.h"' '' 'cannot read' 1
exit $failed
