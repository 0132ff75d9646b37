# What messages cost: the first ones, questions to the GPU's driver, memory of many that are open at once, time of senders
# whose receiver is away.
program(questions EVERYWHERE)
set(never ${stats} TUTTI_RULES=message:*@direct,*@landed TUTTI_HOST_MAPPING_US=1000000 TUTTI_MAPPING_PRICE_US=20000000) # nothing is mapped, in advance neither
tutti_mpi_test(mpi-questions PROGRAM mpi-questions RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-questions-first PROGRAM mpi-questions RANKS 2 ARGS first
               ENV ${never} TIMEOUT 60)
tutti_mpi_test(mpi-questions-staged PROGRAM mpi-questions RANKS 2 ARGS staged ENV ${stats} TUTTI_NODE_RANKS=1 EVERYWHERE TIMEOUT 60)
program(questions_calls EVERYWHERE)
set(left "TUTTI_RULES=bcast:*@mpi gather:*@mpi scatter:*@mpi allgather:*@mpi alltoall:*@mpi moves_mixed:*@mpi moves_mixed_root:*@mpi moves_pinned:*@mpi moves_pinned_root:*@mpi")
tutti_mpi_test(mpi-questions-calls PROGRAM mpi-questions_calls RANKS 4 RANKS_MPICH 2 ENV ${stats} EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-questions-calls-staged PROGRAM mpi-questions_calls RANKS 4 RANKS_MPICH 2 ARGS staged ENV ${stats} ${left} EVERYWHERE TIMEOUT 60)
program(questions_again)
tutti_mpi_test(mpi-questions-again PROGRAM mpi-questions_again RANKS 2
               ENV ${stats} "TUTTI_RULES=bcast:*@ll gather:*@ll scatter:*@ll allgather:*@ll alltoall:*@ll allreduce:*@ll" TIMEOUT 60)
program(open_many EVERYWHERE)
tutti_mpi_test(mpi-open-many PROGRAM mpi-open_many RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 90)
program(first EVERYWHERE)
tutti_mpi_test(mpi-first PROGRAM mpi-first RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-first-several PROGRAM mpi-first RANKS 2 ARGS several ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 60)
tutti_mpi_test(mpi-first-several-slow PROGRAM mpi-first RANKS 2 ARGS several ENV ${stats} TUTTI_RULES=message:*@direct,*@landed TUTTI_HOST_MAPPING_US=1000 TIMEOUT 90)
program(mapping EVERYWHERE)
set(slow ${stats} TUTTI_RULES=message:*@direct,*@landed)
tutti_mpi_test(mpi-mapping PROGRAM mpi-mapping RANKS 2 ENV ${slow} TUTTI_HOST_MAPPING_US=1000000 EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-mapping-pays PROGRAM mpi-mapping RANKS 2 ARGS pays ENV ${slow} TUTTI_HOST_MAPPING_US=2000 EVERYWHERE TIMEOUT 90)
tutti_mpi_test(mpi-mapping-price PROGRAM mpi-mapping RANKS 2 ARGS price
               ENV ${slow} TUTTI_HOST_MAPPING_US=300000 TUTTI_MAPPING_PRICE_US=2000 TIMEOUT 90)
tutti_mpi_test(mpi-mapping-joined PROGRAM mpi-mapping RANKS 2 ARGS joined
               ENV ${slow} TUTTI_HOST_MAPPING_US=30000 TUTTI_HOST_JOINED_US=2000 TIMEOUT 60)
tutti_mpi_test(mpi-mapping-credit PROGRAM mpi-mapping RANKS 2 ARGS credit ENV ${slow} TUTTI_HOST_MAPPING_US=20000 EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-mapping-arrays PROGRAM mpi-mapping RANKS 2 ARGS arrays ENV ${slow} TUTTI_HOST_MAPPING_US=20000 TIMEOUT 60)
tutti_mpi_test(mpi-mapping-scratch PROGRAM mpi-mapping RANKS 2 ARGS scratch ENV ${slow} TUTTI_HOST_MAPPING_US=2000 TIMEOUT 90)
tutti_mpi_test(mpi-mapping-short PROGRAM mpi-mapping RANKS 2 ARGS short ENV ${slow} TUTTI_HOST_MAPPING_US=2000 EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-mapping-freed PROGRAM mpi-mapping RANKS 2 ARGS freed ENV ${slow} TUTTI_HOST_MAPPING_US=30 TIMEOUT 60)
program(mapping_random EVERYWHERE)
tutti_mpi_test(mpi-mapping-random PROGRAM mpi-mapping_random RANKS 2 ENV ${slow} TUTTI_HOST_MAPPING_US=300 EVERYWHERE TIMEOUT 90)
tutti_mpi_test(mpi-mapping-random-few PROGRAM mpi-mapping_random RANKS 2
               ENV ${slow} TUTTI_HOST_MAPPING_US=2000 TUTTI_CACHE_ENTRIES=4 TUTTI_ENDPOINT_MB=1 TIMEOUT 90)
