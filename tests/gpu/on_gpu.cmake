# The programs of tests/mpi on real GPUs. Ranks take GPUs in turn, so that more ranks than GPUs share them.
set(TUTTI_GPU_COUNT 1 CACHE STRING "GPUs of this machine, for the tests")
set(gpu_ranks ${TUTTI_GPU_COUNT})
if(gpu_ranks LESS 2)
  set(gpu_ranks 2)
endif()
# Memory of other ranks is mapped at the first message, so that the programs meet the ways that they are about; rows of `pays` wait
# until a mapping pays, as without the setting.
set(gpu_env TUTTI_DEVICE=cuda TUTTI_STATS=1 TUTTI_MAPPING_PRICE_US=1)
set(pays TUTTI_MAPPING_PRICE_US=0)
cmake_host_system_information(RESULT gpu_cores QUERY NUMBER_OF_LOGICAL_CORES)

# GPUS: the number that the row needs: needs.sh skips it on a machine with fewer. Default: gpu_needs, which loops set.
set(gpu_needs 1)
function(gpu_test name program ranks)
  cmake_parse_arguments(G "" "GPUS" "ARGS;ENV;MPIS" ${ARGN})
  if(NOT G_GPUS)
    set(G_GPUS ${gpu_needs})
  endif()
  if(NOT G_MPIS)
    set(G_MPIS ${TUTTI_MPI_SYSTEM})
  endif()
  set(known "")
  foreach(mpi IN LISTS G_MPIS)
    if(mpi IN_LIST TUTTI_MPI_SYSTEM AND TARGET ${program}.${TUTTI_MPI_${mpi}_BUILT_BY})
      list(APPEND known ${mpi})
    endif()
  endforeach()
  if(NOT known)
    message(STATUS "Test gpu-${name} is left out: ${program} is not built")
    return()
  endif()
  if(G_GPUS GREATER 1)
    foreach(mpi IN LISTS known)
      list(PREPEND TUTTI_MPI_${mpi}_RUN ${PROJECT_SOURCE_DIR}/tests/gpu/needs.sh ${G_GPUS})
    endforeach()
  endif()
  if(gpu_cores GREATER ranks) # rows run alone: ranks keep their cores while they wait (tests/support/yield.c)
    foreach(mpi IN LISTS known)
      set(TUTTI_MPI_${mpi}_PRELOAD ${TUTTI_PRELOAD})
    endforeach()
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
    gpu_test(matrix-${algorithm}-${ranks} mpi-matrix ${ranks} GPUS ${ranks} ARGS 3000
             ENV TUTTI_RULES=allreduce:*@${algorithm} TUTTI_TEST_EXPECT=accelerated|${algorithm})
  endforeach()
endforeach()
if(TUTTI_GPU_COUNT GREATER 2)
  gpu_test(matrix-copies mpi-matrix ${gpu_ranks} GPUS ${gpu_ranks} ARGS 3000
           ENV TUTTI_RULES=allreduce:*@copies TUTTI_TEST_EXPECT=accelerated|copies)
endif()
gpu_test(reductions-chains mpi-reductions ${gpu_ranks} ARGS 1500
         ENV TUTTI_TEST_EXPECT=accelerated "TUTTI_RULES=allreduce:*@pipeline reduce:0-64k@chain_ll128,*@chain")
gpu_test(reductions-engines mpi-reductions ${gpu_ranks} ARGS 1500
         ENV TUTTI_TEST_EXPECT=accelerated "TUTTI_RULES=reduce:*@engines reduce_scatter:*@engines")
math(EXPR shared "${TUTTI_GPU_COUNT} * 2")
if(TUTTI_GPU_COUNT EQUAL 1)
  set(shared 4)
endif()
gpu_test(matrix-leader mpi-matrix ${shared} ARGS 3000
         ENV TUTTI_RULES=allreduce:*@leader TUTTI_TEST_EXPECT=accelerated|leader)
