#!/bin/bash
# A program on hosts made of namespaces (hosts.sh).
# run.sh MODE HOSTS RANKS FAMILY LAUNCHER OPTIONS... -- ENVIRONMENT... PROGRAM WORD...
# TUTTI_TEST_RELAY="RELAY DELAY_US LOSS": the hosts are connected by relay.c, which delays and loses frames.
#   MODE  passes  the program ends with status 0 and its ranks found HOSTS nodes
#         dies    the last rank but one dies: the others get an error
#         cut     the cable of the last host is cut: all ranks get an error
# shellcheck source=tests/mpi/hosts/hosts.sh
. "$(dirname "$0")/hosts.sh"
hosts_enter "$@"
mode=$1 many=$2 ranks=$3 family=$4 launcher=$5
shift 5
options=()
while [ "$1" != -- ]; do
    options+=("$1")
    shift
done
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ -n "${TUTTI_TEST_RELAY:-}" ]; then
    # shellcheck disable=SC2086 # three words
    hosts_relay "$many" $TUTTI_TEST_RELAY "${TUTTI_TEST_SEED:-$(date +%N | sed 's/^0*//')}"
else
    hosts_make "$many"
fi
hosts_launcher "$family" "$launcher" "$ranks"
all=$((many * ranks))
failed=0
say() {
    echo "hosts: $*"
    failed=$((failed + 1))
}

# A rank writes to a file: behind a cut cable its launcher gets no output.
cat >"$scratch/rank" <<RANK
#!/bin/bash
exec "\$@" >"$scratch/out.\$(hostname).\$\$" 2>&1
RANK
chmod +x "$scratch/rank"
said() { cat "$scratch"/out.* 2>/dev/null | grep -c "$1"; }
everything() { tail -n 40 "$scratch"/out.* "$scratch/log"; }

"${launch[@]}" "${options[@]}" "$scratch/rank" env "$@" >"$scratch/log" 2>&1 &
run=$!

if [ "$mode" = passes ]; then
    # MPICH 4.0 over UCX's TCP may stand still at the end of MPI_Finalize, without Tutti too: its result counts.
    while kill -0 $run 2>/dev/null; do
        sleep 0.2
        if [ "$family" = mpich ] && [ "$(said ' 0 failed, seed')" -ge 1 ] && [ $((late = ${late:-0} + 1)) -gt 50 ]; then
            echo "hosts: MPI_Finalize of MPICH does not return"
            stuck=1
            break
        fi
    done
    status=0
    [ -n "${stuck:-}" ] || wait $run || status=$?
    [ $status -eq 0 ] || say "exit status $status"
    for i in $(seq "$many"); do
        [ "$(find "$scratch" -name "out.host$i.*" | wc -l)" -eq "$ranks" ] || say "host$i has other than $ranks ranks"
    done
else
    expected=$all
    [ "$mode" = dies ] && expected=$((all - 1))
    while [ $SECONDS -lt 150 ]; do # before the test's own limit, so that its output is shown
        if [ "$mode" = cut ] && [ -z "${cut:-}" ] && [ "$(said '^met$')" -eq $all ]; then
            hosts_cut "$many"
            cut=1
        fi
        [ "$(said '^survivor')" -ge $expected ] && break
        sleep 0.1
    done
    [ "$(said '^survivor.*told')" -eq $expected ] || say "$(said '^survivor.*told') ranks of $expected were told"
    [ "$mode" = dies ] && [ "$(said '^killed')" -ne 1 ] && say "no rank died"
    [ "$mode" = cut ] && [ -z "${cut:-}" ] && say "the ranks did not meet"
fi
if [ -n "${TUTTI_TEST_RELAY:-}" ]; then
    hosts_relay_ends || say "the relay lost no frame"
fi
[ $failed -eq 0 ] || everything
echo "hosts, $mode on $many hosts of $ranks: $failed failed"
[ $failed -eq 0 ]