program(ahead)
tutti_mpi_test(mpi-ahead PROGRAM mpi-ahead RANKS 2 ENV ${never} TIMEOUT 60)
tutti_mpi_test(mpi-ahead-nonblocking PROGRAM mpi-ahead RANKS 2 ARGS nonblocking ENV ${never} TIMEOUT 60)
tutti_mpi_test(mpi-ahead-packed PROGRAM mpi-ahead RANKS 2 ARGS packed ENV ${slow} TUTTI_HOST_MAPPING_US=2000 TIMEOUT 90)
program(own)
foreach(how messages waits blocking windows)
  tutti_mpi_test(mpi-own-${how} PROGRAM mpi-own RANKS 2 ARGS ${how} ENV ${slow} TUTTI_HOST_MAPPING_US=2000 TIMEOUT 90)
endforeach()
program(first_calls)
set(first_packets "TUTTI_RULES=bcast:0-4k@ll *@pipeline alltoall:0-4k@ll *@pipeline" TUTTI_LINES=1 TUTTI_CHANNEL_MB=2)
tutti_mpi_test(mpi-first-calls PROGRAM mpi-first_calls RANKS 4 RANKS_MPICH 2
               ENV ${stats} ${first_packets} TUTTI_HOST_MAPPING_US=100 TUTTI_MAPPING_PRICE_US=300 EVERYWHERE TIMEOUT 90)
tutti_mpi_test(mpi-first-calls-random PROGRAM mpi-first_calls RANKS 3 RANKS_MPICH 2 ARGS random
               ENV ${stats} ${first_packets} TUTTI_HOST_MAPPING_US=100 TUTTI_MAPPING_PRICE_US=300 TIMEOUT 90)
program(first_short)
foreach(call Bcast Allgather Alltoall Allreduce)
  tutti_mpi_test(mpi-first-short-${call} PROGRAM mpi-first_short RANKS 2 ARGS MPI_${call} TIMEOUT 60
                 ENV ${stats} "TUTTI_RULES=bcast:*@ll allgather:*@ll alltoall:*@ll" TUTTI_HOST_MAPPING_US=1)
endforeach()
program(new_comms EVERYWHERE)
tutti_mpi_test(mpi-new-comms PROGRAM mpi-new_comms RANKS 4 RANKS_MPICH 2
               ENV ${stats} ${first_packets} TUTTI_HOST_MAPPING_US=1 EVERYWHERE TIMEOUT 90)
program(tuner EVERYWHERE)
set(tuned ${stats} "TUTTI_RULES=message:*@direct alltoall:*@pipeline" TUTTI_CHANNEL_MB=2 TUTTI_HOST_MAPPING_US=2000)
tutti_mpi_test(mpi-tuner PROGRAM mpi-tuner RANKS 2 ENV ${tuned} EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-tuner-few PROGRAM mpi-tuner RANKS 2 ARGS few ENV ${tuned} TIMEOUT 60)
program(repeated EVERYWHERE)
tutti_mpi_test(mpi-repeated PROGRAM mpi-repeated RANKS 2
               ENV ${stats} "TUTTI_RULES=neighbor:*@ll moves_nonblocking:*@ll" TUTTI_TEST_EXPECT=packets EVERYWHERE TIMEOUT 60)
program(left EVERYWHERE)
set(teams ${stats} "TUTTI_RULES=bcast:*@pipeline allreduce:*@pipeline moves_mixed:*@mpi moves_mixed_root:*@mpi moves_pinned:*@mpi moves_pinned_root:*@mpi" TUTTI_CHANNEL_MB=2)
foreach(how alike turns apart)
  tutti_mpi_test(mpi-left-${how} PROGRAM mpi-left RANKS 3 RANKS_MPICH 2 ARGS ${how} ENV ${teams} EVERYWHERE TIMEOUT 60)
