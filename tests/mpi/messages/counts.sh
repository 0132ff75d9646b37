#!/bin/bash
# The table of TUTTI_STATS=1 for a program of short messages, compared as printed; and the line at MPI_Finalize: once for a
# job whose messages are staged for a reason that can be changed, and in no other case.
# counts.sh LAUNCHER OPTIONS... -- PROGRAM
# shellcheck source=tests/mpi/launched.sh
. "$(dirname "$0")/../launched.sh"
cd "$scratch" || exit 1
try() { # name, settings... -- arguments
    local name=$1 settings=()
    shift
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    timeout -k 2 60 "${launch[@]}" env "${settings[@]}" "$program" "$@" >"$name.out" 2>"$name.err" ||
        say "$name: exit status $?: $(cat "$name.out" "$name.err")"
}

try table TUTTI_STATS=1 -- table
grep '^tutti: MPI_' table.err | grep -v 'MPI_Alloc_mem\|MPI_Allreduce\|host memory$' | tr -s ' ' >table.got
cat >table.expected <<'END'
tutti: MPI_Irecv passed 2 0 MPI_PROC_NULL
tutti: MPI_Irecv staged 1 6 sent by the MPI: host memory, or staged by its sender
tutti: MPI_Isend passed 2 0 MPI_PROC_NULL
tutti: MPI_Isend staged 1 6 default rules choose staging
tutti: MPI_Recv passed 2 0 MPI_PROC_NULL
tutti: MPI_Recv staged 4 24 sent by the MPI: host memory, or staged by its sender
tutti: MPI_Recv_init passed 4 0 MPI_PROC_NULL
tutti: MPI_Recv_init staged 3 18 sent by the MPI: host memory, or staged by its sender
tutti: MPI_Rsend_init passed 2 0 MPI_PROC_NULL
tutti: MPI_Send passed 2 0 MPI_PROC_NULL
tutti: MPI_Send staged 4 24 default rules choose staging
tutti: MPI_Send_init passed 6 0 MPI_PROC_NULL
tutti: MPI_Send_init staged 3 18 default rules choose staging
tutti: MPI_Sendrecv staged 2 12 default rules choose staging
tutti: MPI_Sendrecv staged 2 12 sent by the MPI: host memory, or staged by its sender
tutti: MPI_Sendrecv_replace staged 2 12 default rules choose staging
tutti: MPI_Sendrecv_replace staged 2 12 sent by the MPI: host memory, or staged by its sender
tutti: MPI_Ssend_init passed 2 0 MPI_PROC_NULL
END
diff -u table.expected table.got || say "the table is another one"
grep -q '^tutti: call  *outcome  *count  *bytes  how or why$' table.err || say "no heading: $(cat table.err)"

hint='of the device memory in MPI calls went through host memory'
hints() { # name, how many
    local n
    n=$(grep -c "$hint" "$1.err")
    [ "$n" = "$2" ] || say "$1: $n lines of advice, not $2: $(cat "$1.err")"
}
try rules TUTTI_RULES='message:*@staged' -- hint 1000000
hints rules 1
grep -q 'rules choose staging\. Take the protocol staged out' rules.err || say "what to change: $(cat rules.err)"
try off TUTTI_RULES='message:*@staged message_far:*@staged' -- hint 1000000
hints off 1
grep -q 'Take staged out of the rules of message and message_far' off.err || say "what to change: $(cat off.err)"
try quiet TUTTI_RULES='message:*@staged message_far:*@staged' TUTTI_LOG=error -- hint 1000000
hints quiet 0
try little TUTTI_RULES='message:*@staged message_far:*@staged' -- hint 100000
hints little 0
try machine TUTTI_NODE_RANKS=1 TUTTI_RULES='message_far:*@staged' -- hint 1000000
hints machine 0
echo "counts: $failed failed"
[ $failed -eq 0 ]
