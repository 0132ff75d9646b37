#!/bin/bash
# tutti run under the system's MPIs: run.sh TUTTI [FOLDER-OF-OTHER-MPIS] NAME=PROGRAM..., a program for each MPI.
. "$(dirname "$0")/check.sh"
tutti=$1
shift
others=
if [[ $1 == /* && $1 != *=* ]]; then
    others=$1
    shift
fi
unset LD_PRELOAD TUTTI_DEVICE
[ $# -gt 0 ] || exit 77

for pair in "$@"; do
    name=${pair%%=*} program=${pair#*=}
    # The program says which MPI starts it.
    said=$("$tutti" run -n 2 --device host "$program" "two words" 2>&1)
    holds "$said" '^ranks 2 sum 1$' "$name"
    holds "$said" '^preload .*/libtutti\.so$' "$name: the library is in front of the ranks"
    holds "$said" '^device host$' "$name: --device reaches the ranks"
    holds "$said" '^argument 1 <two words>$' "$name: arguments stay words"
    lacks "$said" 'does not say which MPI' "$name: the program said it"
    # More ranks than cores; options after the program are the program's.
    said=$("$tutti" run -n $(($(nproc) + 1)) "$program" --mpi 2>&1)
    holds "$said" "^ranks $(($(nproc) + 1)) " "$name: more ranks than cores"
    holds "$said" '^argument 1 <--mpi>$' "$name: options after the program"
    # By name and by launcher.
    expect 0 "ranks 2" "$tutti" run -n 2 --mpi "$name" "$program"
    launcher=$("$tutti" run --show -n 2 "$program" | cut -d' ' -f1)
    expect 0 "ranks 2" "$tutti" run -n 2 --mpi "$launcher" "$program"
    expect 0 "ranks 1" "$tutti" run "$program"
    # The exit status is the launcher's.
    checks=$((checks + 1))
    "$tutti" run -n 1 "$program" x 7 >/dev/null 2>&1
    got=$?
    [ $got -eq 7 ] || fail "$name: status $got instead of 7"
    # An LD_PRELOAD of the user's stays: in front of ours, unless it is an MPI.
    mine=$(ldd "$program" | sed -n 's/.*=> \(.*libc\.so\.6\) .*/\1/p')
    said=$(LD_PRELOAD=$mine "$tutti" run -n 1 "$program" 2>&1)
    holds "$said" "^preload $mine:.*/libtutti\.so\$" "$name: LD_PRELOAD is kept"
    mpi=$(ldd "$program" | sed -n 's/.*=> \(.*libmpi[^ ]*\) .*/\1/p' | head -n 1)
    said=$(LD_PRELOAD="$mpi $mine" "$tutti" run -n 1 "$program" 2>&1)
    holds "$said" "^preload .*/libtutti\.so:$mpi:$mine\$" "$name: Tutti is in front of a preloaded MPI"
    # The launcher's own options.
    said=$("$tutti" run --show -n 3 --mpi-args "-a 'b c'" "$program" d)
    holds "$said" " -n 3 .* -a b c $program d\$" "$name: --mpi-args"
done

# Hardware queues for streams; under MPS, whose processes share them, as many as the driver gives. The user's own choice
# stays.
unset CUDA_DEVICE_MAX_CONNECTIONS
folder=$(mktemp -d)
said=$(CUDA_MPS_PIPE_DIRECTORY=$folder "$tutti" run -q env 2>&1)
holds "$said" '^CUDA_DEVICE_MAX_CONNECTIONS=32$' "queues"
touch "$folder/control"
said=$(CUDA_MPS_PIPE_DIRECTORY=$folder "$tutti" run -q env 2>&1)
lacks "$said" 'CUDA_DEVICE_MAX_CONNECTIONS' "queues under MPS"
said=$(CUDA_MPS_PIPE_DIRECTORY=$folder CUDA_DEVICE_MAX_CONNECTIONS=12 "$tutti" run -q env 2>&1)
holds "$said" '^CUDA_DEVICE_MAX_CONNECTIONS=12$' "the user's own number of queues"
rm -r "$folder"

# Programs that ask Cray MPICH's variable are told that CUDA memory may be passed; Cray MPICH itself, and a user's own
# word, stay as they are.
unset MPICH_GPU_SUPPORT_ENABLED CRAY_MPICH_DIR CRAY_MPICH_VERSION
said=$("$tutti" run -q --device cuda env 2>&1)
holds "$said" '^MPICH_GPU_SUPPORT_ENABLED=1$' "the variable for programs that ask"
said=$("$tutti" run -q --device host env 2>&1)
lacks "$said" 'MPICH_GPU_SUPPORT_ENABLED' "no CUDA device"
said=$(CRAY_MPICH_DIR=/opt/cray "$tutti" run -q --device cuda env 2>&1)
lacks "$said" 'MPICH_GPU_SUPPORT_ENABLED' "Cray MPICH"
said=$(MPICH_GPU_SUPPORT_ENABLED=0 "$tutti" run -q --device cuda env 2>&1)
holds "$said" '^MPICH_GPU_SUPPORT_ENABLED=0$' "the user's own choice"

# A program of one MPI is not given to another one's launcher.
for pair in "$@"; do
    case ${pair%%=*} in
    openmpi) other=mpich ;;
    *) other=openmpi ;;
    esac
    case "$*" in
    *"$other="*) expect 125 "does not offer" "$tutti" run --mpi $other "${pair#*=}" ;;
    esac
done

# Another MPI of the same interface: its launcher and its library, not the one that the program was linked to, also where
# the library has another name.
# shellcheck disable=SC2034 # taken by name below
title_impi='Intel\(R\) MPI Library' title_mpich='MPICH Version: *5' title_openmpi='Open MPI v5'
for pair in "$@"; do
    case ${pair%%=*} in
    openmpi) names=openmpi ;;
    *) names='mpich impi' ;;
    esac
    for name in $names; do
        if [ -z "$others" ] || [ ! -e "$others/$name/ready" ]; then continue; fi
        title=title_$name
        said=$("$tutti" run -n 2 --device host --mpi "$others/$name" "${pair#*=}" 2>&1)
        holds "$said" "^library ${!title}" "$others/$name: its own library"
        holds "$said" '^ranks 2 sum 1$' "$others/$name"
    done
done

# A script does not say: the choice is said, -q keeps quiet.
script=$(mktemp -d)/script
trap 'rm -rf "$(dirname "$script")"' EXIT
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\necho from the script: $1\n' >"$script"
chmod +x "$script"
said=$("$tutti" run -n 2 "$script" word 2>&1)
holds "$said" 'does not say which MPI it uses: .* starts it; --mpi chooses another$' "script"
holds "$said" '^from the script: word$' "script"
lacks "$("$tutti" run -q -n 1 "$script" 2>&1)" 'does not say' "script, quiet"
chmod -x "$script"
expect 126 "is not a program that can be executed" "$tutti" run "$script"
finish
