# Programs written for NVSHMEM, unmodified, compiled against Tutti's folder in NVSHMEM's place (BUILD/lib/tutti/nvshmem): NVIDIA's
# Jacobi solver of multi-gpu-programming-models, by its own Makefile, and the examples of NVIDIA's nvshmem. Where NVSHMEM itself is
# (NVSHMEM_HOME: a folder with include/ and lib/; or the Python package), the Jacobi is built and run with it, too.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(nvshmem)
nvshmem_examples="hello collective-launch dev-guide-ring dev-guide-ring-mpi moe_shuffle mpi-based-init on-stream put-block ring-bcast \
ring-reduce shmem-based-init thread-group uid-based-init"
nvshmem_home=$build/lib/tutti/nvshmem
nvshmem_of_32=("NVCC=nvcc -maxrregcount=32") # of its kernel by blocks of 1024 threads, two fit on a multiprocessor with 32 registers
nvshmem_rows() {
    printf 'nvshmem-jacobi%s\n' '' -norm_overlap -block -block-32
    # shellcheck disable=SC2086 # a list of words
    printf 'nvshmem-%s\n' $nvshmem_examples
}
nvshmem_can() { need_gpus 2 'one process a GPU'; }

# Each row builds what it lacks. PREPARE builds all.
nvshmem_ready() {
    local name
    [ -n "${PREPARE:-}" ] || return 0
    for name in $nvshmem_examples; do nvshmem_make "$name" || return; done
    nvshmem_make_jacobi nvshmem-jacobi "$nvshmem_home" || return
    nvshmem_make_jacobi nvshmem-jacobi-32 "$nvshmem_home" "${nvshmem_of_32[@]}" || return
    ! nvshmem_theirs || nvshmem_make_theirs
}

