# Rows of on_gpu.cmake: the examples.
# Kernels that communicate.
foreach(name sum heat histogram ring openshmem partitioned jacobi loss)
  foreach(ranks 2 4)
    gpu_test(example-${name}-${ranks} example_kernels_cuda_${name} ${ranks})
  endforeach()
endforeach()
foreach(ranks 2 4) # in stream order: a GPU for each rank
  if(ranks LESS_EQUAL TUTTI_GPU_COUNT)
    gpu_test(example-jacobi-stream-${ranks} example_kernels_cuda_jacobi_stream ${ranks} GPUS ${ranks})
    gpu_test(example-jacobi-stream-nodes-${ranks} example_kernels_cuda_jacobi_stream ${ranks}
             ENV CUDA_DEVICE_MAX_CONNECTIONS=32 TUTTI_ASYNC_PROGRESS=1 TUTTI_NODE_RANKS=1)
  endif()
endforeach()
# Partitions that kernels store in the receiver's buffer: random messages, also from more ranks than GPUs; and the engine's way.
gpu_test(example-stored-1 example_kernels_cuda_stored 1 ARGS 60 1 ENV TUTTI_TEST_EXPECT=stored TUTTI_RULES=partitioned:*@kernel)
gpu_test(example-stored-2 example_kernels_cuda_stored 2 ARGS 100 2 ENV TUTTI_TEST_EXPECT=stored TUTTI_RULES=partitioned:*@kernel)
gpu_test(example-stored-4 example_kernels_cuda_stored 4 ARGS 60 3 ENV TUTTI_TEST_EXPECT=stored TUTTI_RULES=partitioned:*@kernel)
gpu_test(example-partitioned-kernel example_kernels_cuda_partitioned 2 ENV TUTTI_RULES=partitioned:*@kernel)
foreach(ranks 2 4) # blocks mark an allreduce, and combine it
  gpu_test(example-loss-kernels-${ranks} example_kernels_cuda_loss ${ranks} ARGS 65536 20 kernels)
endforeach()
gpu_test(example-loss-engine example_kernels_cuda_loss 2 ARGS 65536 20 kernels ENV TUTTI_RULES=partitioned_meet:*@engine)
gpu_test(example-stored-engine example_kernels_cuda_stored 2 ARGS 30 4 ENV TUTTI_RULES=partitioned:*@engine)
