#!/bin/bash
# What statics.py must find: statics_negative.sh PYTHON. In a house of its own.
set -eu
python=$1
here=$(cd "$(dirname "$0")" && pwd)
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house/src/one" "$house/src/two" "$house/src/kernels"
write() { # room, text of a source
    printf '%s\n' "$2" >"$house/src/$1/source.c"
}
holds() {
    "$python" -B -S "$here/statics.py" "$house" >/dev/null || { echo "refused: $1"; exit 1; }
}
fails() {
    if "$python" -B -S "$here/statics.py" "$house" >/dev/null 2>&1; then
        echo "not found: $1"
        exit 1
    fi
}
fails "no function at all"
write one $'static int box_size(void)\n{\n    return 1;\n}'
write two $'static int tree_size(void);\nstatic int tree_size(void)\n{\n    return box_size();\n}'
holds "names of their own, and a call"
write kernels $'static int box_size(void)\n{\n    return 1;\n}'
holds "a kernel's body"
write two $'static const struct box *box_size(int (*each)(void),\n                              int most)\n{\n    return 0;\n}'
fails "the same name in two files"
write two $'static inline int box_size(void)\n{\n    return 2;\n}'
fails "the same name, inline"
echo "statics.py finds what it must"
