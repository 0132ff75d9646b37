# Collectives that move data.
program(collectives)
tutti_mpi_test(mpi-collectives PROGRAM mpi-collectives RANKS 3 RANKS_MPICH 2 ENV TUTTI_STATS=1)
tutti_mpi_test(mpi-collectives-packets PROGRAM mpi-collectives RANKS 3 RANKS_MPICH 2
               ENV TUTTI_STATS=1 "TUTTI_RULES=bcast:*@ll128,*@fetch allgather:*@ll128,*@fetch alltoall:*@ll128,*@fetch")
program(neighbours EVERYWHERE)
tutti_mpi_test(mpi-neighbours PROGRAM mpi-neighbours RANKS 3 RANKS_MPICH 3 ENV ${stats} EVERYWHERE)
tutti_mpi_test(mpi-neighbours-mpi PROGRAM mpi-neighbours RANKS 2 ENV ${stats} ${left_to_mpi})
# Not under Intel MPI 2021.18, whose own MPI_Allgather_init fails from the second start on: mixed memory gets that request.
program(moves_open EVERYWHERE)
tutti_mpi_test(mpi-moves-open PROGRAM mpi-moves_open RANKS 3 RANKS_MPICH 2 ENV ${stats} TIMEOUT 45 MPIS openmpi mpich openmpi5 mpich5 mpiabi)
tutti_mpi_test(mpi-moves-open-few PROGRAM mpi-moves_open RANKS 3 RANKS_MPICH 2
               ENV ${stats} TUTTI_RULES=message:*@packed TUTTI_ENDPOINT_MB=1 TUTTI_CACHE_ENTRIES=4 TIMEOUT 45)
set(by "0-100@ll 0-4k@ll128 *@pipeline *@fetch")
tutti_mpi_test(mpi-moves-open-packets PROGRAM mpi-moves_open RANKS 3 RANKS_MPICH 2
               ENV ${stats} TUTTI_LINES=1 "TUTTI_RULES=bcast:${by} allgather:${by} alltoall:${by}" TIMEOUT 45)
# Every form of every call, by the counters without host memory.
program(moves_forms EVERYWHERE)
foreach(form packets fetched direct)
  set(by "*@fetch")
  if(form STREQUAL packets)
    set(by "0-100@ll 0-4k@ll128 *@pipeline *@fetch")
  elseif(form STREQUAL direct)
    set(by "*@direct *@fetch")
  endif()
  set(by_form ${stats} TUTTI_LINES=1
              "TUTTI_RULES=message:*@direct bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by} neighbor:${by}")
  tutti_mpi_test(mpi-moves-forms-${form} PROGRAM mpi-moves_forms RANKS 3 RANKS_MPICH 2 ENV ${by_form} TIMEOUT 45)
  tutti_mpi_test(mpi-moves-forms-${form}-shared PROGRAM mpi-moves_forms RANKS 4 MPIS openmpi ENV ${by_form} TUTTI_HOST_GPUS=2
                 TIMEOUT 45)
endforeach()
# With buffers in host memory, in place, and in pieces of the scratch; and where ranks share GPUs.
set(by "*@fetch")
set(by_fetch ${stats} "TUTTI_RULES=message:*@direct bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by} neighbor:${by}")
foreach(where send recv root others sides place place_sides)
  tutti_mpi_test(mpi-moves-forms-${where} PROGRAM mpi-moves_forms RANKS 3 RANKS_MPICH 2 ARGS ${where} ENV ${by_fetch} TIMEOUT 60)
endforeach()
tutti_mpi_test(mpi-moves-forms-sides-pinned PROGRAM mpi-moves_forms RANKS 3 RANKS_MPICH 2 ARGS sides pinned ENV ${by_fetch} TIMEOUT 60)
tutti_mpi_test(mpi-moves-forms-sides-pinned-shared PROGRAM mpi-moves_forms RANKS 4 MPIS openmpi ARGS sides pinned
               ENV ${by_fetch} TUTTI_HOST_GPUS=2 TIMEOUT 60)
foreach(row ll ll128 pipeline)
  set(by_row ${stats} TUTTI_LINES=1 TUTTI_CHANNEL_MB=4 "TUTTI_RULES=message:*@direct moves_mixed:*@${row}")
  tutti_mpi_test(mpi-moves-forms-sides-${row} PROGRAM mpi-moves_forms RANKS 3 ARGS sides ENV ${by_row} TIMEOUT 60 MPIS openmpi)
