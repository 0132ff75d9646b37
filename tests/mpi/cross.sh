#!/bin/bash
# A program that was built against one MPI runs under another of the same binary interface, with the same libtutti.so.
# cross.sh FOLDER LIBRARY NAME COMMAND...: FOLDER gets NAME as a link to LIBRARY, the other MPI's, and is searched first.
set -eu
folder=$1 library=$2 name=$3
shift 3
if [ ! -e "$library" ]; then
    echo "cross: skipped: $library is not here (scripts/mpis.sh fetches it)"
    exit 77
fi
mkdir -p "$folder"
ln -sf "$library" "$folder/$name"
export LD_LIBRARY_PATH=$folder:$(dirname "$library"):$(dirname "$library")/mpich # where MPICH of PyPI keeps its friends
exec "$@"
