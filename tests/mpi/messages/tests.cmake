# Messages, probes and requests.
# The transport's messages, of src/mpi by itself.
program(transfers EVERYWHERE)
foreach(mpi IN LISTS builders)
  if(TARGET mpi-transfers.${mpi})
    string(TOUPPER ${TUTTI_MPI_${mpi}_FAMILY} family)
    target_sources(mpi-transfers.${mpi} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/messages.c
                                                ${PROJECT_SOURCE_DIR}/src/mpi/comm/transfers.c)
    target_compile_definitions(mpi-transfers.${mpi} PRIVATE TUTTI_FRONT_${family} TUTTI_MPI_HEADER=<mpi.h> OMPI_SKIP_MPICXX
                                                            MPICH_SKIP_MPICXX)
  endif()
endforeach()
tutti_mpi_test(mpi-transfers PROGRAM mpi-transfers RANKS 3 RANKS_MPICH 2 EVERYWHERE NO_PRELOAD)
program(messages EVERYWHERE)
tutti_mpi_test(mpi-messages PROGRAM mpi-messages RANKS 3 RANKS_MPICH 2 EVERYWHERE)
program(endpoints EVERYWHERE)
tutti_mpi_test(mpi-endpoints PROGRAM mpi-endpoints RANKS 3 RANKS_MPICH 2 ENV ${stats} EVERYWHERE TIMEOUT 45)
# Scratch that is soon full: the MPI carries what does not fit.
tutti_mpi_test(mpi-endpoints-full PROGRAM mpi-endpoints RANKS 2 ARGS 6000000 2 ENV ${stats} TUTTI_ENDPOINT_MB=1 TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-packed PROGRAM mpi-endpoints RANKS 2 ENV ${stats} TUTTI_RULES=message:*@packed TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-direct PROGRAM mpi-endpoints RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-linger PROGRAM mpi-endpoints RANKS 2 ENV ${stats} TUTTI_LINGER_US=300 TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-stay PROGRAM mpi-endpoints RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TUTTI_HOST_STAY_US=1000 TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-engines PROGRAM mpi-endpoints RANKS 2 ENV ${stats} TUTTI_RULES=message:*@engines TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-mpi PROGRAM mpi-endpoints RANKS 2 ENV ${stats} ${left_to_mpi} TIMEOUT 45)
program(endpoints_self EVERYWHERE)
tutti_mpi_test(mpi-endpoints-self PROGRAM mpi-endpoints_self RANKS 2 ENV ${stats} EVERYWHERE TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-self-alone PROGRAM mpi-endpoints_self RANKS 1 ENV ${stats} EVERYWHERE TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-self-full PROGRAM mpi-endpoints_self RANKS 1 ARGS 1500000 ENV ${stats} TUTTI_ENDPOINT_MB=1 TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-self-packed PROGRAM mpi-endpoints_self RANKS 1 ENV ${stats}
               TUTTI_RULES=message:*@packed TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-self-direct PROGRAM mpi-endpoints_self RANKS 1 ENV ${stats}
               TUTTI_RULES=message:*@direct TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-self-engines PROGRAM mpi-endpoints_self RANKS 1 ENV ${stats}
               TUTTI_RULES=message:*@engines TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-self-mpi PROGRAM mpi-endpoints_self RANKS 2 ENV ${stats} ${left_to_mpi} TIMEOUT 45)
program(endpoints_launches EVERYWHERE)
tutti_mpi_test(mpi-endpoints-launches PROGRAM mpi-endpoints_launches RANKS 2 ENV ${stats} EVERYWHERE)
tutti_mpi_test(mpi-endpoints-launches-self PROGRAM mpi-endpoints_launches RANKS 1 ENV ${stats} EVERYWHERE)
tutti_mpi_test(mpi-endpoints-launches-packed PROGRAM mpi-endpoints_launches RANKS 2 ENV ${stats} TUTTI_RULES=message:*@packed)
program(never_blocks WITH ${CMAKE_CURRENT_SOURCE_DIR}/kit/turns.c)
tutti_mpi_test(mpi-never-blocks PROGRAM mpi-never_blocks RANKS 2 ENV TUTTI_ENDPOINT_MB=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
               TIMEOUT 90)
