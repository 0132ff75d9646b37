#!/bin/bash
# tutti bench beside a pretended NCCL on a pretended CUDA driver, one rank: bench_peers.sh TUTTI MPI FOLDER-OF-FAKES NVML
# Graphs of that driver do nothing, so that their results are not looked at.
. "$(dirname "$0")/check.sh"
tutti=$1 mpi=$2
unset LD_PRELOAD TUTTI_RULES TUTTI_HOST_STRICT NCCL_SYM_CTAS NCCL_NVLS_ENABLE NCCL_HOSTID NCCL_NET
export TUTTI_DEVICE=cuda LD_LIBRARY_PATH=$3${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
number='[0-9]+\.[0-9]{2}'

for collective in allreduce reduce reduce_scatter; do
    said=$("$tutti" bench $collective -n 1 --mpi "$mpi" -m 8,64k,8m -i 90 -x 1 --order graph --no-validation 2>&1)
    holds "$said" "^# Tutti .* MPIX_${collective^}_enqueue in a graph latency: 1 ranks, sum of float, cuda device, 1 GPU" "$collective: head"
    holds "$said" '^# NCCL 2\.28\.7$' "$collective: version"
    holds "$said" '^# Size .* nccl +x +nccl_graph +x +nccl_sym +x +nccl_sym32 +x +best +x$' "$collective: columns"
    for size in 8 65536 8388608; do
        holds "$said" "^$size( +$number){4} +90  copy *( +$number){8}  nccl[a-z_0-9]* +$number\$" "$collective of $size bytes"
    done
    # Each copy of the library has kept its own setting, and all windows are given back.
    holds "$said" '^fake nccl: ctas 0, .* 0 windows left$' "$collective: the first copy"
    holds "$said" '^fake nccl: ctas 32, .* 0 windows left$' "$collective: the second copy"
    # Blocking: the calls are real, so that results are checked.
    said=$("$tutti" bench $collective -n 1 --mpi "$mpi" -m 8,64k -i 6 -x 1 2>&1)
    holds "$said" "^65536( +$number){4} +6  copy *( +$number){4}  (staged|nccl) +$number\$" "$collective, blocking"
    lacks "$said" 'nccl_' "$collective, blocking: no graphs"
done
said=$(FAKE_NCCL_WINDOWS=0 "$tutti" bench allreduce -n 1 --mpi "$mpi" -m 8,64k -i 9 -x 1 --order graph --no-validation 2>&1)
holds "$said" '^# no nccl_sym: .*made no window' "without symmetric memory"
holds "$said" '^# Size .* nccl +x +nccl_graph +x +best +x$' "without symmetric memory: columns"
said=$("$tutti" bench scan -n 1 --mpi "$mpi" -m 8,64k -i 9 -x 1 2>&1)
holds "$said" '^# no nccl: NCCL has no such call$' "scan"
said=$("$tutti" bench allreduce -n 1 --mpi "$mpi" -m 4,4k --type int16 -i 9 -x 1 2>&1)
holds "$said" '^# no nccl: NCCL does not reduce sum of int16$' "a type that NCCL lacks"
# Virtual nodes are hosts for NCCL, with sockets between them unless the user has set the network.
for net in '' IB; do
    said=$(TUTTI_NODE_RANKS=1 ${net:+env NCCL_NET=$net} "$tutti" bench allreduce -n 1 --mpi "$mpi" -m 8 -i 6 -x 1 --ways nccl 2>&1)
    holds "$said" "^# NCCL 2\.28\.7, NCCL_NET=${net:-Socket} between nodes of 1 rank\$" "virtual nodes, network '$net'"
    holds "$said" "^fake nccl: host $(uname -n)-tutti-0, net ${net:-Socket}\$" "virtual nodes are hosts, network '$net'"
done
said=$("$tutti" bench allreduce -n 1 --mpi "$mpi" -m 8 -i 6 -x 1 --ways nccl 2>&1)
holds "$said" '^fake nccl: host of the machine, net any$' "one node"
# Data movers, each by NCCL's own call or by a group, and by its copy engines where it has them; results are checked.
for mover in bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv; do
    ways='nccl +x' values=4
    case $mover in *gather | scatter | alltoall) ways='nccl +x +nccl_ce +x' values=6 ;; esac
    [[ $mover = neighbor_* ]] && ways='nccl +x' values=4
    # Kernels of that driver do nothing: a rank alone would copy its blocks by one.
    said=$(TUTTI_RULES="bcast:*@mpi gather:*@mpi scatter:*@mpi allgather:*@mpi alltoall:*@mpi neighbor:*@mpi" "$tutti" bench $mover -n 1 --mpi "$mpi" -m 8,64k -i 6 -x 1 --ways nccl,nccl_ce,hand 2>&1)
    holds "$said" '^# NCCL 2\.28\.7$' "$mover: version"
    holds "$said" "^# Size .* hand +x +$ways +best +x\$" "$mover: columns"
    holds "$said" "^65536( +$number){4} +6  [a-z].*( +$number){$values}  [a-z_]+ +$number\$" "$mover, 64 KiB"
    lacks "$said" 'wrong' "$mover"
