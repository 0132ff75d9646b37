# mpi4py's own tests, with arrays of CuPy beside those of NumPy: the modules that pass arrays to MPI. Each test is compared with
# the same test without Tutti and without CuPy. One row has all modules, without CuPy: their own arrays lie in host memory.
# Without a GPU, arrays in memory of the simulated GPU stand for those of CuPy.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(cupy)
cupy_rows() { printf 'mpi4py-%s\n' p2p collectives nonblocking persistent neighbours windows files inter rest all; }

cupy_can() {
    local modules='cupy, mpi4py'
    if [ "$gpus" -eq 0 ] || [[ $1 = *-all ]]; then modules='numpy, mpi4py'; fi
    if [ "$gpus" -eq 0 ] && [ -x "$build/mpis/python/bin/python3" ]; then python=$build/mpis/python/bin/python3; fi
    python_ready "$modules"
}

cupy_ready() {
    local source
    # The tests of the version that is installed, if there is more than one.
    source_of "mpi4py-$(timeout 60 "$python" -c 'import mpi4py; print(mpi4py.__version__)' 2>/dev/null)" || source_of 'mpi4py-*' || return
    mpi4py=$source reason=''
    [ -e "$mpi4py/test/arrayimpl.py" ] && return
    reason="$mpi4py/test is missing: the source package is needed"
    return 1
}
cupy_prepare() {
    local folder
    for folder in "$sources"/mpi4py-*; do
        mkdir -p "$1/${folder##*/}" && cp -r "$folder/test" "$1/${folder##*/}/" || return
    done
}

# cupy_one ROW WAY ARRAYS MODULES...
cupy_one() {
    local row=$1 way=$2 arrays=$3 rank variables=()
    shift 3
    # Open MPI 4 has no windows for programs with several threads but with the component `rdma`, which containers refuse.
    case $row in *-windows | *-all | *-p2p) [ "${OMPI_MCA_osc:-}" != pt2pt ] || variables=(MPI4PY_RC_THREAD_LEVEL=serialized) ;; esac
    result=$logs/$row.$way.result
    rm -f "$result".*
    for ((rank = 0; rank < 2; rank++)); do : >"$result.$rank"; done
    launch "$row" 250 2 "$way" "${python_variables[@]}" "${variables[@]}" "TUTTI_TEST_ARRAYS=$arrays" -- \
        "$python" "$root/tests/mpi4py/run.py" "$mpi4py/test" "$result" "$@"
}

cupy_run() {
    local modules='' lines rank result plain status arrays=cupy words='without Tutti and CuPy'
    case $1 in
    *-p2p) modules="test_p2p_buf test_p2p_buf_matched test_msgspec test_pack" ;;
    *-collectives) modules="test_cco_buf test_cco_vec" ;;
    *-nonblocking) modules="test_cco_nb_buf test_cco_nb_vec" ;;
    *-persistent) modules="test_cco_pr_buf test_cco_pr_vec" ;;
    *-neighbours) modules="test_cco_ngh_buf test_cco_pr_ngh_buf" ;;
    *-windows) modules="test_rma test_rma_nb" ;;
    *-files) modules="test_io" ;;
    *-inter) modules="test_cco_buf_inter test_cco_vec_inter" ;;
    *-rest) modules="test_address test_p2p_buf_part" ;;
    *-all) arrays=host words='without Tutti' ;;
    esac
    if [ "$gpus" -eq 0 ] && [ $arrays = cupy ]; then arrays=device words='on the simulated GPU, without Tutti'; fi
    # shellcheck disable=SC2086 # a list of names
    cupy_one "$1" tutti $arrays $modules
    status=$?
    if [ $status -ne 0 ] || [ "$(tail -qn 1 "$result.0" "$result.1" | grep -cx 'all of them')" -ne 2 ]; then
        reason="${reason:-status $status}; last tests: $(tail -qn 1 "$result.0" "$result.1" | paste -sd ,)"
        return 1
    fi
    local with=$result
    # shellcheck disable=SC2086
    cupy_one "$1" plain host $modules
    plain=$result
    log=$logs/$1.log
    says="$(grep -c ' ok$' "$with.0") tests right on 2 ranks, $words $(grep -c ' ok$' "$plain.0")"
    staged_or_not 'MPI_.*'
    lines=$(for rank in 0 1; do diff "$plain.$rank" "$with.$rank" | grep '^>' | grep -v ' ok$'; done)
    [ -z "$lines" ] && return
    reason="$(wc -l <<<"$lines") tests: $(head -n 1 <<<"$lines")"
    return 1
}