endforeach()
foreach(where root sides place place_sides)
  tutti_mpi_test(mpi-moves-forms-${where}-long PROGRAM mpi-moves_forms RANKS 3 RANKS_MPICH 2 ARGS ${where} long
                 ENV ${by_fetch} TUTTI_STAGING_MB=1 TIMEOUT 120)
endforeach()
program(moves_pieces)
tutti_mpi_test(mpi-moves-pieces PROGRAM mpi-moves_pieces RANKS 3 MPIS openmpi TIMEOUT 40
               ENV ${stats} TUTTI_STAGING_MB=1 TUTTI_TIMEOUT_SECONDS=10 "TUTTI_RULES=message:*@direct moves_mixed:*@direct")
foreach(gpus 1 2)
  tutti_mpi_test(mpi-moves-forms-sides-shared-${gpus} PROGRAM mpi-moves_forms RANKS 4 MPIS openmpi ARGS sides
                 ENV ${by_fetch} TUTTI_HOST_GPUS=${gpus} TIMEOUT 60)
endforeach()
# Tags of ranks that have nothing to move.
program(nothing_to_move EVERYWHERE)
tutti_mpi_test(mpi-nothing-to-move PROGRAM mpi-nothing_to_move RANKS 4 RANKS_MPICH 4 ENV ${stats} TIMEOUT 60 EVERYWHERE)
tutti_mpi_test(mpi-nothing-to-move-3 PROGRAM mpi-nothing_to_move RANKS 3 ENV ${stats} TIMEOUT 180 MPIS openmpi)
tutti_mpi_test(mpi-nothing-to-move-nodes PROGRAM mpi-nothing_to_move RANKS 4 ENV ${stats} TUTTI_NODE_RANKS=2 TIMEOUT 60
               MPIS openmpi openmpi5)
tutti_mpi_test(mpi-nothing-to-move-staged PROGRAM mpi-nothing_to_move RANKS 4 ENV ${stats} "TUTTI_RULES=allreduce:*@staged"
               TIMEOUT 60 MPIS openmpi)
program(moves_longer)
tutti_mpi_test(mpi-moves-longer PROGRAM mpi-moves_longer RANKS 3 RANKS_MPICH 2 ENV ${stats} TUTTI_RULES=alltoall:*@fetch TIMEOUT 45)
program(moves_posted)
tutti_mpi_test(mpi-moves-posted PROGRAM mpi-moves_posted RANKS 2 ENV ${stats} "TUTTI_RULES=message:*@direct bcast:*@fetch" TIMEOUT 45)
tutti_mpi_test(mpi-moves-posted-kept PROGRAM mpi-moves_posted RANKS 2 ARGS kept
               ENV ${stats} "TUTTI_RULES=message:*@direct bcast:0-1k@kept,*@ll" TUTTI_HOST_MAPPING_US=300 TUTTI_MAPPING_PRICE_US=100 TIMEOUT 45)
tutti_mpi_test(mpi-moves-posted-credit PROGRAM mpi-moves_posted RANKS 2 ARGS kept
               ENV ${stats} "TUTTI_RULES=message:*@direct bcast:0-1k@kept,*@ll" TUTTI_HOST_MAPPING_US=20000 TIMEOUT 45)
tutti_mpi_test(mpi-moves-posted-large PROGRAM mpi-moves_posted RANKS 2 ARGS large
               ENV ${stats} "TUTTI_RULES=message:*@direct bcast:0-1k@kept,*@ll" TUTTI_HOST_MAPPING_US=600 TIMEOUT 45)
tutti_mpi_test(mpi-moves-posted-shared PROGRAM mpi-moves_posted RANKS 2 ARGS shared
               ENV ${stats} "TUTTI_RULES=message:*@direct bcast:*@kept,*@ll" TUTTI_HOST_GPUS=1 TUTTI_HOST_TURNS_US=70 TIMEOUT 45)
program(moves_spared)
tutti_mpi_test(mpi-moves-spared PROGRAM mpi-moves_spared RANKS 3 RANKS_MPICH 2
               ENV ${stats} "TUTTI_RULES=bcast:*@ll,*@fetch allgather:*@ll,*@fetch alltoall:*@ll,*@fetch" TIMEOUT 45)
