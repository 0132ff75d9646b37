# Tests of others for calls in stream order, unmodified: those of MPI Advance's stream-triggering, compiled against Tutti's
# stream-triggering.h, and of MPICH's for its _enqueue calls. They choose no GPU: each rank sees its own first.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(triggering)
triggering_tests="multi-backend/hello_world multi-backend/ring multi-backend/halo multi-backend/rsend benchmark/pingpong_st benchmark/pingpong_st_db"
triggering_rows() {
    # shellcheck disable=SC2086 # a list of words
    for test in $triggering_tests; do echo "triggering-${test#*/}"; done
    # Each rank is a node.
    for test in $triggering_tests; do [ "${test#*/}" = hello_world ] || echo "triggering-nodes-${test#*/}"; done
    printf 'triggering-mpich-%s\n' stream_allred stream stream_progress saxpy
}
triggering_can() { need_gpus 2 'one process a GPU'; }

# triggering_make NAME: sets $program.
triggering_make() {
    local name=$1 test file options=("-I$root/include" -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
    program=$made/triggering/$name
    [ -x "$program" ] && return
    if [ -x "${sources:+$sources/triggering/$name}" ]; then
        program=$sources/triggering/$name
        return
    fi
    need_build nvcc "${mpicxx:-mpicxx}" || return
    mkdir -p "$made/triggering"
    case $name in
    mpich-*) # its mpi.h declares these calls; with any other MPI mpix.h does
        source_of 'mpich*' || return
        file=${name%_progress} # the same program with an argument
        file=$source/test/mpi/impls/mpich/cuda/${file#mpich-}.cu
        printf '#include <mpi.h>\n#include <tutti/mpix.h>\n' >"$made/triggering/first.h"
        options+=(-include "$made/triggering/first.h")
        ;;
    *) # ring.cpp itself includes stream-triggering.h nowhere
        source_of 'stream-triggering*' || return
        for test in $triggering_tests; do [ "${test#*/}" != "$name" ] || break; done
        file=$source/tests/$test.cpp
        options+=(-include stream-triggering.h -x cu -std=c++20 -DNEED_CUDA -DCUDA_BACKEND "-I$source/tests/common" "-I$root/include/tutti/triggering")
        ;;
    esac
    nvcc -O2 -arch="$arch" -ccbin "$mpicxx" "${options[@]}" "$file" -o "$program" -lcuda "-L$cuda/lib64/stubs" \
        >"$logs/triggering-$name.make.log" 2>&1 && return
    reason="it could not be built: $logs/triggering-$name.make.log"
    return 1
}

# Each row builds what it lacks. PREPARE builds all.
triggering_ready() {
    local row
    [ -n "${PREPARE:-}" ] || return 0
    for row in $(triggering_rows); do
        row=${row#triggering-}
        triggering_make "${row#nodes-}" || return
    done
}
triggering_prepare() { mkdir -p "$1/triggering" && cp "$made"/triggering/* "$1/triggering/"; }

triggering_run() {
    local name=${1#triggering-} words=() nodes=() wrong program
    local first=${CUDA_VISIBLE_DEVICES%%,*} second=${CUDA_VISIBLE_DEVICES#*,}
    second=${second%%,*}
    # shellcheck disable=SC2016 # for the shell that each rank starts
    local each='case ${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-0}} in 0) CUDA_VISIBLE_DEVICES=$FIRST,$SECOND ;; *) CUDA_VISIBLE_DEVICES=$SECOND,$FIRST ;; esac
export CUDA_VISIBLE_DEVICES && exec "$0" "$@"'
    case $name in nodes-*) nodes=(TUTTI_NODE_RANKS=1 TUTTI_ASYNC_PROGRESS=1) && name=${name#nodes-} ;; esac
    triggering_make "$name" || return 77
    case $name in mpich-*_progress) words=(-progress-thread) ;; mpich-* | hello_world) ;; *) words=(200 5000) ;; esac # iterations, integers
    launch "$1" 90 2 tutti "FIRST=$first" "SECOND=$second" "${nodes[@]}" "LD_LIBRARY_PATH=$(library_path "$program")" -- sh -c "$each" "$program" "${words[@]}" || return
    wrong=$(tail -n +2 "$log" | grep -aiE 'wrong|error' | grep -aviE 'no errors' | head -n 1 | cut -c1-160)
    says=$(tail -n +2 "$log" | grep -av '^tutti:' | tail -n 1 | cut -c1-100)
    [ -z "$wrong" ] || { reason=$wrong && return 1; }
}
