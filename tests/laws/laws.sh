#!/bin/bash
# The house's laws, as far as the sources show them: laws.sh SOURCE-FOLDER. Prints every breach; exit status 1 if any.
set -u
cd "${1:?source folder}" || exit 2
breaches=0
breach() {
    echo "$*"
    breaches=$((breaches + 1))
}
includes() { # pattern, folders: lines that include a file of that name
    grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($1)[>\"]" "${@:2}" --include='*.[ch]' --include='*.inc' \
        --include='*.cu' --include='*.def' --include='*.S'
}

# The MPI is known in src/mpi alone, a GPU maker's interface in its device's folder alone.
while read -r line; do
    case $line in src/mpi/* | include/tutti/triggering/* | include/tutti/aware/*) ;; *) breach "mpi.h outside src/mpi: $line" ;; esac
done < <(includes '(.*/)?(mpi|mpi_abi|mpi-ext|mpi_proto)\.h' src include)
while read -r line; do # programs written for NVSHMEM get CUDA's headers by its own
    case $line in src/device/cuda/* | include/tutti/nvshmem/types.h:*) ;; *) breach "cuda.h outside src/device/cuda: $line" ;; esac
done < <(includes 'cuda\.h|cuda_runtime(_api)?\.h|cudaTypedefs\.h|nvml\.h' src include)

# A room knows the rooms under it and nothing above. The device contract names the kernels' list; kernels know nothing of
# devices. openshmem, the library above all, includes include/tutti alone, as if it were below all. Then the rooms of the door.
for rooms in "openshmem core progress energy kernels device bounce rules dtype team ring sched p2p coll shmem part mpi" \
    "mpi/real mpi/type mpi/bounce mpi/comm mpi/request mpi/io mpi/message mpi/queue mpi/enqueue mpi/part mpi/nodes mpi/move mpi/reduce mpi/rma mpi/call mpi/front"; do
    read -ra rooms <<<"$rooms"
    for folder in "src/${rooms[0]%"${rooms[0]##*/}"}"*/; do
        folder=${folder#src/}
        [[ " ${rooms[*]} " == *" ${folder%/} "* || $folder == *'*'* ]] || breach "a room that the list of rooms lacks: src/${folder%/}"
    done
    for ((below = 0; below < ${#rooms[@]}; below++)); do
        [ -d "src/${rooms[below]}" ] || continue
        above=$(IFS='|' && echo "${rooms[*]:below+1}")
        [ -n "$above" ] || continue
        while read -r line; do
            [[ $line =~ [\<\"](\.\./)*(src/)?($above)/ ]]
            breach "${rooms[below]} includes ${BASH_REMATCH[3]}, a room above it: $line"
        done < <(includes "(\.\./)*(src/)?($above)/.*" "src/${rooms[below]}")
    done
done
# What other rooms may include of these lies beside their inner rooms.
for room in dtype coll; do
    while read -r line; do
        case $line in src/$room/*) ;; *) breach "a header of an inner room of $room: $line" ;; esac
    done < <(includes "(\.\./)*(src/)?$room/.*/.*" src)
done
while read -r line; do
    case $line in src/openshmem/*) ;; *) breach "openshmem is above all rooms: $line" ;; esac
done < <(includes '(\.\./)*(src/)?openshmem/.*' src)
while read -r line; do
    breach "a device reaches into another: $line"
done < <(
    includes '.*device/cuda/.*' src/device/host
    includes '.*device/host/.*' src/device/cuda
)
while read -r line; do
    breach "a public header includes a private one: $line"
done < <(includes '(core|kernels|energy|device|progress|rules|dtype|team|ring|sched|p2p|coll|shmem|part|mpi)/.*' include)

# A team holds no state of the rooms above it: they keep their own.
while read -r line; do
    breach "the team's header speaks of a room above it: $line"
done < <(grep -nE '\b(coll|p2p|shmem|part|mpi)/' src/team/team.h /dev/null 2>/dev/null)

# What callers must know of an algorithm is a column of its row (coll/algorithm.h): outside src/coll/reduce and src/coll/move
# nothing names one, and there nothing but its own row compares its name.
algorithms=$(sed -nE 's/^TUTTI_(ALGORITHM|MOVE)\(([a-z0-9_]+),.*/\2/p' include/tutti/{algorithms,moves}.def 2>/dev/null | paste -sd '|')
while read -r line; do
    case $line in src/coll/reduce/* | src/coll/move/*) ;; *) breach "an algorithm by name, not by a column of its row: $line" ;; esac
done < <([ -z "$algorithms" ] || grep -rnE "(TUTTI_ALGORITHM|TUTTI_MOVE|tutti_reduce|tutti_move)_($algorithms)\b" src --include='*.[ch]' --include='*.inc')
while read -r line; do
    breach "an algorithm's name in a string: $line"
done < <([ -z "$algorithms" ] || grep -rnE "\"($algorithms)\"" src/coll src/mpi --include="*.[ch]" --include="*.inc" |
    grep -vE '^src/coll/(reduce|move)/[a-z0-9_]+\.c:[0-9]+: +\.name = "')

# What a device can do is a field of its table: no code outside src/device asks for a device by its name. A word that
# only looks like one: a mode of Intel MPI.
while read -r line; do
    case $line in
    src/device/* | bench/common/place.c:*'mode && strcmp(mode,'*) ;;
    *) breach "a device by name, not by a field of its table: $line" ;;
    esac
done < <(grep -rnE '(str|strn|strcase|mem)cmp *\(.*"(cuda|host)[":]|tutti_device_present *\(|TUTTI_SET_DEVICE_(CUDA|HOST)|tutti_device_(cuda|host)\b|\{ *"(cuda|host)",' \
    src tools bench --include='*.[ch]' --include='*.inc' --include='*.cu' | grep -v '^src/core/settings\.h:')

# What an MPI does otherwise than others is known in one file alone, and so are MPIs by name. Files that tell handles and
# numbers of their interfaces know which interface it is.
while read -r line; do
    case $line in
    src/mpi/real/quirks*|src/mpi/real/mpi_api.h:*|src/mpi/type/envelope.h:*) ;;
    *) breach "an MPI by name, not by a field of quirks.h: $line" ;;
    esac
done < <(grep -rnE 'Intel|Open ?MPI|(^|[^_A-Z])MPICH([^_A-Z]|$)' src/mpi --include='*.[chS]' --include='*.inc' --include='*.def')
while read -r line; do
    case $line in
    src/mpi/real/mpi_api.h:*|src/mpi/real/state.c:*|src/mpi/real/handles.c:*|src/mpi/type/envelope.h:*) ;;
    *) breach "an interface of an MPI, not a field of quirks.h: $line" ;;
    esac
done < <(grep -rnE '^[[:space:]]*#.*TUTTI_FRONT_' src/mpi --include='*.[chS]' --include='*.inc' --include='*.def')

# A protocol of messages is known by name in its own file and in the table of protocols alone (src/p2p).
while read -r line; do
    case $line in
    src/p2p/protocols.[ch]:* | src/p2p/direct.c:* | src/p2p/engines.c:* | src/p2p/packed.c:* | src/p2p/landed.c:* | src/p2p/carried.c:* | src/p2p/pipelined*.c:*) ;;
    *) breach "a protocol by name, outside of its row: $line" ;;
    esac
done < <(grep -rnE '\bTUTTI_PROTOCOL_[a-z]\w*\b|\btutti_(staged|landed|packed|direct|engines|carried|pipelined)_ops\b' src --include='*.[ch]' --include='*.inc')

# One place opens NVIDIA's management library.
while read -r line; do
    case $line in src/core/nvml.c:*) ;; *) breach "entries of NVML looked up outside src/core/nvml.c: $line" ;; esac
done < <(grep -rnE 'dlsym *\(.*"nvml|dlopen *\(.*nvidia-ml' src --include='*.[ch]' --include='*.inc')

# A type has one name, and a name one type: apart from what each device and each instantiation of the kernels defines for itself.
while read -r name; do
    breach "two types of one name: $name: $(grep -rlE "^$name \\{" src include | tr '\n' ' ')"
done < <(grep -rhoE '^(struct|union|enum) tutti_\w+ \{' src include --include='*.[ch]' --include='*.inc' --exclude-dir=kernels --exclude-dir=cuda --exclude-dir=host |
    sed 's/ {$//' | sort | uniq -d)

# Nothing waits by itself: all waits are the engine's. Apart from it sleep the threads of the host device, which stand for
# a GPU's, and the watcher, which is a thread of its own, as are what ends a process whose exit() stands still and what serves
# attached memory to other ranks (mpi/rma/mapped_owner.c) and what reads energy counters. A copy that the driver would wait for is
# looked at for 200 us at most (device/cuda/spin.h). Kernels spin (src/kernels).
while read -r line; do
    case $line in
    src/progress/*|src/device/host/stream.c:*|src/device/host/event.c:*|src/device/host/places.c:*|src/device/host/queues.c:*|src/device/host/memory.c:*|src/device/host/asked.c:*|src/team/watcher.c:*) ;;
    src/shmem/life/exit.c:*|src/mpi/rma/mapped_owner.c:*|src/energy/meter.c:*|src/device/cuda/spin.h:*) ;;
    *) breach "a wait of its own: $line" ;;
    esac
done < <(grep -rnE '\b(nanosleep|clock_nanosleep|usleep|sleep|sched_yield|pthread_yield|thrd_(yield|sleep)|sem_(timed)?wait|pthread_cond_(timed|clock)?wait|tutti_pause|tutti_nap|tutti_fiber_yield|_mm_pause|__builtin_ia32_pause|epoll_wait|ppoll|pselect|select) *\(' \
    src --include='*.[ch]' | grep -vE '^src/(kernels/|core/clock\.h:)')

# A quiet wait polls nothing, so that whoever else makes the progress that it needs is known for each:
#   dtype/pack/{channel,copies}.c, p2p/both.c, progress/gate.c    no peer: a kernel or copies of this process, or another fiber of this thread
#   team/mappings/cache.c             no peer: another thread of this process, which is in the GPU's driver
#   team/wait.c                       its own look, by the transport
#   coll/call/reservation.c             the votes that it asks, by team/wait.c
#   team/mesh.c, node.c, roll.c       all ranks are in MPI_Init or MPI_Finalize, and it is bounded
#   team/resources.c                  no peer: kernels that were told to end, and it is bounded
#   mpi/rma/mapped_words.c            no peer: a kernel of this process
#   mpi/rma/mapped_attach.c           no peer: the descriptor was sent before the row that names it, and it is bounded
#   mpi/rma/mapped_owner.c            no peer: a thread of this process that was told to end, and has nothing left to serve
#   mpi/request/freed.c              another thread of this process, which looks at the freed requests without waits, and it is bounded
#   mpi/comm/streams.c                no peer: its stream is idle where the program frees the communicator
while read -r line; do
    case $line in
    src/dtype/pack/channel.c:*|src/dtype/pack/copies.c:*|src/p2p/both.c:*|src/progress/gate.c:*|src/team/mappings/cache.c:*|src/team/wait.c:*|src/coll/call/reservation.c:*) ;;
    src/team/mesh.c:*|src/team/node.c:*|src/team/roll.c:*|src/team/resources.c:*|src/mpi/rma/mapped_words.c:*|src/mpi/rma/mapped_attach.c:*|src/mpi/rma/mapped_owner.c:*|src/mpi/comm/streams.c:*|src/mpi/request/freed.c:*) ;;
    src/shmem/heap_*) ;; # tables of heaps: an operation of the address space
    *) breach "a quiet wait, in which a peer may need what this rank does not bring on: $line" ;;
    esac
done < <(grep -rnE '\.quiet = [^0]' src --include='*.[ch]' --include='*.inc')

# A rendezvous leaves each state by compare and swap alone (tutti_rndv_move()): a plain store would undo what the other
# side has done meanwhile.
while read -r line; do
    breach "a state of a rendezvous that is stored: $line"
done < <(grep -rnE '\b(atomic_(store|exchange|fetch_[a-z]+)(_explicit)?|__atomic_(store|exchange)(_n)?|__sync_lock_test_and_set|atomic_init) *\( *&[^,]*rndv(\[[^]]*\])?(->|\.)state\b|\brndv(\[[^]]*\])?(->|\.)state *(=[^=]|\+\+|[-+|&^]=)' \
    src --include='*.[ch]' --include='*.inc')

# Folders that can be taken in at a glance.
while read -r files folder; do
    [ "$files" -le 25 ] || breach "$folder has $files .c files: make rooms of it (at most 25)"
done < <(find src tests bench tools -name '*.c' -printf '%h\n' 2>/dev/null | sort | uniq -c)

# Files of one idea. A list (.def) is as long as what it lists.
while read -r lines file; do
    [ "$file" = total ] && continue
    [ "$lines" -lt 450 ] || breach "$file has $lines lines: split it (under 450)"
done < <(find src include tools tests examples cmake scripts bench \( -name '*.[chS]' -o -name '*.cu' -o -name '*.inc' \
    -o -name '*.sh' -o -name '*.py' -o -name '*.cmake' \) -print0 2>/dev/null | xargs -0 wc -l)

# The figures of today, not a history of them.
lines=$([ ! -f docs/performance.md ] || wc -l <docs/performance.md)
[ "${lines:-0}" -le 200 ] || breach "docs/performance.md has $lines lines: keep the newest figures (at most 200)"

[ $breaches -eq 0 ] && echo "the laws hold"
[ $breaches -eq 0 ]
