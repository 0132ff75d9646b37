# Heat's test suites on 3 ranks, each of which sees all GPUs: tensors lie on cuda:(rank modulo GPUs), the current device stays 0.
# Heat believes that no Open MPI is GPU-aware: a copy of it is changed in this one place. The unchanged one, which copies
# to host memory itself, runs without Tutti beside it. Without a GPU tensors.c puts Heat's tensors of the CPU into
# memory of the simulated GPU.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(heat)
heat_rows() { printf 'heat-%s\n' communication manipulations statistics arithmetics dndarray signal; }
heat_can() { python_ready 'torch, mpi4py, scipy, h5py'; }

heat_ready() {
    [ -n "${heat:-}" ] && return
    local source
    if [ "$gpus" -eq 0 ] && [ ! "$made/tensors.so" -nt "$here/tensors.c" ]; then
        need_build cc || return
        if ! cc -O2 -shared -fPIC "-I$root/include" "$here/tensors.c" -o "$made/tensors.so" "-L$build/lib" -ltutti-core >"$logs/tensors.make.log" 2>&1; then
            reason="tensors.c could not be built: $logs/tensors.make.log"
            return 1
        fi
    fi
    if [ "$(cat "$made/heat.ready" 2>/dev/null)" = $$ ]; then # another row of this run has made it
        heat=$made/heat
        return
    fi
    source_of heat || return
    rm -rf "${made:?}/heat" "$made/heat-plain"
    mkdir -p "$made/heat" "$made/heat-plain"
    cp -r "$source/heat" "$source/tests" "$made/heat-plain/" && cp -r "$source/heat" "$source/tests" "$made/heat/" || return 1
    sed -i '/^def _check_gpu_aware_mpi/a\    return (True, False)' "$made/heat/heat/core/_config.py"
    if ! grep -A1 '^def _check_gpu_aware_mpi' "$made/heat/heat/core/_config.py" | grep -q 'return (True, False)'; then
        reason="_check_gpu_aware_mpi is not in heat/core/_config.py"
        return 1
    fi
    # The first process that uses torch reads gigabytes of libraries. No run that is timed shall be that one.
    local library
    while read -r library; do
        timeout 60 cat "$library" >/dev/null
    done < <(timeout 60 "$python" -c 'import glob, os, sysconfig, torch
packages = sysconfig.get_path("purelib")
print(*glob.glob(os.path.dirname(torch.__file__) + "/lib/*.so*"), *glob.glob(packages + "/nvidia/*/lib/*.so*"), sep="\n")')
    heat=$made/heat
    heat_one heat-first plain "$made/heat-plain" constants
    heat_one heat-first tutti "$heat" constants
    echo $$ >"$made/heat.ready"
    reason=''
}

heat_prepare() {
    local source
    source_of heat && mkdir -p "$1/heat" && cp -r "$source/heat" "$source/tests" "$1/heat/"
}

# heat_one ROW WAY FOLDER SUITE: sets $tests, $wrong and $time; 0 if all ranks came to the end and no test failed.
heat_one() {
    local back=$PWD status variables=(HEAT_TEST_USE_DEVICE=gpu) behind=''
    if [ "$gpus" -eq 0 ]; then
        variables=(HEAT_TEST_USE_DEVICE=cpu "LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
        behind=$made/tensors.so
    fi
    cd "$3" || return
    launch "$1" 200 3 "$2" "${python_variables[@]}" "${variables[@]}" "PYTHONPATH=$3${PYTHONPATH:+:$PYTHONPATH}" OMP_NUM_THREADS=1 \
        -- "$python" "$here/suite.py" 3 "tests.core.test_$4"
    status=$?
    cd "$back" || return
    tests='' wrong='' time=''
    read -r tests wrong time < <(sed -nE 's/^suite: ([0-9]+) ([0-9]+) [0-9]+ ([0-9.]+)$/\1 \2 \3/p' "$log")
    [ $status -eq 0 ] && [ "${wrong:-1}" -eq 0 ]
}

# heat_failed LOG: the names of the tests that failed.
heat_failed() { grep -aoE '^(FAIL|ERROR): [^ ]+ \([^ )]+\)' "$1" | sort -u; }

# A test that fails without Tutti too is Heat's own.
heat_run() {
    local suite=${1#heat-} tests='' wrong='' time='' right=0 with new
    heat_one "$1" tutti "$heat" "$suite" || right=1
    with=$time
    says="${tests:-no} tests on 3 ranks, ${wrong:-not known} failed, ${time:-?} s"
    if grep -q '_FailedTest' "$log"; then
        reason="the suite cannot be loaded: $(grep -A40 '_FailedTest' "$log" | grep -oE '^[A-Za-z]*Error: .*' | sed -n 2p)"
        return 1
    fi
    staged_or_not 'MPI_.*'
    [ "${PLAIN:-1}" != 0 ] || return $right
    local because=$reason
    heat_one "$1" plain "$made/heat-plain" "$suite"
    says="$says; without Tutti, copied by Heat, ${wrong:-not known} failed, ${time:-?} s (ratio $(ratio "${time:-0}" "${with:-0}"))"
    log=$logs/$1.log reason=$because
    if [ $right -ne 0 ] && [ -n "$with" ] && [ -n "$time" ]; then
        new=$(comm -23 <(heat_failed "$logs/$1.log") <(heat_failed "$logs/$1.plain.log"))
        [ -z "$new" ] && return 0
        reason="fails with Tutti alone: $(paste -sd , <<<"$new" | cut -c1-300)"
    fi
    return $right
}