if(TUTTI_GPU_COUNT GREATER 1)
  foreach(algorithm leader_ll leader_ll128 leader_twoshot_ll128 leader_pipeline)
    gpu_test(matrix-${algorithm} mpi-matrix ${shared} GPUS 2 ARGS 1500
             ENV TUTTI_RULES=allreduce:*@${algorithm} TUTTI_TEST_EXPECT=accelerated|${algorithm})
  endforeach()
  gpu_test(reductions-leaders mpi-reductions ${shared} GPUS 2 ARGS 1500
           ENV TUTTI_TEST_EXPECT=accelerated
               "TUTTI_RULES=allreduce:0-4k@leader_ll128,*@leader_pipeline reduce:0-1k@leader_ll,1k-8k@leader_ll128,*@leader_twoshot_ll128 reduce_scatter:0-2k@leader_ll,2k-16k@leader_ll128,*@leader_pipeline scan:0-2k@leader_ll,*@leader_ll128")
  gpu_test(bits-leaders mpi-bits ${shared} GPUS 2)
endif()
gpu_test(matrix-default mpi-matrix ${gpu_ranks} ARGS 3000 ENV TUTTI_TEST_EXPECT=accelerated)
foreach(ranks RANGE 1 ${TUTTI_GPU_COUNT})
  gpu_test(reductions-${ranks} mpi-reductions ${ranks} GPUS ${ranks} ARGS 3000 ENV TUTTI_TEST_EXPECT=accelerated)
endforeach()
gpu_test(reductions-staged mpi-reductions ${gpu_ranks} ARGS 1500
         ENV TUTTI_TEST_EXPECT=accelerated|staged
             "TUTTI_RULES=allreduce:*@staged reduce:*@staged reduce_scatter:*@staged scan:*@staged")
gpu_test(reductions-shared mpi-reductions ${shared} ARGS 3000 ENV TUTTI_TEST_EXPECT=accelerated)
gpu_test(bits mpi-bits ${gpu_ranks})
# Virtual nodes: of one rank, of two, of ranks that share a GPU, and with ranks on host memory.
foreach(row single_leader host_leader two_rounds multi_leader pipelined)
  set(scans ranks)
  if(row STREQUAL two_rounds)
    set(scans two_rounds)
  endif()
  foreach(ranks 1 2)
    gpu_test(nodes-${row}-${ranks} mpi-nodes 4 ARGS 12 bits
             ENV TUTTI_NODE_RANKS=${ranks} TUTTI_NODES_PIECE_KB=16 TUTTI_TEST_EXPECT=${row}
                 "TUTTI_RULES=allreduce_nodes:*@${row} reduce_nodes:*@${row} reduce_scatter_nodes:*@${row} scan_nodes:*@${scans} leaders:0-1k@doubling,1k-4k@ring,*@slices leaders_combine:2k-*@device")
  endforeach()
endforeach()
# Kernels combine, also into the result itself: two nodes of two.
foreach(row multi_leader pipelined)
  gpu_test(nodes-swap-${row} mpi-nodes 4 ARGS 12 bits
           ENV TUTTI_NODE_RANKS=2 TUTTI_NODES_PIECE_KB=16 TUTTI_TEST_EXPECT=${row}
               "TUTTI_RULES=allreduce_nodes:*@${row} reduce_nodes:*@${row} reduce_scatter_nodes:*@${row} scan_nodes:*@ranks leaders:*@swap leaders_combine:*@device")
endforeach()
gpu_test(nodes-order mpi-nodes 4 ARGS 12 bits ENV TUTTI_NODE_RANKS=2 TUTTI_ORDER=ranks TUTTI_TEST_EXPECT=ranks)
gpu_test(nodes-kinds mpi-nodes 4 ARGS 600 kinds
         ENV TUTTI_NODE_RANKS=2 TUTTI_NODES_PIECE_KB=4 "TUTTI_RULES=allreduce_nodes:0-100@single_leader,100-3k@host_leader,*@pipelined reduce_nodes:*@multi_leader reduce_scatter_nodes:*@pipelined scan_nodes:*@ranks leaders_combine:*@device leaders:0-2k@slices,*@swap")
# Data movers over virtual nodes, by each row. A run that does not end reports its call and its stack twice before its limit.
foreach(row tree chains)
  foreach(ranks 1 2)
    gpu_test(moves-nodes-${row}-${ranks} mpi-moves_nodes 4 ARGS 400
             ENV TUTTI_NODE_RANKS=${ranks} TUTTI_NODES_PIECE_KB=4 TUTTI_TEST_EXPECT=${row},lanes,pairs TUTTI_TEST_STANDS=20
                 TUTTI_STALL_SECONDS=10 TUTTI_TIMEOUT_SECONDS=50
                 "TUTTI_RULES=bcast_nodes:*@${row} gather_nodes:*@pairs scatter_nodes:*@pairs allgather_nodes:*@lanes alltoall_nodes:*@pairs")
  endforeach()
