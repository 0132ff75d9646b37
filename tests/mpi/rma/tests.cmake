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
program(locked_long EVERYWHERE)
program(repeated_updates EVERYWHERE)
program(unmet EVERYWHERE)
tutti_mpi_test(mpi-rma-updates PROGRAM mpi-updates RANKS 2 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich mpich5)
tutti_mpi_test(mpi-rma-copies PROGRAM mpi-copies RANKS 2 ENV ${stats} TUTTI_NODE_RANKS=1 TIMEOUT 60 MPIS openmpi mpich mpich5)
tutti_mpi_test(mpi-rma-flushes PROGRAM mpi-flushes RANKS 2 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich mpich5)
tutti_mpi_test(mpi-rma-locked-long PROGRAM mpi-locked_long RANKS 2 TIMEOUT 60 MPIS openmpi mpich mpich5)
tutti_mpi_test(mpi-rma-locked-long-messages PROGRAM mpi-locked_long RANKS 2 ENV OMPI_MCA_osc=pt2pt TIMEOUT 60 MPIS openmpi)
tutti_mpi_test(mpi-rma-repeated-updates PROGRAM mpi-repeated_updates RANKS 2 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich mpich5)
# Memory that is attached before other ranks have met a GPU.
tutti_mpi_test(mpi-rma-unmet PROGRAM mpi-unmet RANKS 2 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich mpich5)

# Receives, operations on windows, packing and collectives without a buffer.
program(no_buffer EVERYWHERE)
tutti_mpi_test(mpi-rma-no-buffer PROGRAM mpi-no_buffer RANKS 2 ENV ${stats} TIMEOUT 60 MPIS openmpi mpich mpich5)

# Regions that are refused. Under Open MPI not for want of rows: the other rank is behind, so some regions have copies, and an attach
# of Open MPI 4.1 behind one that it has refused does not return.
program(attach_refused)
tutti_mpi_test(mpi-rma-attach-refused PROGRAM mpi-attach_refused RANKS 2 ENV ${stats} TIMEOUT 60 MPIS mpich)
foreach(mpi openmpi mpich)
  if(TARGET mpi-attach_refused.${mpi})
    add_library(rma-attach-limit.${mpi} SHARED rma/attach_limit.c)
    target_compile_options(rma-attach-limit.${mpi} PRIVATE ${TUTTI_MPI_${mpi}_COMPILE})
    target_link_libraries(rma-attach-limit.${mpi} PRIVATE tutti-flags)
    set_target_properties(rma-attach-limit.${mpi} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    string(JOIN ":" preload ${TUTTI_PRELOAD} $<TARGET_FILE:rma-attach-limit.${mpi}> ${TUTTI_MPI_${mpi}_YIELD})
    tutti_mpi_test(mpi-rma-attach-refused-copy PROGRAM mpi-attach_refused RANKS 2 TIMEOUT 60 MPIS ${mpi}
                   ENV ${stats} TUTTI_NODE_RANKS=1 LD_PRELOAD=${preload})
  endif()
endforeach()

# Random programs on windows of every flavour; a plain model says what memory must hold.
program(model EVERYWHERE WITH rma/model_draw.c rma/model_operate.c rma/model_run.c rma/model_steps.c rma/model_text.c rma/model_types.c every/every_memory.c)
set(its TIMEOUT 240 ENV ${stats})
tutti_mpi_test(mpi-rma-model PROGRAM mpi-model RANKS 2 MANY 40 ${its} MPIS openmpi mpich mpich5 mpiabi)
tutti_mpi_test(mpi-rma-model-3 PROGRAM mpi-model RANKS 3 RANKS_MPICH 2 MANY 25 ${its} TUTTI_TEST_SEED=78)
# Windows of MPI_Win_allocate in device memory alone: nothing is the MPI's.
tutti_mpi_test(mpi-rma-model-alone PROGRAM mpi-model RANKS 3 RANKS_MPICH 2 MANY 60 ARGS 4 ${its} TUTTI_TEST_SEED=79)
# Ranks of several nodes: copies in host memory.
tutti_mpi_test(mpi-rma-model-far PROGRAM mpi-model RANKS 2 MANY 30 ${its} TUTTI_NODE_RANKS=1 TUTTI_TEST_SEED=80)
