# Nonblocking and persistent reductions.
program(ireduce EVERYWHERE)
tutti_mpi_test(mpi-ireduce-2 PROGRAM mpi-ireduce RANKS 2 MANY 100 ENV ${stats} TUTTI_TEST_EXPECT=accelerated EVERYWHERE TIMEOUT 45)
tutti_mpi_test(mpi-ireduce-3 PROGRAM mpi-ireduce RANKS 3 RANKS_MPICH 3 MANY 60 ENV ${stats} TUTTI_TEST_EXPECT=accelerated
               TIMEOUT 45)
# Kernels on the worker's own thread; ranks that share a GPU; the MPI alone.
tutti_mpi_test(mpi-ireduce-loose PROGRAM mpi-ireduce RANKS 2 MANY 40 ENV TUTTI_HOST_STRICT=0 TIMEOUT 45)
tutti_mpi_test(mpi-ireduce-gpus-1 PROGRAM mpi-ireduce RANKS 3 RANKS_MPICH 2 MANY 40 ENV TUTTI_HOST_GPUS=1 TIMEOUT 45)
tutti_mpi_test(mpi-ireduce-shared PROGRAM mpi-ireduce RANKS 4 MANY 60 ENV ${stats} TUTTI_HOST_GPUS=2 TUTTI_TEST_EXPECT=accelerated MPIS openmpi TIMEOUT 60)
tutti_mpi_test(mpi-ireduce-nodes PROGRAM mpi-ireduce RANKS 3 MANY 40 ENV TUTTI_NODE_RANKS=2 MPIS openmpi TIMEOUT 45)
tutti_mpi_test(mpi-ireduce-staged PROGRAM mpi-ireduce RANKS 2 MANY 40 TIMEOUT 45
               ENV "TUTTI_RULES=allreduce:*@staged reduce:*@staged reduce_scatter:*@staged scan:*@staged")
tutti_mpi_test(mpi-ireduce-plain PROGRAM mpi-ireduce RANKS 2 MANY 40 ENV TUTTI_DEVICE=none TUTTI_TEST_PLAIN=1)

program(ireduce_overlap EVERYWHERE)
tutti_mpi_test(mpi-ireduce-overlap-2 PROGRAM mpi-ireduce_overlap RANKS 2 MANY 15 EVERYWHERE TIMEOUT 45)
tutti_mpi_test(mpi-ireduce-overlap-3 PROGRAM mpi-ireduce_overlap RANKS 3 RANKS_MPICH 3 MANY 10 TIMEOUT 45)
tutti_mpi_test(mpi-ireduce-overlap-auto PROGRAM mpi-ireduce_overlap RANKS 2 MANY 15 ENV TUTTI_WAIT=auto TIMEOUT 45)
tutti_mpi_test(mpi-ireduce-overlap-sleep PROGRAM mpi-ireduce_overlap RANKS 2 MANY 6 ENV TUTTI_WAIT=sleep TIMEOUT 45)
program(ireduce_persistent EVERYWHERE)
tutti_mpi_test(mpi-ireduce-persistent-2 PROGRAM mpi-ireduce_persistent RANKS 2 MANY 200 EVERYWHERE TIMEOUT 45)
tutti_mpi_test(mpi-ireduce-persistent-3 PROGRAM mpi-ireduce_persistent RANKS 3 RANKS_MPICH 3 MANY 200 TIMEOUT 45)
program(ireduce_errors EVERYWHERE)
tutti_mpi_test(mpi-ireduce-errors-2 PROGRAM mpi-ireduce_errors RANKS 2 ENV ${stats} EVERYWHERE)
tutti_mpi_test(mpi-ireduce-errors-3 PROGRAM mpi-ireduce_errors RANKS 3 RANKS_MPICH 3 ENV ${stats})
# MPICH's MPI_STATUSES_IGNORE is an address that compilers take for an array without room.
foreach(mpi IN LISTS TUTTI_MPIS)
  foreach(name ireduce ireduce_overlap ireduce_persistent)
    if(TARGET mpi-${name}.${mpi})
      target_compile_options(mpi-${name}.${mpi} PRIVATE -Wno-stringop-overflow)
    endif()
  endforeach()
endforeach()
program(many_requests)
tutti_mpi_test(mpi-many-requests PROGRAM mpi-many_requests RANKS 2 ENV ${stats})
program(open_at_once)
foreach(part reduce bcast sends) # of a mapping each, more than the process has left
  tutti_mpi_test(mpi-open-at-once-${part} PROGRAM mpi-open_at_once RANKS 2 ARGS 4000 ${part} ENV ${stats} ${left_to_mpi}
                 TIMEOUT 90)
endforeach()