endforeach()
# A call of memory of GPUs after calls of host memory that are alike is left to the MPI until the ranks agree again.
gpu_test(nodes-matrix mpi-matrix 4 ARGS 1500 ENV TUTTI_NODE_RANKS=2 TUTTI_TEST_EXPECT=accelerated TUTTI_TEST_SHARE=90)
gpu_test(aware mpi-aware ${gpu_ranks} ARGS cuda,cuda:host,cuda:device,cuda:managed 1)
foreach(program mixed illegal wrong user_op user_ops host_ahead host_only comms threads messages collectives refused)
  gpu_test(${program} mpi-${program} ${gpu_ranks})
endforeach()
gpu_test(partitioned mpi-partitioned 3 ARGS 20)
gpu_test(partitioned-nodes mpi-partitioned 3 ARGS 20 apart ENV TUTTI_NODE_RANKS=1 TUTTI_RULES=message_far:*@pipelined)
gpu_test(partitioned-collectives mpi-partitioned_collectives 4 ARGS 30)
gpu_test(partitioned-collectives-meet-2 mpi-partitioned_collectives 2 ARGS 40 device Pallreduce
         ENV "TUTTI_TEST_EXPECT=met in kernels" "TUTTI_TEST_OF=partitioned collectives")
gpu_test(partitioned-collectives-meet-4 mpi-partitioned_collectives 4 ARGS 40 device Preduce
         ENV "TUTTI_TEST_EXPECT=met in kernels" "TUTTI_TEST_OF=partitioned collectives")
gpu_test(partitioned-collectives-slices mpi-partitioned_collectives 4 ARGS 20
         ENV TUTTI_TEST_EXPECT=slices TUTTI_TEST_OF=MPIX_Pallreduce_init "TUTTI_RULES=partitioned_reduce:*@slices *@at_once")
gpu_test(partitioned-collectives-nodes mpi-partitioned_collectives 4 ARGS 20 apart ENV TUTTI_NODE_RANKS=2)

# Data movers, by each of their rows.
gpu_test(moves mpi-types_collectives ${gpu_ranks} ARGS 1500 device)
foreach(row copies ll ll128 direct pipeline engines)
  set(by "*@${row} *@fetch")
  gpu_test(moves-${row} mpi-types_collectives ${gpu_ranks} ARGS 1500 device
           ENV "TUTTI_RULES=bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by} neighbor:${by}")
endforeach()
foreach(order enqueue blocking)
  foreach(row mapped mapped_deep pipeline_direct)
    string(REPLACE pipeline_direct mapped other ${row})
    gpu_test(moves-renewed-${order}-${row} mpi-enqueue_renewed ${gpu_ranks} GPUS ${gpu_ranks} ARGS ${order} ENV TUTTI_BLOCKS=8 TUTTI_STATS=1
             "TUTTI_RULES=alltoall:*@direct bcast:*@split_direct,*@direct allreduce:*@${row} reduce:*@${other} reduce_scatter:*@${other}")
  endforeach()
endforeach()
foreach(several plain multiple order)
  gpu_test(several-${several} mpi-enqueue_several ${gpu_ranks} GPUS ${gpu_ranks} ARGS ${several} ENV CUDA_DEVICE_MAX_CONNECTIONS=32
           "TUTTI_RULES=alltoall:*@direct bcast:*@direct allreduce:*@pipeline_direct reduce:*@mapped_deep reduce_scatter:*@mapped_deep")
endforeach()
gpu_test(moves-shared mpi-types_collectives ${shared} ARGS 300 device)
# A neighbour twice.
foreach(row "ll|packets" "ll128|packets of whole lines" "direct|stored into results or through the windows" "pipeline|chunks through the windows")
  string(REGEX MATCH "^[^|]+" name ${row})
  string(REGEX REPLACE "^[^|]+[|]" "" how ${row})
  gpu_test(moves-twice-${name} mpi-topologies 2 GPUS 2 ARGS 3 ENV TUTTI_RULES=neighbor:*@${name} TUTTI_TEST_EXPECT=${how})
