# Random programs about GPUs: gpus.c says how one is told apart and repeated.
set(gpus_parts "")
foreach(part gpus_life gpus_memory gpus_messages gpus_collectives gpus_reductions gpu)
  list(APPEND gpus_parts gpus/${part}.c)
endforeach()
tutti_mpi_program(mpi-gpus LIBRARIES tutti-core MPIS ${TUTTI_MPIS} SOURCES gpus/gpus.c ${gpus_parts})
tutti_mpi_builders("${TUTTI_MPIS}" gpus_builders)
foreach(mpi IN LISTS gpus_builders)
  target_link_libraries(mpi-gpus.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()

# Three separate simulated GPUs, scratch that is soon full.
set(gpus_env TUTTI_HOST_GPUS=3 TUTTI_TEST_CARDS=3 TUTTI_ENDPOINT_MB=1 TUTTI_CHANNEL_MB=1)

# gpus(NAME SEED LINKS PROGRAMS KINDS ENV...): programs of 15 calls; KINDS: all but those after a minus.
function(gpus name seed links programs kinds)
  tutti_mpi_test(mpi-gpus-${name} PROGRAM mpi-gpus RANKS 2 MANY ${programs} ARGS 15 LABELS gpus TIMEOUT 60
                 ENV ${gpus_env} TUTTI_HOST_LINKS=${links} TUTTI_TEST_SEED=${seed} TUTTI_TEST_KINDS=${kinds} ${ARGN})
endfunction()
gpus(all 1 all 4 "-reset")
gpus(none 2 none 4 "-reset")
gpus(pair 3 0-1 4 "-reset")
# Nonblocking moves that the MPI has to carry.
gpus(carried 11 none 20 "-reset")
gpus(reset 6 all 4 "")
# Memory is mapped beside: at the second or third message, which pays for it.
gpus(mapping 21 all 4 "-reset" TUTTI_HOST_MAPPING_US=60)
gpus(mapping-reset 22 all 4 "" TUTTI_HOST_MAPPING_US=60)
# Each rank with one GPU, as most programs have.
gpus(one 4 all 4 "-several,-cross,-idle,-reset")

tutti_mpi_program(mpi-after_reset LIBRARIES tutti-core MPIS ${TUTTI_MPIS} SOURCES gpus/after_reset.c gpus/gpu.c)
foreach(mpi IN LISTS gpus_builders)
  target_link_libraries(mpi-after_reset.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
tutti_mpi_test(mpi-gpus-after-reset PROGRAM mpi-after_reset RANKS 2 LABELS gpus TIMEOUT 40
               ENV ${gpus_env} TUTTI_HOST_LINKS=all TUTTI_RULES=message:*@packed)

tutti_mpi_program(mpi-landings_life LIBRARIES tutti-core MPIS ${TUTTI_MPIS} SOURCES gpus/landings_life.c gpus/gpu.c kit/turns.c)
foreach(mpi IN LISTS gpus_builders)
  target_link_libraries(mpi-landings_life.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
tutti_mpi_test(mpi-landings-life PROGRAM mpi-landings_life RANKS 2 LABELS gpus TIMEOUT 40
               ENV ${gpus_env} TUTTI_HOST_LINKS=all TUTTI_STATS=1 TUTTI_RULES=message:*@direct,*@landed TUTTI_HOST_MAPPING_US=300
                   TUTTI_MAPPING_PRICE_US=20000000)

tutti_mpi_program(mpi-reset_mapping LIBRARIES tutti-core MPIS ${TUTTI_MPIS} SOURCES gpus/reset_mapping.c gpus/gpu.c)
foreach(mpi IN LISTS gpus_builders)
  target_link_libraries(mpi-reset_mapping.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
tutti_mpi_test(mpi-gpus-reset-mapping PROGRAM mpi-reset_mapping RANKS 2 LABELS gpus TIMEOUT 60
               ENV ${gpus_env} ${stats} TUTTI_HOST_LINKS=all TUTTI_RULES=message:*@direct,*@landed TUTTI_HOST_MAPPING_US=5000 TUTTI_MAPPING_PRICE_US=1500)

tutti_mpi_program(mpi-complete_copies LIBRARIES tutti-core MPIS ${TUTTI_MPIS} SOURCES gpus/complete_copies.c gpus/gpu.c
                  kit/gpu_filler.c)
foreach(mpi IN LISTS gpus_builders)
  target_link_libraries(mpi-complete_copies.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
tutti_mpi_test(mpi-gpus-complete-copies PROGRAM mpi-complete_copies RANKS 2 LABELS gpus TIMEOUT 60 ENV ${gpus_env} TUTTI_HOST_LINKS=all)

# Only on NVIDIA's GPUs: tests/gpu/on_gpu.cmake.
tutti_mpi_program(mpi-contexts LIBRARIES tutti-core SOURCES gpus/contexts.c)
foreach(mpi IN LISTS gpus_builders)
  if(TARGET mpi-contexts.${mpi})
    target_link_libraries(mpi-contexts.${mpi} PRIVATE mpi-kit.${mpi})
  endif()
endforeach()

tutti_mpi_program(mpi-reset LIBRARIES tutti-core MPIS ${TUTTI_MPIS} SOURCES gpus/reset.c gpus/gpu.c)
foreach(mpi IN LISTS gpus_builders)
  target_link_libraries(mpi-reset.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
tutti_mpi_test(mpi-gpus-reset-reductions PROGRAM mpi-reset RANKS 2 ARGS reductions LABELS gpus TIMEOUT 60
               ENV ${gpus_env} ${stats} TUTTI_HOST_LINKS=all)
tutti_mpi_test(mpi-gpus-reset-packets PROGRAM mpi-reset RANKS 2 ARGS reductions LABELS gpus TIMEOUT 60
               ENV ${gpus_env} ${stats} TUTTI_HOST_LINKS=all "TUTTI_RULES=allreduce:*@ll allgather:*@pipeline *@fetch")
tutti_mpi_test(mpi-gpus-reset-shared PROGRAM mpi-reset RANKS 3 ARGS shared LABELS gpus TIMEOUT 60
               ENV ${gpus_env} ${stats} TUTTI_HOST_LINKS=all)

tutti_mpi_test(mpi-gpus-reset-moves PROGRAM mpi-reset RANKS 2 ARGS moves LABELS gpus TIMEOUT 60
               ENV ${gpus_env} ${stats} TUTTI_HOST_LINKS=all "TUTTI_RULES=allgather:*@ll *@fetch")
tutti_mpi_test(mpi-gpus-reset-led PROGRAM mpi-reset RANKS 2 ARGS led LABELS gpus TIMEOUT 60
               ENV ${gpus_env} TUTTI_HOST_GPUS=1 ${stats} TUTTI_HOST_LINKS=all "TUTTI_RULES=allgather:*@ll *@fetch")

tutti_mpi_program(mpi-few LIBRARIES tutti-core MPIS ${TUTTI_MPIS} SOURCES gpus/few.c gpus/gpu.c)
foreach(mpi IN LISTS gpus_builders)
  target_link_libraries(mpi-few.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
foreach(gpus own shared)
  tutti_mpi_test(mpi-gpus-few-${gpus} PROGRAM mpi-few RANKS 2 ARGS ${gpus} LABELS gpus TIMEOUT 40
                 ENV ${gpus_env} ${stats} TUTTI_HOST_LINKS=all "TUTTI_RULES=alltoall:*@staged moves_nonblocking:*@staged")
endforeach()

# Each rank is a node of its own; those of one GPU find it out.
foreach(gpus own shared)
  tutti_mpi_test(mpi-gpus-few-${gpus}-nodes PROGRAM mpi-few RANKS 2 ARGS ${gpus} LABELS gpus TIMEOUT 40
                 ENV ${gpus_env} ${stats} TUTTI_HOST_LINKS=all TUTTI_NODE_RANKS=1)
endforeach()

# What the programs expect, tried on the MPI alone.
tutti_mpi_test(mpi-gpus-plain PROGRAM mpi-gpus RANKS 2 MANY 6 ARGS 15 NO_PRELOAD LABELS gpus TIMEOUT 60
               ENV TUTTI_TEST_PLAIN=1 TUTTI_TEST_CARDS=3 TUTTI_TEST_SEED=5)

if(TARGET mpi-gpus.openmpi)
  # For nights: 10^4 programs of 1000 seeds.
  add_custom_target(gpus COMMAND ${CMAKE_CURRENT_LIST_DIR}/many.sh 1000 1 ${TUTTI_MPI_openmpi_RUN} ${TUTTI_MPI_openmpi_FLAGS} -n 2
                    env LD_PRELOAD=${TUTTI_PRELOAD} ${TUTTI_TEST_ENV} ${gpus_env} TUTTI_HOST_LINKS=0-1
                    $<TARGET_FILE:mpi-gpus.openmpi> 10 20 USES_TERMINAL VERBATIM)
  add_dependencies(gpus tutti tutti-openmpi)
endif()
