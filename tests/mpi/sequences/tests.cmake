# Sequences of reductions and data movers: calls of other kinds, sizes and algorithms, one after the other with nothing in between. One
# sequence again: TUTTI_TEST_ONLY=n in the environment of a test's command. The target `sequences` runs 100,000 of them with
# a seed drawn from the clock. On GPUs tests/gpu/on_gpu.cmake runs the same program.
tutti_mpi_program(mpi-sequences LIBRARIES tutti-core m MPIS ${TUTTI_MPI_SYSTEM}
                  SOURCES sequences/sequences.c sequences/sequences_draw.c sequences/sequences_data.c sequences/sequences_run.c sequences/sequences_move.c sequences/sequences_slots.c sequences/sequences_graph.c sequences/sequences_memory.c
                          sequences/sequences_text.c kit/queue.c kit/queue_move.c kit/gpu_filler.c kit/cuda_graph.c)
tutti_mpi_builders("${TUTTI_MPI_SYSTEM}" sequence_builders)
foreach(mpi IN LISTS sequence_builders)
  target_link_libraries(mpi-sequences.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()

include(${CMAKE_CURRENT_LIST_DIR}/rules.cmake)

# Where half of the window is given away, channels are a quarter as large.
set(sequence_equal TUTTI_CHANNEL_MB=1 TUTTI_WINDOW_MB=64)
set(sequence_unequal TUTTI_CHANNEL_MB=4 TUTTI_WINDOW_MB=32)

# sequences(NAME RULES FIRST COUNT COUNT_MPICH MOST ENV...): other numbers, so that each test has sequences of its own.
function(sequences name rules first count count_mpich most)
  set(env ${ARGN} TUTTI_TEST_FIRST=${first})
  if(sequence_rules_${rules})
    list(APPEND env "TUTTI_RULES=${sequence_rules_${rules}}")
  endif()
  tutti_mpi_test(mpi-sequences-${name} PROGRAM mpi-sequences RANKS 3 MANY ${count} ARGS ${most} 60 MPIS openmpi ENV ${env}
                 TIMEOUT 80 LABELS sequences)
  tutti_mpi_test(mpi-sequences-${name} PROGRAM mpi-sequences RANKS 2 MANY ${count_mpich} ARGS ${most} 60 MPIS mpich ENV ${env}
                 TIMEOUT 80 LABELS sequences)
endfunction()
sequences(default default 0 375 50 128k ${sequence_equal})
sequences(default-blocks default 10000 150 50 128k ${sequence_unequal} TUTTI_HOST_BLOCKS=24)
sequences(chains chains 20000 225 50 128k ${sequence_equal} TUTTI_HOST_BLOCKS=24)
sequences(chains-unequal chains 30000 75 50 512k ${sequence_unequal} TUTTI_HOST_BLOCKS=24)
# Kernels that reach buffers of all ranks: with several streams, and with one, as where the driver maps nothing beside others.
sequences(direct direct 100000 150 50 128k ${sequence_equal} TUTTI_HOST_BLOCKS=24)
sequences(direct-mapped direct 110000 75 50 128k ${sequence_equal} TUTTI_HOST_BLOCKS=24 TUTTI_TEST_STREAMS=1)
sequences(deep deep 150000 75 50 128k ${sequence_equal} TUTTI_HOST_BLOCKS=24)
sequences(deep-mapped deep 160000 150 50 512k ${sequence_unequal} TUTTI_HOST_BLOCKS=7 TUTTI_TEST_STREAMS=1)
# Memory that is freed and allocated again beside streams that are at work: unmapping it is put off. Meanwhile some nonblocking calls
# are the MPI's; Open MPI's sums of bytes by AVX do not wrap.
set(sequence_lives TUTTI_TEST_LIVES=4 OMPI_MCA_op=^avx)
sequences(lives direct 210000 75 30 64k ${sequence_equal} TUTTI_HOST_BLOCKS=24 ${sequence_lives})
sequences(lives-deep deep 220000 60 30 128k ${sequence_unequal} TUTTI_HOST_BLOCKS=24 ${sequence_lives})
sequences(lives-multiple direct 230000 60 30 64k ${sequence_equal} TUTTI_HOST_BLOCKS=24 ${sequence_lives} TUTTI_TEST_MULTIPLE=1)
sequences(lives-one deep 240000 60 30 64k ${sequence_equal} TUTTI_HOST_BLOCKS=24 ${sequence_lives} TUTTI_TEST_STREAMS=1)
sequences(engines engines 120000 150 50 512k ${sequence_equal} TUTTI_HOST_BLOCKS=24)
sequences(engines-few engines 130000 75 50 128k ${sequence_unequal} TUTTI_HOST_BLOCKS=7)
# As many hardware queues as streams, and a driver that lets new streams wait for what runs; eight queues, which streams share.
sequences(engines-queues engines 120000 60 30 512k ${sequence_equal} TUTTI_HOST_BLOCKS=24 TUTTI_HOST_QUEUES=32)
sequences(default-queues default 140000 60 30 128k ${sequence_equal} TUTTI_HOST_BLOCKS=24 TUTTI_HOST_QUEUES=8 TUTTI_HOST_COPY_QUEUES=8)
sequences(lines lines 40000 150 50 128k ${sequence_unequal} TUTTI_HOST_BLOCKS=24)
sequences(halves halves 50000 150 50 128k ${sequence_unequal} TUTTI_HOST_BLOCKS=24)
sequences(steps steps 60000 225 50 64k ${sequence_unequal} TUTTI_HOST_BLOCKS=24)
sequences(steps-few steps 70000 75 50 64k ${sequence_equal} TUTTI_HOST_BLOCKS=24 TUTTI_BLOCKS=3)
sequences(mixed mixed 80000 60 20 2m ${sequence_unequal} TUTTI_HOST_BLOCKS=24)
sequences(large mixed 90000 4 3 64m TUTTI_HOST_BLOCKS=24)
sequences(large-cuda cuda 95000 4 3 24m TUTTI_HOST_BLOCKS=24 TUTTI_LINES=1 TUTTI_TEST_STREAMS=1)

if(TARGET mpi-sequences.openmpi)
  set(many "")
  foreach(rules default chains direct deep engines lines halves steps)
    list(APPEND many COMMAND ${TUTTI_MPI_openmpi_RUN} -n 3 env LD_PRELOAD=${TUTTI_PRELOAD} ${TUTTI_TEST_ENV}
         ${sequence_unequal} TUTTI_HOST_BLOCKS=24 TUTTI_TEST_SEED=clock "TUTTI_RULES=${sequence_rules_${rules}}"
         $<TARGET_FILE:mpi-sequences.openmpi> 20000 256k)
  endforeach()
  add_custom_target(sequences ${many} USES_TERMINAL VERBATIM)
  add_dependencies(sequences tutti tutti-openmpi)
endif()
# Rounds of partitioned requests in kernels.
program(prequest_rounds EVERYWHERE)
tutti_mpi_test(mpi-prequest_rounds PROGRAM mpi-prequest_rounds RANKS 2 MANY 30 EVERYWHERE ENV TUTTI_HOST_STRICT=0 TIMEOUT 120)
tutti_mpi_test(mpi-prequest_rounds-alone PROGRAM mpi-prequest_rounds RANKS 1 MANY 300 ENV TUTTI_HOST_STRICT=0 TIMEOUT 120)
