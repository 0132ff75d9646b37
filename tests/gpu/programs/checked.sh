# Programs whose result is known: they check it themselves, or print the same lines without Tutti by their own staging, or on one
# rank. They are built as docs/benchmarks.md says. A row runs what it finds built in the program's folder of DIR, in that program's folder.
# shellcheck shell=bash disable=SC2034,SC2154
parts+=(checked)

# checked_list: row; folder of DIR, program; files that it reads, from its folder; GPUs, ranks, words; reference: ranks, words;
# lines of the result: those of the reference, or if there is none, some and none with FAILED; its figure
checked_list() {
    cat <<'LIST'
simulateqcd-halo;SIMULATeQCD haloTest;../parameter/tests/haloTest.param;2 2;;PASSED;
simulateqcd-spinor;SIMULATeQCD spinorHaloTest;../parameter/tests/spinorHaloTest.param;2 2;;PASSED;
hipbone;hipBone hipBone;okl json libs occa;2 2 -m CUDA -px 2 -py 1 -pz 1 -nx 12 -ny 12 -nz 12 -p 7 -v -ga;2 -m CUDA -px 2 -py 1 -pz 1 -nx 12 -ny 12 -nz 12 -p 7 -v;^CG: it [0-9]+, r norm [0-9.e+-]+;^hipBone: [0-9]+, [0-9]+, [0-9.]+
cosma-multiply;COSMA test.multiply;;1 16;;PASSED.*[0-9]+ tests?;
cosma-scalar;COSMA test.scalar_matmul;;1 8;;PASSED.*[0-9]+ tests?;
kokkos-comm;kokkos-comm test-main;;1 2;;PASSED.*[0-9]+ tests?;
cabana-migrate;Cabana Cabana_Core_Test_Distributor_MPI_CUDA;;1 4;;PASSED.*[0-9]+ tests?;
cabana-migrate-managed;Cabana Cabana_Core_Test_Distributor_MPI_CUDA_UVM;;1 4;;PASSED.*[0-9]+ tests?;
cabana-halo;Cabana Cabana_Grid_Test_Halo3d_MPI_CUDA;;1 4;;PASSED.*[0-9]+ tests?;
LIST
}
checked_rows() { checked_list | cut -d ';' -f 1; }
checked_can() {
    local row folder name files run reference lines figure
    checked_read "$1"
    need_gpus "${run%% *}" 'one process a GPU'
}
checked_ready() { :; }

# checked_read ROW: sets $folder, $name, $files, $run, $reference, $lines and $figure, its line of the list.
checked_read() {
    local row
    while IFS=';' read -r row folder files run reference lines figure; do
        [ "$row" != "$1" ] || break
    done < <(checked_list)
    name=${folder#* } folder=${folder% *}
}

checked_prepare() {
    local row folder name files run reference lines figure program file to found=1
    for row in $(checked_rows); do
        checked_read "$row"
        others_program "$folder" "$name" || continue
        to=$1/$folder/$(basename "$(dirname "$program")")
        mkdir -p "$to" && cp "$program" "$to/" && strip "$to/$name" || return
        for file in $files; do
            mkdir -p "$to/$(dirname "$file")" && cp -rL "$(dirname "$program")/$file" "$to/$(dirname "$file")/" || return
        done
        found=0
    done
    return $found
}

# checked_one ROW WAY RANKS WORDS...: the lines of the result go to standard output, the figure to $value.
checked_one() {
    local row=$1 way=$2 n=$3
    shift 3
    cd "$(dirname "$program")" || return
    launch "$row" 90 "$n" "$way" "LD_LIBRARY_PATH=$(library_path "$program")" -- "$program" "$@"
    local status=$?
    cd "$logs" || return
    value=$([ -z "$figure" ] || tail -n +2 "$log" | grep -aoE -- "$figure" | tail -n 1 | awk '{ print $NF }')
    tail -n +2 "$log" | grep -aoE -- "$lines" >"$logs/$row.$way.lines"
    return $status
}

checked_run() {
    local row=$1 folder name files run reference lines figure program value theirs=''
    checked_read "$row"
    others_program "$folder" "$name" || return 77
    if [ -n "$reference" ]; then
        # shellcheck disable=SC2086 # lists of words
        checked_one "$row" plain $reference || return 1
        theirs=${value:+ (reference $value)}
    fi
    # shellcheck disable=SC2086
    checked_one "$row" tutti ${run#* } || return 1
    says="$(wc -l <"$logs/$row.tutti.lines") lines of the result${value:+, $value}$theirs"
    staged_or_not "$sends|MPI_Alltoallv|MPI_Allgather|MPI_Reduce_scatter_block"
    if [ ! -s "$logs/$row.tutti.lines" ]; then
        reason="it printed no result"
    elif [ -z "$reference" ]; then
        reason=$(grep -a FAILED "$log" | head -n 1 | cut -c1-160)
    else
        reason=$(diff "$logs/$row.plain.lines" "$logs/$row.tutti.lines" | grep '^[<>]' | head -n 1 | cut -c1-160)
        reason=${reason:+its result differs from the reference: $reason}
    fi
    [ -z "$reason" ]
}
