# Reductions: the matrix of types and operators, mixtures of memory, wrong calls, large counts, nonblocking and persistent ones.
# ---- the oracle's matrix: ranks, algorithms, simulated GPUs ----
program(matrix EVERYWHERE)
# matrix(NAME RANKS CELLS [ALGORITHMS...] ...): one launch goes through all the algorithms, one after another.
function(matrix name ranks)
  cmake_parse_arguments(M "" "" "CELLS;ENV;MPIS" ${ARGN})
  set(arguments "")
  foreach(argument IN LISTS M_CELLS)
    if(argument STREQUAL "small" OR argument MATCHES "^[0-9]+$")
      if(NOT argument STREQUAL "small")
        tutti_many(argument)
      endif()
      list(APPEND arguments ${argument})
      set(glue "")
    elseif(glue)
      string(APPEND arguments ",${argument}")
    else()
      list(APPEND arguments ${argument})
      set(glue TRUE)
    endif()
  endforeach()
  tutti_mpi_test(mpi-matrix-${name} PROGRAM mpi-matrix RANKS ${ranks} ARGS ${arguments} ENV ${stats} ${M_ENV} LABELS matrix
                 TIMEOUT 90 MPIS ${M_MPIS})
endfunction()
set(blocking staged oneshot twoshot direct)
set(flow ll ll128 twoshot_ll128 pipeline)
foreach(mpi IN LISTS TUTTI_MPI_SYSTEM)
  matrix(1 1 CELLS 250 ENV TUTTI_TEST_EXPECT=accelerated|copy MPIS ${mpi})
  matrix(2 2 CELLS 250 ${blocking} MPIS ${mpi})
  matrix(2-gpus-1 2 CELLS 250 leader ENV TUTTI_HOST_GPUS=1 MPIS ${mpi})
  matrix(2-small 2 CELLS 2000 oneshot MPIS ${mpi}) # kernels.reduce goes through all of it
endforeach()
matrix(3-gpus-2 3 CELLS 250 leader ENV TUTTI_HOST_GPUS=2 MPIS mpich)
matrix(3 3 CELLS 250 ${blocking} 250 ${flow} MPIS openmpi)
matrix(4 4 CELLS 250 ${blocking} MPIS openmpi)
foreach(gpus 1 2)
  matrix(3-gpus-${gpus} 3 CELLS 250 leader ENV TUTTI_HOST_GPUS=${gpus} MPIS openmpi)
  matrix(4-gpus-${gpus} 4 CELLS 250 leader ENV TUTTI_HOST_GPUS=${gpus} MPIS openmpi)
endforeach()
set(flow_leaders leader_ll leader_ll128 leader_twoshot_ll128 leader_pipeline)
matrix(4-leaders-2 4 CELLS 250 ${flow_leaders} ENV TUTTI_HOST_GPUS=2 TUTTI_LINES=1 MPIS openmpi)
matrix(3-leaders-2 3 CELLS 250 ${flow_leaders} ENV TUTTI_HOST_GPUS=2 TUTTI_LINES=1 TUTTI_CHANNEL_MB=1 MPIS mpich)
# Channels so small that vectors go in pieces.
matrix(2-pieces 2 CELLS 250 oneshot twoshot ENV TUTTI_CHANNEL_MB=1 MPIS mpich)
matrix(2-pieces 2 CELLS 250 oneshot twoshot 150 ${flow} ENV TUTTI_CHANNEL_MB=1 MPIS openmpi)
# Two virtual nodes: the MPI reduces, in its own order.
tutti_mpi_test(mpi-matrix-nodes PROGRAM mpi-matrix RANKS 4 MANY 250 ENV TUTTI_NODE_RANKS=2 TUTTI_TEST_LOOSE=1
               MPIS openmpi LABELS matrix)
# The default rules, on every MPI that is here.
tutti_mpi_test(mpi-matrix-default PROGRAM mpi-matrix RANKS 3 RANKS_MPICH 2 MANY 500
               ENV ${stats} TUTTI_TEST_EXPECT=accelerated EVERYWHERE LABELS matrix TIMEOUT 45)

program(bits)
tutti_mpi_test(mpi-bits PROGRAM mpi-bits RANKS 4 RANKS_MPICH 2 TIMEOUT 45
               ENV "TUTTI_RULES=allreduce:0-1k@oneshot,1k-16k@twoshot,16k-100k@direct,*@staged")
tutti_mpi_test(mpi-bits-flow PROGRAM mpi-bits RANKS 3 RANKS_MPICH 2 TIMEOUT 45
               ENV "TUTTI_RULES=allreduce:0-1k@ll,1k-16k@ll128,16k-64k@twoshot_ll128,64k-100k@pipeline,*@direct")
tutti_mpi_test(mpi-bits-leader PROGRAM mpi-bits RANKS 3 RANKS_MPICH 3 MPIS openmpi TIMEOUT 45
               ENV TUTTI_HOST_GPUS=2 "TUTTI_RULES=allreduce:0-1k@leader,1k-4k@staged,*@leader")
