# Datatypes on device memory: random compositions, against the MPI itself on host memory.
foreach(mpi IN LISTS builders)
  add_library(mpi-typegen.${mpi} STATIC kit/typegen.c)
  target_compile_options(mpi-typegen.${mpi} PRIVATE ${TUTTI_MPI_${mpi}_COMPILE})
  target_include_directories(mpi-typegen.${mpi} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(mpi-typegen.${mpi} PUBLIC mpi-kit.${mpi} PRIVATE tutti-flags)
endforeach()
function(type_program name)
  program(${name} ${ARGN})
  foreach(mpi IN LISTS builders)
    if(TARGET mpi-${name}.${mpi})
      target_link_libraries(mpi-${name}.${mpi} PRIVATE mpi-typegen.${mpi})
    endif()
  endforeach()
endfunction()

type_program(types EVERYWHERE)
tutti_mpi_test(mpi-types PROGRAM mpi-types RANKS 2 MANY 520 ENV ${stats} EVERYWHERE TIMEOUT 45)
type_program(types_messages EVERYWHERE)
tutti_mpi_test(mpi-types-messages PROGRAM mpi-types_messages RANKS 2 MANY 240 ENV ${stats} EVERYWHERE TIMEOUT 45)
tutti_mpi_test(mpi-types-messages-direct PROGRAM mpi-types_messages RANKS 2 MANY 240 ENV ${stats} TUTTI_RULES=message:*@direct
               EVERYWHERE TIMEOUT 45)
tutti_mpi_test(mpi-types-messages-packed PROGRAM mpi-types_messages RANKS 2 MANY 240
               ENV ${stats} TUTTI_RULES=message:*@packed TIMEOUT 45)
# MPICH 4.0 refuses to receive long messages of pair types into host memory (types_uneven.c).
set(far ${stats} TUTTI_NODE_RANKS=1 TUTTI_RULES=message_far:*@pipelined TUTTI_MESSAGE_CHUNK=4096)
tutti_mpi_test(mpi-types-messages-far PROGRAM mpi-types_messages RANKS 2 MANY 520 ARGS 80 ENV ${far} MPIS openmpi TIMEOUT 45)
tutti_mpi_test(mpi-types-messages-far-short PROGRAM mpi-types_messages RANKS 2 MANY 520 ENV ${far} TIMEOUT 45)
program(types_pairs EVERYWHERE)
tutti_mpi_test(mpi-types-pairs PROGRAM mpi-types_pairs RANKS 2 ENV TUTTI_RULES=message:*@staged TIMEOUT 45 MPIS openmpi mpich mpich5)
type_program(types_collectives EVERYWHERE)
tutti_mpi_test(mpi-types-collectives PROGRAM mpi-types_collectives RANKS 3 RANKS_MPICH 2 MANY 310 ENV ${stats} EVERYWHERE
               TIMEOUT 45)
tutti_mpi_test(mpi-types-collectives-moved PROGRAM mpi-types_collectives RANKS 3 RANKS_MPICH 2 MANY 310 ARGS device
               ENV ${stats} TUTTI_RULES=message:*@direct EVERYWHERE TIMEOUT 45)
tutti_mpi_test(mpi-types-collectives-packed PROGRAM mpi-types_collectives RANKS 3 RANKS_MPICH 2 MANY 150 ARGS device
               ENV ${stats} TUTTI_RULES=message:*@packed TIMEOUT 45)
# By each row.
foreach(row copies ll ll128 pipeline engines)
  set(by "*@${row} *@fetch")
  tutti_mpi_test(mpi-types-collectives-${row} PROGRAM mpi-types_collectives RANKS 3 RANKS_MPICH 2 MANY 150 ARGS device
                 ENV ${stats} TUTTI_LINES=1 TUTTI_CHANNEL_MB=4 TUTTI_TEST_ROW=${row}
                     "TUTTI_RULES=message:*@direct bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by} neighbor:${by}"
                 TIMEOUT 45)
endforeach()
# These rows pack what is not a run of bytes, and copy what is in host memory on one side of a rank.
foreach(row ll ll128 pipeline)
  set(by "*@${row} *@fetch")
  set(by_row ${stats} TUTTI_LINES=1 TUTTI_CHANNEL_MB=4 TUTTI_TEST_ROW=${row}
             "TUTTI_RULES=message:*@direct bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by} neighbor:${by}")
  tutti_mpi_test(mpi-types-collectives-gaps-${row} PROGRAM mpi-types_collectives RANKS 3 RANKS_MPICH 2 MANY 150 ARGS device
                 ENV ${by_row} TUTTI_TEST_ALL_BY_ROW=1 TIMEOUT 45)
  tutti_mpi_test(mpi-types-collectives-sides-${row} PROGRAM mpi-types_collectives RANKS 3 RANKS_MPICH 2 MANY 150 ARGS sides
                 ENV ${by_row} TIMEOUT 45)
endforeach()
# Ranks that share GPUs, with blocks of all lengths: leaders launch for all.
foreach(row ll ll128 pipeline leader_pipeline)
  set(by "*@${row} *@fetch")
  set(by_row ${stats} TUTTI_LINES=1 TUTTI_CHANNEL_MB=4 TUTTI_TEST_ROW=${row}
             "TUTTI_RULES=message:*@direct bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by} neighbor:${by}")
  tutti_mpi_test(mpi-types-collectives-leaders-${row}-1 PROGRAM mpi-types_collectives RANKS 3 RANKS_MPICH 2 MANY 150 ARGS device
                 ENV ${by_row} TUTTI_HOST_GPUS=1 TIMEOUT 45)
  tutti_mpi_test(mpi-types-collectives-leaders-${row}-2 PROGRAM mpi-types_collectives RANKS 4 MANY 150 ARGS device
                 MPIS openmpi ENV ${by_row} TUTTI_HOST_GPUS=2 TIMEOUT 45)
endforeach()
tutti_mpi_test(mpi-types-collectives-4 PROGRAM mpi-types_collectives RANKS 4 MANY 210 MPIS openmpi TIMEOUT 45)
type_program(types_aware)
tutti_mpi_test(mpi-types-aware PROGRAM mpi-types_aware RANKS 3 RANKS_MPICH 2 ENV ${stats} TUTTI_MPI_GPU_AWARE=1)
# The MPI reaches this memory: it is given device memory of Tutti's, or where there is none, host memory.
set(aware ${stats} TUTTI_MPI_GPU_AWARE=1 TUTTI_HOST_STRICT=0 TUTTI_RULES=aware:*@device)
tutti_mpi_test(mpi-types-aware-device PROGRAM mpi-types_aware RANKS 3 RANKS_MPICH 2
               ENV ${aware} "TUTTI_TEST_HOW=packed in device memory")
tutti_mpi_test(mpi-types-aware-none PROGRAM mpi-types_aware RANKS 2 ENV ${aware} TUTTI_BOUNCE_MB=0)
type_program(types_pack EVERYWHERE)
tutti_mpi_test(mpi-types-pack PROGRAM mpi-types_pack RANKS 2 ENV ${stats} TUTTI_STAGING_MB=1 EVERYWHERE)
program(types_shifted EVERYWHERE)
# Intel MPI chooses algorithms by the processor. Its second one of MPI_Gather writes past its own buffer.
tutti_mpi_test(mpi-types-shifted PROGRAM mpi-types_shifted RANKS 3 RANKS_MPICH 2 ENV ${stats} I_MPI_ADJUST_GATHER=3
               EVERYWHERE)
tutti_mpi_test(mpi-types-shifted-mpi PROGRAM mpi-types_shifted RANKS 2 ENV ${stats} ${left_to_mpi})
tutti_mpi_test(mpi-types-shifted-direct PROGRAM mpi-types_shifted RANKS 2
               ENV ${stats} TUTTI_RULES=message:*@direct)
program(types_freed EVERYWHERE)
tutti_mpi_test(mpi-types-freed PROGRAM mpi-types_freed RANKS 2 ENV ${stats} EVERYWHERE)
program(types_no_plan EVERYWHERE)
# Not Intel MPI: of types of so many levels it receives the first element alone.
tutti_mpi_test(mpi-types-no-plan PROGRAM mpi-types_no_plan RANKS 2 ENV ${stats} MPIS openmpi mpich openmpi5 mpich5 mpiabi TIMEOUT 45)
program(types_pieces)
foreach(row direct packed)
  tutti_mpi_test(mpi-types-pieces-${row} PROGRAM mpi-types_pieces RANKS 2 ENV ${stats} TUTTI_RULES=message:*@${row} TUTTI_ENDPOINT_MB=1 TIMEOUT 60)
endforeach()
tutti_mpi_test(mpi-types-no-plan-nodes PROGRAM mpi-types_no_plan RANKS 4 RANKS_MPICH 3
               ENV ${stats} TUTTI_NODE_RANKS=2 "TUTTI_RULES=bcast_nodes:*@tree allgather_nodes:*@lanes" TIMEOUT 45)
program(types_later EVERYWHERE)
tutti_mpi_test(mpi-types-later PROGRAM mpi-types_later RANKS 2 ENV ${stats} EVERYWHERE TIMEOUT 40)
program(types_reduce EVERYWHERE)
tutti_mpi_test(mpi-types-reduce PROGRAM mpi-types_reduce RANKS 3 RANKS_MPICH 3 ENV ${stats} EVERYWHERE)
program(types_uneven EVERYWHERE)
tutti_mpi_test(mpi-types-uneven PROGRAM mpi-types_uneven RANKS 2 ENV ${stats} EVERYWHERE)

# Messages of MPI_PACKED, which are received with any type.
program(packed EVERYWHERE)
tutti_mpi_test(mpi-packed PROGRAM mpi-packed RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-packed-scratch PROGRAM mpi-packed RANKS 2 ENV ${stats} TUTTI_RULES=message:*@packed TIMEOUT 60)
tutti_mpi_test(mpi-packed-mpi PROGRAM mpi-packed RANKS 2 ENV ${stats} ${left_to_mpi} TIMEOUT 60)
