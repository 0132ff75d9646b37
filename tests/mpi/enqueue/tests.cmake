# Calls in stream order. On GPUs tests/gpu/on_gpu.cmake runs the same programs.
foreach(name enqueue enqueue_move enqueue_errors enqueue_graph enqueue_renewed enqueue_several enqueue_freed residency shared_queues stream_failure stream_scratch)
  tutti_mpi_program(mpi-${name} SOURCES enqueue/${name}.c kit/queue.c kit/queue_move.c kit/gpu_filler.c kit/cuda_graph.c gpus/gpu.c LIBRARIES tutti-core MPIS ${TUTTI_MPIS})
  foreach(mpi IN LISTS builders)
    target_link_libraries(mpi-${name}.${mpi} PRIVATE mpi-kit.${mpi})
  endforeach()
endforeach()
# Calls in stream order meet the MPI where communicators are made: mpi-enqueue-life looks at that under every MPI.
tutti_mpi_test(mpi-enqueue-calls PROGRAM mpi-enqueue RANKS 3 RANKS_MPICH 2 ARGS calls TIMEOUT 45 MPIS openmpi mpich openmpi5 mpich5)
tutti_mpi_test(mpi-enqueue-chain PROGRAM mpi-enqueue RANKS 3 RANKS_MPICH 2 ARGS chain TIMEOUT 45)
tutti_mpi_test(mpi-enqueue-chain-loose PROGRAM mpi-enqueue RANKS 2 ARGS chain TIMEOUT 45 ENV TUTTI_HOST_STRICT=0)
tutti_mpi_test(mpi-enqueue-queues PROGRAM mpi-enqueue RANKS 3 RANKS_MPICH 2 ARGS queues TIMEOUT 45)
tutti_mpi_test(mpi-enqueue-queues-split PROGRAM mpi-enqueue RANKS 3 ARGS queues TIMEOUT 45 MPIS openmpi ENV TUTTI_RULES=bcast:*@split)
tutti_mpi_test(mpi-enqueue-queues-engines PROGRAM mpi-enqueue RANKS 3 ARGS queues TIMEOUT 45 MPIS openmpi
               ENV TUTTI_CHANNEL_MB=1
                   "TUTTI_RULES=bcast:*@engines gather:*@engines scatter:*@engines allgather:*@engines alltoall:*@engines")
foreach(part calls chain frees)
  tutti_mpi_test(mpi-enqueue-${part}-engines PROGRAM mpi-enqueue RANKS 3 RANKS_MPICH 2 ARGS ${part} TIMEOUT 45
                 ENV TUTTI_CHANNEL_MB=1 "TUTTI_RULES=reduce:*@engines reduce_scatter:*@engines")
endforeach()
foreach(part blocked mixed)
  tutti_mpi_test(mpi-enqueue-shared-queues-${part} PROGRAM mpi-shared_queues RANKS 3 RANKS_MPICH 3 ARGS ${part} TIMEOUT 45
                 ENV TUTTI_CHANNEL_MB=1 TUTTI_HOST_QUEUES=32 TUTTI_TIMEOUT_SECONDS=10 "TUTTI_RULES=reduce:*@engines reduce_scatter:*@engines")
