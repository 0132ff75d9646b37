#!/bin/bash
# What called.py must find, and what it must not: called_negative.sh PYTHON. In a house of its own.
set -eu
python=$1
here=$(cd "$(dirname "$0")" && pwd)
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house/src" "$house/tests" "$house/tools"
list=$house/left_out
: >"$list"
write() { # file, text
    printf '%s\n' "$2" >"$house/$1"
}
holds() {
    "$python" -B -S "$here/called.py" "$house" "$list" >/dev/null || { echo "refused: $1"; exit 1; }
}
fails() { # what it is, what must be reported
    local said
    if said=$("$python" -B -S "$here/called.py" "$house" "$list" 2>&1); then
        echo "not found: $1"
        exit 1
    fi
    [[ $said == *"$2"* ]] || { echo "$1: $said"; exit 1; }
}
fails "no function at all" ""
write src/box.h $'/* tree_size() */\nint box_size(void);\nint tree_size(const char *name,\n              int most);\nstatic inline int leaf_size(void)\n{\n    return 1;\n}'
write src/box.c $'int box_size(void)\n{\n    return 1;\n}\n\nint tree_size(const char *name,\n              int most)\n{\n    return box_size();\n}'
holds "no test calls anything"
write tests/box.c $'int main(void)\n{\n    return tree_size("", 1);\n}'
fails "a function that a test alone calls" "src/box.h: only tests call tree_size()"
write tests/box.c $'int main(void)\n{\n    return tree_size("", 1) + box_size();\n}'
fails "what only that function calls" "src/box.h: only tests call box_size()"
write tools/tool.c $'/* tree_size() */\nint main(void)\n{\n    return box_size();\n}'
fails "a name in a comment" "tree_size()"
echo 'tree_* the test asks' >"$list"
holds "left out"
echo 'leaf_* the test asks' >>"$list"
fails "a line that leaves nothing out" "leaf_* leaves nothing out"
write tests/box.c $'int main(void)\n{\n    return leaf_size() + tree_size("", 1);\n}'
holds "an inline function, left out"
echo 'tree_* the test asks' >"$list"
fails "an inline function" "leaf_size()"
write tools/tool.c $'int main(void)\n{\n    return box_size() + leaf_size();\n}'
holds "a tool calls it"
: >"$list"
write src/box.def 'ROW(tree_size)'
holds "a table names it"
echo "called.py finds what it must"
