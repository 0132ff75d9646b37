# The programs of tests/mpi on real GPUs. Ranks take GPUs in turn, so that more ranks than GPUs share them.
set(TUTTI_GPU_COUNT 1 CACHE STRING "GPUs of this machine, for the tests")
set(gpu_ranks ${TUTTI_GPU_COUNT})
if(gpu_ranks LESS 2)
  set(gpu_ranks 2)
endif()
set(gpu_env TUTTI_DEVICE=cuda TUTTI_STATS=1)

function(gpu_test name program ranks)
  cmake_parse_arguments(G "" "" "ARGS;ENV" ${ARGN})
  set(known "")
  foreach(mpi IN LISTS TUTTI_MPI_SYSTEM)
    if(TARGET ${program}.${TUTTI_MPI_${mpi}_BUILT_BY})
      list(APPEND known ${mpi})
    endif()
  endforeach()
  if(NOT known)
    message(STATUS "Test gpu-${name} is left out: ${program} is not built")
    return()
  endif()
  tutti_mpi_test(gpu-${name} PROGRAM ${program} RANKS ${ranks} ARGS ${G_ARGS} ENV ${gpu_env} ${G_ENV} MPIS ${known}
                 TIMEOUT 240 LABELS gpu)
  foreach(mpi IN LISTS known)
    set_tests_properties(gpu-${name}.${mpi} PROPERTIES RUN_SERIAL TRUE)
  endforeach()
endfunction()

gpu_test(matrix-one mpi-matrix 1 ARGS 1500)
gpu_test(matrix-staged mpi-matrix ${gpu_ranks} ARGS 1500
         ENV TUTTI_RULES=allreduce:*@staged TUTTI_TEST_EXPECT=accelerated|staged)
foreach(ranks RANGE 2 ${TUTTI_GPU_COUNT})
  if(ranks GREATER TUTTI_GPU_COUNT)
    break() # RANGE counts down where there is one GPU
  endif()
  foreach(algorithm oneshot twoshot direct)
    gpu_test(matrix-${algorithm}-${ranks} mpi-matrix ${ranks} ARGS 3000
             ENV TUTTI_RULES=allreduce:*@${algorithm} TUTTI_TEST_EXPECT=accelerated|${algorithm})
  endforeach()
endforeach()
if(TUTTI_GPU_COUNT GREATER 1)
  gpu_test(matrix-copies mpi-matrix ${gpu_ranks} ARGS 3000
           ENV TUTTI_RULES=allreduce:*@copies TUTTI_TEST_EXPECT=accelerated|copies)
endif()
gpu_test(reductions-chains mpi-reductions ${gpu_ranks} ARGS 1500
         ENV TUTTI_TEST_EXPECT=accelerated "TUTTI_RULES=allreduce:*@pipeline reduce:0-64k@chain_ll128,*@chain")
math(EXPR shared "${TUTTI_GPU_COUNT} * 2")
if(TUTTI_GPU_COUNT EQUAL 1)
  set(shared 4)
endif()
gpu_test(matrix-leader mpi-matrix ${shared} ARGS 3000
         ENV TUTTI_RULES=allreduce:*@leader TUTTI_TEST_EXPECT=accelerated|leader)
gpu_test(matrix-default mpi-matrix ${gpu_ranks} ARGS 3000 ENV TUTTI_TEST_EXPECT=accelerated)
foreach(ranks RANGE 1 ${TUTTI_GPU_COUNT})
  gpu_test(reductions-${ranks} mpi-reductions ${ranks} ARGS 3000 ENV TUTTI_TEST_EXPECT=accelerated)
endforeach()
gpu_test(reductions-staged mpi-reductions ${gpu_ranks} ARGS 1500
         ENV TUTTI_TEST_EXPECT=accelerated|staged
             "TUTTI_RULES=allreduce:*@staged reduce:*@staged reduce_scatter:*@staged scan:*@staged")
gpu_test(reductions-shared mpi-reductions ${shared} ARGS 3000 ENV TUTTI_TEST_EXPECT=accelerated)
gpu_test(bits mpi-bits ${gpu_ranks})
gpu_test(aware mpi-aware ${gpu_ranks} ARGS cuda,cuda:host,cuda:device,cuda:managed 1)
foreach(program mixed illegal wrong user_op user_ops host_ahead comms threads messages collectives refused)
  gpu_test(${program} mpi-${program} ${gpu_ranks})
endforeach()

