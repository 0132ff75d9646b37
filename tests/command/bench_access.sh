#!/bin/bash
# tutti bench file_write ... accumulate under one MPI on the host device: bench_access.sh TUTTI MPI [short].
# short: what depends on the MPI.
# shellcheck source=tests/command/on_host.sh
. "$(dirname "$0")/on_host.sh"
short=${3:-}

# measured NAME OPTION...: a row of each of two sizes.
measured() {
    bench_rows "$1" ' +GB/s +Median +Min +Iterations +hand +x +host +x +best +x' \
        " +($number|-) +($number|-) +($number|-) +([0-9]+|-)( +$number){4}  (hand|host) +$number" --timeout 60 "${@:2}"
}
measured file_write --folder "$folder"
holds "$said" "^8( +$number){3} +[0-9]+" "file_write: times of the library"
measured file_read --folder "$folder" --collective
holds "$said" "^8( +$number){3} +[0-9]+" "file_read: times of the library"
measured put --window 5
measured get --sync fence --host-window
if [ -z "$short" ]; then
    measured file_write --folder "$folder" --collective -n 3
    measured accumulate --sync pscw --window 7
    measured put --sync lock --host-window
    expect 2 "has two ranks" "$tutti" bench put -n 3
    expect 2 "whole number of ints" "$tutti" bench accumulate -m 6,10
    expect 2 "sync" "$tutti" bench put --sync soon
    checks=$((checks + 1))
    [ -z "$(ls "$folder")" ] || fail "a file is left"
fi
finish
