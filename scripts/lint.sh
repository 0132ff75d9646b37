#!/bin/bash
# Formatting, clang-tidy over src, tools, bench and tests (tests/.clang-tidy), cppcheck and shellcheck where they are:
# lint.sh BUILD JOBS. Warnings are errors.
set -u
cd "$(dirname "$0")/.." || exit
build=${1:?build folder}
jobs=${2:?jobs}
failed=0

echo "== clang-format"
scripts/format.sh --check || failed=1

# A file that is compiled several times (an instruction set, an MPI) is looked at once: clang-tidy would look at it as often as
# it stands in the list. The kernels' instantiation is all macros, checked by the compiler; its dispatcher asks gcc for features
# whose names older clangs do not know.
echo "== clang-tidy"
mkdir -p "$build/lint"
files=$(python3 - "$build" "$PWD" <<'END'
import json, re, sys
build, here = sys.argv[1:]
commands = {entry["file"]: entry for entry in reversed(json.load(open(build + "/compile_commands.json")))}
wanted = re.compile(re.escape(here) + r"/(src|tools|bench|tests)/.*\.c$")
once = [entry for file, entry in sorted(commands.items()) if wanted.match(file) and not re.search(r"(kernels_c|dispatch)\.c$", file)]
json.dump(once, open(build + "/lint/compile_commands.json", "w"))
print(*(entry["file"] for entry in once))
END
) || failed=1
# shellcheck disable=SC2086 # a list of files
printf '%s\n' $files | xargs -r -P "$jobs" -n 3 clang-tidy --quiet -p "$build/lint" --extra-arg=-Wno-unknown-warning-option 2>&1 | grep -vE '^[0-9]+ warnings? (and [0-9]+ errors? )?generated|^Suppressed|^Use -header-filter' |
    tee "$build/clang-tidy.log"
[ "${PIPESTATUS[1]}" -eq 0 ] || failed=1

if command -v cppcheck >/dev/null; then
    echo "== cppcheck"
    # What did not change since the last run is not looked at again. scripts/cppcheck.txt: findings that are none.
    mkdir -p "$build/cppcheck"
    cppcheck -j "$jobs" --cppcheck-build-dir="$build/cppcheck" --quiet --std=c11 --enable=warning,portability --error-exitcode=1 \
        --inline-suppr --suppressions-list=scripts/cppcheck.txt -D_GNU_SOURCE -Iinclude -Isrc -I. src tools bench || failed=1
fi

if command -v shellcheck >/dev/null; then
    echo "== shellcheck"
    git ls-files -z '*.sh' | xargs -0 -r shellcheck -x --severity=warning || failed=1
fi
[ $failed -eq 0 ] && echo "lint: no complaint"
exit $failed
