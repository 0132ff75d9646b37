#!/bin/bash
# Programs that take the MPI's calls from the handle of its library:
# by_handle.sh TUTTI LIBTUTTI NAME=PROGRAM=LIBRARY..., the library without its folder.
. "$(dirname "$0")/check.sh"
tutti=$1 preload=$2
shift 2
unset LD_PRELOAD LD_LIBRARY_PATH
export TUTTI_DEVICE=host TUTTI_HOST_STRICT=1 TUTTI_RULES_FILE=/dev/null
# The launcher by itself refuses root, and more ranks than cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 \
    PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 MPIEXEC_ALLOW_ROOT=1 HYDRA_LAUNCHER=fork
[ $# -gt 0 ] || exit 77
passed='tutti: Tutti was not in front: the program has taken the calls of '

for triple in "$@"; do
    IFS='=' read -r name program library <<<"$triple"
    # `tutti run`: the folder of lib/tutti/ stands in the library's place.
    said=$("$tutti" run -q -n 2 --mpi "$name" "$program" "$library" 2>&1)
    holds "$said" '^by handle: 2 ranks, 0 wrong$' "$name: device memory, by handle"
    lacks "$said" "$passed" "$name: Tutti is in front"
    # Also from a script, by Python's ctypes.
    if command -v python3 >/dev/null; then
        said=$("$tutti" run -q -n 2 --mpi "$name" python3 -c "
import ctypes
mpi = ctypes.CDLL('$library')
mpi.MPI_Init(None, None)
address = ctypes.cast(mpi.MPI_Allreduce, ctypes.c_void_p).value
maps = [line.split() for line in open('/proc/self/maps')]
owner = [m[5] for m in maps if len(m) > 5 and int(m[0].split('-')[0], 16) <= address < int(m[0].split('-')[1], 16)]
print('from', owner[0])
mpi.MPI_Finalize()" 2>&1)
        holds "$said" ' /.*/libtutti\.so$' "$name: ctypes"
    fi
    # The preload alone does not help: that is said, once, where the MPI was used.
    launcher=$("$tutti" run --show -q -n 2 --mpi "$name" "$program" | sed "s|$program.*||; s|LD_PRELOAD[= ][^ ]*||; s|-x ||; s|-genv ||")
    said=$($launcher env LD_PRELOAD="$preload" "$program" "$library" host 2>&1)
    holds "$said" '^by handle: 2 ranks, 0 wrong$' "$name: host memory, by handle, past Tutti"
    checks=$((checks + 1))
    [ "$(grep -c "^$passed" <<<"$said")" -eq 1 ] || fail "$name: the word on calls past Tutti is not there once: $said"
done
said=$($launcher env TUTTI_LOG=quiet LD_PRELOAD="$preload" "$program" "$library" host 2>&1)
lacks "$said" "$passed" "$name: quiet"
finish
