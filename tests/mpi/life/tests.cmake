# A process from MPI_Init to its end: what it says and holds, who dies, stands still or calls what does not match.
program(wrong_args EVERYWHERE)
tutti_mpi_test(mpi-wrong-args PROGRAM mpi-wrong_args RANKS 2 ENV ${stats} TIMEOUT 40 MPIS ${TUTTI_MPI_SYSTEM} mpich5)
tutti_mpi_test(mpi-wrong-args-far PROGRAM mpi-wrong_args RANKS 2
               ENV ${stats} TUTTI_NODE_RANKS=1 TUTTI_RULES=message_far:*@pipelined TIMEOUT 40)
program(wrong_mixed EVERYWHERE)
tutti_mpi_test(mpi-wrong-mixed PROGRAM mpi-wrong_mixed RANKS 3 RANKS_MPICH 2 ENV ${stats} TIMEOUT 60
               MPIS ${TUTTI_MPI_SYSTEM} mpich5 openmpi5)
tutti_mpi_test(mpi-wrong-mixed-fetched PROGRAM mpi-wrong_mixed RANKS 3 RANKS_MPICH 2 TIMEOUT 60
               ENV ${stats} TUTTI_RULES=message:*@direct)
program(progress)
tutti_mpi_test(mpi-progress PROGRAM mpi-progress RANKS 2)
program(deadlocks EVERYWHERE WITH life/deadlocks_alarm.c life/deadlocks_calls.c life/deadlocks_reductions.c)
set(still TIMEOUT 200) # a case that stands still ends after 15 s where the machine is idle, later where it is not
tutti_mpi_test(mpi-deadlocks PROGRAM mpi-deadlocks RANKS 3 RANKS_MPICH 2 ${still})
tutti_mpi_test(mpi-deadlocks-moves PROGRAM mpi-deadlocks RANKS 3 RANKS_MPICH 2 ${still} ARGS moves ENV TUTTI_RULES=message:*@direct)
tutti_mpi_test(mpi-deadlocks-moves-calls PROGRAM mpi-deadlocks RANKS 3 ${still} ARGS moves calls ENV TUTTI_RULES=message:*@direct
               MPIS openmpi openmpi5 mpich)
tutti_mpi_test(mpi-deadlocks-nodes-1 PROGRAM mpi-deadlocks RANKS 3 ${still} ENV TUTTI_NODE_RANKS=1 MPIS openmpi)
# Where the MPI has progress hooks.
tutti_mpi_test(mpi-deadlocks-nodes-2 PROGRAM mpi-deadlocks RANKS 3 RANKS_MPICH 3 ${still} ENV TUTTI_NODE_RANKS=2
               MPIS openmpi openmpi5 mpich mpich5 mpiabi)
tutti_mpi_test(mpi-deadlocks-calls PROGRAM mpi-deadlocks RANKS 3 ${still} ARGS calls MPIS openmpi openmpi5)
tutti_mpi_test(mpi-deadlocks-calls PROGRAM mpi-deadlocks RANKS 3 ${still} ARGS calls no-pairs MPIS mpich mpich5 mpiabi)
# Or a thread. Not under MPICH 4.0, which now and then fails by itself with several.
tutti_mpi_test(mpi-deadlocks-thread PROGRAM mpi-deadlocks RANKS 2 ${still} ARGS calls ENV TUTTI_ASYNC_PROGRESS=1 MPIS openmpi impi)
tutti_mpi_test(mpi-deadlocks-thread PROGRAM mpi-deadlocks RANKS 2 ${still} ARGS calls no-pairs ENV TUTTI_ASYNC_PROGRESS=1 MPIS mpich5)
tutti_mpi_test(mpi-deadlocks-nodes-thread PROGRAM mpi-deadlocks RANKS 3 ${still} ENV TUTTI_ASYNC_PROGRESS=1 TUTTI_NODE_RANKS=2
               MPIS mpich5 impi)
