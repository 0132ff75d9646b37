# What all parts of programs.sh share. A part is a program with its rows and defines
#   PART_rows     prints the names of its rows
#   PART_can ROW  1 with $reason if the machine lacks what the row needs
#   PART_ready    builds what is missing; 1 with $reason if that fails
#   PART_prepare  copies to a folder what a run needs
#   PART_run ROW  0: passed, 1: failed, 77: skipped. Sets $says (what the program printed, figures) and $reason.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are read by the parts and by programs.sh
parts=()
beside='^(heat|triggering|mpi4py-all)' # rows that may run beside others on the same GPUs: few calls, or times that say little
mpirun=${MPIRUN:-$(command -v mpirun.openmpi || command -v mpirun)}
mpicc=${MPICC:-$(command -v mpicc.openmpi || command -v mpicc)}
mpicxx=${MPICXX:-$(command -v mpicxx.openmpi || command -v mpicxx)}
cuda=${CUDA_HOME:-/usr/local/cuda}
arch=${CUDA_ARCH:-sm_90}
PATH=$PATH:$cuda/bin
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
    MPIEXEC_ALLOW_ROOT=1 HYDRA_LAUNCHER=fork PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# NVLink multicast stays off: a program that uses it can put the GPUs of a shared host out of service.
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1
# Rows that run side by side would be bound to the same cores.
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
# Open MPI 4's other component for windows takes shared memory of the MPI's own.
case $("${mpirun:-false}" --version 2>/dev/null | head -n 1) in *'(Open MPI) 4.'* | *'(OpenRTE) 4.'*) export OMPI_MCA_osc=${OMPI_MCA_osc:-pt2pt} ;; esac
[ "$ranks" -le "$jobs" ] || export OMPI_MCA_mpi_yield_when_idle=1

# The targets of the front ends that this build has: tutti-openmpi, tutti-mpich, tutti-mpiabi.
front_targets() {
    cmake --build "$build" --target help 2>/dev/null | grep -oE '\btutti-(openmpi|mpich|mpiabi)\b' | sort -u
}

# source_of PATTERN: sets $source, the folder of DIR whose name matches; 1 if there is none.
source_of() {
    local folder
    for folder in ${sources:+"$sources"/$1/}; do
        if [ -d "$folder" ]; then
            source=${folder%/}
            return
        fi
    done
    reason="its sources are missing: no folder $1 in DIR"
    return 1
}

# need_gpus N WHY
need_gpus() {
    if [ "$gpus" -eq 0 ]; then
        reason="no GPU was found: nvidia-smi -L lists none"
    elif [ "$gpus" -lt "$1" ]; then
        reason="$2 takes $1 GPUs, this machine has $gpus"
    else
        return 0
    fi
    return 1
}

need_build() { # WORDS...: the compilers that a build takes
    local word
    for word; do
        if ! command -v "$word" >/dev/null; then
            reason="it is not built, and $word was not found"
            return 1
        fi
    done
}

# python_ready MODULES: $python has them.
python_ready() {
    timeout 120 "$python" -c "import $1" 2>/dev/null && return
    reason="python3 cannot import $1"
    return 1
}
python=$(command -v python3 || echo python3) # Open MPI's launcher puts its own folder in front of PATH
python_variables=()
case $("${mpirun:-false}" --version 2>/dev/null | head -n 1) in
*'Open MPI'* | *OpenRTE*) python_variables=(MPI4PY_MPIABI=openmpi MPI4PY_LIBMPI=libmpi.so.40) ;;
*HYDRA*)
    python_variables=(MPI4PY_MPIABI=mpich)
    if [ -d "$build/mpis/python/alias" ]; then # Debian's MPICH under the name that mpi4py opens
        python_variables+=("LD_LIBRARY_PATH=$build/mpis/python/alias" "MPI4PY_LIBMPI=$build/mpis/python/alias/libmpi.so.12")
    fi
    ;;
esac

# make_copy FOLDER NAME: a copy of the sources, in which they are built.
make_copy() { rm -rf "${made:?}/$2" && cp -r "$1" "$made/$2"; }