program(moves_none)
tutti_mpi_test(mpi-moves-none PROGRAM mpi-moves_none RANKS 2
               ENV ${stats} "TUTTI_RULES=bcast:*@fetch allgather:*@fetch alltoall:*@fetch gather:*@fetch" TIMEOUT 45)
program(moves_alone EVERYWHERE)
set(by "*@fetch")
set(by_fetch "bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by} neighbor:${by}")
tutti_mpi_test(mpi-moves-alone PROGRAM mpi-moves_alone RANKS 2 ENV ${stats} "TUTTI_RULES=message:*@direct ${by_fetch}" EVERYWHERE TIMEOUT 45)
tutti_mpi_test(mpi-moves-alone-packed PROGRAM mpi-moves_alone RANKS 2 ENV ${stats} "TUTTI_RULES=message:*@packed ${by_fetch}" TIMEOUT 45)
tutti_mpi_test(mpi-moves-alone-first PROGRAM mpi-moves_alone RANKS 2 ARGS first TIMEOUT 45
               ENV ${stats} TUTTI_HOST_MAPPING_US=300 "TUTTI_RULES=message:*@direct ${by_fetch}")
tutti_mpi_test(mpi-moves-alone-large PROGRAM mpi-moves_alone RANKS 2 ARGS large TIMEOUT 45
               ENV ${stats} TUTTI_HOST_MAPPING_US=300 "TUTTI_RULES=message:*@direct ${by_fetch}")
set(by "*@mpi")
set(by_mpi "bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by} neighbor:${by}")
tutti_mpi_test(mpi-moves-alone-rules PROGRAM mpi-moves_alone RANKS 2 ARGS rules TIMEOUT 45
               ENV ${stats} "TUTTI_RULES=message:*@direct ${by_mpi}")
tutti_mpi_test(mpi-moves-alone-shared PROGRAM mpi-moves_alone RANKS 3 MPIS openmpi TIMEOUT 45
               ENV ${stats} TUTTI_HOST_GPUS=1 "TUTTI_RULES=message:*@direct ${by_fetch}")
# Calls that cross each other.
program(moves_cross)
set(by_cross ENV ${stats} TUTTI_RULES=alltoall:*@direct TIMEOUT 60)
tutti_mpi_test(mpi-moves-cross PROGRAM mpi-moves_cross RANKS 3 RANKS_MPICH 2 ARGS 300 ${by_cross})
tutti_mpi_test(mpi-moves-cross-slow PROGRAM mpi-moves_cross RANKS 2 ARGS 100 ENV ${stats} TUTTI_RULES=alltoall:*@direct TUTTI_HOST_MAPPING_US=300 TUTTI_MAPPING_PRICE_US=1 TIMEOUT 60)
tutti_mpi_test(mpi-moves-cross-threads PROGRAM mpi-moves_cross RANKS 2 ARGS 150 1 ${by_cross})
# Ranks that share GPUs.
program(moves_leaders)
foreach(row ll ll128 direct pipeline)
  set(by "*@${row} *@fetch")
  set(by_row ${stats} TUTTI_LINES=1 TUTTI_CHANNEL_MB=4 TUTTI_TEST_ROW=${row}
             "TUTTI_RULES=bcast:${by} gather:${by} scatter:${by} allgather:${by} alltoall:${by}")
  tutti_mpi_test(mpi-moves-leaders-${row}-1 PROGRAM mpi-moves_leaders RANKS 3 RANKS_MPICH 2 ENV ${by_row} TUTTI_HOST_GPUS=1
                 TIMEOUT 45)
  foreach(gpus 2 3)
    tutti_mpi_test(mpi-moves-leaders-${row}-${gpus} PROGRAM mpi-moves_leaders RANKS 4 MPIS openmpi
                   ENV ${by_row} TUTTI_HOST_GPUS=${gpus} TIMEOUT 45)
  endforeach()