string(CONCAT leaders "allreduce:0-1k@leader_ll,1k-16k@leader_ll128,16k-64k@leader_twoshot_ll128,"
                      "64k-100k@leader_pipeline,*@leader")
tutti_mpi_test(mpi-bits-leaders PROGRAM mpi-bits RANKS 4 RANKS_MPICH 3 TIMEOUT 45
               ENV TUTTI_HOST_GPUS=2 TUTTI_LINES=1 "TUTTI_RULES=${leaders}")

include(${CMAKE_CURRENT_LIST_DIR}/blocking.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/nonblocking.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/nodes.cmake)

program(illegal EVERYWHERE)
tutti_mpi_test(mpi-illegal PROGRAM mpi-illegal RANKS 2 EVERYWHERE)
program(mixed EVERYWHERE)
tutti_mpi_test(mpi-mixed-2 PROGRAM mpi-mixed RANKS 2 ENV ${stats} EVERYWHERE)
tutti_mpi_test(mpi-mixed-3 PROGRAM mpi-mixed RANKS 3 ENV ${stats} MPIS openmpi)
tutti_mpi_test(mpi-mixed-4 PROGRAM mpi-mixed RANKS 4 ENV ${stats} MPIS openmpi)
tutti_mpi_test(mpi-mixed-gpus-1 PROGRAM mpi-mixed RANKS 3 RANKS_MPICH 2 ENV ${stats} TUTTI_HOST_GPUS=1)
program(half)
tutti_mpi_test(mpi-half PROGRAM mpi-half RANKS 3 RANKS_MPICH 2)
tutti_mpi_test(mpi-half-nodes PROGRAM mpi-half RANKS 3 RANKS_MPICH 3 MPIS openmpi mpich
               ENV TUTTI_NODE_RANKS=2 "TUTTI_RULES=allreduce_nodes:0-64k@single_leader,*@pipelined scan_nodes:*@ranks")
# With the memory of the machine to itself; under the other MPIs only when asked for.
program(large EVERYWHERE)
foreach(mpi IN LISTS TUTTI_MPIS)
  set(when asked)
  if(mpi STREQUAL "openmpi") # eight seconds; with large counts of the MPI's own it is a minute
    set(when "")
  endif()
  tutti_mpi_test(mpi-large PROGRAM mpi-large RANKS 2 ARGS ${when} MPIS ${mpi} LABELS large TIMEOUT 45)
  if(TEST mpi-large.${mpi} AND when) # mostly skipped
    set_tests_properties(mpi-large.${mpi} PROPERTIES RESOURCE_LOCK memory COST 1)
  elseif(TEST mpi-large.${mpi})
    set_tests_properties(mpi-large.${mpi} PROPERTIES RUN_SERIAL TRUE)
  endif()
endforeach()
# Counts beyond 2^31, without memory of that size; Open MPI 4 refuses such counts of host memory.
program(wide EVERYWHERE)
foreach(mpi IN LISTS builders)
  if(TARGET mpi-wide.${mpi})
    set_target_properties(mpi-wide.${mpi} PROPERTIES ENABLE_EXPORTS TRUE) # its functions stand before the core's
  endif()
endforeach()
tutti_mpi_test(mpi-wide PROGRAM mpi-wide RANKS 3 RANKS_MPICH 2 EVERYWHERE TIMEOUT 40)
tutti_mpi_test(mpi-wide-far PROGRAM mpi-wide RANKS 2 ARGS far ENV TUTTI_NODE_RANKS=1 TIMEOUT 40)
tutti_mpi_test(mpi-wide-announced PROGRAM mpi-wide RANKS 3 ARGS announced MPIS openmpi TIMEOUT 40)
program(user_op)
tutti_mpi_test(mpi-user-op PROGRAM mpi-user_op RANKS 3 RANKS_MPICH 2 ENV ${stats})
# Neither these by Intel MPI's standard ABI: it ends the program on its own errors.
program(characters EVERYWHERE)
tutti_mpi_test(mpi-characters PROGRAM mpi-characters RANKS 2 ENV ${stats} TIMEOUT 40
               MPIS openmpi mpich openmpi5 mpich5 mpiabi impi)
program(counts_reused)
tutti_mpi_test(mpi-counts-reused PROGRAM mpi-counts_reused RANKS 3 RANKS_MPICH 2 ENV ${stats} TIMEOUT 40)
# With alloc_failures of the folder life.
program(alloc_reductions WITH life/refuse.c)
foreach(form blocking nonblocking persistent stream)
  tutti_mpi_test(mpi-alloc-failures-mixed-${form} PROGRAM mpi-alloc_reductions RANKS 2 ARGS ${form} TIMEOUT 200
                 ENV TUTTI_TIMEOUT_SECONDS=10)
endforeach()
