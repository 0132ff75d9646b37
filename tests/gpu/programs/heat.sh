# Heat's test suites on 3 ranks, each of which sees all GPUs: tensors lie on cuda:(rank modulo GPUs), the current device stays 0.
# Heat believes that no Open MPI is GPU-aware: a copy of it is changed in this one place. The unchanged one, which copies
# to host memory itself, runs without Tutti beside it.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(heat)
heat_rows() { printf 'heat-%s\n' communication manipulations statistics arithmetics dndarray signal; }
heat_can() { need_gpus 1 '' && python_ready 'torch, mpi4py, scipy, h5py'; }

heat_ready() {
    [ -n "${heat:-}" ] && return
    local source
    source_of heat || return
    rm -rf "${made:?}/heat" "$made/heat-plain"
    mkdir -p "$made/heat" "$made/heat-plain"
    cp -r "$source/heat" "$source/tests" "$made/heat-plain/" && cp -r "$source/heat" "$source/tests" "$made/heat/" || return 1
    sed -i '/^def _check_gpu_aware_mpi/a\    return (True, False)' "$made/heat/heat/core/_config.py"
    if ! grep -A1 '^def _check_gpu_aware_mpi' "$made/heat/heat/core/_config.py" | grep -q 'return (True, False)'; then
        reason="_check_gpu_aware_mpi is not in heat/core/_config.py"
        return 1
    fi
    heat=$made/heat
}

heat_prepare() {
    local source
    source_of heat && mkdir -p "$1/heat" && cp -r "$source/heat" "$source/tests" "$1/heat/"
}

# heat_one ROW WAY FOLDER SUITE: sets $tests and $time.
heat_one() {
    local back=$PWD status
    cd "$3" || return
    launch "$1" 150 3 "$2" "${python_variables[@]}" HEAT_TEST_USE_DEVICE=gpu "PYTHONPATH=$3" OMP_NUM_THREADS=1 \
        OMPI_MCA_hwloc_base_binding_policy=none -- "$python" -m unittest "tests.core.test_$4"
    status=$?
    cd "$back" || return
    read -r tests time < <(sed -nE 's/^Ran ([0-9]+) tests? in ([0-9.]+)s.*/\1 \2/p' "$log" | sort -k2 -n | tail -n 1)
    if [ $status -ne 0 ]; then
        reason="$reason; $(grep -cE '^(FAIL|ERROR): ' "$log") failed tests"
        return 1
    fi
    [ "$(grep -cE '^OK\b' "$log")" -eq 3 ] || { reason="not all ranks ended with OK" && return 1; }
}

heat_run() {
    local suite=${1#heat-} tests='' time='' with
    heat_one "$1" tutti "$heat" "$suite" || return 1
    with=$time
    says="$tests tests right on 3 ranks, $time s"
    staged_or_not 'MPI_.*'
    if [ "${PLAIN:-1}" != 0 ]; then
        if heat_one "$1" plain "$made/heat-plain" "$suite"; then
            says="$says; without Tutti, copied by Heat, $time s (ratio $(ratio "$time" "$with"))"
        else
            says="$says; without Tutti, copied by Heat: $reason"
            reason=''
        fi
    fi
    return 0
}