program(probed EVERYWHERE)
tutti_mpi_test(mpi-probed PROGRAM mpi-probed RANKS 2 ENV ${stats} EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-probed-direct PROGRAM mpi-probed RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 60)
tutti_mpi_test(mpi-probed-far PROGRAM mpi-probed RANKS 2 TIMEOUT 60
               ENV ${stats} TUTTI_NODE_RANKS=1 TUTTI_RULES=message_far:*@pipelined)
tutti_mpi_test(mpi-probed-mpi PROGRAM mpi-probed RANKS 2 ENV ${stats} ${left_to_mpi} TIMEOUT 60)
program(descriptors)
tutti_mpi_test(mpi-descriptors PROGRAM mpi-descriptors RANKS 2 TIMEOUT 45)
program(evicted)
foreach(entries 4 10)
  tutti_mpi_test(mpi-evicted-${entries} PROGRAM mpi-evicted RANKS 2 ENV ${stats} TUTTI_CACHE_ENTRIES=${entries}
                 TUTTI_RULES=message:*@direct TIMEOUT 60)
endforeach()
program(endpoints_threads)
tutti_mpi_test(mpi-endpoints-threads PROGRAM mpi-endpoints_threads RANKS 2 ENV ${stats} TIMEOUT 45)
tutti_mpi_test(mpi-endpoints-threads-self PROGRAM mpi-endpoints_threads RANKS 1 ENV ${stats} TIMEOUT 45)
tutti_mpi_test(mpi-far PROGRAM mpi-endpoints RANKS 3 RANKS_MPICH 2 ARGS 600000 3 ENV ${far} EVERYWHERE TIMEOUT 90)
tutti_mpi_test(mpi-far-chunk PROGRAM mpi-endpoints RANKS 2 ARGS 4000000 2 ENV ${far} TUTTI_MESSAGE_CHUNK=1048576 TIMEOUT 90)
tutti_mpi_test(mpi-far-near PROGRAM mpi-endpoints RANKS 4 RANKS_MPICH 4 ARGS 600000 4 ENV ${far} TUTTI_NODE_RANKS=2 TIMEOUT 90)
tutti_mpi_test(mpi-far-threads PROGRAM mpi-endpoints_threads RANKS 2 ENV ${far} TIMEOUT 90)
program(attached EVERYWHERE)
tutti_mpi_test(mpi-attached PROGRAM mpi-attached RANKS 2 ENV ${stats} EVERYWHERE TIMEOUT 40)
program(persistent_sends EVERYWHERE)
tutti_mpi_test(mpi-persistent-sends PROGRAM mpi-persistent_sends RANKS 2 ENV ${stats} EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-persistent-sends-direct PROGRAM mpi-persistent_sends RANKS 2 TIMEOUT 60
               ENV ${stats} TUTTI_RULES=message:*@direct)
tutti_mpi_test(mpi-persistent-sends-far PROGRAM mpi-persistent_sends RANKS 2 TIMEOUT 60
               ENV ${stats} TUTTI_NODE_RANKS=1 TUTTI_RULES=message_far:*@pipelined)
program(request_semantics EVERYWHERE)
tutti_mpi_test(mpi-request-semantics PROGRAM mpi-request_semantics RANKS 2 ENV ${stats} EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-request-semantics-direct PROGRAM mpi-request_semantics RANKS 2 TIMEOUT 60
               ENV ${stats} TUTTI_RULES=message:*@direct)
tutti_mpi_test(mpi-request-semantics-staged PROGRAM mpi-request_semantics RANKS 2 ENV ${stats} ${left_to_mpi} TIMEOUT 60)
tutti_mpi_test(mpi-request-semantics-far PROGRAM mpi-request_semantics RANKS 2 ENV ${far} TIMEOUT 60)
program(truncated)
tutti_mpi_test(mpi-truncated PROGRAM mpi-truncated RANKS 2 ENV ${stats} TIMEOUT 60)
tutti_mpi_test(mpi-truncated-direct PROGRAM mpi-truncated RANKS 2 ARGS imrecv ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 60)
tutti_mpi_test(mpi-truncated-far PROGRAM mpi-truncated RANKS 2 TIMEOUT 60
               ENV ${stats} TUTTI_NODE_RANKS=1 TUTTI_RULES=message_far:*@pipelined)
