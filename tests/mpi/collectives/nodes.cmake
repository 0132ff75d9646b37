# Data movers over virtual nodes: by each row, nodes with equal and with unequal numbers of ranks, of one rank, ranks that
# share GPUs, and in the nodes the movers that GPUs have by default.
program(moves_nodes EVERYWHERE WITH collectives/moves_nodes_parts.c collectives/moves_nodes_calls.c)
# moves_nodes(NAME RANKS NODE_RANKS PIECE_KB BCAST BLOCKS EXPECT NEAR, further arguments of tutti_mpi_test). NEAR: rows in a node
function(moves_nodes name ranks node_ranks piece bcast blocks expect near)
  set(rules "bcast_nodes:${bcast} gather_nodes:${blocks} scatter_nodes:${blocks} allgather_nodes:*@lanes alltoall_nodes:${blocks}")
  string(APPEND rules " allreduce_nodes:*@pipelined reduce_nodes:*@multi_leader")
  foreach(section bcast gather scatter allgather alltoall)
    string(APPEND rules " ${section}:${near}")
  endforeach()
  tutti_mpi_test(mpi-moves-nodes-${name} PROGRAM mpi-moves_nodes RANKS ${ranks} RANKS_MPICH 3 MANY 800 TIMEOUT 120
                 ENV ${stats} TUTTI_NODE_RANKS=${node_ranks} TUTTI_NODES_PIECE_KB=${piece} TUTTI_TEST_EXPECT=${expect}
                     "TUTTI_RULES=${rules}"
                 ${ARGN})
endfunction()
moves_nodes(pairs 4 2 4 "*@tree" "*@pairs" tree,lanes,pairs "*@fetch")
moves_nodes(ones 3 1 4 "*@chains" "*@pairs" chains,lanes,pairs "*@fetch")
# Separate GPUs: scratch of a GPU in a node that knows no device, since it has neither a team nor a message inside.
tutti_mpi_test(mpi-moves-nodes-ones-gpus PROGRAM mpi-moves_nodes RANKS 3 RANKS_MPICH 3 MANY 100 TIMEOUT 60
               ENV TUTTI_HOST_GPUS=3 TUTTI_HOST_LINKS=all TUTTI_NODE_RANKS=1 TUTTI_NODES_PIECE_KB=4 TUTTI_RULES=bcast_nodes:*@chains)
moves_nodes(uneven 5 3 1 "*@chains" "*@pairs" chains,lanes,pairs "*@fetch" MPIS openmpi)
moves_nodes(packets 4 2 4 "*@chains" "*@pairs" chains,lanes,pairs "0-8k@ll *@ll128 *@fetch" MPIS openmpi)
moves_nodes(joined 4 2 1 "*@tree" "*@joined,*@pairs" tree,lanes,pairs,joined "*@fetch")
moves_nodes(joined-ones 3 1 4 "*@chains" "*@joined,*@pairs" chains,lanes,pairs,joined "*@fetch" MPIS openmpi)
moves_nodes(joined-uneven 5 3 1 "*@chains" "*@joined,*@pairs" chains,lanes,pairs,joined "*@fetch" MPIS openmpi)
# Calls that are open, persistent requests, freed types and communicators, in the programs of one node: all blocks over nodes.
set(over "bcast_nodes:*@chains allgather_nodes:*@lanes gather_nodes:*@pairs scatter_nodes:*@pairs alltoall_nodes:*@pairs")
string(APPEND over " bcast:*@fetch allgather:*@fetch alltoall:*@fetch gather:*@fetch scatter:*@fetch")
foreach(each 1 2)
  tutti_mpi_test(mpi-moves-open-nodes-${each} PROGRAM mpi-moves_open RANKS 4 RANKS_MPICH 3
                 ENV ${stats} TUTTI_TEST_OVER_NODES=1 TUTTI_NODE_RANKS=${each} "TUTTI_RULES=${over}" TIMEOUT 90)
  tutti_mpi_test(mpi-persistent-moves-over-nodes-${each} PROGRAM mpi-persistent_moves RANKS 4 RANKS_MPICH 3
                 ENV ${stats} TUTTI_NODE_RANKS=${each} "TUTTI_RULES=${over}" TIMEOUT 90)
endforeach()
# Neighbours over virtual nodes: drawn grids and graphs, against the plain MPI. neighbours_nodes(NAME RANKS NODE_RANKS PIECE_KB NEAR ...)
program(neighbours_nodes EVERYWHERE WITH collectives/moves_nodes_parts.c collectives/moves_nodes_calls.c)
function(neighbours_nodes name ranks node_ranks piece near)
  tutti_mpi_test(mpi-neighbours-nodes-${name} PROGRAM mpi-neighbours_nodes RANKS ${ranks} RANKS_MPICH 3 MANY 800 TIMEOUT 120
                 ENV ${stats} TUTTI_NODE_RANKS=${node_ranks} TUTTI_NODES_PIECE_KB=${piece} TUTTI_TEST_EXPECT=edges
                     "TUTTI_RULES=neighbor_nodes:*@edges neighbor:${near} allreduce_nodes:*@pipelined"
                 ${ARGN})
endfunction()
neighbours_nodes(two 4 2 4 "*@fetch")
neighbours_nodes(ones 3 1 1 "*@fetch")
neighbours_nodes(uneven 5 3 1 "*@fetch" MPIS openmpi)
neighbours_nodes(packets 4 2 4 "0-8k@ll *@ll128 *@fetch" MPIS openmpi)
neighbours_nodes(messages 5 2 2 "*@mpi" MPIS openmpi)