endforeach()
tutti_mpi_test(mpi-enqueue-queues-loose PROGRAM mpi-enqueue RANKS 2 ARGS queues TIMEOUT 45 ENV TUTTI_HOST_STRICT=0)
tutti_mpi_test(mpi-enqueue-life PROGRAM mpi-enqueue RANKS 2 ARGS life EVERYWHERE)
tutti_mpi_test(mpi-enqueue-alone PROGRAM mpi-enqueue RANKS 2 ARGS alone)
tutti_mpi_test(mpi-enqueue-behind PROGRAM mpi-enqueue RANKS 2 ARGS behind)
tutti_mpi_test(mpi-enqueue-types PROGRAM mpi-enqueue_move RANKS 3 RANKS_MPICH 2 ARGS types TIMEOUT 45)
tutti_mpi_test(mpi-enqueue-spared PROGRAM mpi-enqueue_move RANKS 3 RANKS_MPICH 2 ARGS spared TIMEOUT 45 ENV TUTTI_STATS=1)
tutti_mpi_test(mpi-enqueue-forest PROGRAM mpi-enqueue_move RANKS 3 RANKS_MPICH 2 ARGS forest)
foreach(order enqueue blocking)
  foreach(row mapped mapped_deep pipeline_direct)
    string(REPLACE pipeline_direct mapped other ${row})
    set(renewed ${order})
    if(row STREQUAL pipeline_direct)
      set(renewed ${order}-direct)
    elseif(row STREQUAL mapped_deep)
      set(renewed ${order}-deep)
    endif()
    tutti_mpi_test(mpi-enqueue-renewed-${renewed} PROGRAM mpi-enqueue_renewed RANKS 3 RANKS_MPICH 2 ARGS ${order} TIMEOUT 45
                   ENV TUTTI_STATS=1 TUTTI_CHANNEL_MB=1 "TUTTI_RULES=alltoall:*@direct bcast:*@split_direct,*@direct allreduce:*@${row} reduce:*@${other} reduce_scatter:*@${other}")
  endforeach()
endforeach()
# Calls of several communicators in flight at once, in mapped memory that is freed and allocated again.
foreach(several plain multiple order)
  set(several_args ARGS ${several})
  if(several STREQUAL plain)
    set(several_args "")
  endif()
  tutti_mpi_test(mpi-enqueue-several-${several} PROGRAM mpi-enqueue_several RANKS 3 RANKS_MPICH 2 ${several_args} TIMEOUT 90
                 ENV TUTTI_STATS=1 TUTTI_CHANNEL_MB=1 TUTTI_HOST_BLOCKS=24 "TUTTI_RULES=alltoall:*@direct bcast:*@direct allreduce:*@pipeline_direct reduce:*@mapped_deep reduce_scatter:*@mapped_deep")
endforeach()
tutti_mpi_test(mpi-enqueue-freed PROGRAM mpi-enqueue_freed RANKS 3 RANKS_MPICH 2)
foreach(late 0 1)
  tutti_mpi_test(mpi-enqueue-scratch-${late} PROGRAM mpi-stream_scratch RANKS 2 ARGS ${late} TIMEOUT 30
                 ENV TUTTI_HOST_MAPPING_US=20000 TUTTI_MAPPING_PRICE_US=1 TUTTI_STALL_SECONDS=3)
endforeach()
tutti_mpi_test(mpi-enqueue-errors PROGRAM mpi-enqueue_errors RANKS 2 EVERYWHERE)
tutti_mpi_test(mpi-enqueue-shared PROGRAM mpi-enqueue_errors RANKS 2 ARGS shared ENV TUTTI_HOST_GPUS=1)
tutti_mpi_test(mpi-enqueue-absent PROGRAM mpi-enqueue_errors RANKS 2 ARGS absent ENV TUTTI_TEST_PLAIN=1 NO_PRELOAD)
tutti_mpi_test(mpi-enqueue-none PROGRAM mpi-enqueue_errors RANKS 2 ARGS absent ENV TUTTI_TEST_PLAIN=1 TUTTI_DEVICE=none)

# Over virtual nodes: the host makes the calls while their streams wait, which needs MPI_THREAD_MULTIPLE.
set(over_nodes TUTTI_STATS=1 TUTTI_ASYNC_PROGRESS=1 TUTTI_NODES_PIECE_KB=16)
tutti_mpi_test(mpi-enqueue-nodes-calls PROGRAM mpi-enqueue RANKS 2 ARGS calls TIMEOUT 240 ENV ${over_nodes} TUTTI_NODE_RANKS=1)
foreach(part chain queues)
  tutti_mpi_test(mpi-enqueue-nodes-${part} PROGRAM mpi-enqueue RANKS 3 RANKS_MPICH 3 ARGS ${part} TIMEOUT 240
                 ENV ${over_nodes} TUTTI_NODE_RANKS=2)
  tutti_mpi_test(mpi-enqueue-nodes-${part}-order PROGRAM mpi-enqueue RANKS 3 RANKS_MPICH 3 ARGS ${part} TIMEOUT 240
                 ENV ${over_nodes} TUTTI_NODE_RANKS=2 TUTTI_ORDER=ranks)
