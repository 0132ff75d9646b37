# RTSs that are old or come again. Not Intel MPI by the standard ABI: it ends the program though errors return.
program(stale_rts EVERYWHERE)
tutti_mpi_test(mpi-stale-rts PROGRAM mpi-stale_rts RANKS 2 ENV ${stats} TIMEOUT 80
               MPIS openmpi mpich openmpi5 mpich5 mpiabi impi)
tutti_mpi_test(mpi-stale-rts-packed PROGRAM mpi-stale_rts RANKS 2 ENV ${stats} TUTTI_RULES=message:*@packed TIMEOUT 80)
tutti_mpi_test(mpi-stale-rts-far PROGRAM mpi-stale_rts RANKS 2 ENV ${far} TIMEOUT 80)
# RTSs as short as their messages, and what looks like one.
program(same_rts EVERYWHERE)
foreach(way direct packed)
  tutti_mpi_test(mpi-same-rts-${way} PROGRAM mpi-same_rts RANKS 4 RANKS_MPICH 3 ENV ${stats} TUTTI_RULES=message:*@${way})
endforeach()
program(short_rts EVERYWHERE)
tutti_mpi_test(mpi-short-rts PROGRAM mpi-short_rts RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct EVERYWHERE TIMEOUT 80)
tutti_mpi_test(mpi-short-rts-packed PROGRAM mpi-short_rts RANKS 2 ENV ${stats} TUTTI_RULES=message:*@packed TIMEOUT 80)
# Receives that are older than the first memory of a GPU, and are not watched before.
program(unwatched EVERYWHERE)
set(unwatched_mpis openmpi mpich openmpi5 mpich5 mpiabi impi) # see above
tutti_mpi_test(mpi-unwatched PROGRAM mpi-unwatched RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 40 MPIS ${unwatched_mpis})
foreach(by request comm type gpu)
  string(REPLACE gpu "" args "${by}")
  tutti_mpi_test(mpi-unwatched-${by} PROGRAM mpi-unwatched RANKS 2 ARGS 32 ${args} ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 40 MPIS ${unwatched_mpis})
endforeach()
program(made_early EVERYWHERE)
tutti_mpi_test(mpi-made-early PROGRAM mpi-made_early RANKS 2 ENV ${stats} EVERYWHERE TIMEOUT 45)
tutti_mpi_test(mpi-made-early-direct PROGRAM mpi-made_early RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 45)
# Their notes, each of a source of src/mpi by itself.
foreach(alone unwatched_slots:request/unwatched unwatched_random:request/unwatched made_slots:message/made
              stamps:message/stamped,message/stamped_persistent,message/made)
  string(REGEX REPLACE ":.*" "" name ${alone})
  string(REGEX REPLACE ".*:" "" sources ${alone})
  string(REGEX REPLACE "([a-z_/]+),?" "${PROJECT_SOURCE_DIR}/src/mpi/\\1.c;" sources ${sources})
  program(${name})
  foreach(mpi IN LISTS builders)
    if(TARGET mpi-${name}.${mpi})
      string(TOUPPER ${TUTTI_MPI_${mpi}_FAMILY} family)
      target_sources(mpi-${name}.${mpi} PRIVATE ${sources})
      target_compile_definitions(mpi-${name}.${mpi} PRIVATE TUTTI_FRONT_${family} TUTTI_MPI_HEADER=<mpi.h> OMPI_SKIP_MPICXX
                                                            MPICH_SKIP_MPICXX)
    endif()
  endforeach()
  string(REPLACE _ - row ${name})
  tutti_mpi_test(mpi-${row} PROGRAM mpi-${name} RANKS 1 NO_PRELOAD)
endforeach()
# Kernels of one block and of several that stay, in turns.
program(stays)
tutti_mpi_test(mpi-stays PROGRAM mpi-stays RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TUTTI_HOST_STAY_US=1000 TIMEOUT 60)
tutti_mpi_test(mpi-stays-linger PROGRAM mpi-stays RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TUTTI_LINGER_US=300 TIMEOUT 60)
# Messages that their senders store into the receivers' buffers.
program(puts)
tutti_mpi_test(mpi-puts PROGRAM mpi-puts RANKS 2 ENV ${stats} "TUTTI_RULES=message:*@direct message_put:*@always" TIMEOUT 60)
tutti_mpi_test(mpi-puts-three PROGRAM mpi-puts RANKS 3 RANKS_MPICH 2 ENV ${stats} "TUTTI_RULES=message:*@engines message_put:*@always" TUTTI_HOST_GPUS=3 TIMEOUT 60)
# Senders that are late are not waited for.
tutti_mpi_test(mpi-puts-exchange PROGRAM mpi-puts RANKS 2 ARGS 60 0 ENV ${stats} "TUTTI_RULES=message:*@direct message_put:*@exchange"
               TUTTI_HOST_GPUS=2 TIMEOUT 60)
