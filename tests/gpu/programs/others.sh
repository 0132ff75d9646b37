# Programs that test themselves on device memory, built as docs/benchmarks.md says: NVIDIA's cuDecomp, the halo library
# cwpearson/stencil, MPI Advance's all-to-alls and the Intel MPI Benchmarks. A row runs what it finds built in the program's folder of
# DIR; IMB is built here.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(others)
others_rows() {
    printf '%s\n' cudecomp-transposes cudecomp-halos cudecomp-fft-512 cudecomp-fft-128 stencil-512 stencil-128 advance-alltoall imb
}
others_can() {
    case $1 in cudecomp-* | stencil-*) need_gpus 2 "one process a GPU" ;; *) need_gpus 1 '' ;; esac
}

# others_program FOLDER NAME [PATH]: sets $program, an executable file NAME below FOLDER of DIR, whose path matches PATH.
others_program() {
    local source file
    if [ "$1" = mpi-benchmarks ] && [ -x "$made/imb/src_cpp/IMB-MPI1" ]; then
        program=$made/imb/src_cpp/IMB-MPI1
        return
    fi
    source_of "$1" || return
    program=$(find -L "$source" -type f -perm -u+x -name "$2" -path "${3:-*}" 2>/dev/null | head -n 1)
    [ -n "$program" ] && return
    reason="$1 is not built: no program $2 below its folder (docs/benchmarks.md says how)"
    return 1
}

# IMB alone is built: a few C++ files without kernels.
others_ready() {
    local source
    if [ -x "$made/imb/src_cpp/IMB-MPI1" ] || ! source_of mpi-benchmarks || [ -n "$(find -L "$source" -name IMB-MPI1-GPU | head -n 1)" ]; then
        reason=''
        return 0
    fi
    if need_build "$mpicc" "$mpicxx" make && make_copy "$source" imb; then
        sed -i 's/-Werror//' "$made"/imb/src_cpp/Makefile "$made"/imb/src_cpp/*/*.mk
        make -j "$jobs" -C "$made/imb/src_cpp" TARGET=MPI1 GPU_ENABLE=1 "CUDA_INCLUDE_DIR=$cuda/include" "CC=$mpicc" "CXX=$mpicxx" CPPFLAGS=-DCHECK \
            >"$logs/imb.make.log" 2>&1
    fi
    reason=''
}

# others_list: folder, name of a program, pattern of its path.
others_list() {
    cat <<'LIST'
cuDecomp transpose_test_R64
cuDecomp halo_test_R64
cuDecomp benchmark_c2c
stencil jacobi3d */aware/*
stencil jacobi3d */staged/*
locality_aware test_gpu_alltoall
mpi-benchmarks IMB-MPI1-GPU
LIST
}
others_prepare() {
    local folder name path program to found=1
    while read -r folder name path; do
        others_program "$folder" "$name" "$path" || continue
        to=$1/$folder/$(tr -d '*/' <<<"$path")
        mkdir -p "$to" && cp "$program" "$to/" && strip "$to/${program##*/}" || return
        [ "$folder" != mpi-benchmarks ] || mv "$to/${program##*/}" "$to/IMB-MPI1-GPU" 2>/dev/null
        found=0
    done < <(others_list)
    return $found
}

# others_launch ROW SECONDS RANKS WAY -- PROGRAM...
others_launch() {
    local row=$1 seconds=$2 n=$3 way=$4
    shift 5
    launch "$row" "$seconds" "$n" "$way" "LD_LIBRARY_PATH=$(library_path "$1")" -- "$@"
}

# Transposes and halos by each of cuDecomp's ways through the MPI, for both process grids of two ranks.
others_transposes() {
    local grid way layout
    for grid in '--pr 2 --pc 1' '--pr 1 --pc 2'; do
        for way in 1 2 3; do # messages, pipelined messages, MPI_Alltoallv
            for layout in '' '--acx 1 --acy 1 --acz 1' '--acx 1' '--acy 1 --acz 1' '--hex 1 1 1 --hey 1 1 1 --hez 1 1 1' '--pdx 1 1 1 --pdy 1 1 1 --pdz 1 1 1' \
                '--gd 16 16 16' -m; do
                echo "$grid --backend $way --gx 128 --gy 124 --gz 132 $layout"
                echo "$grid --backend $way --gx 128 --gy 124 --gz 132 $layout -o"
            done
            echo "$grid --backend $way --gx 31 --gy 17 --gz 45 -o"
        done
    done
}
others_halos() {
    local grid way axis layout
    for grid in '--pr 2 --pc 1' '--pr 1 --pc 2'; do
        for way in 1 2; do # all at once, one neighbour after the other
            for axis in 0 1 2; do
                for layout in '--hex 1 --hey 1 --hez 1 --hpx 1 --hpy 1 --hpz 1' '--hex 1 --hey 2 --hez 1 --hpx 1 --hpy 0 --hpz 1' '--hex 0 --hey 1 --hez 1 --hpy 1 --hpz 1' \
                    '--hex 3 --hey 1 --hez 2'; do
                    echo "$grid --backend $way --gx 128 --gy 132 --gz 124 --ax $axis $layout"
                    echo "$grid --backend $way --gx 128 --gy 132 --gz 124 --ax $axis $layout --ac 1"
                done
            done
        done
    done
}
others_cudecomp() { # ROW PROGRAM TESTS
    local program
    others_program cuDecomp "$2" || return 77
    "$3" >"$logs/$1.tests"
    others_launch "$1" 100 2 tutti -- "$program" --testfile "$logs/$1.tests"
    local status=$?
    says="$(grep -cx ' PASSED' "$log") of $(wc -l <"$logs/$1.tests") right"
    [ $status -eq 0 ] || return 1
    staged_or_not "$sends|MPI_Alltoallv"
    grep -q '^Passed all tests' "$log"
}