tutti_mpi_test(mpi-deadlocks-nodes-1 PROGRAM mpi-deadlocks RANKS 2 ${still} ENV TUTTI_NODE_RANKS=1 MPIS mpich)
program(at_end EVERYWHERE)
tutti_mpi_test(mpi-at-end PROGRAM mpi-at_end RANKS 2 EVERYWHERE)
tutti_mpi_program(mpi-uneven SOURCES life/uneven.c MPIS ${TUTTI_MPI_SYSTEM})
foreach(call v w)
  tutti_mpi_test(mpi-uneven-${call} PROGRAM mpi-uneven RANKS 3 RANKS_MPICH 2 ARGS ${call} ENV ${stats} TIMEOUT 40)
endforeach()
# Sessions: MPI 4. Not what an MPI does not do by itself: begin again when all has ended (MPICH 5 alone does), MPI_Init
# after a session (all but Intel MPI), groups of some processes before that of all (all but MPICH 4.0).
program(sessions EVERYWHERE)
set(session_mpis mpich openmpi5 mpich5 mpiabi impi)
foreach(mode one threads two beside)
  tutti_mpi_test(mpi-sessions-${mode} PROGRAM mpi-sessions RANKS 2 ARGS ${mode} MPIS ${session_mpis})
endforeach()
tutti_mpi_test(mpi-sessions-alone PROGRAM mpi-sessions RANKS 1 ARGS alone MPIS ${session_mpis})
tutti_mpi_test(mpi-sessions-nowhere PROGRAM mpi-sessions RANKS 2 ARGS nowhere MPIS mpich5)
tutti_mpi_test(mpi-sessions-small PROGRAM mpi-sessions RANKS 4 RANKS_MPICH 4 ARGS small MPIS openmpi5 mpich5 mpiabi impi)
tutti_mpi_test(mpi-sessions-held PROGRAM mpi-sessions RANKS 4 RANKS_MPICH 4 ARGS held MPIS openmpi5 mpich5)
tutti_mpi_test(mpi-sessions-crossing PROGRAM mpi-sessions RANKS 4 RANKS_MPICH 4 ARGS crossing ENV ${stats} MPIS openmpi5 mpich5)
tutti_mpi_test(mpi-sessions-before PROGRAM mpi-sessions RANKS 2 ARGS before MPIS mpich openmpi5 mpich5 mpiabi)
tutti_mpi_test(mpi-sessions-again PROGRAM mpi-sessions RANKS 2 ARGS again MPIS mpich5 mpiabi)
tutti_mpi_test(mpi-sessions-async PROGRAM mpi-sessions RANKS 2 ARGS one ENV TUTTI_ASYNC_PROGRESS=1 MPIS mpich openmpi5 mpich5)
program(alloc_failures WITH life/refuse.c)
foreach(what messages types reductions blocking alone enqueue)
  tutti_mpi_test(mpi-alloc-failures-${what} PROGRAM mpi-alloc_failures RANKS 2 ARGS ${what} ENV TUTTI_TIMEOUT_SECONDS=10 TIMEOUT 60)
  if(what STREQUAL "messages" OR what STREQUAL "types")
    tutti_mpi_test(mpi-alloc-failures-${what}-packed PROGRAM mpi-alloc_failures RANKS 2 ARGS ${what}
                   ENV TUTTI_TIMEOUT_SECONDS=10 TUTTI_RULES=message:*@packed TIMEOUT 60)
    tutti_mpi_test(mpi-alloc-failures-${what}-direct PROGRAM mpi-alloc_failures RANKS 2 ARGS ${what}
                   ENV TUTTI_TIMEOUT_SECONDS=10 TUTTI_RULES=message:*@direct TIMEOUT 60)
    tutti_mpi_test(mpi-alloc-failures-${what}-nodes PROGRAM mpi-alloc_failures RANKS 2 ARGS ${what}
                   ENV TUTTI_TIMEOUT_SECONDS=10 TUTTI_NODE_RANKS=1 TIMEOUT 60)
  endif()