endforeach()
gpu_test(moves-twice-leaders mpi-topologies 4 ARGS 2)
# Types with gaps and, on one side of a rank, memory of the host, by kernels of runs; leaders of ranks that share GPUs.
foreach(row ll ll128 direct pipeline)
  set(by "*@${row} *@fetch")
  set(by_row "TUTTI_RULES=bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by} neighbor:${by}")
  set(needs 1)
  if(row STREQUAL "direct") # leaders of ranks that share a GPU have no such row
    set(needs 2)
  endif()
  gpu_test(moves-gaps-${row} mpi-types_collectives ${gpu_ranks} GPUS ${needs} ARGS 600 device ENV TUTTI_TEST_ALL_BY_ROW=1 ${by_row})
  gpu_test(moves-sides-${row} mpi-types_collectives ${gpu_ranks} ARGS 600 sides ENV ${by_row})
  gpu_test(moves-leaders-gaps-${row} mpi-types_collectives ${shared} ARGS 600 device ENV TUTTI_TEST_ROW=${row} ${by_row})
  gpu_test(moves-leaders-${row} mpi-moves_leaders ${shared} ARGS 600 ENV TUTTI_TEST_ROW=${row} ${by_row})
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
    gpu_test(linger-${ranks} mpi-linger ${ranks} GPUS ${ranks} ARGS 20000
           ENV TUTTI_LINGER_US=20 TUTTI_TEST_EXPECT=accelerated "TUTTI_RULES=allreduce:*@ll reduce:*@ll")
  endif()
endforeach()

include(${CMAKE_CURRENT_LIST_DIR}/on_gpu_streams.cmake) # calls in stream order

# Sequences, with graphs: until the time is over. The channels of the second half of the window are a quarter as large.
include(${PROJECT_SOURCE_DIR}/tests/mpi/sequences/rules.cmake)
function(gpu_sequences name rules first most seconds)
  cmake_parse_arguments(S "" "" "RANKS;ENV" ${ARGN})
  # Where processes share a GPU without MPS, a call takes a time slice of each: as long as the limit of the row allows.
  set(env CUDA_DEVICE_MAX_CONNECTIONS=32 TUTTI_TEST_PATIENCE=90 TUTTI_TEST_FIRST=${first} ${S_ENV})
  if(sequence_rules_${rules})
    list(APPEND env "TUTTI_RULES=${sequence_rules_${rules}}")
  endif()
  list(GET TUTTI_MPI_SYSTEM 0 TUTTI_MPI_SYSTEM) # one MPI does
  list(REMOVE_DUPLICATES S_RANKS)
  foreach(ranks IN LISTS S_RANKS)
    if(ranks LESS_EQUAL TUTTI_GPU_COUNT)
      gpu_test(sequences-${name}-${ranks} mpi-sequences ${ranks} GPUS ${ranks} ARGS 10000000 ${most} ${seconds} ENV ${env})
    endif()
  endforeach()
endfunction()
gpu_sequences(default default 0 600m 40 RANKS 2 ${gpu_ranks})
gpu_sequences(default-mapped default 50000 600m 20 RANKS 2 ENV TUTTI_TEST_STREAMS=1)
gpu_sequences(default-small default 100000 2m 20 RANKS ${gpu_ranks})
gpu_sequences(default-unequal default 200000 64m 20 RANKS ${gpu_ranks} ENV TUTTI_CHANNEL_MB=16 TUTTI_WINDOW_MB=96)
gpu_sequences(chains chains 300000 64m 20 RANKS 2 ${gpu_ranks})
gpu_sequences(direct direct 350000 64m 20 RANKS 2 ${gpu_ranks})
gpu_sequences(direct-mapped direct 355000 64m 20 RANKS 2 ${gpu_ranks} ENV TUTTI_TEST_STREAMS=1)
gpu_sequences(deep deep 362000 64m 20 RANKS 2 ${gpu_ranks})
gpu_sequences(deep-mapped deep 360000 64m 20 RANKS 2 ${gpu_ranks} ENV TUTTI_TEST_STREAMS=1)
gpu_sequences(lives deep 364000 2m 20 RANKS 2 ${gpu_ranks} ENV TUTTI_TEST_LIVES=4 OMPI_MCA_op=^avx)
gpu_sequences(lives-multiple direct 366000 2m 20 RANKS 2 ENV TUTTI_TEST_LIVES=4 OMPI_MCA_op=^avx TUTTI_TEST_MULTIPLE=1)
gpu_sequences(engines engines 370000 64m 20 RANKS 2 ${gpu_ranks})
gpu_sequences(engines-reduce engines_reduce 370000 64m 20 RANKS 2)
gpu_sequences(engines-move engines_move 370000 64m 20 RANKS 2)
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
                   --enable-recovery -n ${gpu_ranks} env LD_PRELOAD=${TUTTI_PRELOAD} TUTTI_DEVICE=cuda TUTTI_MAPPING_PRICE_US=1
                   -- $<TARGET_FILE:mpi-watch.openmpi>)
  set_tests_properties(gpu-killed.openmpi PROPERTIES LABELS gpu TIMEOUT 135 SKIP_RETURN_CODE 77 RUN_SERIAL TRUE
                       ENVIRONMENT "${TUTTI_MPI_openmpi_ENV}")
