# Communicators: many, split, between groups, in several threads; their error handlers.
program(comms EVERYWHERE)
tutti_mpi_test(mpi-comms PROGRAM mpi-comms RANKS 3 RANKS_MPICH 2 EVERYWHERE)
program(threads)
tutti_mpi_test(mpi-threads PROGRAM mpi-threads RANKS 2)
program(first_threads)
# Eight threads on two cores: a round takes ten seconds on a machine whose load is 30, a tenth of a second on an idle one.
tutti_mpi_test(mpi-first-threads PROGRAM mpi-first_threads RANKS 2 ARGS 4 10 TIMEOUT 150)
tutti_mpi_test(mpi-first-threads-nodes PROGRAM mpi-first_threads RANKS 2 ARGS 4 10 ENV TUTTI_NODE_RANKS=1 TIMEOUT 150)
program(left_alone)
tutti_mpi_test(mpi-left-alone PROGRAM mpi-left_alone RANKS 2 ENV TUTTI_TIMEOUT_SECONDS=20 TIMEOUT 60)
tutti_mpi_test(mpi-left-alone-nodes PROGRAM mpi-left_alone RANKS 2 ENV TUTTI_NODE_RANKS=1 TUTTI_TIMEOUT_SECONDS=20 TIMEOUT 60)
program(many_open)
# 600 reductions whose kernels are threads: 3 s on an idle machine, a minute at a load of 40.
tutti_mpi_test(mpi-many-open PROGRAM mpi-many_open RANKS 2 ARGS 200 3 TIMEOUT 180)
# Without strictness kernels of the host device make no threads of their own: there is the engine's alone.
tutti_mpi_test(mpi-many-open-threads PROGRAM mpi-many_open RANKS 3 RANKS_MPICH 2 ARGS 200 3 0 1 ENV TUTTI_HOST_STRICT=0
               TIMEOUT 180)
foreach(wait auto spin sleep)
  tutti_mpi_test(mpi-many-open-${wait} PROGRAM mpi-many_open RANKS 2 ARGS 100 2 ENV TUTTI_WAIT=${wait} TIMEOUT 180)
endforeach()
program(inter)
tutti_mpi_test(mpi-inter PROGRAM mpi-inter RANKS 3 RANKS_MPICH 3 ENV ${stats})
# The handlers of communicators are the MPI's: MPICH returns the error, Open MPI ends the program.
program(errhandler)
foreach(of world self)
  tutti_mpi_test(mpi-errhandler-${of} PROGRAM mpi-errhandler RANKS 2 ARGS ${of} MPIS mpich TIMEOUT 30)
  tutti_mpi_test(mpi-errhandler-${of} PROGRAM mpi-errhandler RANKS 2 ARGS ${of} MPIS openmpi TIMEOUT 30 WILL_FAIL)
endforeach()
# The hierarchy of a communicator over virtual nodes, of src/mpi by itself.
program(hierarchy EVERYWHERE)
foreach(mpi IN LISTS builders)
  if(TARGET mpi-hierarchy.${mpi})
    string(TOUPPER ${TUTTI_MPI_${mpi}_FAMILY} family)
    target_sources(mpi-hierarchy.${mpi} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/messages.c
      ${PROJECT_SOURCE_DIR}/src/mpi/comm/transfers.c ${PROJECT_SOURCE_DIR}/src/mpi/comm/members.c
      ${PROJECT_SOURCE_DIR}/src/mpi/comm/hierarchy.c ${PROJECT_SOURCE_DIR}/src/mpi/comm/identity.c)
    target_compile_definitions(mpi-hierarchy.${mpi} PRIVATE TUTTI_FRONT_${family} TUTTI_MPI_HEADER=<mpi.h> OMPI_SKIP_MPICXX
                                                            MPICH_SKIP_MPICXX)
  endif()
endforeach()
foreach(ranks 1 2)
  tutti_mpi_test(mpi-hierarchy-${ranks} PROGRAM mpi-hierarchy RANKS 3 RANKS_MPICH 3 EVERYWHERE NO_PRELOAD
                 ENV TUTTI_NODE_RANKS=${ranks} TIMEOUT 60)
endforeach()
# Communicators, windows and files by the calls that no other test makes.
program(made EVERYWHERE)
tutti_mpi_test(mpi-made PROGRAM mpi-made RANKS 2 ENV ${stats} MPIS openmpi openmpi5 mpich5 mpiabi TIMEOUT 40)
# What these MPIs refuse, or end with a segmentation fault, without Tutti too (TUTTI_TEST_PLAIN=1).
tutti_mpi_test(mpi-made PROGRAM mpi-made RANKS 2 ENV ${stats} TUTTI_TEST_MADE=spawn,join MPIS mpich TIMEOUT 40)
tutti_mpi_test(mpi-made PROGRAM mpi-made RANKS 2 ENV ${stats} TUTTI_TEST_MADE=spawn,join,connect MPIS impi TIMEOUT 40)
tutti_mpi_test(mpi-made PROGRAM mpi-made RANKS 2 ENV ${stats} TUTTI_TEST_MADE=spawn,join,connect,errors MPIS impiabi TIMEOUT 40)
program(reordered)
tutti_mpi_test(mpi-reordered PROGRAM mpi-reordered RANKS 3 ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 40)
