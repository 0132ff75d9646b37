#!/bin/bash
# Builds the core and its unit tests under sanitizers and runs them: sanitize.sh BUILD JOBS [SANITIZER...]
# SANITIZER: address, undefined, thread; default: all. A run that was ended continues with the tests that have not passed.
# With ccache: CMAKE_C_COMPILER_LAUNCHER=ccache in the environment.
set -u
build=${1:?build folder}
jobs=${2:?jobs}
shift 2
[ $# -gt 0 ] || set -- address undefined thread
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
failed=0
# No sanitizer looks at the CUDA kernels: taken from the build folder where that has them, otherwise made once, in the first
# sanitizer's, without optimisation.
fatbins=
if [ -d "$build/fatbin" ] && cmake --build "$build" -j "$jobs" --target tutti-kernels-cuda >"$build/sanitize-kernels.log" 2>&1; then
    fatbins=$(cd "$build/fatbin" && pwd)
fi
for sanitizer; do
    folder=$build/sanitize-$sanitizer
    echo "== $sanitizer"
    long=2
    [ "$sanitizer" = thread ] && long=1 # it takes about eight times as long as the others
    generator=()
    if [ ! -e "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
    mkdir -p "$folder"
    if ! cmake -S . -B "$folder" "${generator[@]}" -DTUTTI_SANITIZE="$sanitizer" -DTUTTI_TEST_LONG=$long -DTUTTI_CUDA_OPTIMIZE=OFF \
        -DTUTTI_CUDA_FATBINS="$fatbins" >"$folder/configure.log" 2>&1 ||
        ! cmake --build "$folder" -j "$jobs" >"$folder/build.log" 2>&1; then
        tail -n 30 "$folder/configure.log" "$folder/build.log"
        failed=1
        continue
    fi
    if [ -z "$fatbins" ] && [ -d "$folder/fatbin" ]; then fatbins=$(cd "$folder/fatbin" && pwd); fi
    if command -v python3 >/dev/null; then
        python3 -B "$(dirname "$0")/sanitize_tests.py" "$folder" "$jobs" || failed=1
    else
        "$(dirname "$0")/check.sh" "$folder" "$jobs" -L '^unit$' || failed=1
    fi
done
exit $failed
