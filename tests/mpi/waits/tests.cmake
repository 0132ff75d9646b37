# Work that needs a rank's progress while that rank waits in another call.
tutti_mpi_program(mpi-waits LIBRARIES tutti-core MPIS ${TUTTI_MPIS}
                  SOURCES waits/waits.c waits/waits_messages.c waits/waits_collectives.c waits/waits_traffic.c)
tutti_mpi_builders("${TUTTI_MPIS}" waits_builders)
foreach(mpi IN LISTS waits_builders)
  target_link_libraries(mpi-waits.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
tutti_mpi_test(mpi-waits PROGRAM mpi-waits RANKS 2 MANY 60 ENV TUTTI_ENDPOINT_MB=1 EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-waits-direct PROGRAM mpi-waits RANKS 2 MANY 60 ENV TUTTI_RULES=message:*@direct TIMEOUT 60)
tutti_mpi_test(mpi-waits-mapping PROGRAM mpi-waits RANKS 2 MANY 40 ENV TUTTI_HOST_MAPPING_US=3000 TIMEOUT 60)
tutti_mpi_test(mpi-waits-nodes PROGRAM mpi-waits RANKS 2 MANY 60 TIMEOUT 60
               ENV TUTTI_NODE_RANKS=1 TUTTI_RULES=message_far:*@pipelined)
tutti_mpi_test(mpi-waits-threads PROGRAM mpi-waits RANKS 2 MANY 40 ENV TUTTI_TEST_THREADS=1 TUTTI_ENDPOINT_MB=1 TIMEOUT 60)
# Some MPIs end a persistent request that is looked at, or take no hook while a window's lock is awaited.
tutti_mpi_test(mpi-waits-persistent PROGRAM mpi-waits RANKS 2 ARGS 12 MPI_Recv "persistent receives" EVERYWHERE TIMEOUT 40)
tutti_mpi_test(mpi-waits-lock PROGRAM mpi-waits RANKS 2 ARGS 12 MPI_Win_lock receives EVERYWHERE TIMEOUT 40)
# The first calls of a program, in many processes' lives.
foreach(seed 11 23 37 41)
  tutti_mpi_test(mpi-waits-first-${seed} PROGRAM mpi-waits RANKS 2 ARGS 4 ENV TUTTI_TEST_SEED=${seed} TIMEOUT 30)
endforeach()
# Waits that make their call while the library's thread is held asleep.
program(taken_over)
foreach(mpi IN LISTS TUTTI_MPI_SYSTEM)
  if(TARGET mpi-taken_over.${mpi})
    set_target_properties(mpi-taken_over.${mpi} PROPERTIES ENABLE_EXPORTS ON)
    target_link_libraries(mpi-taken_over.${mpi} PRIVATE ${CMAKE_DL_LIBS})
  endif()
endforeach()
set(packets "TUTTI_RULES=bcast:*@ll allgather:*@ll alltoall:*@ll" TUTTI_CHANNEL_MB=2)
tutti_mpi_test(mpi-taken-over PROGRAM mpi-taken_over RANKS 2 ENV ${stats} TIMEOUT 60)
tutti_mpi_test(mpi-taken-over-packets PROGRAM mpi-taken_over RANKS 3 RANKS_MPICH 2 ENV ${stats} ${packets} TUTTI_WAIT=auto TIMEOUT 60)
# Calls that differ in one argument, of which the library keeps what repeats.
program(one_differs)
set(packets "TUTTI_RULES=bcast:*@ll allgather:*@ll alltoall:*@ll gather:*@ll scatter:*@ll" TUTTI_CHANNEL_MB=2)
tutti_mpi_test(mpi-one-differs PROGRAM mpi-one_differs RANKS 2 ENV ${stats} ${packets} TIMEOUT 60)
tutti_mpi_test(mpi-one-differs-fetched PROGRAM mpi-one_differs RANKS 3 RANKS_MPICH 2 TIMEOUT 60
               ENV ${stats} "TUTTI_RULES=message:*@direct bcast:*@fetch allgather:*@fetch alltoall:*@fetch gather:*@fetch scatter:*@fetch")
tutti_mpi_test(mpi-one-differs-threads PROGRAM mpi-one_differs RANKS 2 ENV ${stats} ${packets} TUTTI_TEST_THREADS=1 TIMEOUT 60)
# Completion calls run jobs while the library's thread sleeps.
tutti_mpi_program(mpi-waits_turns LIBRARIES tutti-core MPIS ${TUTTI_MPIS} SOURCES waits/turns.c)
foreach(mpi IN LISTS waits_builders)
  target_link_libraries(mpi-waits_turns.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
tutti_mpi_test(mpi-waits-turns PROGRAM mpi-waits_turns RANKS 2 ENV TUTTI_STATS=1 EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-waits-turns-3 PROGRAM mpi-waits_turns RANKS 3 ENV TUTTI_STATS=1 TIMEOUT 60)
tutti_mpi_test(mpi-waits-turns-packets PROGRAM mpi-waits_turns RANKS 2 TIMEOUT 60
               ENV TUTTI_STATS=1 TUTTI_LINES=1 "TUTTI_RULES=allgather:*@ll")
# A sender that computes while its messages are received. Long ones need the MPI at first, and MPICH needs a call of the
# sender for them.
program(sent_away)
tutti_mpi_test(mpi-sent-away PROGRAM mpi-sent_away RANKS 2 TIMEOUT 60)
tutti_mpi_test(mpi-sent-away-long PROGRAM mpi-sent_away RANKS 2 ARGS 200000 MPIS openmpi TIMEOUT 60)
tutti_mpi_test(mpi-sent-away-mapping PROGRAM mpi-sent_away RANKS 2 ARGS 20000 ENV TUTTI_HOST_MAPPING_US=300 MPIS openmpi TIMEOUT 60)
