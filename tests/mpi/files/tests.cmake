# MPI-IO on device memory, beside the same accesses of host memory in a second file.
# Not under Intel MPI 2021.18: there this program does not end without Tutti and device memory either (TUTTI_TEST_PLAIN=1).
program(files EVERYWHERE WITH files/marks.c)
tutti_mpi_test(mpi-files PROGRAM mpi-files RANKS 2 MANY 12 ENV ${stats} TUTTI_STAGING_MB=1 TIMEOUT 60 MPIS openmpi mpich openmpi5 mpich5 mpiabi)
tutti_mpi_test(mpi-files-3 PROGRAM mpi-files RANKS 3 RANKS_MPICH 2 MANY 8 ENV ${stats} TUTTI_TEST_SEED=77 TIMEOUT 60)
# An MPI that takes device memory in other calls gets host memory in those of files.
tutti_mpi_test(mpi-files-aware PROGRAM mpi-files RANKS 2 ARGS 2 ENV ${stats} TUTTI_MPI_GPU_AWARE=1 TUTTI_STAGING_MB=1 TUTTI_TEST_SEED=79 TIMEOUT 60)
# Files as programs write them: subarray and darray views, and segments as IOR has them.
program(views EVERYWHERE)
tutti_mpi_test(mpi-views PROGRAM mpi-views RANKS 2 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich openmpi5 mpich5 mpiabi)
tutti_mpi_test(mpi-views-4 PROGRAM mpi-views RANKS 4 RANKS_MPICH 2 ENV ${stats} TUTTI_STAGING_MB=1 TIMEOUT 60)
# Random programs with views, by every call; a plain model says what the file and memory must hold.
program(contents EVERYWHERE WITH files/contents_draw.c rma/model_types.c every/every_memory.c)
tutti_mpi_test(mpi-contents PROGRAM mpi-contents RANKS 2 MANY 40 ENV ${stats} TUTTI_STAGING_MB=1 TIMEOUT 240 MPIS openmpi mpich mpich5 mpiabi)
# The other ways of docs/tuning.md: copies by kernels, also of the first piece and the last, and pieces of several lengths.
set(ways "TUTTI_RULES=file_write: 0-512k@kernel *@pieces file_read: 0-512k@kernel *@pieces")
tutti_mpi_test(mpi-contents-ways PROGRAM mpi-contents RANKS 2 MANY 20 ENV ${stats} TUTTI_STAGING_MB=1 TUTTI_TEST_SEED=81 ${ways} TIMEOUT 240)
# Accesses in pieces one after the other, each looked at as soon as it returns.
program(pieces EVERYWHERE)
tutti_mpi_test(mpi-pieces PROGRAM mpi-pieces RANKS 2 MANY 100 ENV ${stats} TUTTI_STAGING_MB=1 TIMEOUT 60 MPIS openmpi mpich openmpi5 mpich5 mpiabi)
tutti_mpi_test(mpi-pieces-ways PROGRAM mpi-pieces RANKS 2 MANY 60 ENV ${stats} TUTTI_STAGING_MB=1 TUTTI_TEST_SEED=87 ${ways} TIMEOUT 60)
tutti_mpi_test(mpi-pieces-grow PROGRAM mpi-pieces RANKS 2 MANY 100 ENV ${stats} TUTTI_TEST_SEED=86
               "TUTTI_RULES=file_write: *@pieces file_read: *@pieces" TIMEOUT 60)
# One rank alone, whose collective calls may be cut too.
tutti_mpi_test(mpi-contents-alone PROGRAM mpi-contents RANKS 1 MANY 30 ENV ${stats} TUTTI_STAGING_MB=1 TUTTI_TEST_SEED=83 ${ways} TIMEOUT 240)
tutti_mpi_test(mpi-files-ways PROGRAM mpi-files RANKS 2 MANY 8 ENV ${stats} TUTTI_STAGING_MB=1 TUTTI_TEST_SEED=82 ${ways} TIMEOUT 60)
