# What a process holds stays the same over many rounds of everything, in every way that messages can take. Long runs by
# hand: mpi-flat 10000.
tutti_mpi_program(mpi-flat SOURCES flat.c endpoint.c crowd.c LIBRARIES tutti-core MPIS ${TUTTI_MPI_SYSTEM})
foreach(mpi IN LISTS TUTTI_MPI_SYSTEM)
  target_link_libraries(mpi-flat.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
foreach(way direct packed staged)
  tutti_mpi_test(mpi-flat-${way} PROGRAM mpi-flat RANKS 2 ARGS 200 ENV TUTTI_RULES=message:*@${way} TIMEOUT 150)
endforeach()
tutti_mpi_test(mpi-flat-few PROGRAM mpi-flat RANKS 2 ARGS 200 ENV TUTTI_CACHE_ENTRIES=10 TUTTI_RULES=message:*@direct
               TIMEOUT 150)