nvshmem_prepare() {
    mkdir -p "$1/nvshmem" && cp "$made"/nvshmem-examples/* "$made/nvshmem-jacobi/jacobi" "$1/nvshmem/" || return
    cp "$made/nvshmem-jacobi-32/jacobi" "$1/nvshmem/jacobi-32" || return
    [ ! -x "$made/nvshmem-jacobi-theirs/jacobi" ] || cp "$made/nvshmem-jacobi-theirs/jacobi" "$1/nvshmem/jacobi-theirs"
}

# nvshmem_prepared NAME: sets $program, one that PREPARE has left in DIR.
nvshmem_prepared() {
    program=$sources/nvshmem/$1
    [ -n "$sources" ] && [ -f "$program" ] && [ -x "$program" ]
}

# NVSHMEM itself: sets $theirs, a folder with include/ and lib/.
nvshmem_theirs() {
    local folder
    for folder in "${NVSHMEM_HOME:-}" $(timeout 60 python3 -c 'import glob, sysconfig
print(*glob.glob(sysconfig.get_path("purelib") + "/nvidia/nvshmem"))' 2>/dev/null) /usr/local/nvshmem; do
        if [ -e "$folder/include/nvshmem.h" ] && ls "$folder"/lib/libnvshmem_host.so* >/dev/null 2>&1; then
            theirs=$folder
            return
        fi
    done
    return 1
}

# nvshmem_make_jacobi NAME HOME WORDS...: sets $program, built by the Makefile as a user would; 1 with $reason.
nvshmem_make_jacobi() {
    local folder=$made/$1 home=$2
    shift 2
    program=$folder/jacobi
    [ -x "$program" ] && return
    need_build nvcc make mpic++ && source_of multi-gpu-programming-models || return
    rm -rf "$folder" && cp -r "$source/nvshmem" "$folder" || return
    # The Makefile links libcuda and libnvidia-ml, which come with the driver. A machine without one has the toolkit's stand-ins,
    # or an empty one: the solver calls nothing of the second.
    if ! ldconfig -p | grep -q 'libnvidia-ml\.so ' && [ ! -e "$cuda/lib64/stubs/libnvidia-ml.so" ]; then
        cc -shared -x c /dev/null -o "$folder/libnvidia-ml.so" || return
    fi
    if ! LIBRARY_PATH="$folder:$cuda/lib64/stubs${LIBRARY_PATH:+:$LIBRARY_PATH}" make -C "$folder" "NVSHMEM_HOME=$home" "BUILD_SM_ARCH=${arch#sm_}" "$@" >"$folder.make.log" 2>&1; then
        rm -f "$program"
        reason="it could not be built: $folder.make.log"
        return 1
    fi
}
nvshmem_make_theirs() { # the names of the libraries are those of NVSHMEM 3; a Python package has no link without a version
    local host
    for host in "$theirs"/lib/libnvshmem_host.so*; do break; done
    nvshmem_make_jacobi nvshmem-jacobi-theirs "$theirs" \
        "NVCC_LDFLAGS=-ccbin=mpic++ -Xlinker $host -L$theirs/lib -lnvshmem_device -L$cuda/lib64 -lcuda -lcudart -ldl -lnvidia-ml"
}

# nvshmem_time ROW WAY PROGRAM LIBRARIES OPTIONS...: sets $figures, the time of each size. The program itself compares its
# result with that of one GPU. The log of a size is ROW-SIZE.log.
nvshmem_time() {
    local row=$1 way=$2 program=$3 libraries=$4 size n time alone each
    shift 4
    figures=''
    for size in $jacobi_sizes; do
        n=${size#*:} size=${size%:*}
        launch "$row-$size" 90 "$ranks" "$way" "LD_LIBRARY_PATH=$(LD_LIBRARY_PATH=$libraries library_path "$program")" NVSHMEM_BOOTSTRAP=MPI -- \
            "$program" -csv -nx "$size" -ny "$size" -niter "$n" "$@" || { reason="$size^2: $reason" && return 1; }
        read -r time alone < <(awk -F', *' 'NF == 9 && /^nvshmem/ { print $(NF - 1), $NF }' "$log" | tail -n 1)
        [ -n "$alone" ] || { reason="$size^2: it printed no times" && return 1; }
        each=$(awk -v s="$time" -v n="$n" 'BEGIN { printf "%.1f", s / n * 1e6 }')
        figures="$figures, $size^2 $each us (one GPU takes $(ratio "$alone" "$time") times as long)"
    done
}

nvshmem_run_jacobi() {
    local options=() name=jacobi words=() figures='' program
    case $1 in *-norm_overlap) options=(-norm_overlap) ;; *-block*) options=(-use_block_comm) ;; esac
    case $1 in *-32) name=jacobi-32 words=("${nvshmem_of_32[@]}") ;; esac
    nvshmem_prepared $name || nvshmem_make_jacobi nvshmem-$name "$nvshmem_home" "${words[@]}" || return 77
    nvshmem_time "$1" tutti "$program" "$build/lib" "${options[@]}"
    local status=$?
    says="an iteration on $ranks GPUs, result right${figures:-: nothing}"
    [ $status -eq 0 ] || return $status
    if [ "${PLAIN:-1}" = 0 ]; then
        return 0
    elif nvshmem_theirs && { nvshmem_prepared jacobi-theirs || nvshmem_make_theirs; } &&
        nvshmem_time "$1" plain "$program" "$theirs/lib" "${options[@]}"; then
        says="$says; with NVSHMEM${figures#,}"
    else
        says="$says; with NVSHMEM: ${reason:-it was not found}"
        reason=''
    fi
    return 0
}

# nvshmem_make EXAMPLE: sets $program, compiled and linked as NVIDIA's CMakeLists.txt does it.
nvshmem_make() {
    local file=$1.cu flags=(-gencode "arch=compute_${arch#sm_},code=$arch" -rdc=true -std=c++17 -ccbin=mpic++ "-I$nvshmem_home/include") more=()
    program=$made/nvshmem-examples/$1
    [ -x "$program" ] && return
    need_build nvcc mpic++ && source_of nvshmem || return
    mkdir -p "$made/nvshmem-examples"
    case $1 in
    hello) file=$1.cpp && flags+=(-x cu) ;;
    shmem-based-init) flags+=("-I$root/include/tutti/openshmem") && more=("-L$build/lib" -ltutti-openshmem) ;;
    esac
    if ! nvcc "${flags[@]}" -DNVSHMEMTEST_MPI_SUPPORT -c "$source/examples/$file" -o "$program.o" >"$logs/nvshmem-$1.make.log" 2>&1 ||
        ! nvcc "${flags[@]:0:2}" -ccbin=mpic++ "$program.o" -o "$program" "-L$nvshmem_home/lib" -lnvshmem_host -lnvshmem_device "${more[@]}" \
            "-L$cuda/lib64" -lcuda >>"$logs/nvshmem-$1.make.log" 2>&1; then
        reason="it could not be built: $logs/nvshmem-$1.make.log"
        return 1
    fi
    rm -f "$program.o"
}

nvshmem_run() {
    local example=${1#nvshmem-} program failed
    case $example in jacobi*)
        nvshmem_run_jacobi "$1"
        return
        ;;
    esac
    nvshmem_prepared "$example" || nvshmem_make "$example" || return 77
    launch "$1" 60 "$ranks" tutti "LD_LIBRARY_PATH=$(LD_LIBRARY_PATH=$build/lib library_path "$program")" -- "$program" || return
    failed=$(tail -n +2 "$log" | grep -aiE 'error|failure|mismatch|incorrect|wrong' | grep -av 'No errors found' | head -n 1 | cut -c1-160)
    says=$(tail -n +2 "$log" | grep -av '^tutti:' | tail -n 1 | cut -c1-100)
    [ -z "$failed" ] || { reason=$failed && return 1; }
}