# The second large allocation is mapped sooner than the first one.
program(large_arrays)
tutti_mpi_test(mpi-large-arrays PROGRAM mpi-large_arrays RANKS 2 ENV ${stats} TUTTI_HOST_MAPPING_US=2000 TUTTI_HOST_JOINED_US=200 TIMEOUT 60)
program(alike)
tutti_mpi_test(mpi-alike PROGRAM mpi-alike RANKS 2 ENV ${stats} TIMEOUT 45)
tutti_mpi_test(mpi-alike-direct PROGRAM mpi-alike RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 45)
program(alike_ways)
tutti_mpi_test(mpi-alike-ways PROGRAM mpi-alike_ways RANKS 2 ENV ${stats} TUTTI_LOG=debug "TUTTI_RULES=message:0-4k@direct *@engines" TIMEOUT 45)
foreach(mpi IN LISTS TUTTI_MPI_SYSTEM) # an offer that names another allocation is packed instead
  set_tests_properties(mpi-alike-ways.${mpi} PROPERTIES FAIL_REGULAR_EXPRESSION "names bytes beyond its allocation")
endforeach()
program(alike_freed)
set(alike_freed ENV ${stats} TUTTI_RULES=message:*@direct)
tutti_mpi_test(mpi-alike-freed PROGRAM mpi-alike_freed RANKS 2 ARGS 6000 ${alike_freed} TIMEOUT 60)
tutti_mpi_test(mpi-alike-freed-threads PROGRAM mpi-alike_freed RANKS 2 ARGS 2000 3 ${alike_freed} TIMEOUT 60)
tutti_mpi_test(mpi-alike-freed-gpus PROGRAM mpi-alike_freed RANKS 2 ARGS 3000 ${alike_freed} TUTTI_HOST_GPUS=2 TIMEOUT 60)
tutti_mpi_test(mpi-alike-freed-aware PROGRAM mpi-alike_freed RANKS 2 ARGS 3000 ${alike_freed} TUTTI_HOST_STRICT=0
               TUTTI_MPI_GPU_AWARE=1 TIMEOUT 60)
# What is known of the MPI's handles of receives, of the MPI alone.
program(own_handles EVERYWHERE)
tutti_mpi_test(mpi-own-handles PROGRAM mpi-own_handles RANKS 2 EVERYWHERE NO_PRELOAD)
program(persistent_random EVERYWHERE)
tutti_mpi_test(mpi-persistent-random PROGRAM mpi-persistent_random RANKS 2 ENV ${stats} EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-persistent-random-direct PROGRAM mpi-persistent_random RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 60)
tutti_mpi_test(mpi-persistent-random-slow PROGRAM mpi-persistent_random RANKS 2 ENV ${stats} TUTTI_HOST_MAPPING_US=1000000 TIMEOUT 60)
tutti_mpi_test(mpi-persistent-random-staged PROGRAM mpi-persistent_random RANKS 2 ENV ${stats} TUTTI_RULES=message:*@staged TIMEOUT 60)
tutti_mpi_test(mpi-persistent-random-threads PROGRAM mpi-persistent_random RANKS 2 ARGS 50 threads ENV ${stats} TIMEOUT 60)
# After a send its rank waits for the receiver outside the MPI.
program(outside WITH ${CMAKE_CURRENT_SOURCE_DIR}/kit/turns.c)
foreach(us 0 3000 20000)
  tutti_mpi_test(mpi-outside-${us} PROGRAM mpi-outside RANKS 2 TIMEOUT 100
                 ENV TUTTI_HOST_MAPPING_US=${us} OMPI_MCA_btl_vader_single_copy_mechanism=none)