endif()
# The same, or a launch that fails, while others' kernels in stream order wait.
if(TARGET mpi-stream_failure.openmpi AND TUTTI_GPU_COUNT GREATER 1)
  foreach(mode kill queue graph launch)
    add_test(NAME gpu-stream-${mode}.openmpi
             COMMAND ${PROJECT_SOURCE_DIR}/tests/gpu/needs.sh ${gpu_ranks}
                     ${TUTTI_TIMEOUT} -k 5 80 ${PROJECT_SOURCE_DIR}/tests/mpi/enqueue/stream_failure.sh ${mode} ${gpu_ranks}
                     ${TUTTI_MPI_openmpi_RUN} --enable-recovery -n ${gpu_ranks} env LD_PRELOAD=${TUTTI_PRELOAD}
                     TUTTI_DEVICE=cuda -- $<TARGET_FILE:mpi-stream_failure.openmpi>)
    set_tests_properties(gpu-stream-${mode}.openmpi PROPERTIES LABELS gpu TIMEOUT 95 SKIP_RETURN_CODE 77 RUN_SERIAL TRUE
                         ENVIRONMENT "${TUTTI_MPI_openmpi_ENV}")
  endforeach()
endif()

# Datatypes in every call.
gpu_test(types mpi-types 2 ARGS 1500)
gpu_test(types-no-plan mpi-types_no_plan 2)
gpu_test(types-no-plan-nodes mpi-types_no_plan 4
         ENV TUTTI_NODE_RANKS=2 "TUTTI_RULES=bcast_nodes:*@tree allgather_nodes:*@lanes")
gpu_test(types-messages mpi-types_messages 2 ARGS 700)
gpu_test(types-messages-direct mpi-types_messages 2 ARGS 700 ENV "TUTTI_RULES=message:*@direct *@packed")
gpu_test(types-messages-packed mpi-types_messages 2 ARGS 700
         ENV TUTTI_RULES=message:*@packed)
gpu_test(endpoints mpi-endpoints ${gpu_ranks} ENV TUTTI_RULES=message:*@direct)
gpu_test(endpoints-self mpi-endpoints_self 2)
gpu_test(endpoints-self-alone mpi-endpoints_self 1)
gpu_test(endpoints-self-packed mpi-endpoints_self 1 ENV TUTTI_RULES=message:*@packed)
gpu_test(endpoints-launches mpi-endpoints_launches 2)
gpu_test(landed mpi-landed 2 ENV TUTTI_RULES=message:*@direct)
gpu_test(endpoints-launches-self mpi-endpoints_launches 1)
gpu_test(endpoints-threads-self mpi-endpoints_threads 1)
gpu_test(endpoints-full mpi-endpoints 2 ARGS 6000000 2 ENV TUTTI_ENDPOINT_MB=1 "TUTTI_RULES=message:*@direct *@packed")
gpu_test(endpoints-threads mpi-endpoints_threads 2 ENV "TUTTI_RULES=message:*@direct *@packed")
gpu_test(same-rts mpi-same_rts 4 ARGS 200)
gpu_test(short-rts mpi-short_rts 2)
gpu_test(short-rts-packed mpi-short_rts 2 ENV TUTTI_RULES=message:*@packed)
gpu_test(probed mpi-probed 2 ENV TUTTI_RULES=message:*@direct)
gpu_test(windows mpi-windows 2)
gpu_test(windows-engines mpi-windows 2 ENV TUTTI_RULES=message:*@engines)
gpu_test(windows-linger mpi-windows 2 ENV TUTTI_RULES=message:*@direct TUTTI_LINGER_US=200)
# Like messages, kernels of one block and of several that stay: where ranks share a GPU none stays.
gpu_test(alike mpi-alike 2)
gpu_test(alike-direct mpi-alike 2 ENV TUTTI_RULES=message:*@direct)
gpu_test(stays mpi-stays 2 ENV TUTTI_RULES=message:*@direct)
gpu_test(questions mpi-questions 2 GPUS 2) # copies through pinned memory, where ranks share a GPU, take buffers and ask more
# Ranks that share a GPU without MPS: they do not find its daemon.
gpu_test(turns mpi-turns 2 ARGS 1 ENV CUDA_VISIBLE_DEVICES=0 CUDA_MPS_PIPE_DIRECTORY=/dev/null TUTTI_RULES=message:*@direct)
gpu_test(turns-neighbours mpi-turns_neighbours 2 ARGS 1
         ENV CUDA_VISIBLE_DEVICES=0 CUDA_MPS_PIPE_DIRECTORY=/dev/null TUTTI_CHANNEL_MB=2 "TUTTI_RULES=message:*@direct neighbor:0-4k@ll *@pipeline *@fetch")
