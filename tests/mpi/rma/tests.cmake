# One-sided communication with device memory, beside the same programs on host memory.
program(rma EVERYWHERE WITH rma/operations.c rma/owner.c)
program(tickets EVERYWHERE)
program(mapped EVERYWHERE)
# Not under Open MPI 5.0.11: program 5 of this seed leaves other bytes in a window of host memory there without Tutti too
# (TUTTI_TEST_PLAIN=1).
tutti_mpi_test(mpi-rma PROGRAM mpi-rma RANKS 2 ARGS 20 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich mpich5 mpiabi)
tutti_mpi_test(mpi-rma-3 PROGRAM mpi-rma RANKS 3 RANKS_MPICH 2 ARGS 12 ENV ${stats} TUTTI_TEST_SEED=77 TIMEOUT 60)
# Ranks of several nodes: copies in host memory, attached memory too.
tutti_mpi_test(mpi-rma-far PROGRAM mpi-rma RANKS 2 ARGS 20 far ENV ${stats} TUTTI_NODE_RANKS=1 TUTTI_TEST_SEED=5 TIMEOUT 60 MPIS openmpi mpich)
# Attached memory that other ranks cannot map when an operation reaches it: its owner reads and writes it for them.
tutti_mpi_test(mpi-rma-late PROGRAM mpi-rma RANKS 2 ARGS 20 late ENV ${stats} TUTTI_TEST_SEED=6 TIMEOUT 60 MPIS openmpi mpich)
# Each rank has a window on one GPU and origins on another, which the first one reaches.
tutti_mpi_test(mpi-rma-gpus PROGRAM mpi-rma RANKS 2 ARGS 12 TIMEOUT 60 MPIS openmpi mpich
               ENV ${stats} TUTTI_TEST_SEED=4 TUTTI_HOST_GPUS=3 TUTTI_TEST_CARDS=3 TUTTI_HOST_LINKS=all)
tutti_mpi_test(mpi-rma-tickets PROGRAM mpi-tickets RANKS 4 RANKS_MPICH 3 ARGS 60 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich)
tutti_mpi_test(mpi-rma-mapped PROGRAM mpi-mapped RANKS 3 RANKS_MPICH 2 ARGS 30 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich)

# An update of a target in the middle of another one, and each call that makes two copies of a window one, by construction.
program(updates EVERYWHERE WITH rma/meeting.c)
program(copies EVERYWHERE WITH rma/meeting.c)
program(flushes EVERYWHERE)
program(repeated_updates EVERYWHERE)
program(unmet EVERYWHERE)
tutti_mpi_test(mpi-rma-updates PROGRAM mpi-updates RANKS 2 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich mpich5)
tutti_mpi_test(mpi-rma-copies PROGRAM mpi-copies RANKS 2 ENV ${stats} TUTTI_NODE_RANKS=1 TIMEOUT 60 MPIS openmpi mpich mpich5)
tutti_mpi_test(mpi-rma-flushes PROGRAM mpi-flushes RANKS 2 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich mpich5)
tutti_mpi_test(mpi-rma-repeated-updates PROGRAM mpi-repeated_updates RANKS 2 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich mpich5)
# Memory that is attached before other ranks have met a GPU.
tutti_mpi_test(mpi-rma-unmet PROGRAM mpi-unmet RANKS 2 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich mpich5)

# Regions for which there is no row.
program(attach_refused)
tutti_mpi_test(mpi-rma-attach-refused PROGRAM mpi-attach_refused RANKS 2 ENV ${stats} TIMEOUT 60 MPIS mpich)

# Random programs on windows of every flavour; a plain model says what memory must hold.
program(model EVERYWHERE WITH rma/model_draw.c rma/model_operate.c rma/model_run.c rma/model_steps.c rma/model_text.c rma/model_types.c every/every_memory.c)
set(its TIMEOUT 240 ENV ${stats})
tutti_mpi_test(mpi-rma-model PROGRAM mpi-model RANKS 2 MANY 40 ${its} MPIS openmpi mpich mpich5 mpiabi)
tutti_mpi_test(mpi-rma-model-3 PROGRAM mpi-model RANKS 3 RANKS_MPICH 2 MANY 25 ${its} TUTTI_TEST_SEED=78)
# Windows of MPI_Win_allocate in device memory alone: nothing is the MPI's.
tutti_mpi_test(mpi-rma-model-alone PROGRAM mpi-model RANKS 3 RANKS_MPICH 2 MANY 60 ARGS 4 ${its} TUTTI_TEST_SEED=79)
# Ranks of several nodes: copies in host memory.
tutti_mpi_test(mpi-rma-model-far PROGRAM mpi-model RANKS 2 MANY 30 ${its} TUTTI_NODE_RANKS=1 TUTTI_TEST_SEED=80)
