# NVIDIA's Jacobi solver (multi-gpu-programming-models) in its forms with MPI and with NCCL, and the latter two with messages in stream
# order: enqueue/nccl.h gives NCCL's names to those. Each compares its result with that of one GPU. The forms with MPI pass device
# memory and run with Tutti alone. Times are those of an iteration; the solver's norm is calculated in each.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(jacobi)
jacobi_forms="mpi mpi_overlap nccl nccl_graphs enqueue enqueue_graphs"
jacobi_sizes="1024:2000 4096:1000 16384:300" # side of the plate, iterations
# shellcheck disable=SC2086 # a list of words
jacobi_rows() { printf 'jacobi-%s\n' $jacobi_forms; }
jacobi_can() { case $1 in *-mpi*) need_gpus 1 '' ;; *) need_gpus 2 'one process a GPU' ;; esac; }

jacobi_ready() {
    local source form
    [ -n "${jacobi:-}" ] && return
    source_of multi-gpu-programming-models || return
    if [ -x "$source/enqueue_graphs/jacobi" ]; then
        jacobi=$source
        return
    fi
    if [ ! -x "$made/jacobi/enqueue_graphs/jacobi" ]; then
        need_build nvcc "$mpicxx" || return
        make_copy "$source" jacobi
        for form in $jacobi_forms; do
            if ! jacobi_make "$form" >"$logs/jacobi-$form.make.log" 2>&1; then
                reason="it could not be built: $logs/jacobi-$form.make.log"
                return 1
            fi
        done
    fi
    jacobi=$made/jacobi
}

jacobi_make() {
    local options=() libraries=()
    case $1 in
    nccl*) libraries=(-lnccl) ;;
    enqueue*)
        cp -r "$made/jacobi/nccl${1#enqueue}" "$made/jacobi/$1" || return
        options=("-I$here/enqueue" "-I$root/include")
        ;;
    esac
    cd "$made/jacobi/$1" && nvcc "-arch=$arch" -O3 -std=c++17 -DHAVE_CUB -c jacobi_kernels.cu &&
        "$mpicxx" -O2 -std=c++17 -DSKIP_CUDA_AWARENESS_CHECK -DOMPI_SKIP_MPICXX "${options[@]}" "-I$cuda/include" jacobi.cpp jacobi_kernels.o \
            -o jacobi.new "-L$cuda/lib64" -lcudart -ldl "${libraries[@]}" -Wl,--as-needed && mv jacobi.new jacobi
}

jacobi_prepare() {
    local form
    for form in $jacobi_forms; do
        mkdir -p "$1/multi-gpu-programming-models/$form" && cp "$jacobi/$form/jacobi" "$1/multi-gpu-programming-models/$form/" &&
            strip "$1/multi-gpu-programming-models/$form/jacobi" || return
    done
}

# jacobi_one ROW WAY FORM: sets $figures, the time of each size. The log of a size is ROW-SIZE.log.
jacobi_one() {
    local program=$jacobi/$3/jacobi size n time alone each
    figures=''
    for size in $jacobi_sizes; do
        n=${size#*:} size=${size%:*}
        launch "$1-$size" 90 "$ranks" "$2" "LD_LIBRARY_PATH=$(library_path "$program")" -- \
            "$program" -csv -nx "$size" -ny "$size" -niter "$n" || { reason="$size^2: $reason" && return 1; }
        read -r time alone < <(awk -F', *' -v n="$ranks" 'NF == 9 && $6 == n { print $8, $9 }' "$log" | tail -n 1)
        [ -n "$alone" ] || { reason="$size^2: it printed no times of $ranks ranks" && return 1; }
        each=$(awk -v s="$time" -v n="$n" 'BEGIN { printf "%.1f", s / n * 1e6 }')
        figures="$figures, $size^2 $each us (one GPU takes $(ratio "$alone" "$time") times as long)"
    done
}

jacobi_run() {
    local form=${1#jacobi-} figures='' with right=0
    jacobi_one "$1" tutti "$form" || right=1
    says="an iteration on $ranks ranks, result right${figures:-: nothing}"
    case $form in
    mpi*) staged_or_not "$sends" ;;
    nccl*)
        if [ $right -eq 0 ] && [ "${PLAIN:-1}" != 0 ] && jacobi_one "$1" plain "$form"; then says="$says; without Tutti${figures#,}"; fi
        ;;
    esac
    return $right
}