gpu_test(first mpi-first 2 GPUS 2 ENV ${pays} TUTTI_RULES=message:*@direct)
gpu_test(first-several mpi-first 2 GPUS 2 ARGS several ENV ${pays} TUTTI_RULES=message:*@direct)
gpu_test(mapping mpi-mapping 2 ENV ${pays} TUTTI_RULES=message:*@direct)
# Without the time that loading the packing kernels takes, which is part of the price there.
gpu_test(mapping-pays mpi-mapping 2 ARGS pays ENV TUTTI_MAPPING_PRICE_US=2000 TUTTI_RULES=message:*@direct)
gpu_test(complete-copies mpi-complete_copies 2 ENV ${pays})
gpu_test(contexts mpi-contexts 2 ARGS 400)
gpu_test(contexts-pays mpi-contexts 2 ARGS 400 ENV ${pays} TUTTI_TEST_SEED=7)
# Where ranks share a GPU packing never saves: its kernels would wait for turns.
gpu_test(mapping-scratch mpi-mapping 2 GPUS 2 ARGS scratch ENV ${pays} TUTTI_RULES=message:*@direct)
gpu_test(mapping-freed mpi-mapping 2 ARGS freed ENV TUTTI_RULES=message:*@direct)
gpu_test(mapping-random mpi-mapping_random 2 ENV ${pays} TUTTI_RULES=message:*@direct)
gpu_test(mapping-random-few mpi-mapping_random 2 ENV TUTTI_RULES=message:*@direct TUTTI_CACHE_ENTRIES=4 TUTTI_ENDPOINT_MB=1)
gpu_test(open-many mpi-open_many 2)
gpu_test(endpoints-engines mpi-endpoints 2 ARGS 40000000 2 ENV TUTTI_RULES=message:*@engines)
gpu_test(endpoints-linger mpi-endpoints 2 ENV TUTTI_LINGER_US=300)
gpu_test(truncation-direct mpi-truncation 2 ARGS 600)
gpu_test(truncation-engines mpi-truncation 2 ARGS 600 ENV TUTTI_RULES=message:*@engines)
gpu_test(endpoints-packed mpi-endpoints 2 ENV TUTTI_RULES=message:*@packed)
# Nonblocking and persistent moves of data.
gpu_test(moves-open mpi-moves_open ${gpu_ranks})
gpu_test(moves-open-few mpi-moves_open ${gpu_ranks}
         ENV TUTTI_RULES=message:*@packed TUTTI_ENDPOINT_MB=1 TUTTI_CACHE_ENTRIES=4)
gpu_test(moves-open-shared mpi-moves_open ${shared})
gpu_test(moves-open-packets mpi-moves_open ${gpu_ranks}
         ENV "TUTTI_RULES=bcast:0-4k@ll,*@pipeline allgather:0-4k@ll128,*@pipeline alltoall:*@pipeline,*@fetch")
