#!/bin/bash
# laws.sh must see each kind of breach: a source tree with one of each is given to it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{include,src/{core,progress,kernels,device/{host,cuda},rules,dtype,team,sched,p2p,coll,shmem,mpi},tools,bench,tests}
failed=0
files=() wanted=() # breaches that are in the tree, and what laws.sh must say of them
flush() {
    local said what
    [ ${#files[@]} -gt 0 ] || return 0
    if said=$("$here/laws.sh" "$tree"); then
        printf 'not seen: %s\n' "${wanted[@]}"
        failed=1
    fi
    for what in "${wanted[@]}"; do
        [[ $said == *"$what"* ]] || { printf 'wanted: %s\nsaid: %s\n' "$what" "$said"; failed=1; }
    done
    rm "${files[@]}"
    files=() wanted=()
}
expect() { # what laws.sh must say of the tree without them
    local said
    flush
    if said=$("$here/laws.sh" "$tree"); then
        echo "not seen: $1"
        failed=1
    elif [[ $said != *"$1"* ]]; then
        printf 'wanted: %s\nsaid: %s\n' "$1" "$said"
        failed=1
    fi
}
clean() { flush; "$here/laws.sh" "$tree" >/dev/null || { echo "a breach is seen where there is none"; failed=1; }; }

printf '#include <mpi.h>\n' >"$tree/src/mpi/a.c"
printf '#include <cuda.h>\n' >"$tree/src/device/cuda/a.c"
printf '#include "core/a.h"\n#include "team/team.h"\n#include "coll/launch/flow.h"\n' >"$tree/src/coll/a.c"
clean
# A run of laws.sh shows many: only one that needs the file of another has a run of its own.
breach() { # file, text, what laws.sh must say
    [ ! -e "$tree/$1" ] || flush
    printf '%s\n' "$2" >"$tree/$1"
    files+=("$tree/$1")
    wanted+=("$3")
}
breach src/team/team.h 'struct tutti_team { int rules; /* set by coll/ */ };' "the team's header speaks of a room above it: src/team/team.h:1"
breach src/coll/b.c '#include <mpi.h>' 'mpi.h outside src/mpi: src/coll/b.c:1'
breach src/team/b.c '#  include "cuda.h"' 'cuda.h outside src/device/cuda: src/team/b.c:1'
breach src/core/b.h '#include "team/team.h"' 'core includes team, a room above it: src/core/b.h:1'
breach src/device/b.c '#include "../coll/coll.h"' 'device includes coll'
breach src/mpi/b.c '#include "coll/launch/flow.h"' 'a header of an inner room of coll: src/mpi/b.c:1'
mkdir -p "$tree"/src/{attic,mpi/{cellar,comm}}
expect 'a room that the list of rooms lacks: src/attic'
rmdir "$tree/src/attic"
expect 'a room that the list of rooms lacks: src/mpi/cellar'
rmdir "$tree/src/mpi/cellar"
breach src/mpi/comm/b.c '#include "mpi/reduce/reduction.h"' 'mpi/comm includes mpi/reduce, a room above it: src/mpi/comm/b.c:1'
mkdir -p "$tree/src/mpi/queue" "$tree/src/openshmem"
breach src/openshmem/b.c '#include "core/status.h"' 'openshmem includes core, a room above it: src/openshmem/b.c:1'
breach src/shmem/b.c '#include "openshmem/names.h"' 'openshmem is above all rooms: src/shmem/b.c:1'
breach src/mpi/queue/b.c '#include "mpi/enqueue/messages.h"' 'mpi/queue includes mpi/enqueue, a room above it: src/mpi/queue/b.c:1'
breach src/device/host/b.c '#include "device/cuda/driver.h"' 'a device reaches into another'
breach src/coll/b.c 'int on = strcmp(device->name, "cuda") == 0;' 'a device by name, not by a field of its table: src/coll/b.c:1'
mkdir "$tree/tools/info"
breach bench/b.c 'if (strncmp(tutti_device_name(), "host", 4) == 0)' 'a device by name, not by a field of its table: bench/b.c:1'
breach tools/info/b.c 'if (settings->device == TUTTI_SET_DEVICE_CUDA)' 'a device by name, not by a field of its table: tools/info/b.c:1'
breach src/mpi/b.c 'static struct row rows[] = {{"host", 1}, {NULL, 0}};' 'a device by name, not by a field of its table: src/mpi/b.c:1'
breach include/b.h '#include "core/status.h"' 'a public header includes a private one'
breach src/mpi/b.c 'int is = way == TUTTI_PROTOCOL_direct;' 'a protocol by name, outside of its row: src/mpi/b.c:1'
breach src/mpi/b.c 'recv->far = &tutti_pipelined_ops;' 'a protocol by name, outside of its row: src/mpi/b.c:1'
breach src/mpi/b.c 'sent->row = find(&tutti_landed_ops);' 'a protocol by name, outside of its row: src/mpi/b.c:1'
breach src/p2p/choose.c 'if (way != TUTTI_PROTOCOL_staged) post();' 'a protocol by name, outside of its row: src/p2p/choose.c:1'
breach src/device/cuda/b.c 'void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);' 'entries of NVML looked up outside src/core/nvml.c: src/device/cuda/b.c:1'
breach src/core/b.c 'start = dlsym(library, "nvmlInit_v2");' 'entries of NVML looked up outside src/core/nvml.c: src/core/b.c:1'
printf 'struct tutti_runs {\n    int n;\n};\n' >"$tree/src/coll/a.h"
breach src/team/b.h 'struct tutti_runs {' 'two types of one name: struct tutti_runs'
flush
rm "$tree/src/coll/a.h"
breach src/team/b.c 'void f(void) { nanosleep(&time, 0); }' 'a wait of its own: src/team/b.c:1'
mkdir -p "$tree/include/tutti" "$tree/src/coll/reduce"
printf 'TUTTI_ALGORITHM(ll, STREAM, "text")\nTUTTI_ALGORITHM(ll128, STREAM, "text")\n' >"$tree/include/tutti/algorithms.def"
printf 'const struct tutti_algorithm tutti_reduce_ll = {\n    .name = "ll",\n};\n' >"$tree/src/coll/reduce/ll.c"
clean
breach src/coll/b.c 'int f(int a) { return a == TUTTI_ALGORITHM_ll128; }' 'an algorithm by name, not by a column of its row: src/coll/b.c:1'
breach src/mpi/b.c 'int f(void) { return tutti_reduce_ll.run(); }' 'an algorithm by name, not by a column of its row: src/mpi/b.c:1'
breach src/coll/b.c 'int f(const char *name) { return strcmp(name, "ll") == 0; }' "an algorithm's name in a string: src/coll/b.c:1"
printf 'TUTTI_MOVE(fetch, HOST, "text")\n' >"$tree/include/tutti/moves.def"
breach src/mpi/b.c 'int f(void) { return tutti_move_fetch.run(); }' 'an algorithm by name, not by a column of its row: src/mpi/b.c:1'
breach src/coll/reduce/b.c 'int f(const char *name) { return strcmp(name, "ll") == 0; }' "an algorithm's name in a string: src/coll/reduce/b.c:1"
breach src/coll/b.c 'void f(void) { while (!done()) sched_yield(); }' 'a wait of its own: src/coll/b.c:1'
breach src/mpi/b.c 'void f(void) { while (!done()) tutti_pause(); }' 'a wait of its own: src/mpi/b.c:1'
breach src/mpi/b.c 'const struct tutti_wait wait = {.done = f, .quiet = 1};' 'a quiet wait, in which a peer may need'
breach src/p2p/b.c 'void f(void) { atomic_store(&send->rndv->state, TUTTI_RNDV_ATS); }' 'a state of a rendezvous that is stored: src/p2p/b.c:1'
breach src/team/b.h 'static inline void f(void) { atomic_store_explicit(&rndv->state, 6, memory_order_release); }' 'a state of a rendezvous that is stored: src/team/b.h:1'
breach src/mpi/b.c 'void f(void) { own->rndv[i].state = TUTTI_RNDV_FREE; }' 'a state of a rendezvous that is stored: src/mpi/b.c:1'
breach src/mpi/b.c '/* MPICH 4.0 does it */' 'an MPI by name, not by a field of quirks.h: src/mpi/b.c:1'
breach src/mpi/b.c 'int is = strstr(text, "Intel") != NULL;' 'an MPI by name, not by a field of quirks.h: src/mpi/b.c:1'
breach src/mpi/b.h '# ifdef TUTTI_FRONT_OPENMPI' 'an interface of an MPI, not a field of quirks.h: src/mpi/b.h:1'
breach src/team/b.c "$(yes '/* */' | head -n 450)" 'has 450 lines'
mkdir "$tree/docs"
breach docs/performance.md "$(yes 'a line' | head -n 201)" 'docs/performance.md has 201 lines'
mkdir -p "$tree/src/mpi/message"
touch "$tree"/src/mpi/message/{1..25}.c
clean
touch "$tree/src/mpi/message/26.c"
expect 'src/mpi/message has 26 .c files'
rm -r "$tree/src/mpi/message"
clean
exit $failed