endforeach()
tutti_mpi_test(mpi-enqueue-nodes-chain-4 PROGRAM mpi-enqueue RANKS 4 ARGS chain TIMEOUT 240 MPIS openmpi
               ENV ${over_nodes} TUTTI_NODE_RANKS=2)
tutti_mpi_test(mpi-enqueue-nodes-types PROGRAM mpi-enqueue_move RANKS 3 RANKS_MPICH 3 ARGS types TIMEOUT 120
               ENV ${over_nodes} TUTTI_NODE_RANKS=2 TUTTI_TEST_ROUNDS=40)
tutti_mpi_test(mpi-enqueue-nodes-exchanges PROGRAM mpi-enqueue RANKS 3 RANKS_MPICH 2 ARGS exchanges TIMEOUT 120
               ENV ${over_nodes} TUTTI_NODE_RANKS=1)
foreach(part life behind frees)
  tutti_mpi_test(mpi-enqueue-nodes-${part} PROGRAM mpi-enqueue RANKS 2 ARGS ${part} TIMEOUT 120 ENV ${over_nodes} TUTTI_NODE_RANKS=1)
endforeach()
tutti_mpi_test(mpi-enqueue-nodes-single PROGRAM mpi-enqueue_errors RANKS 2 ARGS shared ENV TUTTI_NODE_RANKS=1)
tutti_mpi_test(mpi-enqueue-nodes-errors PROGRAM mpi-enqueue_errors RANKS 2 TIMEOUT 60 ENV ${over_nodes} TUTTI_NODE_RANKS=1)
tutti_mpi_test(mpi-stream-nodes-stopped PROGRAM mpi-stream_failure RANKS 3 RANKS_MPICH 2 ARGS stopped TIMEOUT 60
               ENV ${over_nodes} TUTTI_NODE_RANKS=1)

# Messages in stream order.
tutti_mpi_program(mpi-stream_messages SOURCES enqueue/stream_messages.c enqueue/stream_messages_programs.c enqueue/stream_messages_types.c enqueue/stream_messages_truncated.c enqueue/stream_messages_any.c enqueue/stream_messages_groups.c kit/queue.c kit/queue_move.c LIBRARIES tutti-core
                  MPIS ${TUTTI_MPIS})
tutti_mpi_program(mpi-stream_messages_graph SOURCES enqueue/stream_messages_graph.c enqueue/stream_messages_programs.c kit/queue.c kit/queue_move.c kit/cuda_graph.c
                  LIBRARIES tutti-core MPIS ${TUTTI_MPIS})
