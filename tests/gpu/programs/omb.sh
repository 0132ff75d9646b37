# The OSU micro-benchmarks with their defaults on device memory (-d cuda D D), then a few calls whose data they check (-c); those of
# windows have no such check (`tutti bench put` compares). Beside the times are those of the MPI alone on host memory.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(omb)
omb_rows() {
    local name
    for name in latency bw bibw multi_lat mbw_mr latency_persistent allreduce reduce bcast alltoall allgather reduce_scatter \
        gather scatter allgatherv alltoallv alltoallw gatherv scatterv iallreduce ireduce ibcast ialltoall iallgather \
        neighbor_alltoall neighbor_allgather bw_persistent \
        put_latency get_latency put_bw get_bw put_bibw acc_latency get_acc_latency fop_latency cas_latency; do
        echo "omb-$name"
    done
}
omb_folders=(pt2pt/standard pt2pt/persistent collective/blocking collective/non_blocking collective/neighborhood one-sided)
omb_can() { need_gpus 1 ''; }

omb_ready() {
    local source folder file
    [ -n "${omb:-}" ] && return
    source_of 'osu-micro-benchmarks*' || return
    for file in "$source" "$made/omb"; do
        if [ -x "$file/c/mpi/pt2pt/standard/osu_latency" ] && { [ "$file" = "$source" ] || [ -e "$file/complete" ]; }; then
            omb=$file
            return
        fi
    done
    need_build nvcc "$mpicc" "$mpicxx" make autoreconf || return 1
    make_copy "$source" omb
    # CUDA 13 takes a struct for the place to which memory is prefetched.
    if ! (cd "$made/omb" && cat "$here/omb_prefetch.h" >prefetch.h &&
        sed -i -e 's/cudaMemPrefetchAsync(buf, length, devid, um_stream)/omb_prefetch(buf, length, devid, um_stream)/' \
            -e '0,/^#include/s//#include "..\/..\/prefetch.h"\n#include/' c/util/osu_util_mpi.c && autoreconf -fi &&
        ./configure --enable-cuda "CC=$mpicc" "CXX=$mpicxx" CFLAGS=-O2 CXXFLAGS=-O2 "CPPFLAGS=-I$cuda/include" "NVCCFLAGS=-arch=$arch" \
            "LDFLAGS=-L$cuda/lib64 -L$cuda/lib64/stubs -Wl,--as-needed" &&
        for folder in "${omb_folders[@]}"; do make -k -j "$jobs" -C "c/mpi/$folder" || exit 1; done && touch complete) \
        >"$logs/omb.make.log" 2>&1; then
        reason="it could not be built: $logs/omb.make.log"
        return 1
    fi
    omb=$made/omb
}

omb_prepare() {
    local folder to
    for folder in "${omb_folders[@]}"; do
        to=$1/osu-micro-benchmarks-7.4/c/mpi/$folder
        mkdir -p "$to" && find "$omb/c/mpi/$folder" -maxdepth 1 -type f -name 'osu_*' -perm -u+x -exec cp {} "$to/" \; &&
            strip "$to"/osu_* || return
    done
}

# omb_times LOG: "size time" of each row, numbers alone; several pairs of ranks have the figure in the second column too.
omb_times() { awk 'NF >= 2 && $1 ~ /^[0-9]+$/ && $2 ~ /^[0-9.]+$/ { print $1, $2 }' "$1"; }

omb_run() {
    local name=${1#omb-} program='' folder places=() type=() window=() size figure plain unit n=2 checks=1 variables
    for folder in "${omb_folders[@]}"; do
        [ -x "$omb/c/mpi/$folder/osu_$name" ] && program=$omb/c/mpi/$folder/osu_$name
    done
    [ -n "$program" ] || { reason="osu_$name was not built" && return 77; }
    case $program in
    */pt2pt/*) places=(D D) ;;
    */one-sided/*) places=(D D) window=(-w create) checks=0 ;; # MPI_Win_allocate gives host memory; most have no check
    */neighborhood/*) n=$((ranks < 4 ? 4 : ranks)) ;; # a smaller grid is refused
    *) n=$ranks ;;
    esac
    case $name in *reduce*) type=(-T mpi_float) ;; esac # its check of sums of MPI_CHAR fails without Tutti too
    unit=us
    case $name in *bw*) unit=MB/s ;; esac
    variables=("LD_LIBRARY_PATH=$(library_path "$program")")
    # The data are checked first, in few calls: the defaults do not look at them.
    if [ $checks -eq 1 ] && ! launch "$1.check" 60 "$n" tutti "${variables[@]}" -- "$program" -c -i 5 -x 1 "${type[@]}" -d cuda "${places[@]}"; then
        reason="checked: $reason"
        return 1
    fi
    if [ $checks -eq 1 ] && grep -qw Fail "$log"; then
        reason="wrong data: $(grep -w Fail "$log" | head -n 1)"
        return 1
    fi
    launch "$1" 100 "$n" tutti "${variables[@]}" -- "$program" "${window[@]}" -d cuda "${places[@]}" || return 1
    local with=$log sizes
    sizes=$(omb_times "$with" | awk '{ s[NR] = $1 } END { print s[1], s[int((NR + 1) / 2)], s[NR] }')
    [ -n "${sizes// /}" ] || { reason="it printed no figures" && return 1; }
    says="data right"
    [ $checks -eq 1 ] || says="data not checked"
    if [ "${PLAIN:-1}" != 0 ]; then launch "$1" 100 "$n" plain "${variables[@]}" -- "$program" "${window[@]}" || says="$says, without Tutti: $reason"; fi
    for size in $sizes; do
        figure=$(omb_times "$with" | awk -v s="$size" '$1 == s { print $2; exit }')
        says="$says, $size B $figure $unit"
        [ "${PLAIN:-1}" != 0 ] || continue
        plain=$(omb_times "$logs/$1.plain.log" | awk -v s="$size" '$1 == s { print $2; exit }')
        says="$says (host memory ${plain:-?})"
    done
    log=$with reason=''
    staged_or_not 'MPI_.*'
    return 0
}
