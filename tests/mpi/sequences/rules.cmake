# Rules that force the algorithms of streams, which the host device does not choose for blocking calls by itself.
set(sequence_rules_default "")
string(CONCAT sequence_rules_chains
       "allreduce: *@pipeline reduce: *@chain reduce_scatter: *@pipeline "
       "bcast: *@pipeline gather: *@pipeline scatter: *@pipeline allgather: *@pipeline alltoall: *@pipeline")
string(CONCAT sequence_rules_direct
       "allreduce: *@mapped reduce: *@mapped reduce_scatter: *@mapped "
       "bcast: 0-64k@direct *@split_direct *@direct gather: *@direct scatter: *@direct allgather: *@direct alltoall: *@direct")
string(CONCAT sequence_rules_deep
       "allreduce: *@pipeline_direct reduce: *@mapped_deep reduce_scatter: *@mapped_deep "
       "bcast: *@direct gather: *@direct scatter: *@direct allgather: *@direct alltoall: *@direct")
string(CONCAT sequence_rules_engines
       "allreduce: *@pipeline reduce: *@engines reduce_scatter: *@engines "
       "bcast: *@engines gather: *@engines scatter: *@engines allgather: *@engines alltoall: *@engines")
# Halves of these, to tell which one is at fault.
string(CONCAT sequence_rules_engines_reduce
       "allreduce: *@pipeline reduce: *@engines reduce_scatter: *@engines "
       "bcast: *@pipeline gather: *@pipeline scatter: *@pipeline allgather: *@pipeline alltoall: *@pipeline")
string(CONCAT sequence_rules_engines_move
       "allreduce: *@pipeline reduce: *@chain reduce_scatter: *@pipeline "
       "bcast: *@engines gather: *@engines scatter: *@engines allgather: *@engines alltoall: *@engines")
string(CONCAT sequence_rules_lines
       "allreduce: *@ll128 reduce: *@chain_ll128 reduce_scatter: *@ll128 "
       "bcast: *@ll128 gather: *@ll128 scatter: *@ll128 allgather: *@ll128 alltoall: *@ll128")
set(sequence_rules_halves "allreduce: *@twoshot_ll128 reduce: *@twoshot_ll128 reduce_scatter: *@pipeline scan: *@ll128")
string(CONCAT sequence_rules_mixed
       "allreduce: 0-8k@ll 8k-64k@ll128 64k-512k@twoshot_ll128 *@pipeline "
       "reduce: 0-8k@ll 8k-64k@ll128 64k-256k@twoshot_ll128 256k-1m@chain_ll128 *@chain "
       "reduce_scatter: 0-8k@ll 8k-256k@ll128 *@pipeline "
       "bcast: 0-8k@ll 8k-64k@ll128 *@pipeline gather: 0-8k@ll 8k-64k@ll128 *@pipeline "
       "scatter: 0-8k@ll *@pipeline allgather: 0-2k@ll 2k-64k@ll128 *@pipeline alltoall: 0-8k@ll *@ll128")
# The default rules of CUDA, for the host device.
file(STRINGS ${PROJECT_SOURCE_DIR}/src/device/cuda/cuda.c cuda_rules REGEX "^ +\"[^\"]*[:@][^\"]*\"")
string(REGEX REPLACE "[\\\";]+ *" " " sequence_rules_cuda "${cuda_rules}")
string(REGEX REPLACE " +" " " sequence_rules_cuda "${sequence_rules_cuda}")
# The same steps at sizes that small channels and many sequences allow, and others in stream order.
string(CONCAT sequence_rules_steps
       "allreduce: 0-512@ll 512-4k@ll128 4k-16k@twoshot_ll128 *@pipeline "
       "reduce: 0-512@ll 512-4k@ll128 4k-16k@chain_ll128 16k-32k@twoshot_ll128 *@chain "
       "reduce_scatter: 0-2k@ll 2k-16k@ll128 *@pipeline "
       "bcast: 0-512@ll 512-4k@ll128 4k-8k@ll *@pipeline gather: 0-256@ll 256-2k@ll128 2k-8k@ll *@pipeline "
       "scatter: 0-1k@ll128 1k-4k@ll *@pipeline allgather: 0-512@ll128 512-2k@ll 2k-8k@ll128 *@pipeline "
       "alltoall: 0-512@ll 512-1k@pipeline 1k-4k@ll128 *@ll "
       "allreduce_enqueue: 0-1k@ll128 1k-8k@pipeline 8k-32k@twoshot_ll128 *@ll128 "
       "reduce_enqueue: 0-1k@chain 1k-8k@ll 8k-32k@chain_ll128 *@pipeline *@chain")
