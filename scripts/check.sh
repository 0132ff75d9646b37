#!/bin/bash
# Runs all tests of a build folder: check.sh BUILD JOBS [ctest options]. Last line: "N passed, N failed, N skipped".
set -u
build=${1:?build folder}
jobs=${2:?jobs}
shift 2
log=$build/check.log
# Open MPI 4.1 makes and removes this folder with each job, and fails where two do so at once: it stays meanwhile.
sessions=${TMPDIR:-/tmp}/ompi.$(uname -n | cut -d. -f1).$(id -u)
mkdir -p "$sessions/kept" && chmod 700 "$sessions"
# Four slots a core: many tests wait for time-outs, or for an MPI to start. A test that fails is run once more: launchers and MPIs
# fail now and then by themselves, and machines are busy. A few that fail again are run once more at the end, one at a time. The
# tests that passed the second or third time are listed.
ctest --test-dir "$build" -j $((jobs * 4)) --output-on-failure --no-tests=error --repeat until-pass:2 "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
results=$build/Testing/Temporary
cp "$results/LastTest.log" "$build/check.first.log" 2>/dev/null
if [ "$status" -ne 0 ] && [ -s "$results/LastTestsFailed.log" ] && [ "$(wc -l <"$results/LastTestsFailed.log")" -le 10 ]; then
    ctest --test-dir "$build" -j 1 --output-on-failure --rerun-failed "$@" 2>&1 | tee -a "$log"
    status=${PIPESTATUS[0]}
fi
rmdir "$sessions/kept" 2>/dev/null

read -r passed failed skipped < <(awk -f "$(dirname "$0")/counts.awk" "$log")
awk -v again=1 -f "$(dirname "$0")/counts.awk" "$log"
# Why tests were skipped: the last line that each said.
if [ "$skipped" -gt 0 ]; then
    awk 'FNR == NR { if (/\*\*\*Skipped/) { sub(/.*Test +#[0-9]+: /, ""); is[$1] = 1 } next }
        /^[0-9]+\/[0-9]+ Test: / { name = $3; said = "" }
        /^Output:/ { inside = 1; next }
        /^<end of output>/ { inside = 0; if (name in is) { sub(/^skipped: /, "", said); print "skipped: " name ": " said } }
        inside && NF && !/^-+$/ && said !~ /skip/ { said = $0 }' "$log" "$build/check.first.log"
fi
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ] && [ "$status" -eq 0 ]
result=$?
[ $result -ne 0 ] && [ "$failed" -eq 0 ] && failed=1 # ctest itself failed: it must not read as success
echo "$passed passed, $failed failed, $skipped skipped"
exit $result
