tutti_mpi_program(mpi-sequences SOURCES sequences.c sequences_draw.c sequences_data.c sequences_run.c sequences_slots.c sequences_graph.c sequences_text.c lane.c
                  LIBRARIES tutti-core m MPIS ${TUTTI_MPI_SYSTEM})
tutti_mpi_builders("${TUTTI_MPI_SYSTEM}" sequence_builders)
foreach(mpi IN LISTS sequence_builders)
  target_link_libraries(mpi-sequences.${mpi} PRIVATE mpi-kit.${mpi})
endforeach()