endforeach()
foreach(row fetch kept ll pipeline engines)
  set(by_row TUTTI_TIMEOUT_SECONDS=10 "TUTTI_RULES=bcast:*@${row} allgather:*@${row} alltoall:*@${row}")
  tutti_mpi_test(mpi-alloc-failures-moves-${row} PROGRAM mpi-alloc_failures RANKS 2 ARGS moves TIMEOUT 60 ENV ${by_row})
  tutti_mpi_test(mpi-alloc-failures-nonblocking-${row} PROGRAM mpi-alloc_failures RANKS 2 ARGS nonblocking TIMEOUT 60 ENV ${by_row})
  foreach(mpi openmpi mpich)
    if(TEST mpi-alloc-failures-moves-${row}.${mpi}) # the reason is a lack of memory, not what the other rank does
      set_tests_properties(mpi-alloc-failures-moves-${row}.${mpi} PROPERTIES FAIL_REGULAR_EXPRESSION "not asked for")
    endif()
  endforeach()
endforeach()
tutti_mpi_test(mpi-alloc-failures-many PROGRAM mpi-alloc_failures RANKS 2 ARGS many 0 47 ENV TUTTI_TIMEOUT_SECONDS=10 TIMEOUT 60)
tutti_mpi_test(mpi-alloc-failures-types-staged PROGRAM mpi-alloc_failures RANKS 2 ARGS types ENV TUTTI_TIMEOUT_SECONDS=10 ${left_to_mpi}
               TIMEOUT 60)
tutti_mpi_test(mpi-alloc-failures-many-staged PROGRAM mpi-alloc_failures RANKS 2 ARGS many 0 47 ENV TUTTI_TIMEOUT_SECONDS=10 ${left_to_mpi}
               TIMEOUT 60)
program(aware EVERYWHERE)
tutti_mpi_test(mpi-aware PROGRAM mpi-aware RANKS 2 ARGS tutti:device 0 EVERYWHERE)
# Scripts ask Open MPI for its own CUDA support, without which version 4 dies in MPI_Init.
foreach(parameter opal mpi)
  tutti_mpi_test(mpi-aware-asked-${parameter} PROGRAM mpi-aware RANKS 2 ARGS tutti:device 0
                 ENV OMPI_MCA_${parameter}_cuda_support=true MPIS openmpi openmpi5)