# Nonblocking and persistent calls.
gpu_test(ireduce mpi-ireduce ${gpu_ranks} ENV TUTTI_TEST_EXPECT=accelerated)
gpu_test(ireduce-shared mpi-ireduce ${shared} ARGS 150 ENV TUTTI_TEST_EXPECT=accelerated)
foreach(program overlap persistent errors)
  gpu_test(ireduce-${program} mpi-ireduce_${program} ${gpu_ranks})
endforeach()

# Kernels that stay after small calls.
tutti_mpi_program(mpi-linger SOURCES ${CMAKE_CURRENT_LIST_DIR}/linger.c LIBRARIES tutti-core MPIS ${TUTTI_MPI_SYSTEM})
tutti_mpi_builders("${TUTTI_MPI_SYSTEM}" linger_builders)
foreach(mpi IN LISTS linger_builders)
  target_link_libraries(mpi-linger.${mpi} PRIVATE mpi-kit.${mpi})
  target_include_directories(mpi-linger.${mpi} PRIVATE ${PROJECT_SOURCE_DIR}/tests/mpi)
endforeach()
foreach(ranks RANGE 2 4)
  if(ranks LESS_EQUAL TUTTI_GPU_COUNT)
    gpu_test(linger-${ranks} mpi-linger ${ranks} ARGS 20000
           ENV TUTTI_LINGER_US=20 TUTTI_TEST_EXPECT=accelerated "TUTTI_RULES=allreduce:*@ll reduce:*@ll")
  endif()
endforeach()

# Calls in stream order: one process a GPU.
set(stream_ranks 1 2 ${TUTTI_GPU_COUNT})
list(REMOVE_DUPLICATES stream_ranks)
foreach(ranks IN LISTS stream_ranks)
  if(ranks GREATER TUTTI_GPU_COUNT)
    continue()
  endif()
  set(parts chain)
  set(graph_parts replay)
  if(ranks GREATER 1)
    set(parts calls chain queues life)
    set(graph_parts replay beside full types orders)
  endif()
  foreach(part IN LISTS parts)
    gpu_test(enqueue-${part}-${ranks} mpi-enqueue ${ranks} ARGS ${part} ENV CUDA_DEVICE_MAX_CONNECTIONS=32)
  endforeach()
  foreach(part IN LISTS graph_parts)
    gpu_test(enqueue-${part}-${ranks} mpi-enqueue_graph ${ranks} ARGS ${part} ENV CUDA_DEVICE_MAX_CONNECTIONS=32)
  endforeach()
  gpu_test(enqueue-errors-${ranks} mpi-enqueue_errors ${ranks})
endforeach()
# Many kernels that wait at the same time. A call that stands still ends by itself.
set(residency_parts alone full)
if(TUTTI_GPU_COUNT GREATER 1) # streams take a GPU for each rank
  list(APPEND residency_parts streams all)
endif()
foreach(part IN LISTS residency_parts)
  gpu_test(residency-${part} mpi-residency ${gpu_ranks} ARGS ${part}
           ENV TUTTI_TIMEOUT_SECONDS=20 TUTTI_STALL_SECONDS=5 CUDA_DEVICE_MAX_CONNECTIONS=32)
endforeach()
if(TUTTI_GPU_COUNT GREATER 1)
  gpu_test(stream-stopped mpi-stream_failure ${gpu_ranks} ARGS stopped)
endif()
# Sequences, with graphs: until the time is over. The channels of the second half of the window are a quarter as large.
include(${PROJECT_SOURCE_DIR}/tests/mpi/sequences/rules.cmake)
function(gpu_sequences name rules first most seconds)
  cmake_parse_arguments(S "" "" "RANKS;ENV" ${ARGN})
  set(env CUDA_DEVICE_MAX_CONNECTIONS=32 TUTTI_TEST_FIRST=${first} ${S_ENV})
  if(sequence_rules_${rules})
    list(APPEND env "TUTTI_RULES=${sequence_rules_${rules}}")
  endif()
  list(GET TUTTI_MPI_SYSTEM 0 TUTTI_MPI_SYSTEM) # one MPI does
  list(REMOVE_DUPLICATES S_RANKS)
  foreach(ranks IN LISTS S_RANKS)
    if(ranks LESS_EQUAL TUTTI_GPU_COUNT)
      gpu_test(sequences-${name}-${ranks} mpi-sequences ${ranks} ARGS 10000000 ${most} ${seconds} ENV ${env})
    endif()
  endforeach()