# library_path PROGRAM: LD_LIBRARY_PATH with the folders of CUDA's libraries that the loader does not find by itself: the
# toolkit's, or those of the Python packages.
library_path() {
    local path=${LD_LIBRARY_PATH:-} name folder
    for _ in 1 2 3; do # a library that is found now may need another
        name=$(LD_LIBRARY_PATH=$path ldd "$1" 2>/dev/null | awk '/not found/ { print $1 }' | grep -v '^libcuda\.so')
        [ -n "$name" ] || break
        for name in $name; do
            for folder in "$cuda/lib64" "$cuda/targets/x86_64-linux/lib" $python_libraries; do
                if [ -e "$folder/$name" ]; then
                    case ":$path:" in *":$folder:"*) ;; *) path=$path${path:+:}$folder ;; esac
                    break
                fi
            done
        done
    done
    echo "$path"
}
python_libraries=$(timeout 60 python3 -c 'import glob, sysconfig
print(*glob.glob(sysconfig.get_path("purelib") + "/nvidia/*/lib"))' 2>/dev/null)

# launch ROW SECONDS RANKS WAY [VARIABLES...] -- PROGRAM...: WAY is tutti or plain. The output goes to ROW.log, that of a plain
# run to ROW.plain.log; $log names it. With Tutti, $behind is preloaded behind it. The program has a session of its own; what is left of it after the end is killed.
launch() {
    local row=$1 seconds=$2 n=$3 way=$4 variables=() status
    shift 4
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    mark=tutti-programs-$$-$row-$way # of the environment of all that the launch starts
    log=$logs/$row.log
    if [ "$way" = plain ]; then
        log=$logs/$row.plain.log
    else
        variables+=("LD_PRELOAD=$build/lib/libtutti.so${behind:+:$behind}" TUTTI_STATS=1 "TUTTI_DEVICE=$device")
    fi
    case $(basename "$mpirun") in *mpirun* | *mpiexec*) ;; *) reason="no mpirun was found" && return 127 ;; esac
    echo "# $n ranks, $way: ${variables[*]} $*" >"$log"
    TUTTI_TEST_MARK=$mark setsid -w timeout -k 5 "$seconds" "$mpirun" -n "$n" env "TUTTI_TEST_MARK=$mark" "${variables[@]}" "$@" \
        >>"$log" 2>&1 </dev/null &
    wait $!
    status=$?
    end_processes
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then
        reason="it did not end within $seconds s"
    elif [ $status -ne 0 ]; then
        reason="status $status: $(tail -n +2 "$log" | grep -aiE 'error|illegal|assert|segmentation|signal|wrong|abort|cannot' | head -n 1 | cut -c1-160)"
    fi
    return $status
}
device=${TUTTI_DEVICE:-auto}
[ "$gpus" -gt 0 ] || device=host

# end_processes: ends those of the last launch that are still there.
end_processes() {
    local folder
    [ -n "${mark:-}" ] || return
    for folder in /proc/[0-9]*; do
        if tr '\0' '\n' 2>/dev/null <"$folder/environ" | grep -qx "TUTTI_TEST_MARK=$mark"; then kill -9 "$(basename "$folder")" 2>/dev/null; fi
    done
}
trap 'end_processes; exit 130' INT TERM

# counted OUTCOME CALLS: how many calls of the last run, by a regular expression of their names, had this outcome.
counted() {
    awk -v outcome="$1" -v calls="^($2)(_c)?$" '$1 == "tutti:" && $2 ~ calls && $3 == outcome { n += $4 } END { print n + 0 }' "$log"
}
sends='MPI_([ISBR]|I[sbr])?[Ss]end(_init)?|MPI_I?[Ss]endrecv(_replace)?|MPI_Start(all)?'

# staged_or_not CALLS: appends to $says how many of these calls on device memory were staged, with the most frequent reason.
# Status 1: some were. A rank's first message may reach a peer that has passed no device memory yet: one a rank is allowed. So are
# messages until mapping their allocation pays, their receives, and first calls of a communicator, as long as they are fewer than
# the accelerated calls.
staged_or_not() {
    local staged why early unpaid received
    staged=$(counted staged "$1")
    says="$says, $(counted accelerated "$1") calls accelerated, $staged staged"
    [ "$staged" -eq 0 ] && return
    why=$(awk -v calls="^($1)(_c)?$" '$1 == "tutti:" && $2 ~ calls && $3 == "staged" && $4 > most { most = $4; $1 = $2 = $3 = $4 = ""; why = $0 }
        END { sub(/^ +/, "", why); print why }' "$log")
    says="$says (most: $why)"
    early=$(grep -E 'the receiver has passed no memory of a GPU yet$' "$log" | awk -v calls="^($1)(_c)?$" \
        '$2 ~ calls && $3 == "staged" { n += $4 } END { print n + 0 }')
    unpaid=$(($(staged_because 'allocation not mapped by the receiver yet' "$1") + $(staged_because 'first calls of a communicator' "$1")))
    received=$(staged_because 'sent by the MPI: host memory, or staged by its sender' "$1")
    [ "$received" -le $((unpaid + early)) ] || received=0
    [ "$staged" -le $((early + unpaid + received)) ] && [ "$early" -le "$ranks" ] && [ "$unpaid" -le "$(counted accelerated "$1")" ]
}

# staged_because REASON CALLS: how many of these calls were staged for this reason.
staged_because() {
    awk -v reason="$1" -v calls="^($2)(_c)?$" '$1 == "tutti:" && $2 ~ calls && $3 == "staged" && index($0, reason) { n += $4 } END { print n + 0 }' "$log"
}

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a > 0 && b > 0) printf "%.2f", a / b; else printf "?" }'; }