endforeach()
tutti_mpi_test(mpi-sessions-asked PROGRAM mpi-sessions RANKS 2 ARGS one ENV OMPI_MCA_opal_cuda_support=true MPIS openmpi5)
tutti_mpi_test(mpi-aware-not PROGRAM mpi-aware RANKS 2 ARGS none 0 ENV TUTTI_DEVICE=none)
program(refused EVERYWHERE)
tutti_mpi_test(mpi-refused PROGRAM mpi-refused RANKS 2 ENV ${stats} EVERYWHERE)
# Open MPI without a component that makes windows of memory of the program.
tutti_mpi_test(mpi-refused-no-windows PROGRAM mpi-refused RANKS 2 ENV ${stats} OMPI_MCA_osc=sm MPIS openmpi)
# What a process holds stays the same over many rounds of everything, in every way that messages can take. Long runs by
# hand: mpi-leaks 10000.
tutti_mpi_program(mpi-leaks SOURCES life/leaks.c kit/queue.c kit/queue_move.c kit/gpu_filler.c LIBRARIES tutti-core MPIS ${TUTTI_MPI_SYSTEM})
foreach(mpi IN LISTS TUTTI_MPI_SYSTEM)
  target_link_libraries(mpi-leaks.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
foreach(way direct packed staged)
  tutti_mpi_test(mpi-leaks-${way} PROGRAM mpi-leaks RANKS 2 MANY 100 ENV TUTTI_RULES=message:*@${way} TIMEOUT 60)
endforeach()
tutti_mpi_test(mpi-leaks-few PROGRAM mpi-leaks RANKS 2 MANY 100 ENV TUTTI_CACHE_ENTRIES=10 TUTTI_RULES=message:*@direct
               TIMEOUT 60)

# ---- watchfulness and unusual lives ----
program(watch)
program(watch_messages)
program(watch_windows)
program(watch_partitioned)
# Not Intel MPI by the standard ABI: it ends the program though errors return.
program(stranded EVERYWHERE)
tutti_mpi_test(mpi-stranded PROGRAM mpi-stranded RANKS 3 RANKS_MPICH 3 ENV ${stats} TIMEOUT 120
               MPIS openmpi mpich openmpi5 mpich5 impi)
tutti_mpi_test(mpi-stranded-host PROGRAM mpi-stranded RANKS 3 RANKS_MPICH 3 ARGS host TIMEOUT 120)
program(life)
tutti_mpi_test(mpi-late PROGRAM mpi-watch RANKS 3 RANKS_MPICH 2 ARGS late ENV TUTTI_STALL_SECONDS=1)
tutti_mpi_test(mpi-late-first PROGRAM mpi-watch RANKS 3 RANKS_MPICH 2 ARGS first ENV TUTTI_STALL_SECONDS=1)
tutti_mpi_test(mpi-late-nodes PROGRAM mpi-watch RANKS 3 RANKS_MPICH 2 ARGS nodes
               ENV TUTTI_STALL_SECONDS=1 TUTTI_NODE_RANKS=1 "TUTTI_RULES=allreduce_nodes:*@two_rounds")
tutti_mpi_test(mpi-mismatch PROGRAM mpi-watch RANKS 3 RANKS_MPICH 2 ARGS mismatch ENV ${stats} TUTTI_RULES=message:*@direct)
tutti_mpi_test(mpi-stopped PROGRAM mpi-watch RANKS 2 ARGS stopped ENV TUTTI_STALL_SECONDS=1)
tutti_mpi_test(mpi-fork PROGRAM mpi-life RANKS 2 ARGS fork)
tutti_mpi_test(mpi-late-free PROGRAM mpi-life RANKS 2 ARGS late-free)
tutti_mpi_program(mpi-plain SOURCES life/plain.c MPIS ${TUTTI_MPI_SYSTEM})
# Runs of tests in which a rank dies in a random call: the first one before its first call.
set(few_kills 3)
set(kills 4)
tutti_many(few_kills)
tutti_many(kills)
set(survive_openmpi --enable-recovery)
set(survive_mpich -disable-auto-cleanup)
foreach(mpi IN LISTS TUTTI_MPI_SYSTEM)
  set(run ${TUTTI_MPI_${mpi}_RUN})
  set(preloaded env LD_PRELOAD=${TUTTI_MPI_${mpi}_PRELOAD} ${TUTTI_TEST_ENV})
  driver(mpi-killed ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/life/watch.sh 2 ${run} ${survive_${mpi}} -n 3 ${preloaded} --
         $<TARGET_FILE:mpi-watch.${mpi}>)
  driver(mpi-killed-finalize ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/life/watch.sh 1 ${run} ${survive_${mpi}} -n 3 ${preloaded} --
         $<TARGET_FILE:mpi-watch.${mpi}> finalize)
  driver(mpi-killed-messages ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/life/watch.sh 2 ${run} ${survive_${mpi}} -n 3 ${preloaded} --
         $<TARGET_FILE:mpi-watch_messages.${mpi}>)
  foreach(mode messages sums)
    driver(mpi-killed-partitioned-${mode} ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/life/watch.sh ${few_kills} ${run} ${survive_${mpi}} -n 3 ${preloaded}
           TUTTI_HOST_STRICT=0 -- $<TARGET_FILE:mpi-watch_partitioned.${mpi}> ${mode})
  endforeach()
  foreach(algorithm ring doubling) # some ranks have no message from the one that dies
    driver(mpi-killed-partitioned-${algorithm} ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/life/watch.sh 2 ${run} ${survive_${mpi}} -n 4 ${preloaded}
           TUTTI_HOST_STRICT=0 "TUTTI_RULES=partitioned_reduce:*@${algorithm} *@at_once"
           -- $<TARGET_FILE:mpi-watch_partitioned.${mpi}> sums)
  endforeach()
  driver(mpi-killed-nodes ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/life/watch.sh ${kills} ${run} ${survive_${mpi}} -n 4 ${preloaded}
         TUTTI_NODE_RANKS=2 TUTTI_TIMEOUT_SECONDS=2
         "TUTTI_RULES=allreduce_nodes:*@pipelined reduce_nodes:*@pipelined reduce_scatter_nodes:*@multi_leader"
         -- $<TARGET_FILE:mpi-nodes.${mpi}> death)
  driver(mpi-killed-moves-nodes ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/life/watch.sh ${few_kills} ${run} ${survive_${mpi}} -n 4 ${preloaded}
         TUTTI_NODE_RANKS=2 TUTTI_TIMEOUT_SECONDS=2
         "TUTTI_RULES=bcast_nodes:*@chains allgather_nodes:*@lanes alltoall_nodes:*@pairs"
         -- $<TARGET_FILE:mpi-moves_nodes.${mpi}> death)
  driver(mpi-killed-windows ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/life/watch.sh 2 ${run} ${survive_${mpi}} -n 3 ${preloaded} --
         $<TARGET_FILE:mpi-watch_windows.${mpi}>)
  foreach(mode kill queue launch)
    if(mode STREQUAL "launch" OR mpi STREQUAL "openmpi") # Hydra may end all when one is killed
      driver(mpi-stream-${mode} ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/enqueue/stream_failure.sh ${mode} 3 ${run} ${survive_${mpi}} -n 3
             ${preloaded} -- $<TARGET_FILE:mpi-stream_failure.${mpi}>)
    endif()
  endforeach()
  if(mpi STREQUAL "openmpi")
    foreach(mode kill queue)
      driver(mpi-stream-nodes-${mode} ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/enqueue/stream_failure.sh ${mode} 3 ${run} ${survive_${mpi}} -n 3
             ${preloaded} TUTTI_ASYNC_PROGRESS=1 TUTTI_NODE_RANKS=1 TUTTI_TIMEOUT_SECONDS=8 TUTTI_RULES=allreduce_nodes:*@pipelined
             -- $<TARGET_FILE:mpi-stream_failure.${mpi}>)
    endforeach()
  endif()
  driver(mpi-output ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/life/output.sh ${TUTTI_PRELOAD} ${run} -n 2 -- $<TARGET_FILE:mpi-plain.${mpi}>)
  foreach(mode exit _exit)
    driver(mpi-no-finalize-${mode} ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/life/no_finalize.sh ${mode} ${run} -n 2 ${preloaded} --
           $<TARGET_FILE:mpi-life.${mpi}>)
  endforeach()

  # An MPI that comes with a shared object.
  add_library(mpi-plugin.${mpi} MODULE life/plugin.c)
  target_compile_options(mpi-plugin.${mpi} PRIVATE ${TUTTI_MPI_${mpi}_COMPILE})
  target_link_libraries(mpi-plugin.${mpi} PRIVATE tutti-flags tutti-core ${TUTTI_MPI_${mpi}_LINK})
endforeach()
add_executable(mpi-dlopened life/dlopened.c)
target_link_libraries(mpi-dlopened PRIVATE tutti-flags)
foreach(mpi IN LISTS TUTTI_MPI_SYSTEM)
  driver(mpi-dlopened ${mpi} ${TUTTI_MPI_${mpi}_RUN} -n 2 env LD_PRELOAD=${TUTTI_MPI_${mpi}_PRELOAD}
         ${TUTTI_TEST_ENV} $<TARGET_FILE:mpi-dlopened>
         $<TARGET_FILE:mpi-plugin.${mpi}>)
endforeach()