endfunction()
gpu_sequences(default default 0 600m 40 RANKS 2 ${gpu_ranks})
gpu_sequences(default-small default 100000 2m 20 RANKS ${gpu_ranks})
gpu_sequences(default-unequal default 200000 64m 20 RANKS ${gpu_ranks} ENV TUTTI_CHANNEL_MB=16 TUTTI_WINDOW_MB=96)
gpu_sequences(chains chains 300000 64m 20 RANKS 2 ${gpu_ranks})
gpu_sequences(lines lines 400000 16m 20 RANKS 2 ${gpu_ranks})
gpu_sequences(halves halves 500000 16m 20 RANKS ${gpu_ranks})
gpu_sequences(steps steps 600000 256k 20 RANKS ${gpu_ranks})
gpu_sequences(mixed mixed 700000 64m 20 RANKS ${gpu_ranks} ENV TUTTI_CHANNEL_MB=16 TUTTI_WINDOW_MB=96)
gpu_sequences(linger default 850000 64k 15 RANKS ${gpu_ranks} ENV TUTTI_LINGER_US=50)
gpu_sequences(mixed-few mixed 800000 16m 20 RANKS ${gpu_ranks} ENV TUTTI_BLOCKS=4)
gpu_test(enqueue-shared mpi-enqueue_errors ${shared} ARGS shared)
if(TARGET mpi-life.openmpi OR TARGET mpi-life.mpich)
  gpu_test(fork mpi-life ${gpu_ranks} ARGS fork)
  gpu_test(late mpi-watch ${gpu_ranks} ARGS late ENV TUTTI_STALL_SECONDS=1)
  gpu_test(mismatch mpi-watch ${gpu_ranks} ARGS mismatch)
  gpu_test(stopped mpi-watch 2 ARGS stopped ENV TUTTI_STALL_SECONDS=1)
endif()

# A rank is killed in the middle of calls; with a GPU for each, others' kernels may be waiting for it.
if(TARGET mpi-watch.openmpi)
  add_test(NAME gpu-killed.openmpi
           COMMAND ${TUTTI_TIMEOUT} -k 5 120 ${PROJECT_SOURCE_DIR}/tests/mpi/life/watch.sh 3 ${TUTTI_MPI_openmpi_RUN}
                   --enable-recovery -n ${gpu_ranks} env LD_PRELOAD=${TUTTI_PRELOAD} TUTTI_DEVICE=cuda
                   -- $<TARGET_FILE:mpi-watch.openmpi>)
  set_tests_properties(gpu-killed.openmpi PROPERTIES LABELS gpu TIMEOUT 135 SKIP_RETURN_CODE 77 RUN_SERIAL TRUE
                       ENVIRONMENT "${TUTTI_MPI_openmpi_ENV}")
endif()
# The same, or a launch that fails, while others' kernels in stream order wait.
if(TARGET mpi-stream_failure.openmpi AND TUTTI_GPU_COUNT GREATER 1)
  foreach(mode kill graph launch)
    add_test(NAME gpu-stream-${mode}.openmpi
             COMMAND ${TUTTI_TIMEOUT} -k 5 80 ${PROJECT_SOURCE_DIR}/tests/mpi/enqueue/stream_failure.sh ${mode} ${gpu_ranks}
                     ${TUTTI_MPI_openmpi_RUN} --enable-recovery -n ${gpu_ranks} env LD_PRELOAD=${TUTTI_PRELOAD}
                     TUTTI_DEVICE=cuda -- $<TARGET_FILE:mpi-stream_failure.openmpi>)
    set_tests_properties(gpu-stream-${mode}.openmpi PROPERTIES LABELS gpu TIMEOUT 95 SKIP_RETURN_CODE 77 RUN_SERIAL TRUE
                         ENVIRONMENT "${TUTTI_MPI_openmpi_ENV}")
  endforeach()
endif()

# Datatypes in every call.
gpu_test(types mpi-types 2 ARGS 1500)
gpu_test(types-messages mpi-types_messages 2 ARGS 700)
gpu_test(types-messages-direct mpi-types_messages 2 ARGS 700 ENV TUTTI_MESSAGE_LEAST=512 "TUTTI_RULES=message:*@direct *@packed")
gpu_test(types-messages-packed mpi-types_messages 2 ARGS 700
         ENV TUTTI_MESSAGE_LEAST=512 TUTTI_RULES=message:*@packed)
