# One-sided communication with device memory, beside the same programs on host memory.
program(rma EVERYWHERE WITH rma/operations.c)
tutti_mpi_test(mpi-rma PROGRAM mpi-rma RANKS 2 ARGS 20 ENV ${stats} TIMEOUT 60 EVERYWHERE)
tutti_mpi_test(mpi-rma-3 PROGRAM mpi-rma RANKS 3 RANKS_MPICH 2 ARGS 12 ENV ${stats} TUTTI_TEST_SEED=77 TIMEOUT 60)
