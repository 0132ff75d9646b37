#!/bin/bash
# requests.py must see a call that gets a request and is not made for persistent sends, and lines that leave out nothing or too much.
# usage: requests_negative.sh PYTHON3 COMPILER
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3} compiler=${2:?compiler}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/src/mpi/real" "$tree/tests/mpi/rts" "$tree/tests/mpi/kit"
failed=0
try() { # rows of calls.def, list, texts of the two tests, expected output, expected exit status
    printf '%b\n' "$1" >"$tree/src/mpi/real/calls.def"
    printf '%b\n' "$2" >"$tree/list"
    printf '%b\n' "$3" >"$tree/tests/mpi/rts/persistent_random.c"
    printf '%b\n' "$4" >"$tree/tests/mpi/kit/completion.c"
    said=$("$python" -B -S "$here/requests.py" "$compiler" "$tree" "$tree/list" 2>&1)
    status=$?
    if [ $status -ne "$6" ] || [[ $said != *"$5"* ]]; then
        printf 'of: %s, %s, %s, %s\nstatus %d, said: %s\n' "$1" "$2" "$3" "$4" $status "$said"
        failed=1
    fi
}
one='TUTTI_CALL(SEE, ENGINE, MPI_Hold, ON_SELF, NO_BUFFER, (MPI_Request *request, MPI_Status *status), (request, status))'
look='TUTTI_CALL(SEE, LOOKS, MPI_Look, ON_SELF, NO_BUFFER, (MPI_Request request, int *flag), (request, flag))'
many='TUTTI_CALL(SEE, LOOKS, MPI_Many, ON_SELF, NO_BUFFER, (int count, const MPI_Request\n    array_of_requests[], int *flag), (count, array_of_requests, flag))'
send='TUTTI_CALL_C(TAKE, LOCAL, MPI_Post, ON_COMM(comm), NO_BUFFER, (void *buf, MPI_Request *request), (buf, request))'
try "$one\n$look\n$many\n$send" '' 'MPI_Hold(&r);' 'MPI_Look, MPI_Many' '3 calls get requests, 0 of them' 0
try "$one\n$send" '' 'MPI_Post(b, &r);' '' 'MPI_Hold gets a request' 1
try "$look\n$send" '' '' 'MPI_Look_at' 'MPI_Look gets a request' 1
try "$many" '' '' '/* MPI_Many */ "MPI_Many"' 'MPI_Many gets a request' 1
try "$many" 'MPI_M* none' '' '' '1 of them in the list' 0
try "$many" 'MPI_M* none' '' 'MPI_Many' 'MPI_Many is made by' 1
try "$one" 'MPI_M* none' 'MPI_Hold' '' 'MPI_M* leaves nothing out' 1
try "$one" 'MPI_H*' '' '' 'a reason is missing' 1
try "$send" '' '' '' '0 calls' 1
try '#include "nowhere.def"' '' '' '' 'cannot read calls.def' 1
exit $failed
