# NVIDIA's Jacobi solver (multi-gpu-programming-models) in its forms with MPI and with NCCL. Each compares its result with
# that of one GPU. The forms with MPI pass device memory and run with Tutti alone.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(jacobi)
jacobi_forms="mpi mpi_overlap nccl nccl_graphs"
# shellcheck disable=SC2086 # a list of words
jacobi_rows() { printf 'jacobi-%s\n' $jacobi_forms; }
jacobi_can() { case $1 in *-nccl*) need_gpus 2 NCCL ;; *) need_gpus 1 '' ;; esac; }

jacobi_ready() {
    local source form
    [ -n "${jacobi:-}" ] && return
    source_of multi-gpu-programming-models || return
    if [ -x "$source/nccl_graphs/jacobi" ]; then
        jacobi=$source
        return
    fi
    if [ ! -x "$made/jacobi/nccl_graphs/jacobi" ]; then
        need_build nvcc "$mpicxx" || return
        make_copy "$source" jacobi
        for form in $jacobi_forms; do
            # shellcheck disable=SC2046 # one word or none
            if ! (cd "$made/jacobi/$form" && nvcc "-arch=$arch" -O3 -std=c++17 -DHAVE_CUB -c jacobi_kernels.cu &&
                "$mpicxx" -O2 -std=c++17 -DSKIP_CUDA_AWARENESS_CHECK -DOMPI_SKIP_MPICXX "-I$cuda/include" jacobi.cpp jacobi_kernels.o \
                    -o jacobi.new "-L$cuda/lib64" -lcudart -ldl $([[ $form == nccl* ]] && echo -lnccl) -Wl,--as-needed &&
                mv jacobi.new jacobi) >"$logs/jacobi-$form.make.log" 2>&1; then
                reason="it could not be built: $logs/jacobi-$form.make.log"
                return 1
            fi
        done
    fi
    jacobi=$made/jacobi
}

jacobi_prepare() {
    local form
    for form in $jacobi_forms; do
        mkdir -p "$1/multi-gpu-programming-models/$form" && cp "$jacobi/$form/jacobi" "$1/multi-gpu-programming-models/$form/" &&
            strip "$1/multi-gpu-programming-models/$form/jacobi" || return
    done
}

# jacobi_one ROW WAY FORM: sets $time and $alone, the seconds on all GPUs and on one.
jacobi_one() {
    local program=$jacobi/$3/jacobi
    launch "$1" 90 "$ranks" "$2" "LD_LIBRARY_PATH=$(library_path "$program")" -- \
        "$program" -csv -nx 8192 -ny 8192 -niter 1000 || return
    read -r time alone < <(awk -F', *' -v n="$ranks" 'NF == 9 && $6 == n { print $8, $9 }' "$log" | tail -n 1)
    [ -n "$alone" ] || { reason="it printed no times of $ranks ranks" && return 1; }
}

jacobi_run() {
    local form=${1#jacobi-} time='' alone='' with
    jacobi_one "$1" tutti "$form" || return 1
    says="right, $time s on $ranks ranks, one GPU $alone s (ratio $(ratio "$alone" "$time"))"
    case $form in
    mpi*) staged_or_not "$sends" ;;
    *)
        with=$time
        if [ "${PLAIN:-1}" != 0 ] && jacobi_one "$1" plain "$form"; then
            says="$says; without Tutti $time s (ratio $(ratio "$time" "$with"))"
        fi
        ;;
    esac
    return 0
}