gpu_test(moves-spared mpi-moves_spared ${gpu_ranks})
gpu_test(types-collectives-moved mpi-types_collectives ${gpu_ranks} ARGS 900 device ENV TUTTI_RULES=message:*@direct)
gpu_test(types-collectives-packed mpi-types_collectives ${gpu_ranks} ARGS 900 device ENV TUTTI_RULES=message:*@packed)
gpu_test(types-collectives mpi-types_collectives ${gpu_ranks} ARGS 600)
gpu_test(types-pack mpi-types_pack 2 ENV TUTTI_STAGING_MB=1)
# Files, and every call that names a buffer, in device, pinned and managed memory.
gpu_test(contents mpi-contents 2 ARGS 60 ENV TUTTI_STAGING_MB=1)
gpu_test(pieces mpi-pieces 2 ARGS 200)
gpu_test(pieces-even mpi-pieces 1 ARGS 200 ENV "TUTTI_RULES=file_write: *@even file_read: *@even" TUTTI_TEST_SEED=5)
gpu_test(files mpi-files 2 ARGS 9 ENV TUTTI_STAGING_MB=1)
gpu_test(files-aware mpi-files 2 ARGS 3 ENV TUTTI_MPI_GPU_AWARE=1 TUTTI_TEST_SEED=79)
gpu_test(views mpi-views ${gpu_ranks})
gpu_test(views-pieces mpi-views 2 ENV TUTTI_STAGING_MB=1)
gpu_test(every mpi-every 2 ARGS 4)
gpu_test(every-all mpi-every ${gpu_ranks} ARGS 2 ENV TUTTI_TEST_SEED=5)
gpu_test(every-shared mpi-every ${shared} ARGS 1 ENV TUTTI_TEST_SEED=6)

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
  list(PREPEND TUTTI_MPI_${TUTTI_MPI_SYSTEM}_RUN ${PROJECT_SOURCE_DIR}/tests/gpu/queues.sh)
  gpu_test(programs-${name} mpi-programs ${ranks} ARGS 10000000 40 100k ${seconds} ENV TUTTI_TEST_KINDS=${kinds} ${ARGN})
endfunction()
gpu_programs(messages ${messages} 3 20)
gpu_programs(messages-direct ${messages} 2 15 TUTTI_RULES=message:*@direct TUTTI_CACHE_ENTRIES=4)
gpu_programs(messages-engines ${messages} 2 15 TUTTI_RULES=message:*@engines TUTTI_CACHE_ENTRIES=4)
gpu_programs(messages-packed ${messages} 2 15 TUTTI_RULES=message:*@packed TUTTI_ENDPOINT_MB=1)
gpu_programs(messages-nodes ${messages} 2 15 TUTTI_NODE_RANKS=1)
gpu_programs(reduced ${reduced},${around},icoll 3 15)
gpu_programs(moved ${moved},${around},dup,split,blocking 2 15)
gpu_programs(moved-pipeline ${moved},${around},dup,split,blocking 2 15 "TUTTI_RULES=bcast:0-4k@ll,*@pipeline gather:*@pipeline scatter:*@pipeline allgather:0-4k@ll128,*@pipeline alltoall:*@pipeline,*@fetch")
string(REPLACE "device,host" "device" around_device ${around})
gpu_programs(moved-device ${moved},${reduced},${around_device},dup,split,icoll,blocking 3 15 TUTTI_RULES=message:*@direct)
gpu_programs(moved-device-packets ${moved},${reduced},${around_device},dup,icoll,pcoll 2 15 "TUTTI_RULES=bcast:0-4k@ll,*@pipeline gather:*@pipeline scatter:*@pipeline allgather:0-4k@ll128,*@pipeline alltoall:*@pipeline,*@fetch")
gpu_programs(moved-leaders ${moved},${neighbours},${reduced},${around_device},dup,icoll,pcoll 4 15 "TUTTI_RULES=bcast:0-4k@ll,*@pipeline gather:*@pipeline scatter:*@pipeline allgather:0-4k@ll128,*@pipeline alltoall:0-4k@ll128,*@pipeline,*@fetch neighbor:0-4k@ll,*@pipeline,*@fetch")
gpu_programs(moved-device-copies ${moved},${reduced},${around_device},dup,icoll,pcoll 2 15 "TUTTI_RULES=bcast:*@copies gather:*@copies scatter:*@copies allgather:*@copies alltoall:*@copies neighbor:*@copies" TUTTI_CACHE_ENTRIES=4)
gpu_programs(moved-device-direct ${moved},${neighbours},${reduced},${around_device},dup,icoll,pcoll 3 15 "TUTTI_RULES=bcast:*@direct gather:*@direct scatter:*@direct allgather:*@direct alltoall:*@direct,*@fetch neighbor:*@direct,*@fetch")
gpu_programs(moved-device-split ${moved},${reduced},${around_device},dup,icoll,pcoll 4 15 "TUTTI_RULES=bcast:*@split,*@fetch")
gpu_programs(moved-packed ${moved},${reduced},${around_device},icoll 2 15 TUTTI_RULES=message:*@packed TUTTI_ENDPOINT_MB=1)
gpu_programs(persistent-device ${moved},${reduced},${around_device},${neighbours},icoll,pcoll 2 15)
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
# Programs that meet their GPUs at any time, and have memory of several. 
if(TUTTI_GPU_COUNT GREATER 1)
  foreach(seed 1 2 3 4 5 6)
    gpu_test(gpus-${seed} mpi-gpus 2 GPUS 2 ARGS 10 20
             ENV TUTTI_TEST_CARDS=2 TUTTI_TEST_SEED=${seed} TUTTI_TEST_KINDS=-reset TUTTI_ENDPOINT_MB=1)
  endforeach()
