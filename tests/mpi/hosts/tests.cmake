# Hosts made of namespaces, MPI over TCP between them: hosts.sh. MPICH's ranks spin: one on each host.
# on_hosts(NAME MPI MODE HOSTS RANKS OPTIONS -- ENVIRONMENT... PROGRAM WORD...)
function(on_hosts name mpi mode hosts ranks)
  if(NOT mpi IN_LIST TUTTI_MPI_SYSTEM)
    return()
  endif()
  set(driver_limit 170) # the launcher, the hosts and many ranks start
  driver(mpi-hosts-${name} ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/hosts/run.sh ${mode} ${hosts} ${ranks} ${mpi} ${TUTTI_MPI_${mpi}_RUN}
         ${ARGN})
  math(EXPR cores "(${hosts} * ${ranks} + 1) / 2")
  set_tests_properties(mpi-hosts-${name}.${mpi} PROPERTIES PROCESSORS ${cores})
endfunction()

# The limit distinguishes a late rank from one that is gone, also at MPI_Init and on a busy machine.
set(ends TUTTI_TIMEOUT_SECONDS=6)
# A rank that is later than that at MPI_Init is taken to be one without Tutti: then all ranks continue without Tutti, and the plain MPI
# gets device memory.
set(starts TUTTI_STALL_SECONDS=60)

foreach(mpi openmpi mpich)
  set(ranks_openmpi 2)
  set(ranks_mpich 1)
  set(each ${ranks_${mpi}})
  set(env LD_PRELOAD=${TUTTI_MPI_${mpi}_PRELOAD} ${TUTTI_TEST_ENV} ${starts} ${stats})
  foreach(row single_leader multi_leader pipelined)
    # The bits are those of the hosts, so the nodes that Tutti found are the hosts.
    on_hosts(bits-${row} ${mpi} passes 2 ${each} -- ${env} TUTTI_TEST_HOST_RANKS=${each} TUTTI_TEST_EXPECT=${row} TUTTI_NODES_PIECE_KB=16
             "TUTTI_RULES=allreduce_nodes:*@${row} reduce_nodes:*@${row} reduce_scatter_nodes:*@${row} scan_nodes:*@ranks"
             $<TARGET_FILE:mpi-nodes.${mpi}> 4 bits)
  endforeach()
  on_hosts(bits-3 ${mpi} passes 3 1 -- ${env} TUTTI_TEST_HOST_RANKS=1 TUTTI_TEST_EXPECT=pipelined
           "TUTTI_RULES=allreduce_nodes:*@pipelined reduce_nodes:*@pipelined reduce_scatter_nodes:*@pipelined scan_nodes:*@ranks leaders:0-1k@ring,*@slices"
           $<TARGET_FILE:mpi-nodes.${mpi}> 4 bits)
  # Neighbours, and all-to-alls with one message for each pair of hosts.
  on_hosts(neighbours ${mpi} passes 2 ${each} -- ${env} TUTTI_TEST_EXPECT=edges TUTTI_NODES_PIECE_KB=4
           "TUTTI_RULES=neighbor_nodes:*@edges allreduce_nodes:*@pipelined" $<TARGET_FILE:mpi-neighbours_nodes.${mpi}> 160)
  on_hosts(moves-joined ${mpi} passes 2 ${each} -- ${env} TUTTI_TEST_EXPECT=joined TUTTI_NODES_PIECE_KB=4
           "TUTTI_RULES=alltoall_nodes:*@joined allgather_nodes:*@lanes" $<TARGET_FILE:mpi-moves_nodes.${mpi}> 120)
  on_hosts(programs ${mpi} passes 2 ${each} -- ${env} TUTTI_TEST_KINDS=${together}
           "TUTTI_RULES=allreduce_nodes:*@pipelined reduce_nodes:*@pipelined reduce_scatter_nodes:*@multi_leader"
           $<TARGET_FILE:mpi-programs.${mpi}> 20 40 100k 20)
  foreach(form 0 1 2 3 4 5)
    if(mpi STREQUAL "mpich" AND form GREATER 3) # the test's persistent calls are Open MPI's
      continue()
    endif()
    foreach(mode dies cut)
      set(word_dies death)
      set(word_cut cut)
      on_hosts(${mode}-${form} ${mpi} ${mode} 3 1 ${survive_${mpi}} -- ${env} ${ends}
               "TUTTI_RULES=allreduce_nodes:*@pipelined reduce_nodes:*@pipelined reduce_scatter_nodes:*@multi_leader"
               $<TARGET_FILE:mpi-nodes.${mpi}> ${word_${mode}} ${form})
    endforeach()
  endforeach()
endforeach()
on_hosts(programs-4 openmpi passes 4 1 -- LD_PRELOAD=${TUTTI_MPI_openmpi_PRELOAD} ${TUTTI_TEST_ENV} ${starts} TUTTI_TEST_KINDS=${together}
         $<TARGET_FILE:mpi-programs.openmpi> 20 40 100k 20)
on_hosts(moved openmpi passes 3 1 -- LD_PRELOAD=${TUTTI_MPI_openmpi_PRELOAD} ${TUTTI_TEST_ENV} ${starts} ${stats}
         $<TARGET_FILE:mpi-collectives.openmpi>)

# The same hosts connected by a relay in user space, which delays frames and loses some (relay.c): TCP sends those again.
add_executable(mpi-hosts-relay ${CMAKE_CURRENT_SOURCE_DIR}/hosts/relay.c)
# on_relay(NAME MPI DELAY_US LOSS MODE HOSTS RANKS OPTIONS -- ENVIRONMENT... PROGRAM WORD...)
function(on_relay name mpi delay loss)
  if(NOT mpi IN_LIST TUTTI_MPI_SYSTEM)
    return()
  endif()
  on_hosts(relay-${name} ${mpi} ${ARGN})
  set_property(TEST mpi-hosts-relay-${name}.${mpi} APPEND PROPERTY ENVIRONMENT "TUTTI_TEST_RELAY=$<TARGET_FILE:mpi-hosts-relay> ${delay} ${loss}")
endfunction()

foreach(mpi openmpi mpich)
  set(env LD_PRELOAD=${TUTTI_MPI_${mpi}_PRELOAD} ${TUTTI_TEST_ENV} ${starts} ${stats})
  set(rows "TUTTI_RULES=allreduce_nodes:*@pipelined reduce_nodes:*@pipelined reduce_scatter_nodes:*@multi_leader")
  on_relay(programs ${mpi} 1000 100 passes 2 1 -- ${env} TUTTI_TEST_KINDS=${together} ${rows} $<TARGET_FILE:mpi-programs.${mpi}> 8 40 100k 20)
  on_relay(programs-lossy ${mpi} 3000 25 passes 3 1 -- ${env} TUTTI_TEST_KINDS=${together} ${rows} $<TARGET_FILE:mpi-programs.${mpi}> 20 40 100k 40)
  on_relay(cut ${mpi} 1000 100 cut 3 1 ${survive_${mpi}} -- ${env} ${ends} ${rows}
           $<TARGET_FILE:mpi-nodes.${mpi}> cut 0)
endforeach()