foreach(mpi IN LISTS builders)
  target_link_libraries(mpi-stream_messages.${mpi} PRIVATE mpi-kit.${mpi})
  target_link_libraries(mpi-stream_messages_graph.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
foreach(part basics types progress programs any)
  tutti_mpi_test(mpi-stream-messages-${part} PROGRAM mpi-stream_messages RANKS 3 RANKS_MPICH 2 ARGS ${part} TIMEOUT 120)
endforeach()
foreach(part basics progress)
  tutti_mpi_test(mpi-stream-messages-${part}-loose PROGRAM mpi-stream_messages RANKS 2 ARGS ${part} TIMEOUT 120 MPIS openmpi ENV TUTTI_HOST_STRICT=0)
endforeach()
tutti_mpi_test(mpi-stream-messages-programs-4 PROGRAM mpi-stream_messages RANKS 4 ARGS programs TIMEOUT 120 MPIS openmpi)
tutti_mpi_test(mpi-stream-messages-groups PROGRAM mpi-stream_messages RANKS 3 RANKS_MPICH 2 ARGS groups TIMEOUT 120 ENV TUTTI_STATS=1)
tutti_mpi_test(mpi-stream-messages-any-4 PROGRAM mpi-stream_messages RANKS 4 ARGS any TIMEOUT 120 MPIS openmpi)
tutti_mpi_test(mpi-stream-messages-programs-few PROGRAM mpi-stream_messages RANKS 3 ARGS programs TIMEOUT 120 MPIS openmpi
               ENV TUTTI_HOST_BLOCKS=5 TUTTI_TIMEOUT_SECONDS=60)
tutti_mpi_test(mpi-stream-messages-errors PROGRAM mpi-stream_messages RANKS 2 ARGS errors)
tutti_mpi_test(mpi-stream-messages-truncated PROGRAM mpi-stream_messages RANKS 3 RANKS_MPICH 2 ARGS truncated)
tutti_mpi_test(mpi-stream-messages-truncated-long PROGRAM mpi-stream_messages RANKS 3 RANKS_MPICH 2 ARGS truncated_long)
# Over virtual nodes.
foreach(part basics types progress programs any truncated truncated_long)
  tutti_mpi_test(mpi-stream-messages-nodes-${part} PROGRAM mpi-stream_messages RANKS 3 RANKS_MPICH 3 ARGS ${part} TIMEOUT 120
                 ENV ${over_nodes} TUTTI_NODE_RANKS=2 TUTTI_TEST_PROGRAMS=20)
endforeach()
tutti_mpi_test(mpi-stream-messages-nodes-programs-4 PROGRAM mpi-stream_messages RANKS 4 ARGS programs TIMEOUT 120 MPIS openmpi
               ENV ${over_nodes} TUTTI_NODE_RANKS=1 TUTTI_TEST_PROGRAMS=10)

# Many communicators on one stream, on a simulated GPU that holds few blocks at once.
foreach(name forest forest_plain)
  tutti_mpi_program(mpi-${name} SOURCES enqueue/${name}.c LIBRARIES tutti-core MPIS ${TUTTI_MPIS})
  foreach(mpi IN LISTS builders)
    target_link_libraries(mpi-${name}.${mpi} PRIVATE mpi-kit.${mpi})
  endforeach()
endforeach()
tutti_mpi_test(mpi-forest-default PROGRAM mpi-forest RANKS 3 RANKS_MPICH 2 ARGS default TIMEOUT 60 ENV TUTTI_HOST_BLOCKS=24)
# As many communicators find room in the window as the default settings have on a GPU: a sixth of each.
tutti_mpi_test(mpi-forest-room PROGRAM mpi-forest RANKS 2 ARGS default TIMEOUT 60
  ENV TUTTI_HOST_BLOCKS=132 TUTTI_TEST_FORESTS=24 TUTTI_TEST_ROUNDS=1 TUTTI_CHANNEL_MB=56 TUTTI_WINDOW_MB=341)
tutti_mpi_test(mpi-forest-own PROGRAM mpi-forest RANKS 2 ARGS own TIMEOUT 60)
tutti_mpi_test(mpi-forest-plain PROGRAM mpi-forest_plain RANKS 2 ARGS default TIMEOUT 60 MPIS mpich mpich5 ENV TUTTI_HOST_BLOCKS=24)

# Persistent messages of queues, compared with plain MPI.
tutti_mpi_program(mpi-stream_queues SOURCES enqueue/stream_queues.c enqueue/stream_queues_programs.c kit/cuda_graph.c LIBRARIES tutti-core MPIS ${TUTTI_MPIS})
foreach(mpi IN LISTS builders)
  target_link_libraries(mpi-stream_queues.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
tutti_mpi_test(mpi-stream-queues-programs PROGRAM mpi-stream_queues RANKS 3 RANKS_MPICH 2 ARGS programs TIMEOUT 120)
tutti_mpi_test(mpi-stream-queues-programs-4 PROGRAM mpi-stream_queues RANKS 4 ARGS programs TIMEOUT 120 MPIS openmpi ENV TUTTI_HOST_STRICT=0)
tutti_mpi_test(mpi-stream-queues-few PROGRAM mpi-stream_queues RANKS 2 ARGS programs TIMEOUT 120 MPIS openmpi
               ENV TUTTI_HOST_BLOCKS=48 TUTTI_TIMEOUT_SECONDS=60)
tutti_mpi_test(mpi-stream-queues-matches PROGRAM mpi-stream_queues RANKS 3 RANKS_MPICH 2 ARGS matches EVERYWHERE)
tutti_mpi_test(mpi-stream-queues-progress PROGRAM mpi-stream_queues RANKS 3 RANKS_MPICH 2 ARGS progress TIMEOUT 120)
tutti_mpi_test(mpi-stream-queues-errors PROGRAM mpi-stream_queues RANKS 2 ARGS errors)
# Over virtual nodes.
foreach(part programs matches progress)
  tutti_mpi_test(mpi-stream-queues-nodes-${part} PROGRAM mpi-stream_queues RANKS 3 RANKS_MPICH 3 ARGS ${part} TIMEOUT 120
                 ENV ${over_nodes} TUTTI_NODE_RANKS=2 TUTTI_TEST_PROGRAMS=20)
endforeach()
tutti_mpi_test(mpi-stream-queues-nodes-programs-4 PROGRAM mpi-stream_queues RANKS 4 ARGS programs TIMEOUT 120 MPIS openmpi
               ENV ${over_nodes} TUTTI_NODE_RANKS=1 TUTTI_TEST_PROGRAMS=10)
# A message is one piece.
foreach(part programs progress)
  tutti_mpi_test(mpi-stream-queues-nodes-${part}-whole PROGRAM mpi-stream_queues RANKS 3 RANKS_MPICH 3 ARGS ${part} TIMEOUT 120
                 ENV ${over_nodes} TUTTI_NODES_PIECE_KB=65536 TUTTI_NODE_RANKS=2 TUTTI_TEST_PROGRAMS=20)
endforeach()
tutti_mpi_test(mpi-stream-queues-nodes-errors PROGRAM mpi-stream_queues RANKS 2 ARGS errors ENV ${over_nodes} TUTTI_NODE_RANKS=1)

# A program that only includes stream-triggering.h.
tutti_mpi_program(mpi-triggering SOURCES enqueue/triggering.c MPIS ${TUTTI_MPIS})
tutti_mpi_test(mpi-triggering PROGRAM mpi-triggering RANKS 3 RANKS_MPICH 2 EVERYWHERE)
tutti_mpi_test(mpi-triggering-nodes PROGRAM mpi-triggering RANKS 3 RANKS_MPICH 3 ENV ${over_nodes} TUTTI_NODE_RANKS=2)

# mpix.h from C++.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  foreach(mpi IN LISTS builders)
    add_test(NAME mpix-cxx.${mpi}
             COMMAND ${CMAKE_CXX_COMPILER} -std=c++11 -Wall -Wextra -Werror -fsyntax-only -x c++ -DOMPI_SKIP_MPICXX
                     -DMPICH_SKIP_MPICXX ${TUTTI_MPI_${mpi}_COMPILE} -I${PROJECT_SOURCE_DIR}/include
                     ${CMAKE_CURRENT_SOURCE_DIR}/enqueue/mpix_cxx.cc)
    set_tests_properties(mpix-cxx.${mpi} PROPERTIES LABELS mpi TIMEOUT 60)
  endforeach()
endif()

# Kernels of many calls that wait at the same time, on a simulated GPU that holds few blocks at once. A call that stands
# still ends by itself.
set(residency TUTTI_HOST_BLOCKS=8 TUTTI_TIMEOUT_SECONDS=20 TUTTI_STALL_SECONDS=5 TUTTI_TEST_MOST=1048576 TUTTI_TEST_ROUNDS=1)
foreach(algorithm ll128 twoshot_ll128 pipeline)
  foreach(part alone streams all)
    tutti_mpi_test(mpi-residency-${part}-${algorithm} PROGRAM mpi-residency RANKS 2 ARGS ${part} MPIS openmpi
                   ENV ${residency} TUTTI_RULES=allreduce:*@${algorithm} TIMEOUT 90)
  endforeach()
endforeach()
tutti_mpi_test(mpi-residency-all PROGRAM mpi-residency RANKS 2 ARGS all MPIS openmpi ENV ${residency} TIMEOUT 90)

# A rank is stopped while kernels of calls in stream order wait for it; CMakeLists.txt has failures.
tutti_mpi_test(mpi-stream-stopped PROGRAM mpi-stream_failure RANKS 3 RANKS_MPICH 2 ARGS stopped)
