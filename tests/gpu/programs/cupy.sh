# mpi4py's own tests, with arrays of CuPy beside those of NumPy: the modules that pass arrays to MPI. Each test is compared with
# the same test without Tutti and without CuPy.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(cupy)
cupy_rows() { printf 'mpi4py-%s\n' p2p collectives nonblocking persistent neighbours; }

cupy_can() { need_gpus 1 '' && python_ready 'cupy, mpi4py'; }

cupy_ready() {
    local source
    source_of 'mpi4py-*' || return
    mpi4py=$source
    [ -e "$mpi4py/test/arrayimpl.py" ] && return
    reason="$mpi4py/test is missing: the source package is needed"
    return 1
}
cupy_prepare() {
    local name
    name=$(basename "$mpi4py")
    mkdir -p "$1/$name" && cp -r "$mpi4py/test" "$1/$name/"
}

# cupy_one ROW WAY ARRAYS MODULES...
cupy_one() {
    local row=$1 way=$2 arrays=$3 rank
    shift 3
    result=$logs/$row.$way.result
    rm -f "$result".*
    for ((rank = 0; rank < 2; rank++)); do : >"$result.$rank"; done
    launch "$row" 150 2 "$way" "${python_variables[@]}" "TUTTI_TEST_ARRAYS=$arrays" OMPI_MCA_hwloc_base_binding_policy=none -- \
        "$python" "$root/tests/mpi4py/run.py" "$mpi4py/test" "$result" "$@"
}

cupy_run() {
    local modules lines rank result plain status
    case $1 in
    *-p2p) modules="test_p2p_buf test_p2p_buf_matched test_msgspec test_pack" ;;
    *-collectives) modules="test_cco_buf test_cco_vec" ;;
    *-nonblocking) modules="test_cco_nb_buf test_cco_nb_vec" ;;
    *-persistent) modules="test_cco_pr_buf test_cco_pr_vec" ;;
    *-neighbours) modules="test_cco_ngh_buf test_cco_pr_ngh_buf" ;;
    esac
    # shellcheck disable=SC2086 # a list of names
    cupy_one "$1" tutti cupy $modules
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
    says="$(grep -c ' ok$' "$with.0") tests right on 2 ranks, without Tutti and CuPy $(grep -c ' ok$' "$plain.0")"
    staged_or_not 'MPI_.*'
    lines=$(for rank in 0 1; do diff "$plain.$rank" "$with.$rank" | grep '^>' | grep -v ' ok$'; done)
    [ -z "$lines" ] && return
    reason="$(wc -l <<<"$lines") tests: $(head -n 1 <<<"$lines")"
    return 1
}
