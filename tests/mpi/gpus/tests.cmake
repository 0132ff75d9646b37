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

# gpus(NAME SEED LINKS PROGRAMS KINDS ENV...): three simulated GPUs, separate, of which each rank sees some.
function(gpus name seed links programs kinds)
  tutti_mpi_test(mpi-gpus-${name} PROGRAM mpi-gpus RANKS 2 MANY ${programs} ARGS 20 LABELS gpus
                 ENV TUTTI_HOST_GPUS=3 TUTTI_HOST_LINKS=${links} TUTTI_TEST_CARDS=3 TUTTI_ENDPOINT_MB=1 TUTTI_CHANNEL_MB=1
                     TUTTI_TEST_SEED=${seed} TUTTI_TEST_KINDS=${kinds} ${ARGN})
endfunction()
gpus(all 1 all 5 "")
gpus(none 2 none 5 "")
gpus(pair 3 0-1 5 "")
