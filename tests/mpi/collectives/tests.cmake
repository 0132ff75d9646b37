# Collectives that move data.
program(collectives)
tutti_mpi_test(mpi-collectives PROGRAM mpi-collectives RANKS 3 RANKS_MPICH 2 ENV TUTTI_STATS=1)
program(neighbours EVERYWHERE)
tutti_mpi_test(mpi-neighbours PROGRAM mpi-neighbours RANKS 3 RANKS_MPICH 3 ENV ${stats} EVERYWHERE)
tutti_mpi_test(mpi-neighbours-mpi PROGRAM mpi-neighbours RANKS 2 ENV ${stats} TUTTI_MESSAGES=mpi)