done
said=$(FAKE_NCCL_WINDOWS=0 "$tutti" bench allgather -n 1 --mpi "$mpi" -m 8,64k -i 6 -x 1 2>&1)
holds "$said" '^# no symmetric memory for NCCL: .*made no window' "movers without symmetric memory"
said=$(TUTTI_RULES="alltoall:*@mpi" "$tutti" bench alltoall -n 1 --mpi "$mpi" -m 8,64k -i 6 -x 1 --nonblocking --ways nccl 2>&1)
holds "$said" "^# Size +Overall +Compute +Start +Wait +Pure +Overlap % .*Overlap 50% +Iterations +Algorithm +nccl +x +best +x\$" "overlap beside NCCL"
# Joules: NCCL and stream order beside the rest; the GPU is looked for by its UUID, which this NVML does not know.
said=$(TUTTI_ENERGY_NVML=$4 FAKE_NVML_WATTS=100,250 "$tutti" energy allreduce -n 1 --mpi "$mpi" -m 64k --window-seconds 0.1 --updates 1 --trials 1 2>&1)
for way in idle auto spin yield sleep stream staged nccl; do
    holds "$said" "^65536 +$way " "joules: $way"
done
holds "$said" '^# gpu 0: unavailable: NVML knows no GPU GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}: Not Found$' "joules: UUID"
said=$(TUTTI_ENERGY_NVML=$4 FAKE_NVML_WATTS=100,250 TUTTI_ENERGY_GPUS=GPU-fake-1 "$tutti" energy bcast -n 1 --mpi "$mpi" -m 64k \
    --window-seconds 0.3 --updates 1 --trials 1 --variants idle,stream,nccl 2>&1)
for way in idle stream nccl; do
    holds "$said" "^65536 +$way " "joules of a mover: $way"
done
holds "$said" '^# gpu 0: Pretended GPU, GPU-fake-1; SM 1980 MHz' "joules: a GPU by the setting"
# Collectives of the global address space in a graph and in a stream; they take no kernels of the bench.
for figure in graph stream; do
    said=$("$tutti" bench shmem -n 1 --mpi "$mpi" --figures $figure -m 24,4k -i 3 --seconds 0.0005 --no-validation 2>&1)
    for call in barrier sync; do
        holds "$said" "^$figure +$call +team +- +- +1 +0( +$number){3}\$" "$call in a $figure"
    done
    for call in sum broadcast fcollect alltoall; do
        holds "$said" "^$figure +$call +team +- +- +1 +4096( +$number){3}\$" "$call in a $figure"
    done
done
said=$("$tutti" bench shmem -n 1 --mpi "$mpi" --figures graph -m 24,4k -i 3 --seconds 0.0005 2>&1)
holds "$said" '^tutti: wrong result: graph sum of 24 bytes by tutti' "a graph whose kernels do nothing"
# Kernels for a GPU are files of their own.
if [ ! -e "$(dirname "$tutti")/../libexec/tutti/tutti-bench-shmem-cuda.so" ]; then
    expect 2 "needs tutti-bench-shmem-cuda.so, which is not in this build" "$tutti" bench shmem --mpi "$mpi" -n 1
fi
finish
