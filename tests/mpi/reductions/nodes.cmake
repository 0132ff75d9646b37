# Reductions over virtual nodes: by each algorithm and each exchange, nodes with equal and with unequal numbers of ranks,
# of one rank, and ranks that share GPUs.
program(nodes EVERYWHERE WITH reductions/nodes_death.c)
# The rules of the default for CUDA: on the host device calls below 1 MiB are the MPI's.
set(by_default_of_cuda "TUTTI_RULES=allreduce_nodes:0-64k@single_leader,*@pipelined reduce_nodes:0-64k@single_leader,*@pipelined reduce_scatter_nodes:0-64k@single_leader,*@pipelined scan_nodes:*@ranks")
# nodes(NAME RANKS NODE_RANKS PIECE_KB ROW EXCHANGES, further arguments of tutti_mpi_test)
function(nodes name ranks node_ranks piece row exchanges)
  set(scans ranks)
  if(row STREQUAL two_rounds)
    set(scans two_rounds)
  endif()
  tutti_mpi_test(mpi-nodes-${name} PROGRAM mpi-nodes RANKS ${ranks} RANKS_MPICH 3 ARGS bits MANY 8 TIMEOUT 60 LABELS matrix
                 ENV ${stats} TUTTI_NODE_RANKS=${node_ranks} TUTTI_NODES_PIECE_KB=${piece} TUTTI_TEST_EXPECT=${row}
                     "TUTTI_RULES=allreduce_nodes:*@${row} reduce_nodes:*@${row} reduce_scatter_nodes:*@${row} scan_nodes:*@${scans} leaders:${exchanges}"
                 ${ARGN})
endfunction()
nodes(single 4 2 64 single_leader "*@all_at_once")
nodes(single-doubling 3 1 64 single_leader "*@doubling leaders_combine:*@device")
nodes(host 5 2 64 host_leader "*@all_at_once")
nodes(rounds 5 2 64 two_rounds "*@all_at_once")
nodes(rounds-uneven 5 4 4 two_rounds "*@all_at_once" MPIS openmpi)
nodes(rounds-ones 3 1 4 two_rounds "*@all_at_once")
nodes(multi 5 2 16 multi_leader "*@slices leaders_combine:*@device")
nodes(multi-ring 4 2 16 multi_leader "*@ring leaders_combine:1k-*@device" MPIS openmpi)
nodes(pipelined 4 2 4 pipelined "0-1k@doubling,1k-3k@ring,*@slices")
nodes(pipelined-uneven 5 3 8 pipelined "0-1k@all_at_once,*@slices leaders_combine:*@device" MPIS openmpi)
nodes(pipelined-swap 4 2 16 pipelined "*@swap leaders_combine:*@device" MPIS openmpi)
nodes(swap-ones 2 1 8 multi_leader "*@swap leaders_combine:*@device")
nodes(pipelined-shared 4 2 16 pipelined "*@slices" MPIS openmpi)
tutti_mpi_test(mpi-nodes-shared PROGRAM mpi-nodes RANKS 4 RANKS_MPICH 3 ARGS bits MANY 8 TIMEOUT 60 LABELS matrix
               ENV ${stats} TUTTI_NODE_RANKS=2 TUTTI_HOST_GPUS=1 TUTTI_NODES_PIECE_KB=16 ${by_default_of_cuda})
tutti_mpi_test(mpi-nodes-order PROGRAM mpi-nodes RANKS 3 RANKS_MPICH 3 ARGS bits MANY 8 TIMEOUT 60 LABELS matrix
               ENV ${stats} TUTTI_NODE_RANKS=2 TUTTI_ORDER=ranks TUTTI_NODES_PIECE_KB=16 TUTTI_TEST_EXPECT=ranks)
# One node: the same words hold there.
tutti_mpi_test(mpi-nodes-one PROGRAM mpi-nodes RANKS 3 RANKS_MPICH 2 ARGS bits MANY 8 TIMEOUT 60 ENV ${stats})
foreach(ranks 1 2)
  tutti_mpi_test(mpi-nodes-kinds-${ranks} PROGRAM mpi-nodes RANKS 4 RANKS_MPICH 3 ARGS kinds MANY 400 TIMEOUT 60
                 ENV TUTTI_NODE_RANKS=${ranks} TUTTI_NODES_PIECE_KB=4 "TUTTI_RULES=allreduce_nodes:0-100@single_leader,101-1k@two_rounds,1k-3k@host_leader,*@pipelined reduce_nodes:0-400@two_rounds,*@multi_leader reduce_scatter_nodes:0-400@two_rounds,*@pipelined scan_nodes:0-400@two_rounds,*@ranks leaders_combine:0-2k@host,*@device")
endforeach()
tutti_mpi_test(mpi-nodes-kinds-order PROGRAM mpi-nodes RANKS 3 RANKS_MPICH 3 ARGS kinds MANY 200 TIMEOUT 60
               ENV TUTTI_NODE_RANKS=2 TUTTI_ORDER=ranks TUTTI_NODES_PIECE_KB=4)
