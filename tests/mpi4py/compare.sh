#!/bin/bash
# mpi4py's own tests with Tutti in front against the same without: compare.sh BUILD FOLDER [MPI [RANKS [MODULES...]]]
# BUILD: build folder whose mpis/ scripts/mpis.sh has filled. FOLDER: for mpi4py's source package, fetched once, and for
# the results of the tests. MPI: openmpi (default), mpich. RANKS: in quotes, "1 2 4". A test of which a rank says
# something else with Tutti is printed, as is one with arrays in device memory that fails.
set -u
build=$(cd "${1:?build folder}" && pwd) || exit 2
mkdir -p "${2:?folder}" && folder=$(cd "$2" && pwd) || exit 2
mpi=${3:-openmpi}
all=${4:-1 2 4}
shift $(($# < 4 ? $# : 4))
here=$(cd "$(dirname "$0")" && pwd)
python=$build/mpis/python/bin/python3
version=4.1.2
limit=${TUTTI_TEST_LIMIT:-1500}

if [ ! -d "$folder/mpi4py-$version/test" ]; then
    if ! "$python" -m pip download -q --no-deps --no-binary mpi4py --disable-pip-version-check -d "$folder" \
        "mpi4py==$version" || ! tar -xzf "$folder/mpi4py-$version.tar.gz" -C "$folder"; then
        echo "mpi4py: skipped: its source package cannot be had here"
        exit 77
    fi
fi

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 MPIEXEC_ALLOW_ROOT=1 HYDRA_LAUNCHER=fork
case $mpi in
openmpi) which=(MPI4PY_MPIABI=openmpi MPI4PY_LIBMPI=libmpi.so.40) ;;
mpich) which=(MPI4PY_MPIABI=mpich "LD_LIBRARY_PATH=$build/mpis/python/alias"
    "MPI4PY_LIBMPI=$build/mpis/python/alias/libmpi.so.12") ;;
*)
    echo "compare.sh: openmpi or mpich" >&2
    exit 2
    ;;
esac

# run RESULT RANKS [VARIABLES...] -- [MODULES...]
run() {
    local result=$1 ranks=$2 variables=()
    shift 2
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    rm -f "$result".*
    for ((rank = 0; rank < ranks; rank++)); do
        : >"$result.$rank"
    done
    timeout -k 10 "$limit" "mpirun.$mpi" -n "$ranks" env "${which[@]}" "${variables[@]}" \
        "$python" "$here/run.py" "$folder/mpi4py-$version/test" "$result" "$@" >"$result.out" 2>&1
}

tutti=("LD_PRELOAD=$build/lib/libtutti.so" TUTTI_DEVICE=host TUTTI_HOST_STRICT=1 TUTTI_RULES_FILE=/dev/null)
different=0
for ranks in $all; do
    base=$folder/$mpi.$ranks
    run "$base.plain" "$ranks" TUTTI_TEST_ARRAYS=host -- "$@"
    run "$base.host" "$ranks" "${tutti[@]}" TUTTI_TEST_ARRAYS=host -- "$@"
    run "$base.device" "$ranks" "${tutti[@]}" TUTTI_TEST_ARRAYS=device -- "$@"
    for ((rank = 0; rank < ranks; rank++)); do
        for kind in host device; do
            # What the plain MPI skips since it lacks a call may be there with Tutti.
            lines=$(diff "$base.plain.$rank" "$base.$kind.$rank" | grep '^>' | grep -v ' ok$')
            [ -z "$lines" ] && continue
            different=1
            echo "$mpi, $ranks ranks, rank $rank, arrays of the $kind:"
            echo "$lines"
        done
    done
    echo "$mpi, $ranks ranks: $(grep -c ' ok$' "$base.plain.0") tests passed without Tutti," \
        "$(grep -c ' ok$' "$base.host.0") with it, $(grep -c ' ok$' "$base.device.0") with device memory too"
    for kind in plain host device; do
        [ "$(tail -n 1 "$base.$kind.0")" = "all of them" ] && continue
        echo "$mpi, $ranks ranks, $kind: did not end: $(tail -n 1 "$base.$kind.0")"
        different=1
    done
done
exit $different