endforeach()
# With less scratch than the longest messages need, which are carried.
tutti_mpi_test(mpi-outside-local PROGRAM mpi-outside RANKS 2 ARGS local ENV TUTTI_ENDPOINT_MB=1 TIMEOUT 60)
# Short messages into memory of the host.
program(to_host)
tutti_mpi_test(mpi-to-host PROGRAM mpi-to_host RANKS 2 ENV ${stats} "TUTTI_RULES=message:*@direct message_to_host:0-8k@staged" TIMEOUT 45)
# Staged messages that one call completes.
program(together EVERYWHERE)
tutti_mpi_test(mpi-together PROGRAM mpi-together RANKS 2 ENV ${stats} ${left_to_mpi} EVERYWHERE TIMEOUT 45)
tutti_mpi_test(mpi-together-slow PROGRAM mpi-together RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct,*@landed TUTTI_HOST_MAPPING_US=300 TUTTI_MAPPING_PRICE_US=20000000 TIMEOUT 45)
# No allocation is mapped: short nonblocking sends land.
set(unmapped TUTTI_HOST_MAPPING_US=300 TUTTI_MAPPING_PRICE_US=20000000)
set(landed ENV ${stats} TUTTI_RULES=message:*@direct,*@landed ${unmapped})
program(landings EVERYWHERE WITH ${CMAKE_CURRENT_SOURCE_DIR}/kit/turns.c)
# Intel MPI's library of the ABI ends a process whose receive is too short, though errors return.
tutti_mpi_test(mpi-landings PROGRAM mpi-landings RANKS 2 ${landed} OMPI_MCA_btl_vader_single_copy_mechanism=none TIMEOUT 60
               MPIS openmpi mpich openmpi5 mpich5 mpiabi impi)
tutti_mpi_test(mpi-landings-rules PROGRAM mpi-landings RANKS 2 ENV ${stats} TUTTI_RULES=message:*@landed,*@staged
                   OMPI_MCA_btl_vader_single_copy_mechanism=none TIMEOUT 60)
tutti_mpi_test(mpi-landings-left-out PROGRAM mpi-landings RANKS 2 ARGS mapped ENV ${stats} TUTTI_RULES=message:*@direct,*@staged ${unmapped} TIMEOUT 60)
tutti_mpi_test(mpi-landings-turns PROGRAM mpi-landings RANKS 2 ARGS MPS ${landed} TUTTI_HOST_GPUS=1 TUTTI_HOST_TURNS_US=70 TIMEOUT 60)
set(freed ENV ${stats} TUTTI_RULES=message:*@direct,*@landed TUTTI_HOST_MAPPING_US=300 TUTTI_MAPPING_PRICE_US=5000)
tutti_mpi_test(mpi-landings-freed PROGRAM mpi-alike_freed RANKS 2 ARGS 3000 ${freed} TIMEOUT 60)
tutti_mpi_test(mpi-landings-freed-threads PROGRAM mpi-alike_freed RANKS 2 ARGS 2000 3 ${freed} TIMEOUT 60)
tutti_mpi_test(mpi-landings-freed-gpus PROGRAM mpi-alike_freed RANKS 2 ARGS 3000 ${freed} TUTTI_HOST_GPUS=2 TIMEOUT 60)
tutti_mpi_test(mpi-landings-persistent PROGRAM mpi-persistent_random RANKS 2 ${landed} TIMEOUT 60)
tutti_mpi_test(mpi-landings-persistent-threads PROGRAM mpi-persistent_random RANKS 2 ARGS 50 threads ${landed} TIMEOUT 60)
# Messages in which only one rank takes part end in MPI_Finalize.
program(unmatched EVERYWHERE)
# MPICH 5 aborts in its own part of MPI_Finalize, in a check of sends that nobody has received.
tutti_mpi_test(mpi-unmatched-receives PROGRAM mpi-unmatched RANKS 2 ARGS receives EVERYWHERE TIMEOUT 90)
foreach(which sends persistent all)
  tutti_mpi_test(mpi-unmatched-${which} PROGRAM mpi-unmatched RANKS 2 ARGS ${which} TIMEOUT 90
                 MPIS openmpi mpich openmpi5 impi)
endforeach()
tutti_mpi_test(mpi-unmatched-far PROGRAM mpi-unmatched RANKS 2 ARGS all ENV TUTTI_NODE_RANKS=1 TUTTI_RULES=message_far:*@pipelined TIMEOUT 90)
tutti_mpi_test(mpi-unmatched-direct PROGRAM mpi-unmatched RANKS 2 ARGS all ENV TUTTI_RULES=message:*@direct TIMEOUT 90)