endforeach()
program(topologies EVERYWHERE)
tutti_mpi_test(mpi-topologies PROGRAM mpi-topologies RANKS 2 ENV ${stats} "TUTTI_RULES=message:*@direct *@packed" EVERYWHERE)
tutti_mpi_test(mpi-topologies-4 PROGRAM mpi-topologies RANKS 4 ARGS 3 ENV ${stats} "TUTTI_RULES=message:*@direct *@packed" MPIS openmpi mpich5)
# Blocks of a neighbour that appears twice as one run of the kernels of runs.
foreach(row ll ll128 direct pipeline)
  set(how_ll packets)
  set(how_direct "stored into results or through the windows")
  set(how_ll128 "packets of whole lines")
  set(how_pipeline "chunks through the windows")
  set(by_row ${stats} TUTTI_RULES=neighbor:*@${row} TUTTI_TEST_EXPECT=${how_${row}})
  tutti_mpi_test(mpi-topologies-${row} PROGRAM mpi-topologies RANKS 2 ARGS 3 ENV ${by_row} TIMEOUT 90 MPIS openmpi mpich)
  tutti_mpi_test(mpi-topologies-${row}-3 PROGRAM mpi-topologies RANKS 3 ARGS 2 ENV ${by_row} TIMEOUT 90 MPIS openmpi)
endforeach()
# TUTTI_RULES precede measured and default rules, also where those name rows that come before in moves.def.
foreach(row ll128 pipeline)
  tutti_mpi_test(mpi-topologies-${row}-first PROGRAM mpi-topologies RANKS 2 ARGS 2 TIMEOUT 90 MPIS openmpi
                 ENV ${stats} TUTTI_RULES=neighbor:*@${row} TUTTI_TEST_EXPECT=${how_${row}} TUTTI_RULES_FILE=${CMAKE_CURRENT_SOURCE_DIR}/collectives/packets.rules)
endforeach()
tutti_mpi_test(mpi-topologies-leaders-1 PROGRAM mpi-topologies RANKS 2 ARGS 3 ENV ${stats} TUTTI_HOST_GPUS=1 TIMEOUT 90 MPIS openmpi)
tutti_mpi_test(mpi-topologies-leaders-2 PROGRAM mpi-topologies RANKS 4 ARGS 2 TIMEOUT 90 MPIS openmpi
               ENV ${stats} TUTTI_HOST_GPUS=2 TUTTI_RULES=neighbor:*@leader_pipeline)
program(persistent_moves EVERYWHERE)
# Intel MPI fails by itself where persistent collectives are started again (types_collectives.c).
tutti_mpi_test(mpi-persistent-moves PROGRAM mpi-persistent_moves RANKS 3 RANKS_MPICH 2 ENV ${stats} TIMEOUT 45
               MPIS openmpi mpich openmpi5 mpich5)
tutti_mpi_test(mpi-persistent-moves-4 PROGRAM mpi-persistent_moves RANKS 4 ENV ${stats} TIMEOUT 45 MPIS openmpi)
tutti_mpi_test(mpi-persistent-moves-nodes PROGRAM mpi-persistent_moves RANKS 3 ENV ${stats} TUTTI_NODE_RANKS=2 TIMEOUT 45
               MPIS openmpi)
program(persistent_wrong)
tutti_mpi_test(mpi-persistent-wrong PROGRAM mpi-persistent_wrong RANKS 3 ENV ${stats} TIMEOUT 40 MPIS openmpi)
# Partitioned collectives, with every MPI by Tutti: inside a node, between virtual nodes, by threads, by every algorithm.
program(partitioned_collectives EVERYWHERE WITH collectives/pcoll.c collectives/pcoll_calls.c)
set(pcoll PROGRAM mpi-partitioned_collectives)
tutti_mpi_test(mpi-partitioned-collectives ${pcoll} RANKS 3 RANKS_MPICH 2 MANY 40 EVERYWHERE TIMEOUT 90)
tutti_mpi_test(mpi-partitioned-collectives-4 ${pcoll} RANKS 4 MANY 30 TIMEOUT 90 MPIS openmpi mpich5)
tutti_mpi_test(mpi-partitioned-collectives-nodes ${pcoll} RANKS 4 RANKS_MPICH 2 MANY 30 ENV TUTTI_NODE_RANKS=2 TIMEOUT 120
               MPIS openmpi mpich openmpi5 mpich5 mpiabi)
tutti_mpi_test(mpi-partitioned-collectives-nodes-1 ${pcoll} RANKS 3 RANKS_MPICH 2 MANY 20 ARGS apart ENV ${far} TIMEOUT 120
               EVERYWHERE)