endif()
gpu_test(gpus-one mpi-gpus 2 ARGS 10 20 ENV TUTTI_TEST_CARDS=1 TUTTI_TEST_SEED=8 TUTTI_TEST_KINDS=-reset,-order)
if(TUTTI_GPU_COUNT GREATER 1)
  gpu_test(gpus-reset mpi-gpus 2 GPUS 2 ARGS 10 20 ENV TUTTI_TEST_CARDS=2 TUTTI_TEST_SEED=9 TUTTI_ENDPOINT_MB=1)
  gpu_test(gpus-reset-mapping mpi-reset_mapping 2 GPUS 2 ENV TUTTI_MAPPING_PRICE_US=20 TUTTI_RULES=message:*@direct)
  gpu_test(gpus-reset-reductions mpi-reset 2 ARGS reductions)
  gpu_test(gpus-reset-moves mpi-reset 2 ARGS moves ENV "TUTTI_RULES=allgather:*@ll *@fetch")
  gpu_test(gpus-reset-packets mpi-reset 2 ARGS reductions ENV "TUTTI_RULES=allreduce:*@ll allgather:*@pipeline *@fetch")
endif()
gpu_test(gpus-reset-shared mpi-reset 2 ARGS shared)
gpu_test(gpus-reset-led mpi-reset 2 ARGS led ENV "TUTTI_RULES=allgather:*@ll *@fetch")
gpu_test(deadlocks mpi-deadlocks 3)
gpu_test(deadlocks-calls mpi-deadlocks 3 ARGS calls MPIS openmpi)
gpu_test(deadlocks-calls mpi-deadlocks 3 ARGS calls no-pairs MPIS mpich) # MPICH 5 polls nothing in calls that make intercommunicators
gpu_test(deadlocks-nodes mpi-deadlocks 3 ENV TUTTI_NODE_RANKS=2)

include(${CMAKE_CURRENT_LIST_DIR}/on_gpu_shmem.cmake) # the global address space

gpu_test(rma mpi-rma ${gpu_ranks} ARGS 30)
gpu_test(rma-late mpi-rma ${gpu_ranks} ARGS 15 late)
gpu_test(rma-far mpi-rma ${gpu_ranks} ARGS 15 far ENV TUTTI_NODE_RANKS=1)
# Windows that the ranks map. They need no window of host memory, which the MPI of some machines refuses.
# 4: windows of MPI_Win_allocate in device memory alone, which an MPI that makes no windows has too.
gpu_test(rma-model mpi-model ${gpu_ranks} ARGS 150)
gpu_test(rma-model-alone mpi-model ${gpu_ranks} ARGS 300 4 ENV TUTTI_TEST_SEED=8)
gpu_test(rma-model-shared mpi-model ${shared} ARGS 60 4 ENV TUTTI_TEST_SEED=9)
gpu_test(rma-mapped mpi-mapped ${gpu_ranks} ARGS 60)
gpu_test(rma-mapped-shared mpi-mapped ${shared} ARGS 30)
gpu_test(rma-tickets mpi-tickets ${gpu_ranks} ARGS 100)
gpu_test(rma-tickets-shared mpi-tickets ${shared} ARGS 40)
include(${CMAKE_CURRENT_LIST_DIR}/on_gpu_examples.cmake) # kernels that communicate