gpu_test(endpoints mpi-endpoints ${gpu_ranks} ENV TUTTI_RULES=message:*@direct)
gpu_test(endpoints-self mpi-endpoints_self 2)
gpu_test(endpoints-self-alone mpi-endpoints_self 1)
gpu_test(endpoints-self-packed mpi-endpoints_self 1 ENV TUTTI_RULES=message:*@packed)
gpu_test(endpoints-launches mpi-endpoints_launches 2)
gpu_test(endpoints-launches-self mpi-endpoints_launches 1)
gpu_test(endpoints-threads-self mpi-endpoints_threads 1)
gpu_test(endpoints-full mpi-endpoints 2 ARGS 6000000 2 ENV TUTTI_ENDPOINT_MB=1 "TUTTI_RULES=message:*@direct *@packed")
gpu_test(endpoints-threads mpi-endpoints_threads 2 ENV "TUTTI_RULES=message:*@direct *@packed")
gpu_test(endpoints-packed mpi-endpoints 2 ENV TUTTI_RULES=message:*@packed)
gpu_test(types-collectives-moved mpi-types_collectives ${gpu_ranks} ARGS 900 device ENV TUTTI_RULES=message:*@direct)
gpu_test(types-collectives-packed mpi-types_collectives ${gpu_ranks} ARGS 900 device ENV TUTTI_RULES=message:*@packed)
gpu_test(types-collectives mpi-types_collectives ${gpu_ranks} ARGS 600)
gpu_test(types-pack mpi-types_pack 2 ENV TUTTI_STAGING_MB=1)

# Packing kernels: the program of tests/kernels.
if(TARGET kernels-pack)
  foreach(part matrix transposes lists structures relayouts many alike)
    add_test(NAME gpu-pack-${part} COMMAND ${TUTTI_TIMEOUT} -k 5 300 $<TARGET_FILE:kernels-pack> ${part})
    set_tests_properties(gpu-pack-${part} PROPERTIES LABELS gpu TIMEOUT 315 SKIP_RETURN_CODE 77 RUN_SERIAL TRUE
                         ENVIRONMENT "TUTTI_DEVICE=cuda")
  endforeach()
endif()
if(TARGET dtype-pack)
  add_test(NAME gpu-pack-types COMMAND ${TUTTI_TIMEOUT} -k 5 300 $<TARGET_FILE:dtype-pack> 0 4000)
  set_tests_properties(gpu-pack-types PROPERTIES LABELS gpu TIMEOUT 315 SKIP_RETURN_CODE 77 RUN_SERIAL TRUE
                       ENVIRONMENT "TUTTI_DEVICE=cuda")
endif()

# Random programs, until the time is over: ranks of one node, and nodes of one or two ranks.
include(${PROJECT_SOURCE_DIR}/tests/mpi/programs/kinds.cmake)
function(gpu_programs name kinds ranks seconds)
  list(GET TUTTI_MPI_SYSTEM 0 TUTTI_MPI_SYSTEM) # one MPI does
  gpu_test(programs-${name} mpi-programs ${ranks} ARGS 10000000 40 100k ${seconds}
           ENV CUDA_DEVICE_MAX_CONNECTIONS=32 TUTTI_TEST_KINDS=${kinds} ${ARGN})
endfunction()
gpu_programs(messages ${messages} 3 20)
gpu_programs(messages-direct ${messages} 2 15 TUTTI_RULES=message:*@direct TUTTI_CACHE_ENTRIES=4)
gpu_programs(messages-packed ${messages} 2 15 TUTTI_RULES=message:*@packed TUTTI_ENDPOINT_MB=1)
gpu_programs(messages-nodes ${messages} 2 15 TUTTI_NODE_RANKS=1)
gpu_programs(reduced ${reduced},${around},icoll 3 15)
gpu_programs(together ${together} 3 20)
gpu_programs(together-2 ${together} 2 15)
gpu_programs(together-direct ${together} 3 15 TUTTI_RULES=message:*@direct TUTTI_CACHE_ENTRIES=4)
gpu_programs(together-far ${together} 2 15 TUTTI_NODE_RANKS=1 TUTTI_RULES=message_far:*@pipelined TUTTI_MESSAGE_CHUNK=4096)
gpu_programs(together-two-nodes ${together} 4 15 TUTTI_NODE_RANKS=2)
gpu_programs(together-few ${together} 3 15 TUTTI_CHANNEL_MB=1 TUTTI_WINDOW_MB=8 TUTTI_ENDPOINT_MB=1 TUTTI_STAGING_MB=1
             TUTTI_CACHE_ENTRIES=4)
gpu_programs(beside ${beside} 3 15)
gpu_programs(beside-two-nodes ${together},${beside} 4 15 TUTTI_NODE_RANKS=2)
if(TUTTI_GPU_COUNT GREATER 3)
  gpu_programs(together-4 ${together},${beside} 4 20)
endif()
gpu_test(standstill mpi-standstill 3)
gpu_test(standstill-calls mpi-standstill 3 ARGS calls)
gpu_test(standstill-nodes mpi-standstill 3 ENV TUTTI_NODE_RANKS=2)
