# All blocking reductions, once for each algorithm, number of ranks and of simulated GPUs, and on every MPI that is here.
program(reductions EVERYWHERE)
# reductions(NAME RANKS CELLS, further arguments of tutti_mpi_test)
function(reductions name ranks cells)
  tutti_mpi_test(mpi-reductions-${name} PROGRAM mpi-reductions RANKS ${ranks} MANY ${cells} LABELS matrix TIMEOUT 45
                 ${ARGN})
endfunction()
reductions(1 1 250 ENV ${stats} TUTTI_TEST_EXPECT=accelerated)
reductions(2 2 250 ENV ${stats} TUTTI_TEST_EXPECT=accelerated EVERYWHERE)
reductions(3 3 250 MPIS openmpi ENV ${stats} TUTTI_TEST_EXPECT=accelerated)
reductions(3-small 3 250 MPIS mpich ENV ${stats} TUTTI_TEST_EXPECT=accelerated)
reductions(staged 3 250 MPIS openmpi
           ENV ${stats} TUTTI_TEST_EXPECT=accelerated|staged
               "TUTTI_RULES=allreduce:*@staged reduce:*@staged reduce_scatter:*@staged scan:*@staged")
reductions(flow 3 250 MPIS openmpi
           ENV ${stats} TUTTI_TEST_EXPECT=accelerated
               "TUTTI_RULES=allreduce:0-8k@copies,*@pipeline reduce:0-4k@twoshot_ll128,*@chain reduce_scatter:*@pipeline scan:*@ll128")
reductions(flow-packets 2 250
           ENV ${stats} TUTTI_TEST_EXPECT=accelerated TUTTI_CHANNEL_MB=1
               "TUTTI_RULES=allreduce:0-16k@ll,*@copies reduce:0-2k@ll,*@chain_ll128 reduce_scatter:*@ll128 scan:*@ll")
foreach(blocks 7 24)
  reductions(engines-${blocks} 3 250
             ENV ${stats} TUTTI_TEST_EXPECT=accelerated TUTTI_CHANNEL_MB=1 TUTTI_HOST_BLOCKS=${blocks}
                 "TUTTI_RULES=reduce:*@engines reduce_scatter:*@engines")
endforeach()
reductions(gpus-1 3 250 MPIS openmpi ENV ${stats} TUTTI_TEST_EXPECT=accelerated TUTTI_HOST_GPUS=1)
reductions(gpus-2 3 250 MPIS openmpi ENV ${stats} TUTTI_TEST_EXPECT=accelerated TUTTI_HOST_GPUS=2)
string(CONCAT leaders "TUTTI_RULES=allreduce:0-4k@leader_ll128,*@leader_pipeline "
                      "reduce:0-1k@leader_ll,1k-8k@leader_ll128,*@leader_twoshot_ll128 "
                      "reduce_scatter:0-2k@leader_ll,2k-16k@leader_ll128,*@leader_pipeline "
                      "scan:0-2k@leader_ll,*@leader_ll128")
reductions(leaders 4 250 MPIS openmpi ENV ${stats} TUTTI_TEST_EXPECT=accelerated TUTTI_HOST_GPUS=2 TUTTI_LINES=1 ${leaders})
# The MPI does it: two virtual nodes, and no device at all.
reductions(nodes 3 250 MPIS openmpi ENV TUTTI_NODE_RANKS=2 TUTTI_TEST_LOOSE=1)
reductions(plain 2 250 ENV TUTTI_DEVICE=none TUTTI_TEST_PLAIN=1)

program(wrong EVERYWHERE)
tutti_mpi_test(mpi-wrong PROGRAM mpi-wrong RANKS 2 EVERYWHERE)
program(user_ops EVERYWHERE)
tutti_mpi_test(mpi-user-ops PROGRAM mpi-user_ops RANKS 3 RANKS_MPICH 2 ENV ${stats} EVERYWHERE)
program(host_ahead)
tutti_mpi_test(mpi-host-ahead PROGRAM mpi-host_ahead RANKS 3 RANKS_MPICH 2)

program(host_only)
foreach(rank 0 1)
  tutti_mpi_test(mpi-host-only-${rank} PROGRAM mpi-host_only RANKS 3 RANKS_MPICH 2 ARGS ${rank})
endforeach()