endforeach()
# Rules that would take the calls if the peers' memory were pinned.
set(pinned "TUTTI_RULES=bcast:*@pipeline allreduce:*@pipeline moves_mixed:*@mpi moves_mixed_root:*@mpi moves_pinned:*@direct moves_pinned_root:*@direct" TUTTI_CHANNEL_MB=2)
tutti_mpi_test(mpi-left-pinned PROGRAM mpi-left RANKS 3 RANKS_MPICH 2 ARGS alike pinned ENV ${stats} ${pinned} TIMEOUT 60)
program(landed)
tutti_mpi_test(mpi-landed PROGRAM mpi-landed RANKS 2 ENV TUTTI_RULES=message:*@direct TIMEOUT 60)
# MPICH's MPI_STATUSES_IGNORE is an address that compilers take for an array without room.
foreach(mpi IN LISTS TUTTI_MPIS)
  foreach(name questions open_many mapping mapping_random ahead own tuner)
    if(TARGET mpi-${name}.${mpi})
      target_compile_options(mpi-${name}.${mpi} PRIVATE -Wno-stringop-overflow)
    endif()
  endforeach()
endforeach()
# Calls on host memory: allocations and locks besides the MPI's own.
program(frugal)
foreach(mpi IN LISTS TUTTI_MPI_SYSTEM)
  set_target_properties(mpi-frugal.${mpi} PROPERTIES ENABLE_EXPORTS ON)
endforeach()
tutti_mpi_test(mpi-frugal PROGRAM mpi-frugal RANKS 1 TIMEOUT 45)
program(long_whole)
tutti_mpi_test(mpi-long-whole PROGRAM mpi-long_whole RANKS 2 TIMEOUT 45)
# Ranks that share a GPU and take turns there, as without MPS; with it; and with a GPU each.
program(turns EVERYWHERE)
tutti_mpi_test(mpi-turns PROGRAM mpi-turns RANKS 2 ARGS 1 EVERYWHERE TIMEOUT 90
               ENV ${stats} TUTTI_RULES=message:*@direct TUTTI_HOST_GPUS=1 TUTTI_HOST_TURNS_US=500)
tutti_mpi_test(mpi-turns-mps PROGRAM mpi-turns RANKS 2 ARGS 0 TIMEOUT 90
               ENV ${stats} TUTTI_RULES=message:*@direct TUTTI_HOST_GPUS=1)
tutti_mpi_test(mpi-turns-apart PROGRAM mpi-turns RANKS 2 ARGS 0 TIMEOUT 90
               ENV ${stats} TUTTI_RULES=message:*@direct TUTTI_HOST_GPUS=2 TUTTI_HOST_LINKS=all TUTTI_HOST_TURNS_US=500)
tutti_mpi_test(mpi-turns-late PROGRAM mpi-turns RANKS 2 ARGS late TIMEOUT 60
               ENV ${stats} TUTTI_RULES=message:*@direct,*@landed TUTTI_HOST_GPUS=1 TUTTI_HOST_MAPPING_US=500 TUTTI_HOST_TURNS_US=500)
program(turns_first)
foreach(turns 0 1)
  string(REPLACE 1 100 us ${turns})
  tutti_mpi_test(mpi-turns-first-${turns} PROGRAM mpi-turns_first RANKS 2 ARGS ${turns} TIMEOUT 60
                 ENV ${stats} "TUTTI_RULES=message:*@direct bcast:*@leader_pipeline" TUTTI_HOST_GPUS=1 TUTTI_HOST_LINKS=all TUTTI_HOST_MAPPING_US=500 TUTTI_HOST_TURNS_US=${us})
endforeach()
program(turns_neighbours)
set(turns_packets TUTTI_CHANNEL_MB=2 "TUTTI_RULES=message:*@direct neighbor:0-4k@ll *@pipeline *@fetch" TUTTI_HOST_GPUS=1)
tutti_mpi_test(mpi-turns-neighbours PROGRAM mpi-turns_neighbours RANKS 2 ARGS 1 TIMEOUT 90
               ENV ${stats} ${turns_packets} TUTTI_HOST_TURNS_US=200)
tutti_mpi_test(mpi-turns-neighbours-staged PROGRAM mpi-turns_neighbours RANKS 2 ARGS 1 staged TIMEOUT 90
               ENV ${stats} TUTTI_CHANNEL_MB=2 TUTTI_HOST_GPUS=1 TUTTI_HOST_TURNS_US=200
                   "TUTTI_RULES=message:*@direct neighbor:0-4k@ll,*@pipeline,*@mpi")
tutti_mpi_test(mpi-turns-neighbours-mps PROGRAM mpi-turns_neighbours RANKS 2 ARGS 0 TIMEOUT 90 ENV ${stats} ${turns_packets})
tutti_mpi_test(mpi-turns-neighbours-apart PROGRAM mpi-turns_neighbours RANKS 2 ARGS 0 TIMEOUT 90
               ENV ${stats} ${turns_packets} TUTTI_HOST_GPUS=2 TUTTI_HOST_LINKS=all TUTTI_HOST_TURNS_US=200)
