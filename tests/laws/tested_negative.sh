#!/bin/bash
# tested.py must see a call that no test makes, and lines that leave out nothing or too much. usage: tested_negative.sh PYTHON3 COMPILER
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3} compiler=${2:?compiler}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/src/mpi/real" "$tree/tests/mpi/every" "$tree/tests/rows"
failed=0
try() { # rows of calls.def, list of calls without a test, text of a test, expected output, expected exit status
    printf '%b\n' "$1" >"$tree/src/mpi/real/calls.def"
    printf '%b\n' "$2" >"$tree/list"
    printf '%b\n' "$3" >"$tree/tests/rows/rows.c"
    said=$("$python" -B -S "$here/tested.py" "$compiler" "$tree" "$tree/list" 2>&1)
    status=$?
    if [ $status -ne "$5" ] || [[ $said != *"$4"* ]]; then
        printf 'of: %s, %s, %s\nstatus %d, said: %s\n' "$1" "$2" "$3" $status "$said"
        failed=1
    fi
}
echo '{"MPI_Attach", "elsewhere"}, MPI_Meet(' >"$tree/tests/mpi/every/every.c"
meet='TUTTI_CALL(MEET, MEETS, MPI_Meet, ON_COMM(comm), NO_BUFFER, (MPI_Comm comm), (comm))'
send='TUTTI_CALL_C(TAKE, SENDS, MPI_Post, ON_COMM(comm), BUFFERS1(buf), (void *buf), (buf))'
try "$meet\n$send" '' 'MPI_Meet(comm);' '3 calls, 0 of them' 0
try "$send" '' '' '2 calls' 0
try "$meet" '' 'PMPI_Meet(comm);' '1 calls' 0
try "$meet" '' 'MPI_Meet_c(comm);' 'MPI_Meet is made by no test' 1
try "$meet" 'MPI_M* later' '' '1 of them in the list' 0
try "${meet/CALL/CALL_C}" '' 'MPI_Meet(comm);' 'MPI_Meet_c is made by no test' 1
try "${send//Post/Attach}" '' '' 'MPI_Attach is made by no test' 1
try "$meet" 'MPI_M* later' 'MPI_Meet(comm);' 'MPI_Meet is made by a test' 1
try "$meet" 'MPI_N* later' 'MPI_Meet(comm);' 'MPI_N* leaves nothing out' 1
try "$meet" 'MPI_M*' '' 'a reason is missing' 1
try '#include "nowhere.def"' '' '' 'cannot read calls.def' 1
exit $failed