# cuDecomp's FFT. The ways through NCCL run without Tutti.
others_fft() { # ROW SIDE
    local program way names=(- messages pipelined Alltoallv NCCL 'NCCL pipelined') with time
    others_program cuDecomp benchmark_c2c || return 77
    for way in 1 2 3 4 5; do
        with=tutti
        [ "$way" -lt 4 ] || with=plain
        [ $with = tutti ] || [ "${PLAIN:-1}" != 0 ] || break
        others_launch "$1" 60 2 $with -- "$program" -x "$2" -y "$2" -z "$2" -r 2 -c 1 -b "$way" -w 5 -t 20 || return 1
        time=$(sed -nE 's|.*Time min/max/avg/std \[ms\]: [0-9.]+/[0-9.]+/([0-9.]+)/.*|\1|p' "$log")
        says="$says${says:+, }${names[way]} ${time:-?} ms"
        awk '/Max error/ { if ($3 < 1e-8) right = 1 } END { exit !right }' "$log" || { reason="wrong: $(grep 'Max error' "$log")" && return 1; }
    done
}

# Halos of a stencil. A small grid's result is written and compared, byte by byte, with that of the program's own staging without Tutti.
others_stencil() { # ROW SIDE
    local way program with out figure places=()
    for way in aware staged; do
        others_program stencil jacobi3d "*/$way/*" || return 77
        with=tutti out=$logs/$1.$way.out
        [ $way = aware ] || with=plain
        rm -rf "$out" && mkdir -p "$out"
        others_launch "$1" 60 2 $with -- "$program" --staged --paraview --prefix "$out/" -n 20 60 50 40 || return 1
        places+=("$out")
        others_launch "$1" 60 2 $with -- "$program" --staged -n 100 "$2" "$2" "$2" || return 1
        figure=$(awk -F, '/^jacobi3d/ { printf "%.1f", $NF * 1e6 }' "$log")
        says="$says${says:+, without Tutti by its own staging }${figure:-?} us an iteration"
    done
    [ -n "$(ls "${places[0]}")" ] && diff -rq "${places[@]}" >"$logs/$1.diff" && return
    reason="its result differs from that without Tutti: $(head -n 1 "$logs/$1.diff")"
    return 1
}

others_run() {
    local program n status
    case $1 in
    cudecomp-transposes) others_cudecomp "$1" transpose_test_R64 others_transposes ;;
    cudecomp-halos) others_cudecomp "$1" halo_test_R64 others_halos ;;
    cudecomp-fft-*) others_fft "$1" "${1##*-}" ;;
    stencil-*) others_stencil "$1" "${1##*-}" ;;
    advance-alltoall)
        others_program locality_aware test_gpu_alltoall || return 77
        for n in 2 4; do # it ends with MPI_Abort where a result is wrong
            others_launch "$1" 60 $n tutti -- "$program" || return
        done
        says="right on 2 and 4 ranks"
        ;;
    imb)
        others_program mpi-benchmarks IMB-MPI1-GPU || return 77
        mkdir -p "$made/imb-cuda" && ln -sf "$(find -L "$cuda"/lib64 -name 'libcudart.so.1[0-9]' 2>/dev/null | head -n 1)" "$made/imb-cuda/libcudart.so"
        launch "$1" 150 "$ranks" tutti "LD_LIBRARY_PATH=$made/imb-cuda:$(library_path "$program")" -- "$program" -mem_alloc_type device -npmin "$ranks" -iter 20 \
            -iter_policy off -msglog 0:20
        status=$?
        says=$(awk 'NF > 3 && /^ *[0-9]/ && /\./ { rows++; wrong += $NF > 0 } END { print rows + 0, "rows,", wrong + 0, "with wrong data" }' "$log")
        [ $status -eq 0 ] && [[ $says = [1-9]*', 0 with wrong data' ]]
        ;;
    esac
}
