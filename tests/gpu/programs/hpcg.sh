# NVIDIA's HPCG. Modes of its halo exchange: 0 host memory, 1 host memory by Alltoallv, 2 device memory, 3 device memory by
# Alltoallv, 4 NCCL. Modes 0 and 2 are compared with mode 0 without Tutti, 1 and 3 with mode 1, 4 with mode 4. It calls MPI before it
# meets its GPU.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(hpcg)
hpcg_rows() { printf '%s\n' hpcg-2 hpcg-3 hpcg-4 hpcg-0 hpcg-1; }
hpcg_can() { case $1 in *-4) need_gpus 2 NCCL ;; *) need_gpus 1 '' ;; esac; }

hpcg_ready() {
    local source file
    [ -n "${hpcg:-}" ] && return
    source_of nvidia-hpcg || return
    for file in "$source/bin/xhpcg" "$made/nvidia-hpcg/build/bin/xhpcg"; do
        if [ -x "$file" ]; then
            hpcg=$file
            return
        fi
    done
    need_build nvcc "$mpicxx" make || return 1
    local include library
    include=$("$mpicxx" -show 2>/dev/null | grep -oE ' -I[^ ]+' | sed 's/ -I//' | paste -sd :)
    library=$("$mpicxx" -show 2>/dev/null | grep -oE ' -L[^ ]+' | sed 's/ -L//' | head -n 1)
    make_copy "$source" nvidia-hpcg && mkdir -p "$made/nvidia-hpcg/build"
    # One target of the kernels, the compiler's option for x86, and no C++ bindings of the MPI.
    if ! (cd "$made/nvidia-hpcg/build" && ../configure CUDA_X86 &&
        sed -i -e "s/^CUDA_ARCH = .*/CUDA_ARCH = -arch=$arch/" -e "s/-mcpu=\$(CPU_ARCH),-mtune=/-march=/" setup/Make.CUDA_X86 &&
        export CPATH=$include${CPATH:+:$CPATH} LIBRARY_PATH=$cuda/lib64/stubs${LIBRARY_PATH:+:$LIBRARY_PATH} &&
        make -j "$jobs" USE_CUDA=1 USE_GRACE=0 USE_NCCL=1 "MPdir=${library%/lib}" "MPlib=$library" "Mathdir=$cuda" "NCCLdir=$cuda" \
            "CUDA_HOME=$cuda" CPU_ARCH=x86-64-v3 "CXX=nvcc -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX") \
        >"$logs/hpcg.make.log" 2>&1; then
        reason="it could not be built: $logs/hpcg.make.log"
        return 1
    fi
    hpcg=$made/nvidia-hpcg/build/bin/xhpcg
}

hpcg_prepare() { mkdir -p "$1/nvidia-hpcg/bin" && cp "$hpcg" "$1/nvidia-hpcg/bin/" && strip "$1/nvidia-hpcg/bin/xhpcg"; }

# hpcg_mode ROW WAY MODE: sets $gflops, without HPCG's own set-up, whose time differs four times between runs, and $rating, with it.
hpcg_mode() {
    local cores=$((jobs / ranks))
    launch "$1" 100 "$ranks" "$2" "LD_LIBRARY_PATH=$(library_path "$hpcg")" "OMP_NUM_THREADS=$((cores < 8 ? cores : 8))" \
        -- "$hpcg" --nx=128 --ny=128 --nz=128 --rt=5 --b=1 "--p2p=$3" || return
    rating=$(sed -nE 's/.*VALID with a GFLOP\/s rating of=([0-9.e+]+).*/\1/p' "$log" | tail -n 1)
    gflops=$(sed -nE 's/.*GFLOP\/s Summary::Total with convergence overhead=([0-9.e+]+).*/\1/p' "$log" | tail -n 1)
    [ "$(grep -c 'VALID with a GFLOP' "$log")" -eq 1 ] || { reason="it printed no valid result of all ranks" && return 1; }
}

declare -A hpcg_plain=()
hpcg_run() {
    local mode=${1#hpcg-} base right=0 gflops rating
    base=$((mode == 4 ? 4 : mode % 2))
    hpcg_mode "$1" tutti "$mode" || return 1
    says="mode $mode valid, $gflops GFLOP/s (rating $rating)"
    local with=$gflops
    if [ "$mode" -eq 2 ] || [ "$mode" -eq 3 ]; then staged_or_not "$sends|MPI_I?[Aa]lltoallv" || { reason="device memory was staged" && right=1; }; fi
    if [ "${PLAIN:-1}" != 0 ]; then
        if [ -z "${hpcg_plain[$base]:-}" ]; then
            hpcg_mode "$1" plain $base || { says="$says, mode $base without Tutti: $reason" && reason='' && return $right; }
            hpcg_plain[$base]=$gflops
        fi
        says="$says; mode $base without Tutti ${hpcg_plain[$base]} (ratio $(ratio "$with" "${hpcg_plain[$base]}"))"
        log=$logs/$1.log
    fi
    return $right
}
