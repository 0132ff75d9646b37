#!/bin/bash
# more.py must see each kind of wrong line, and must let pass rows whose MPI is missing. usage: more_negative.sh PYTHON3
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${1:?python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
row() { printf '{"name": "%s", "command": ["mpirun.a", "-n", "2", "env", "A=/tests/b", "/build/tests/%s"]}' "$1" "$2"; }
{
    printf '{"tests": ['
    row mpi-a.openmpi mpi/mpi-a.openmpi && printf ','
    row mpi-a.mpich mpi/mpi-a.mpich && printf ','
    row mpi-b.mpich mpi/mpi-b.mpich && printf ','
    row shmem-a shmem/a
    printf ']}'
} >"$folder/tests"
try() { # lines, expected text, expected status
    printf '# a comment\n%b\n' "$1" >"$folder/list"
    output=$("$python" -B -S "$here/more.py" "$folder/list" "$folder/tests" 2>&1)
    status=$?
    if [ $status -ne "$3" ] || [[ $output != *"$2"* ]]; then
        printf 'status %d, not %d with "%s"; output: %s\n' $status "$3" "$2" "$output"
        failed=1
    fi
}
try 'mpi-a.mpich mpi-a.openmpi' '' 0
try 'mpi-a.mpich shmem-a' '' 0
try 'mpi-a.mpich5 mpi-a.openmpi' '' 0
try 'mpi-a.mpich mpi-a.openmpi5' '' 0
try 'mpi-c.mpich mpi-a.openmpi' 'mpi-c.mpich: there is no such test under any MPI' 1
try 'mpi-b.mpich mpi-a.openmpi' 'mpi-b.mpich: mpi-a.openmpi is a test of another program' 1
try 'mpi-a.mpich mpi-a.openmpi\nmpi-a.openmpi shmem-a' 'mpi-a.mpich: mpi-a.openmpi is left out too' 1
try 'mpi-a.mpich mpi-a.openmpi\nmpi-a.mpich shmem-a' 'a row stands twice' 1
try 'mpi-a.mpich' 'mpi-a.mpich: not two names' 1
exit $failed
