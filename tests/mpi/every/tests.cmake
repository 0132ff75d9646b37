# Every wrapped call that names a buffer, made from the rows of calls.def, in all kinds of memory. Not under Intel MPI 2021.18: see
# mpi-files; not under Open MPI 5.0.11, whose windows over shared memory end with a segmentation fault in opal_progress in 10 of 25
# runs without Tutti (TUTTI_TEST_PLAIN=1).
program(every EVERYWHERE WITH every/every_rows.c every/every_draw.c every/every_run.c every/every_memory.c)
tutti_mpi_test(mpi-every PROGRAM mpi-every RANKS 2 ARGS 2 ENV ${stats} TUTTI_STAGING_MB=1 TIMEOUT 110 MPIS openmpi mpich mpich5 mpiabi)
# Three ranks of MPICH spin on fewer cores.
tutti_mpi_test(mpi-every-3 PROGRAM mpi-every RANKS 3 RANKS_MPICH 2 ARGS 1 ENV ${stats} TUTTI_TEST_SEED=5 TIMEOUT 110)
# Persistent collectives with their large-count forms, which MPICH 4.0 gets wrong from 3 ranks on.
tutti_mpi_test(mpi-every-persistent PROGRAM mpi-every RANKS 4 ARGS 2 _init ENV ${stats} TUTTI_TEST_SEED=6 TIMEOUT 110)