program(freed EVERYWHERE)
tutti_mpi_test(mpi-freed PROGRAM mpi-freed RANKS 2 ENV ${stats} EVERYWHERE TIMEOUT 60)
tutti_mpi_test(mpi-freed-beside PROGRAM mpi-freed RANKS 2 ARGS beside ENV ${stats} EVERYWHERE TIMEOUT 120)
foreach(mpi IN LISTS TUTTI_MPI_SYSTEM)
  add_library(late-looks.${mpi} SHARED ${support}/late_looks.c)
  target_compile_options(late-looks.${mpi} PRIVATE ${TUTTI_MPI_${mpi}_COMPILE})
  target_link_libraries(late-looks.${mpi} PRIVATE tutti-flags dl)
  set_target_properties(late-looks.${mpi} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  string(JOIN ":" preload ${TUTTI_PRELOAD} $<TARGET_FILE:late-looks.${mpi}> ${TUTTI_MPI_${mpi}_YIELD})
  tutti_mpi_test(mpi-freed-late PROGRAM mpi-freed RANKS 2 ARGS late MPIS ${mpi} ENV LD_PRELOAD=${preload} TIMEOUT 60)
endforeach()
tutti_mpi_test(mpi-freed-direct PROGRAM mpi-freed RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 60)
tutti_mpi_test(mpi-freed-staged PROGRAM mpi-freed RANKS 2 ENV ${stats} ${left_to_mpi} TIMEOUT 60)
program(raised EVERYWHERE)
# Not Intel MPI by the standard ABI: it ends the program though errors return.
tutti_mpi_test(mpi-raised PROGRAM mpi-raised RANKS 2 ENV ${stats} TIMEOUT 60
               MPIS openmpi mpich openmpi5 mpich5 mpiabi impi)
program(overrun EVERYWHERE)
# Not Intel MPI by the standard ABI: it ends the program though errors return.
tutti_mpi_test(mpi-overrun PROGRAM mpi-overrun RANKS 2 ENV ${stats} ${left_to_mpi} TIMEOUT 60
               MPIS openmpi mpich openmpi5 mpich5 mpiabi impi)
# Receives that are older than the program's first device memory.
program(early EVERYWHERE)
tutti_mpi_test(mpi-early PROGRAM mpi-early RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct EVERYWHERE TIMEOUT 40)
foreach(case sendrecv replace)
  tutti_mpi_test(mpi-early-${case} PROGRAM mpi-early RANKS 2 ARGS ${case} ENV TUTTI_ENDPOINT_MB=1 EVERYWHERE TIMEOUT 30)
endforeach()
# What windows of messages allocate.
program(windows EVERYWHERE)
tutti_mpi_test(mpi-windows PROGRAM mpi-windows RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct EVERYWHERE TIMEOUT 40)
# Small ones are fetched by a kernel that stays.
tutti_mpi_test(mpi-windows-stay PROGRAM mpi-windows RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TUTTI_HOST_STAY_US=1000 TIMEOUT 40)
tutti_mpi_test(mpi-windows-linger PROGRAM mpi-windows RANKS 2 ENV ${stats} TUTTI_RULES=message:*@direct TUTTI_LINGER_US=200 TIMEOUT 40)
tutti_mpi_test(mpi-windows-engines PROGRAM mpi-windows RANKS 2 ENV ${stats} TUTTI_RULES=message:*@engines TIMEOUT 40)
tutti_mpi_test(mpi-windows-turns PROGRAM mpi-windows RANKS 2 TIMEOUT 60
               ENV ${stats} TUTTI_RULES=message:*@direct TUTTI_HOST_GPUS=1 TUTTI_HOST_TURNS_US=20 TUTTI_LINGER_US=200)
# RTSs so long that the MPI does not send them eagerly: it reads them where they are when they are matched.
program(uncarried)
tutti_mpi_test(mpi-uncarried PROGRAM mpi-uncarried RANKS 2 TIMEOUT 60
               ENV ${far} OMPI_MCA_btl_vader_eager_limit=1024 OMPI_MCA_btl_self_eager_limit=1024
                   UCX_RNDV_THRESH=1024)
program(truncation)
tutti_mpi_test(mpi-truncation PROGRAM mpi-truncation RANKS 2 ARGS 600 ENV ${stats} TIMEOUT 60)
tutti_mpi_test(mpi-truncation-early PROGRAM mpi-truncation RANKS 2 ARGS early ENV ${stats} TIMEOUT 60)
tutti_mpi_test(mpi-truncation-direct PROGRAM mpi-truncation RANKS 2 ARGS 600 ENV ${stats} TUTTI_RULES=message:*@direct TIMEOUT 60)
tutti_mpi_test(mpi-truncation-engines PROGRAM mpi-truncation RANKS 2 ARGS 600 ENV ${stats} TUTTI_RULES=message:*@engines TIMEOUT 60)
tutti_mpi_test(mpi-truncation-packed PROGRAM mpi-truncation RANKS 2 ARGS 600 ENV ${stats} TUTTI_RULES=message:*@packed TIMEOUT 60)
tutti_mpi_test(mpi-truncation-far PROGRAM mpi-truncation RANKS 2 ARGS 200 ENV ${stats} TUTTI_NODE_RANKS=1
               TUTTI_RULES=message_far:*@pipelined TIMEOUT 60)
# Bounce buffers are used again: those of staged calls, of fragments, and those of device memory.
program(bounced)
tutti_mpi_test(mpi-bounced PROGRAM mpi-bounced RANKS 2 ENV ${stats} ${left_to_mpi} TIMEOUT 60)
tutti_mpi_test(mpi-bounced-far PROGRAM mpi-bounced RANKS 2 ENV ${stats} TUTTI_NODE_RANKS=1 TUTTI_MESSAGE_CHUNK=16384
               TUTTI_RULES=message_far:*@pipelined TIMEOUT 60)
tutti_mpi_test(mpi-bounced-device PROGRAM mpi-bounced RANKS 2 ARGS device ENV ${stats} TUTTI_MPI_GPU_AWARE=1
               TUTTI_HOST_STRICT=0 TUTTI_RULES=message:*@staged,message_far:*@staged,aware:*@device TIMEOUT 60)
# What is counted: calls, reasons, bytes; the table as printed, and the advice at the end.
program(counts EVERYWHERE)
set(counts ${stats} TUTTI_RULES=message:*@packed TUTTI_ENDPOINT_MB=1)
tutti_mpi_test(mpi-counts PROGRAM mpi-counts RANKS 2 ARGS near ENV ${counts} EVERYWHERE TIMEOUT 40)
tutti_mpi_test(mpi-counts-truncated PROGRAM mpi-counts RANKS 2 ARGS truncated ENV ${counts} TIMEOUT 40)
tutti_mpi_test(mpi-counts-collectives PROGRAM mpi-counts RANKS 2 ARGS collectives
               ENV ${stats} "TUTTI_RULES=message:*@packed allreduce:*@direct" TIMEOUT 40)
tutti_mpi_test(mpi-counts-lengths PROGRAM mpi-counts RANKS 2 ARGS lengths "rules choose staging"
               ENV ${stats} "TUTTI_RULES=message:0-1k@staged *@packed" TIMEOUT 40)
tutti_mpi_test(mpi-counts-lengths-mpi PROGRAM mpi-counts RANKS 2 ARGS lengths "rules choose staging"
               ENV ${stats} "TUTTI_RULES=message:*@packed gather:0-1k@mpi *@fetch" TIMEOUT 40)
tutti_mpi_test(mpi-counts-lengths-apart PROGRAM mpi-counts RANKS 2 ARGS lengths "no algorithm for the lengths of all ranks"
               ENV ${stats} "TUTTI_RULES=gather:0-1k@ll 1025-*@direct" TIMEOUT 40)
tutti_mpi_test(mpi-counts-far PROGRAM mpi-counts RANKS 2 ARGS far ENV ${far} TIMEOUT 40)
tutti_mpi_test(mpi-counts-machine PROGRAM mpi-counts RANKS 2 ARGS staged "rank of another machine"
               ENV ${stats} TUTTI_NODE_RANKS=1 TUTTI_RULES=message_far:*@staged TIMEOUT 40)
tutti_mpi_test(mpi-counts-mpi PROGRAM mpi-counts RANKS 2 ARGS staged "messages are left to the MPI (TUTTI_RULES)"
               ENV ${stats} ${left_to_mpi} TIMEOUT 40)
foreach(mpi IN LISTS TUTTI_MPI_SYSTEM)
  driver(mpi-counts-table ${mpi} ${CMAKE_CURRENT_SOURCE_DIR}/messages/counts.sh ${TUTTI_MPI_${mpi}_RUN} -n 2 env
         LD_PRELOAD=${TUTTI_MPI_${mpi}_PRELOAD} ${TUTTI_TEST_ENV} -- $<TARGET_FILE:mpi-counts.${mpi}>)
endforeach()
# Partitioned messages, with every MPI by Tutti: inside a node, between virtual nodes, by threads, over the MPI alone.
program(partitioned EVERYWHERE)
tutti_mpi_test(mpi-partitioned PROGRAM mpi-partitioned RANKS 3 RANKS_MPICH 2 MANY 30 EVERYWHERE TIMEOUT 60)
# Barriers between a start and its end, over several nodes: where the MPI polls in them. apart: without them.
tutti_mpi_test(mpi-partitioned-nodes PROGRAM mpi-partitioned RANKS 3 RANKS_MPICH 2 MANY 30 ENV ${far} TIMEOUT 120
               MPIS openmpi openmpi5 mpich mpich5 mpiabi)
tutti_mpi_test(mpi-partitioned-nodes PROGRAM mpi-partitioned RANKS 3 RANKS_MPICH 2 MANY 30 ARGS apart ENV ${far} TIMEOUT 60
               MPIS impi impiabi)
tutti_mpi_test(mpi-partitioned-threads PROGRAM mpi-partitioned RANKS 2 MANY 20 ARGS threads EVERYWHERE TIMEOUT 60)
# Partitioned requests in kernels, with every MPI. The kernels are threads of the program, which device memory refuses otherwise.
program(prequest EVERYWHERE)
tutti_mpi_test(mpi-prequest PROGRAM mpi-prequest RANKS 2 MANY 20 EVERYWHERE ENV TUTTI_HOST_STRICT=0 TUTTI_STATS=1
               "TUTTI_TEST_EXPECT=stored by the kernel" TIMEOUT 120)
tutti_mpi_test(mpi-prequest-engine PROGRAM mpi-prequest RANKS 2 MANY 20 ENV TUTTI_HOST_STRICT=0 TUTTI_STATS=1
               TUTTI_RULES=partitioned:*@engine "TUTTI_TEST_EXPECT=sent by the engine" TIMEOUT 120)
# Mapping memory of another rank takes the driver some time, and is done beside.
tutti_mpi_test(mpi-prequest-slow PROGRAM mpi-prequest RANKS 3 RANKS_MPICH 2 MANY 15 ENV TUTTI_HOST_STRICT=0 TUTTI_HOST_MAPPING_US=2000
               TUTTI_STATS=1 "TUTTI_TEST_EXPECT=stored by the kernel" TUTTI_RULES=partitioned:*@kernel TIMEOUT 120)
tutti_mpi_test(mpi-prequest-gpus PROGRAM mpi-prequest RANKS 2 MANY 15 ENV TUTTI_HOST_STRICT=0 TUTTI_HOST_GPUS=2 TIMEOUT 120)
tutti_mpi_test(mpi-prequest-nodes PROGRAM mpi-prequest RANKS 2 MANY 10 ENV ${far} TUTTI_HOST_STRICT=0 TIMEOUT 120)
tutti_mpi_test(mpi-partitioned-staged PROGRAM mpi-partitioned RANKS 2 MANY 20 ENV ${left_to_mpi} TIMEOUT 60)
