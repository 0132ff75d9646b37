# What messages cost: the first ones, questions to the GPU's driver, memory of many that are open at once, time of senders
# whose receiver is away.
program(questions EVERYWHERE)
tutti_mpi_test(mpi-questions PROGRAM mpi-questions RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct EVERYWHERE TIMEOUT 60)
program(open_many EVERYWHERE)
tutti_mpi_test(mpi-open-many PROGRAM mpi-open_many RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 90)
program(first EVERYWHERE)
tutti_mpi_test(mpi-first PROGRAM mpi-first RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-first-several PROGRAM mpi-first RANKS 2 ARGS several ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 60)
program(landed)
tutti_mpi_test(mpi-landed PROGRAM mpi-landed RANKS 2 ENV TUTTI_RULES=message:*@direct TIMEOUT 60)
# MPICH's MPI_STATUSES_IGNORE is an address that compilers take for an array without room.
foreach(mpi IN LISTS TUTTI_MPIS)
  foreach(name questions open_many)
    if(TARGET mpi-${name}.${mpi})
      target_compile_options(mpi-${name}.${mpi} PRIVATE -Wno-stringop-overflow)
    endif()
  endforeach()
endforeach()
