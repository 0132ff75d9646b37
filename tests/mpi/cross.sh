#!/bin/bash
# A program that was built against one MPI runs under another of the same binary interface, with the same libtutti.so.
# cross.sh LIBRARY NAME COMMAND...: a folder gets NAME as a link to LIBRARY, the other MPI's, and is searched first.
# Intel MPI 2021.18 takes the ranks for several nodes where the name of the folder that it is loaded from has fewer than
# about 33 or more than about 57 characters.
set -eu
library=$1 name=$2
shift 2
if [ ! -e "$library" ]; then
    echo "cross: skipped: $library is not here (scripts/mpis.sh fetches it)"
    exit 77
fi
folder=$(mktemp -d /tmp/tutti-cross-another-mpi.XXXXXXXXXX) # 39 characters
trap 'rm -rf "$folder"' EXIT
ln -s "$library" "$folder/$name"
beside=$(dirname "$library")
export LD_LIBRARY_PATH=$folder:$beside:$beside/mpich # where MPICH of PyPI keeps its friends
"$@"
