#!/bin/bash
# Programs that the system has installed, unmodified, with their heap in simulated device memory: programs.sh BUILD [NAME...].
# Each row runs without Tutti, with all of the heap in device memory, and with a part of it in allocations of their own (heap.c). The results
# of the three are compared; the times of the programs are left out. Debian's packages: hpcc, mumps-test, netpipe-openmpi, quantum-espresso with
# quantum-espresso-data, gromacs with gromacs-data. A row whose program is missing is skipped. The status is 1 if a row fails.
# What may be set:
#   MPIRUN   launcher of the MPI that the programs are linked with (mpirun.openmpi)
#   LIMIT    seconds of a run (150)
#   BEFORE   a command that each run is given to
#   SEEDS    draws of the part in device memory, a run each ("1")
#   KEEP     a folder for what the programs print
set -u
build=$(realpath "${1:?build folder}")
shift
here=$(realpath "$(dirname "$0")")
made=$(mktemp -d)
trap '[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp "$made"/*.log "$KEEP"; }; rm -rf "$made"' EXIT
"${CC:-cc}" -O2 -w -D_GNU_SOURCE -shared -fPIC "$here/heap.c" -o "$made/heap.so" -ldl -lpthread || exit 2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none \
    OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_osc=pt2pt OMP_NUM_THREADS=1
read -ra before <<<"${BEFORE:-}"
failed=0 passed=0 skipped=0
preload=$made/heap.so:$build/lib/libtutti.so

# row NAME RANKS NEEDS: the function NAME makes the inputs in its folder, NAME_run is what each rank runs, NAME_result prints what is compared.
row() {
    local name=$1 ranks=$2 way seed ways=(plain all) status worse='' call=${1%%-*}
    [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $name "* ]] || return
    if ! command -v "$3" >/dev/null; then
        skipped=$((skipped + 1))
        echo "skipped: $name: $3 is not installed"
        return
    fi
    for seed in ${SEEDS:-1}; do ways+=("part$seed"); done
    for way in "${ways[@]}"; do
        mkdir -p "$made/$name.$way"
        (cd "$made/$name.$way" && "$call") >/dev/null 2>&1
        local set=()
        [ "$way" = plain ] || set=("LD_PRELOAD=$preload" TUTTI_DEVICE=host TUTTI_RULES_FILE=/dev/null TUTTI_STATS=1 HEAP_LEAST=8)
        case $way in part*) set+=(HEAP_PART=70 HEAP_OWN=4096 "HEAP_SEED=${way#part}") ;; esac
        (cd "$made/$name.$way" && "${before[@]}" timeout -k 5 "${LIMIT:-150}" "${MPIRUN:-mpirun.openmpi}" -n "$ranks" env "${set[@]}" \
            bash -c "$(declare -f "${call}_run"); ${call}_run ${*:4}" >"$made/$name.$way.log" 2>&1 </dev/null)
        status=$?
        (cd "$made/$name.$way" && "${call}_result" "$made/$name.$way.log") >"$made/$name.$way.result" 2>/dev/null
        if [ $status -ne 0 ]; then
            worse="$worse $way: status $status;"
        elif [ ! -s "$made/$name.$way.result" ]; then
            worse="$worse $way: no result;"
        elif ! cmp -s "$made/$name.plain.result" "$made/$name.$way.result"; then
            worse="$worse $way: other results;"
        fi
    done
    if [ -n "$worse" ]; then failed=$((failed + 1)); else passed=$((passed + 1)); fi
    echo "$([ -z "$worse" ] && echo passed || echo FAILED): $name:$worse $(cat "$made/$name".{all,part*}.log |
        awk '/^tutti: MPI_/ && !/Alloc_mem/ { n[$3] += $4 } END { printf "%d calls accelerated, %d staged", n["accelerated"], n["staged"] }')"
}

hpcc() {
    cat >hpccinf.txt <<'END'
HPLinpack benchmark input file
a small case of each test
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
300          Ns
1            # of NBs
40           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
1            number of additional problem sizes for PTRANS
200          values of N
1            number of additional blocking sizes for PTRANS
13           values of NB
END
}
hpcc_run() { hpcc; }
hpcc_result() { grep -aE 'tests? completed|Success=|maxErr=|Access_(LCG_)?Errors=|N=' hpccoutf.txt; }

mumps() { cp /usr/lib/mumps/input_simpletest_* .; }
mumps_run() { "/usr/lib/mumps/$1" <"$2"; }
mumps_result() { grep -a 'Solution is' "$1"; }

netpipe() { :; }
netpipe_run() { NPopenmpi -i -u 300000 -n 3; }
netpipe_result() { grep -aoE '[0-9]+ bytes|Integrity check [a-z]+' "$1"; } # heap.c's own line may lie between the two

espresso() {
    cat >si.in <<'END'
&control
 calculation='scf', prefix='si', pseudo_dir='/usr/share/espresso/pseudo', outdir='./out/', tprnfor=.true., tstress=.true.
/
&system
 ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=12.0
/
&electrons
 conv_thr=1.0d-7, diagonalization='david'
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.24
K_POINTS automatic
 2 2 2 1 1 1
END
}
espresso_run() { pw.x "$@" -i si.in; }
espresso_result() { grep -aE '^!|Total force|total   stress|P=|^ +[-0-9. ]{50,}$|atom +[12]|convergence has' "$1"; }

gromacs() {
    printf '%s\n' '#include "amber99sb.ff/forcefield.itp"' '#include "amber99sb.ff/tip3p.itp"' '[ system ]' water '[ molecules ]' >topol.top
    printf '%s\n' 'integrator = md' 'dt = 0.002' 'nsteps = 30' 'nstlist = 10' 'nstenergy = 10' 'nstlog = 10' 'nstcalcenergy = 10' 'coulombtype = PME' \
        'rcoulomb = 0.9' 'rvdw = 0.9' 'fourierspacing = 0.15' 'constraints = all-bonds' 'tcoupl = v-rescale' 'tc-grps = System' 'tau-t = 0.1' \
        'ref-t = 300' 'gen-vel = yes' 'gen-temp = 300' 'gen-seed = 7' 'ld-seed = 7' >md.mdp
    gmx solvate -cs spc216.gro -box 3.2 3.2 3.2 -p topol.top -o w.gro && gmx grompp -f md.mdp -c w.gro -p topol.top -o t.tpr -maxwarn 5
}
gromacs_run() { gmx_mpi mdrun -s t.tpr -deffnm x -reprod -ntomp 1 -nb cpu -dlb no -tunepme no "$@"; }
gromacs_result() { grep -aE 'Potential|Conserved En' -A1 x.log; }

only=("$@")
row hpcc 2 hpcc
row mumps 3 /usr/lib/mumps/dsimpletest dsimpletest input_simpletest_real
row mumps-complex 3 /usr/lib/mumps/zsimpletest zsimpletest input_simpletest_cmplx
row netpipe 2 NPopenmpi
row espresso 2 pw.x -nk 1 -nt 2
row espresso-pools 4 pw.x -nk 2 -nd 1
row gromacs 4 gmx_mpi -npme 1
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