tutti_mpi_test(mpi-partitioned-collectives-threads ${pcoll} RANKS 2 MANY 30 ARGS threads EVERYWHERE TIMEOUT 90)
foreach(row at_once doubling slices ring)
  tutti_mpi_test(mpi-partitioned-collectives-${row} ${pcoll} RANKS 4 MANY 30 TIMEOUT 90 MPIS openmpi
                 ENV ${stats} TUTTI_TEST_EXPECT=${row} TUTTI_TEST_OF=MPIX_Pallreduce_init
                     "TUTTI_RULES=partitioned_reduce:*@${row} *@slices partitioned_bcast:*@pairwise")
endforeach()
tutti_mpi_test(mpi-partitioned-collectives-chain ${pcoll} RANKS 4 MANY 60 TIMEOUT 90 MPIS openmpi
               ENV ${stats} TUTTI_TEST_EXPECT=chain TUTTI_TEST_OF=MPIX_Pscan_init TUTTI_RULES=partitioned_reduce:*@chain)
# Under it the result of an exscan is a term, too, which is copied where the host combines.
tutti_mpi_test(mpi-partitioned-collectives-chain-exscan ${pcoll} RANKS 4 MANY 60 ARGS Pexscan TIMEOUT 90 MPIS openmpi
               ENV ${stats} TUTTI_TEST_EXPECT=chain TUTTI_TEST_OF=MPIX_Pexscan_init TUTTI_RULES=partitioned_reduce:*@chain)
# In place, blocks with gaps arrive in the scratch and are unpacked at the end: the first programs of other rows draw none.
tutti_mpi_test(mpi-partitioned-collectives-gaps ${pcoll} RANKS 2 MANY 120 ARGS Palltoall TIMEOUT 60 MPIS openmpi ENV ${stats})
tutti_mpi_test(mpi-partitioned-collectives-forward ${pcoll} RANKS 4 MANY 30 TIMEOUT 90 MPIS openmpi
               ENV ${stats} TUTTI_TEST_EXPECT=forward TUTTI_TEST_OF=MPIX_Pallgather_init
                   TUTTI_RULES=partitioned_allgather:*@forward)
# Kernels of the ranks meet in allreduces of device memory, marked by the host and by kernels; every call has device requests.
set(meets ${stats} TUTTI_HOST_STRICT=0 "TUTTI_TEST_EXPECT=met in kernels" "TUTTI_TEST_OF=partitioned collectives")
tutti_mpi_test(mpi-partitioned-collectives-kernels ${pcoll} RANKS 3 RANKS_MPICH 2 MANY 30 ARGS kernels EVERYWHERE TIMEOUT 90
               ENV TUTTI_HOST_STRICT=0)
tutti_mpi_test(mpi-partitioned-collectives-meet ${pcoll} RANKS 3 RANKS_MPICH 2 MANY 30 ARGS kernels device Pallreduce TIMEOUT 90
               ENV ${meets} EVERYWHERE)
tutti_mpi_test(mpi-partitioned-collectives-meet-4 ${pcoll} RANKS 4 MANY 30 ARGS device Pallreduce TIMEOUT 90 MPIS openmpi mpich5
               ENV ${stats} "TUTTI_TEST_EXPECT=met in kernels" "TUTTI_TEST_OF=partitioned collectives")
tutti_mpi_test(mpi-partitioned-collectives-meet-threads ${pcoll} RANKS 2 MANY 30 ARGS threads kernels device Pallreduce TIMEOUT 90
               MPIS openmpi mpich5 ENV ${meets})
tutti_mpi_test(mpi-partitioned-collectives-meet-reduce ${pcoll} RANKS 3 RANKS_MPICH 2 MANY 30 ARGS kernels device Preduce TIMEOUT 90
               MPIS openmpi mpich ENV ${meets})
tutti_mpi_test(mpi-partitioned-collectives-meet-engine ${pcoll} RANKS 2 MANY 30 ARGS kernels device Pallreduce TIMEOUT 90 MPIS openmpi
               ENV ${meets} TUTTI_RULES=partitioned_meet:*@engine)
tutti_mpi_test(mpi-partitioned-collectives-meet-gpus ${pcoll} RANKS 2 MANY 20 ARGS kernels device Pallreduce TIMEOUT 90 MPIS openmpi
               ENV ${meets} TUTTI_HOST_GPUS=2)
include(${CMAKE_CURRENT_LIST_DIR}/nodes.cmake)
