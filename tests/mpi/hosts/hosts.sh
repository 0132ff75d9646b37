# shellcheck shell=bash disable=SC2154 # scratch: a folder of the script that sources this
# Sourced: hosts made of namespaces on one machine. A host has its own network, name, System V objects and /dev/shm; hosts share
# the files and a bridge. Everything lives in one process namespace and ends with it, however the test ends.
#
#   hosts_enter "$@"       first of all: starts the script again in namespaces of its own, or skips the test
#   hosts_make N [RATE]    hosts host1 ... hostN, 10.77.0.1 ... N; RATE of each cable in each direction (tbf), such as 1gbit
#   hosts_relay N RELAY DELAY_US LOSS SEED   the same hosts, connected by relay.c: each frame is delayed, and of LOSS frames one is lost
#   hosts_relay_ends       ends the relay, which prints its counts; fails if it lost no frame
#   hosts_on I WORD...     runs a command on host I
#   hosts_cut I            the cable of host I is cut; under hosts_relay it is the cable of the last host
#   hosts_launcher FAMILY LAUNCHER RANKS   launch=(...): starts RANKS ranks on each host
set -u

hosts_skip() {
    echo "SKIPPED: network namespaces are not permitted here: $*"
    exit 77
}

hosts_enter() {
    [ -n "${TUTTI_TEST_HOSTS_INSIDE:-}" ] && return
    local user=() isolate why
    [ "$(id -u)" = 0 ] || user=(--user --map-root-user)
    for tool in unshare nsenter ip tc; do
        command -v $tool >/dev/null || hosts_skip "there is no $tool"
    done
    isolate=(unshare "${user[@]}" --net --mount --uts --pid --fork --kill-child --mount-proc)
    why=$("${isolate[@]}" sh -ec 'ip link set lo up
        ip link add name cable0 type veth peer name cable1
        ip link add name hub type bridge
        tc qdisc add dev cable0 root tbf rate 1gbit burst 256k latency 50ms
        mount -t tmpfs tmpfs /dev/shm' 2>&1) || hosts_skip "$why"
    exec "${isolate[@]}" env TUTTI_TEST_HOSTS_INSIDE=1 bash "$0" "$@"
}

hosts_on() {
    local pid
    pid=$(cat "$scratch/host$1.pid")
    shift
    nsenter -t "$pid" -n -u -m -i "$@"
}

hosts_shape() { # RATE COMMAND...: tc in the namespace that COMMAND enters
    local rate=$1
    shift
    "$@" root tbf rate "$rate" burst 256k latency 50ms
}

hosts_names() { # N: what all hosts share
    trap 'exit 143' TERM INT
    ip link set lo up
    { echo "127.0.0.1 localhost"; for i in $(seq "$1"); do echo "10.77.0.$i host$i"; done; } >"$scratch/hosts"
    mount --bind "$scratch/hosts" /etc/hosts
    # Open MPI names its folders after the host and the number of the launcher's process. Both are the same in other tests, which
    # have the same hosts in process namespaces of their own: launchers would share PMIx's locks.
    mkdir "$scratch/tmp"
    export TMPDIR=$scratch/tmp
    cat >"$scratch/agent" <<AGENT
#!/bin/bash
# As ssh: OPTION... HOST WORD...
while [[ \$1 == -* ]]; do shift; done
host=\$1
shift
exec nsenter -t "\$(cat "$scratch/\$host.pid")" -n -u -m -i sh -c "\$*"
AGENT
    chmod +x "$scratch/agent"
    hosts=$1
}

hosts_boot() { # I: host I, without a network yet; its process in $pid
    unshare --net --uts --ipc --mount sh -ec "hostname host$1; mount -t tmpfs tmpfs /dev/shm
        ip link set lo up; : >'$scratch/host$1.made'; exec sleep infinity" &
    pid=$!
    echo $pid >"$scratch/host$1.pid"
    until [ -e "$scratch/host$1.made" ]; do sleep 0.02; done
}

hosts_address() { # I
    hosts_on "$1" ip address add "10.77.0.$1/24" dev eth0
    hosts_on "$1" ip link set eth0 up
}

hosts_make() {
    local n=$1 rate=${2:-} i pid
    hosts_names "$n"
    ip link add name hub type bridge
    ip link set hub up
    for i in $(seq "$n"); do
        hosts_boot "$i"
        ip link add name "cable$i" type veth peer name eth0 netns $pid
        ip link set "cable$i" master hub up
        hosts_address "$i"
        if [ -n "$rate" ]; then
            hosts_shape "$rate" hosts_on "$i" tc qdisc add dev eth0
            hosts_shape "$rate" tc qdisc add dev "cable$i"
        fi
    done
}

# A round trip between hosts, by a connection that is refused, takes two delays at least on any machine. The least of ten counts.
hosts_relay() {
    local n=$1 delay=$3 i pid pids=() least
    (ip tuntap add dev probe0 mode tap && ip link delete probe0) 2>"$scratch/why" || hosts_skip "$(cat "$scratch/why")"
    hosts_names "$n"
    for i in $(seq "$n"); do
        hosts_boot "$i"
        pids+=("$pid")
    done
    "$2" "$delay" "$4" "$5" "${pids[@]}" >"$scratch/relay" 2>&1 &
    relay=$!
    until grep -q ready "$scratch/relay"; do
        kill -0 $relay 2>/dev/null || { cat "$scratch/relay"; exit 1; }
        sleep 0.02
    done
    for i in $(seq "$n"); do
        hosts_address "$i"
    done
    least=$(hosts_on 1 bash -c 'for try in 1 2 3 4 5 6 7 8 9 10; do
            begin=${EPOCHREALTIME/[.,]/}
            (exec 3<>/dev/tcp/10.77.0.2/9) 2>/dev/null && exit 1
            end=${EPOCHREALTIME/[.,]/}
            echo $((end - begin))
        done' | sort -n | head -n 1)
    [ "${least:-0}" -ge $((2 * delay)) ] || { echo "hosts: a round trip takes $least us, less than two delays of $delay"; exit 1; }
}

hosts_relay_ends() {
    kill -TERM "$relay"
    wait "$relay"
    tail -n 1 "$scratch/relay"
    grep -q 'carried, [1-9][0-9]* lost' "$scratch/relay"
}

hosts_cut() {
    if [ -n "${relay:-}" ]; then
        kill -USR1 "$relay"
    else
        ip link set "cable$1" down
    fi
}

hosts_launcher() {
    local list i
    list=$(for i in $(seq "$hosts"); do printf 'host%s ' "$i"; done)
    list=${list% }
    if [ "$1" = openmpi ]; then
        launch=(hosts_on 1 "$2" --mca plm_rsh_agent "$scratch/agent" --host "${list// /:$3,}:$3" --map-by slot
            --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24)
    else # UCX tells machines apart by their kernel, and would take these for one
        launch=(hosts_on 1 env -u HYDRA_LAUNCHER "UCX_TLS=tcp,self" UCX_NET_DEVICES=eth0 FI_PROVIDER=tcp FI_TCP_IFACE=eth0 "$2" -launcher ssh -launcher-exec
            "$scratch/agent" -hosts "${list// /,}" -ppn "$3")
    fi
    launch+=(-n $((hosts * $3)))
}

# Hosts for figures: hosts_figures LAUNCHER HOSTS RANKS RATE. Open MPI. Sets scratch, a folder that goes at the end of the
# script, and arguments, the launcher's options for --mpi-args of the command.
hosts_figures() {
    # With one connection of two processes, Open MPI's control messages wait behind data of the other direction.
    export OMPI_MCA_btl_tcp_links=${TUTTI_TEST_LINKS:-2}
    # The MPI takes each host for a machine of its own: its ranks would spin in the place of those of other hosts.
    [ $(($2 * $3)) -le "$(nproc)" ] || export OMPI_MCA_mpi_yield_when_idle=1
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    hosts_make "$2" "$4"
    hosts_launcher openmpi "$1" "$3"
    # launch is: hosts_on 1 LAUNCHER OPTION... -n N
    # shellcheck disable=SC2034 # read by the script
    arguments="${launch[*]:3:${#launch[@]}-5}"
}
