#!/bin/bash
# calls.py must see a call without a row, a row that is wrong, and lists that contradict each other. usage:
# calls_negative.sh PYTHON3 COMPILER
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3} compiler=${2:?compiler}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/src/mpi/real"
failed=0
many=$(for ((i = 0; i < 300; i++)); do printf 'int MPI_Group_%d(int a);\\n' $i; done)
try() { # rows, needs, local, header, what is said, exit status
    printf '%b\n' "$1" >"$tree/src/mpi/real/calls.def"
    printf '%b\n' "$2" >"$tree/src/mpi/real/needs.def"
    printf '%b\n' "$3" >"$tree/local"
    printf '%b\n' "typedef int MPI_Comm;\n$4" >"$tree/mpi.h"
    said=$("$python" -B -S "$here/calls.py" "$compiler" "$tree" "$tree/local" "$tree/mpi.h" 2>&1)
    status=$?
    if [ $status -ne "$6" ] || [[ $said != *"$5"* ]]; then
        printf 'of: %s, %s, %s\nstatus %d, said: %s\n' "$1" "$2" "$3" $status "$said"
        failed=1
    fi
}
row='TUTTI_CALL_C(MEET, MEETS, MPI_Meet, ON_COMM(comm), NO_BUFFER, (MPI_Comm comm), (comm))'
groups='MPI_Group_* local'
try "$row" '' "$groups" "$many int MPI_Meet(MPI_Comm comm);" '2 rows; 301 calls of 1 headers' 0
try "$row" '' "$groups" "$many int MPI_Meet(MPI_Comm comm); int\nMPI_Sub(MPI_Comm comm);" 'MPI_Sub has no row' 1
try "$row" '' "$groups" "$many int MPI_Meet_c(MPI_Comm comm); double MPI_Time(void);" 'MPI_Time has no row' 1
try "" '' "$groups" "$many extern int MPI_Meet(MPI_Comm comm) __attribute__((cold));" 'MPI_Meet has no row' 1
try "$row" 'TUTTI_NEED(MPI_Other, (int a))' "$groups" "$many" 'MPI_Other is called as it is' 1
try "$row" 'TUTTI_MAY(MPI_Group_1, (int a))' "$groups" "$many" '300 calls' 0
try "$row" '' "$groups\nMPI_Meet local" "$many" 'MPI_Meet has a row in calls.def' 1
try "$row" '' 'MPI_Group_*' "$many" 'a reason is missing' 1
try "${row/MEETS/STANDS}" '' "$groups" "$many" 'it is to be MEETS' 1
try "${row/MEETS/WAITS}" '' "$groups" "$many" 'not words of that list' 1
try "$row" '' "$groups" 'int MPI_Meet(MPI_Comm comm);' 'too few' 1
try "$row" '' "$groups" '#include "nowhere.h"' 'cannot read' 1
try '#include "nowhere.def"' '' "$groups" "$many" 'cannot read calls.def' 1
made='#define MADE(name) TUTTI_CALL(PASS, LOCAL, name##_init, ON_SELF, NO_BUFFER, (void), ())\nMADE(MPI_Meet)'
try "$made" '' "$groups" "$many int MPI_Meet_init(void);" '1 rows; 301 calls' 0
try "$made" '' "$groups" "$many int MPI_Meet(void);" 'MPI_Meet has no row' 1
# An MPI without headers: what its library exports.
for names in MPI_Meet "MPI_Meet MPI_Sub"; do
    printf '%s\n' "$row" >"$tree/src/mpi/real/calls.def"
    printf '%s\n' "$groups" >"$tree/local"
    : >"$tree/src/mpi/real/needs.def"
    for ((i = 0; i < 300; i++)); do printf 'int MPI_Group_%d(void) { return 0; }\n' $i; done >"$tree/mpi.c"
    for name in $names PMPI_Sub; do printf 'int %s(void) { return 0; }\n' "$name"; done >>"$tree/mpi.c"
    "$compiler" -shared -fPIC -o "$tree/libmpi.so" "$tree/mpi.c" || exit 1
    said=$("$python" -B -S "$here/calls.py" "$compiler" "$tree" "$tree/local" "$tree/libmpi.so" 2>&1)
    status=$?
    wanted='2 rows; 301 calls of 1 headers'
    [ "$names" = MPI_Meet ] || wanted='MPI_Sub has no row'
    if [[ $said != *"$wanted"* ]] || { [ "$names" = MPI_Meet ] && [ $status -ne 0 ]; }; then
        printf 'of a library with %s\nstatus %d, said: %s\n' "$names" $status "$said"
        failed=1
    fi
done
said=$("$python" -B -S "$here/calls.py" "$compiler" "$tree" "$tree/local" "$tree/none.so" 2>&1) && failed=1
[[ $said == *"nm cannot read"* ]] || { echo "of no library: $said"; failed=1; }
exit $failed
