# Random valid MPI programs: programs.c says how one is told apart and repeated.
tutti_mpi_program(mpi-programs LIBRARIES tutti-core m MPIS ${TUTTI_MPIS}
                  SOURCES programs/programs.c programs/programs_draw.c programs/programs_messages.c programs/programs_calls.c programs/programs_groups.c programs/programs_endings.c
                          programs/programs_together.c programs/programs_layout.c programs/programs_text.c programs/programs_data.c programs/programs_run.c
                          programs/programs_collect.c programs/programs_wait.c programs/programs_comms.c programs/programs_neighbours.c
                          programs/programs_inter.c programs/programs_parts.c programs/programs_pack.c)
tutti_mpi_builders("${TUTTI_MPIS}" program_builders)
foreach(mpi IN LISTS program_builders)
  target_link_libraries(mpi-programs.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()

include(${CMAKE_CURRENT_LIST_DIR}/kinds.cmake)

# programs(NAME KINDS COUNT COUNT_MPICH ENV...): programs of these kinds, 3 ranks, under MPICH 2.
function(programs name kinds count count_mpich)
  set(env TUTTI_TEST_KINDS=${kinds} ${ARGN})
  tutti_mpi_test(mpi-programs-${name} PROGRAM mpi-programs RANKS 3 MANY ${count} ARGS 40 100k 20 MPIS openmpi ENV ${env}
                 LABELS programs)
  tutti_mpi_test(mpi-programs-${name} PROGRAM mpi-programs RANKS 2 RANKS_MPICH 2 MANY ${count_mpich} ARGS 40 100k 20 MPIS mpich
                 ENV ${env} LABELS programs)
endfunction()

# Messages.
programs(messages ${messages} 105 100)
programs(messages-direct ${messages} 70 50 TUTTI_RULES=message:*@direct)
programs(messages-few ${messages} 70 50 TUTTI_RULES=message:*@direct TUTTI_CACHE_ENTRIES=4)
programs(messages-mapping ${messages} 70 50 TUTTI_RULES=message:*@direct,*@landed TUTTI_CACHE_ENTRIES=6 TUTTI_HOST_MAPPING_US=100)
programs(messages-landed ${messages} 70 50 TUTTI_RULES=message:*@landed)
programs(messages-engines ${messages} 70 50 TUTTI_RULES=message:*@engines TUTTI_CACHE_ENTRIES=6)
programs(messages-put ${messages} 70 50 "TUTTI_RULES=message:*@direct message_put:*@always" TUTTI_CACHE_ENTRIES=6)
programs(messages-put-mapping ${messages} 35 25 "TUTTI_RULES=message:*@engines message_put:*@exchange" TUTTI_CACHE_ENTRIES=6 TUTTI_HOST_MAPPING_US=100)
programs(messages-packed ${messages} 70 50 TUTTI_RULES=message:*@packed TUTTI_ENDPOINT_MB=1)
programs(messages-staged ${messages} 70 50 TUTTI_RULES=message:*@staged)
programs(messages-nodes ${messages} 70 50 TUTTI_NODE_RANKS=1)
programs(messages-turns ${messages} 70 50 TUTTI_RULES=message:*@direct TUTTI_HOST_GPUS=1 TUTTI_HOST_TURNS_US=70)
programs(messages-fresh ${messages},fresh 21 30)

# Collective calls: blocking ones, and nonblocking ones of one sort.
programs(blocking ${moved},${reduced},${around},dup,split,blocking 52 30)
programs(moved ${moved},${around},dup,split,icoll,blocking 52 30)
programs(reduced ${reduced},${around},icoll 52 30)
# Kernels that reach buffers of all ranks, in memory that is freed and allocated again between calls; by default from sizes on
# that no program here has.
programs(reduced-mapped ${reduced},${around},fresh,dup,split,icoll,blocking 26 30
         "TUTTI_RULES=allreduce: *@mapped reduce: *@mapped reduce_scatter: *@mapped")
programs(reduced-deep ${reduced},${around},fresh,dup,split,icoll,blocking 26 30
         "TUTTI_RULES=allreduce: *@pipeline_direct reduce: *@mapped_deep reduce_scatter: *@mapped_deep")

# Collectives that move data, by each of their rows.
set(by "0-100@ll 0-4k@ll128 *@pipeline *@fetch")
set(packets TUTTI_LINES=1 TUTTI_CHANNEL_MB=2
            "TUTTI_RULES=bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by} neighbor:${by}")
programs(moved-packets ${moved},${around},dup,split,icoll,blocking 52 30 ${packets})
programs(moved-packets-shared ${moved},${around},dup,split,icoll,blocking 26 30 ${packets} TUTTI_HOST_GPUS=1)
programs(neighbours-packets ${neighbours},device,large,vector,types,dup,blocking 21 30 ${packets})
programs(neighbours-turns ${neighbours},device,large,vector,types,dup,blocking 21 30 ${packets} TUTTI_HOST_GPUS=1 TUTTI_HOST_TURNS_US=70)
programs(together-packets ${together} 26 30 ${packets})
# Fetched from memory that is kept mapped, which takes long or not; some of it is freed and allocated again between calls.
set(by "0-20k@kept 0-100@ll 0-4k@ll128 *@pipeline *@fetch")
set(kept TUTTI_LINES=1 TUTTI_CHANNEL_MB=2
         "TUTTI_RULES=message:*@direct bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by} neighbor:${by}")
programs(moved-kept ${moved},${neighbours},device,host,vector,types,fresh,dup,split,icoll,blocking 52 30 ${kept})
programs(moved-kept-mapping ${moved},device,vector,types,fresh,dup,split,blocking 26 30 ${kept} TUTTI_CACHE_ENTRIES=6 TUTTI_HOST_MAPPING_US=100)
# Ordinary and pinned host memory beside device memory, on each side of each rank: by default, in pieces of small scratch, and
# where ranks share GPUs.
set(memories ${moved},${neighbours},${around},pinned,managed,dup,split,icoll,blocking)
programs(moved-memories ${memories} 26 30)
programs(moved-memories-pieces ${memories} 26 30 TUTTI_STAGING_MB=1 TUTTI_CHANNEL_MB=2
         "TUTTI_RULES=message:*@direct moves_mixed:*@direct moves_pinned:*@direct")
tutti_mpi_test(mpi-programs-moved-memories-large PROGRAM mpi-programs RANKS 3 MANY 21 ARGS 30 6m 20 MPIS openmpi LABELS programs
               ENV TUTTI_TEST_KINDS=${memories} TUTTI_STAGING_MB=1 "TUTTI_RULES=message:*@direct moves_mixed:*@direct moves_pinned:*@direct")
programs(moved-memories-packets ${memories} 26 30 ${packets})
programs(moved-memories-staged ${memories},${reduced} 26 30
         "TUTTI_RULES=moves_mixed:*@mpi moves_pinned:*@mpi moves_mixed_root:*@mpi moves_pinned_root:*@mpi moves_mixed_leaders:*@mpi")
tutti_mpi_test(mpi-programs-moved-memories-persistent PROGRAM mpi-programs RANKS 3 RANKS_MPICH 2 MANY 26 ARGS 40 100k 20
               MPIS openmpi openmpi5 mpich5 ENV TUTTI_TEST_KINDS=${memories},neighborw,pcoll LABELS programs)
tutti_mpi_test(mpi-programs-moved-memories-shared PROGRAM mpi-programs RANKS 4 MANY 26 ARGS 40 100k 20 MPIS openmpi
               ENV TUTTI_TEST_KINDS=${memories},neighborw,pcoll TUTTI_HOST_GPUS=2 LABELS programs)
# All ranks on device memory, so that the ranks move the data themselves.
string(REPLACE "device,host" "device" around_device ${around})
set(by "*@direct *@fetch")
set(direct TUTTI_CHANNEL_MB=2
           "TUTTI_RULES=bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by} neighbor:${by}")
programs(moved-direct ${moved},${neighbours},${reduced},${around_device},dup,split,icoll,blocking 52 30 ${direct})
programs(moved-direct-few ${moved},${around_device},dup,icoll 26 30 ${direct} TUTTI_CACHE_ENTRIES=4)
programs(moved-device ${moved},${reduced},${around_device},dup,split,icoll,blocking 52 30 TUTTI_RULES=message:*@direct)
tutti_mpi_test(mpi-programs-moved-packets-leaders PROGRAM mpi-programs RANKS 4 MANY 26 ARGS 40 100k 20 MPIS openmpi
               ENV TUTTI_TEST_KINDS=${moved},${neighbours},${reduced},${around_device},dup,split,icoll,blocking TUTTI_HOST_GPUS=2
                   ${packets} LABELS programs)
programs(moved-device-packets ${moved},${neighbours},${reduced},${around_device},dup,split,icoll 26 30 ${packets})
set(engines TUTTI_CACHE_ENTRIES=4
            "TUTTI_RULES=message:*@direct moves_nonblocking:*@copies bcast:0-1k@copies,*@split,*@fetch gather:*@copies,*@fetch scatter:*@copies allgather:*@copies,*@fetch alltoall:1k-1m@copies neighbor:*@copies")
programs(moved-device-copies ${moved},${neighbours},${reduced},${around_device},dup,split,icoll 52 30 ${engines})
programs(moved-packed ${moved},${reduced},${around_device},icoll 26 30 TUTTI_RULES=message:*@packed TUTTI_ENDPOINT_MB=1)

# Collectives with neighbours, and between the groups of intercommunicators.
programs(neighbours ${neighbours},${around},barrier,dup,icoll,blocking 35 30)
programs(neighbours-device ${neighbours},device,large,vector,types,dup,blocking 21 30)
programs(neighbours-nodes ${neighbours},device,large,vector,types,dup,icoll,blocking 26 30 TUTTI_NODE_RANKS=1
         "TUTTI_RULES=neighbor_nodes:*@edges")
tutti_mpi_test(mpi-programs-neighbours-two-nodes PROGRAM mpi-programs RANKS 4 MANY 26 ARGS 40 100k 20 MPIS openmpi LABELS programs
               ENV TUTTI_TEST_KINDS=${neighbours},device,large,vector,types,dup,icoll,blocking TUTTI_NODE_RANKS=2
                   "TUTTI_RULES=neighbor_nodes:*@edges alltoall_nodes:*@joined")
programs(neighbours-few ${neighbours},device,large,vector,types,dup,blocking 21 30 TUTTI_RULES=message:*@direct
         TUTTI_CACHE_ENTRIES=4 TUTTI_ENDPOINT_MB=1)
tutti_mpi_test(mpi-programs-neighbours-twice PROGRAM mpi-programs RANKS 3 RANKS_MPICH 2 MANY 21 ARGS 40 100k 20
               MPIS openmpi openmpi5 mpich5 LABELS programs
               ENV TUTTI_TEST_KINDS=cart,neighbor,twice,selfall,device,host,large,vector,types,blocking)
set(twice TUTTI_TEST_KINDS=cart,neighbor,twice,selfall,device,large,vector,types,blocking)
tutti_mpi_test(mpi-programs-twice-packets PROGRAM mpi-programs RANKS 3 RANKS_MPICH 2 MANY 21 ARGS 40 100k 20
               MPIS openmpi openmpi5 mpich5 LABELS programs ENV ${twice} ${packets})
tutti_mpi_test(mpi-programs-twice-leaders PROGRAM mpi-programs RANKS 4 MANY 21 ARGS 40 100k 20
               MPIS openmpi LABELS programs ENV ${twice} ${packets} TUTTI_HOST_GPUS=2)
programs(inter inter,${moved},${reduced},device,host,large,late,vector,types,dup,split,blocking 21 30)
programs(inter-later inter,${moved},${reduced},${around},dup,split,icoll,lag 21 30)

# What the programs expect, tried on the MPI alone.
tutti_mpi_test(mpi-programs-plain PROGRAM mpi-programs RANKS 3 RANKS_MPICH 2 MANY 70 ARGS 40 100k 20 NO_PRELOAD
               ENV TUTTI_TEST_PLAIN=1 TUTTI_TEST_KINDS=${together},${neighbours},inter LABELS programs)
# All of them together.
programs(together ${together} 52 75)
programs(together-packed ${together} 26 30 TUTTI_RULES=message:*@packed TUTTI_ENDPOINT_MB=1)
programs(together-direct ${together} 26 30 TUTTI_RULES=message:*@direct TUTTI_CACHE_ENTRIES=4)
programs(together-nodes ${together} 26 30 TUTTI_NODE_RANKS=1)
programs(together-far ${together} 26 30 TUTTI_NODE_RANKS=1 TUTTI_RULES=message_far:*@pipelined
         TUTTI_MESSAGE_CHUNK=4096)
programs(together-few ${together} 26 30 TUTTI_CHANNEL_MB=1 TUTTI_WINDOW_MB=8 TUTTI_ENDPOINT_MB=1 TUTTI_STAGING_MB=1
         TUTTI_CACHE_ENTRIES=4)
# MPI_BOTTOM with absolute addresses, large counts, generalised requests; a second thread waits while the first goes on.
programs(together-forms ${together},bottom,wide,guest 35 50)
programs(moved-forms ${moved},${neighbours},${reduced},${around},dup,split,icoll,blocking,bottom 35 30)
string(REPLACE ",rsend" "" together_aside ${together})
programs(together-aside ${together_aside},aside,guest 35 50)
# The core as it is installed (tests/install).
programs(together-installed ${together} 26 30 LD_LIBRARY_PATH=${TUTTI_CORE_INSTALLED})
programs(together-gpus ${together} 26 30 TUTTI_HOST_GPUS=1)
tutti_mpi_test(mpi-programs-together-two-nodes PROGRAM mpi-programs RANKS 4 MANY 26 ARGS 40 100k 20 MPIS openmpi
               ENV TUTTI_TEST_KINDS=${together} TUTTI_NODE_RANKS=2 LABELS programs)
# Blocking collectives between groups while nonblocking reductions are open take progress hooks of the MPI.
tutti_mpi_test(mpi-programs-beside PROGRAM mpi-programs RANKS 3 RANKS_MPICH 2 MANY 21 ARGS 40 100k 20
               MPIS openmpi openmpi5 mpich mpich5 ENV TUTTI_TEST_KINDS=${beside} LABELS programs)
tutti_mpi_test(mpi-programs-beside-nodes PROGRAM mpi-programs RANKS 3 RANKS_MPICH 2 MANY 26 ARGS 40 100k 20 MPIS openmpi
               ENV TUTTI_TEST_KINDS=${beside},neighborw TUTTI_NODE_RANKS=1 LABELS programs)
tutti_mpi_test(mpi-programs-beside-two-nodes PROGRAM mpi-programs RANKS 4 MANY 21 ARGS 40 100k 20 MPIS openmpi
               ENV TUTTI_TEST_KINDS=${together},${beside} TUTTI_NODE_RANKS=2 LABELS programs)
# Threads, each with programs of its own. Several threads that make communicators at once stand still in Open MPI 4.1
# itself.
string(REPLACE ",dup,split,idup,freeopen" "" in_threads ${messages})
tutti_mpi_test(mpi-programs-threads PROGRAM mpi-programs RANKS 3 MANY 35 ARGS 40 100k 20 MPIS openmpi
               ENV TUTTI_TEST_KINDS=${in_threads} TUTTI_TEST_THREADS=3 LABELS programs)

# The newest MPIs. MPI_Request_get_status of MPICH 5.0 ends persistent requests.
string(REPLACE ",getstatus" "" together_mpich5 ${together})
tutti_mpi_test(mpi-programs-together PROGRAM mpi-programs RANKS 3 MANY 35 ARGS 40 100k 20 MPIS openmpi5
               ENV TUTTI_TEST_KINDS=${together} LABELS programs)
tutti_mpi_test(mpi-programs-together PROGRAM mpi-programs RANKS 2 RANKS_MPICH 2 MANY 21 ARGS 40 100k 20 MPIS mpich5
               ENV TUTTI_TEST_KINDS=${together_mpich5} LABELS programs)

# MPI_Isendrecv and MPI_Isendrecv_replace.
foreach(row direct packed staged)
  tutti_mpi_test(mpi-programs-isendrecv-${row} PROGRAM mpi-programs RANKS 3 MANY 50 ARGS 40 100k 20 MPIS openmpi5
                 ENV TUTTI_TEST_KINDS=${messages},both TUTTI_RULES=message:*@${row} LABELS programs)
endforeach()

# Persistent collectives, started again and again.
set(persistent ${moved},${reduced},${around},${neighbours},inter,dup,split,icoll,pcoll)
tutti_mpi_test(mpi-programs-persistent PROGRAM mpi-programs RANKS 3 RANKS_MPICH 2 MANY 26 ARGS 40 100k 20
               MPIS openmpi openmpi5 mpich5 ENV TUTTI_TEST_KINDS=${persistent} LABELS programs)
tutti_mpi_test(mpi-programs-persistent-device PROGRAM mpi-programs RANKS 3 RANKS_MPICH 2 MANY 26 ARGS 40 100k 20
               MPIS openmpi openmpi5 mpich5 LABELS programs
               ENV TUTTI_TEST_KINDS=${moved},${reduced},${around_device},${neighbours},icoll,pcoll TUTTI_RULES=message:*@direct)
tutti_mpi_test(mpi-programs-persistent-packets PROGRAM mpi-programs RANKS 3 RANKS_MPICH 2 MANY 26 ARGS 40 100k 20
               MPIS openmpi openmpi5 mpich5 LABELS programs
               ENV TUTTI_TEST_KINDS=${moved},${reduced},${around_device},${neighbours},icoll,pcoll ${packets})
tutti_mpi_test(mpi-programs-persistent-copies PROGRAM mpi-programs RANKS 3 RANKS_MPICH 2 MANY 26 ARGS 40 100k 20
               MPIS openmpi openmpi5 mpich5 LABELS programs
               ENV TUTTI_TEST_KINDS=${moved},${reduced},${around_device},${neighbours},icoll,pcoll ${engines})
# The library's, as Open MPI 4.1 lacks them, among all that a program does; but not while another communicator is made.
string(REPLACE ",idup" "" persistent_together ${together},${neighbours},inter,pcoll)
tutti_mpi_test(mpi-programs-persistent-together PROGRAM mpi-programs RANKS 3 MANY 26 ARGS 40 100k 20 MPIS openmpi
               ENV TUTTI_TEST_KINDS=${persistent_together} LABELS programs)
tutti_mpi_test(mpi-programs-persistent-two-nodes PROGRAM mpi-programs RANKS 4 MANY 21 ARGS 40 100k 20 MPIS openmpi
               ENV TUTTI_TEST_KINDS=${persistent_together} TUTTI_NODE_RANKS=2 LABELS programs)

# Partitioned messages and collectives, which are the library's, among all of that.
set(parts ${together},${neighbours},part,ppcoll)
programs(parts ${parts} 35 50)
programs(parts-device ${moved},${reduced},${around_device},send,isend,irecv,dup,icoll,blocking,part,ppcoll 35 50 ${direct})
programs(parts-packed ${parts} 20 30 TUTTI_RULES=message:*@packed TUTTI_ENDPOINT_MB=1)
tutti_mpi_test(mpi-programs-parts-persistent PROGRAM mpi-programs RANKS 3 MANY 26 ARGS 40 100k 20 MPIS openmpi
               ENV TUTTI_TEST_KINDS=${persistent_together},part,ppcoll LABELS programs)
tutti_mpi_test(mpi-programs-parts-two-nodes PROGRAM mpi-programs RANKS 4 MANY 21 ARGS 40 100k 20 MPIS openmpi
               ENV TUTTI_TEST_KINDS=${parts} TUTTI_NODE_RANKS=2 LABELS programs)

if(TARGET mpi-programs.openmpi)
  # For nights: as many as there is time for, from a seed drawn from the clock.
  add_custom_target(programs COMMAND ${TUTTI_MPI_openmpi_RUN} -n 3 env LD_PRELOAD=${TUTTI_PRELOAD} ${TUTTI_TEST_ENV}
                    TUTTI_TEST_SEED=clock TUTTI_TEST_KINDS=${together} $<TARGET_FILE:mpi-programs.openmpi> 100000 40
                    USES_TERMINAL VERBATIM)
  add_dependencies(programs tutti tutti-openmpi)
endif()
