# Rules that force the algorithms of streams, which the host device does not choose for blocking calls by itself.
set(sequence_rules_default "")
set(sequence_rules_chains "allreduce: *@pipeline reduce: *@chain reduce_scatter: *@pipeline")
set(sequence_rules_lines "allreduce: *@ll128 reduce: *@chain_ll128 reduce_scatter: *@ll128")
set(sequence_rules_halves "allreduce: *@twoshot_ll128 reduce: *@twoshot_ll128 reduce_scatter: *@pipeline scan: *@ll128")
string(CONCAT sequence_rules_mixed
       "allreduce: 0-8k@ll 8k-64k@ll128 64k-512k@twoshot_ll128 *@pipeline "
       "reduce: 0-8k@ll 8k-64k@ll128 64k-256k@twoshot_ll128 256k-1m@chain_ll128 *@chain "
       "reduce_scatter: 0-8k@ll 8k-256k@ll128 *@pipeline")
# The same steps at sizes that small channels and many sequences allow, and others in stream order.
string(CONCAT sequence_rules_steps
       "allreduce: 0-512@ll 512-4k@ll128 4k-16k@twoshot_ll128 *@pipeline "
       "reduce: 0-512@ll 512-4k@ll128 4k-16k@chain_ll128 16k-32k@twoshot_ll128 *@chain "
       "reduce_scatter: 0-2k@ll 2k-16k@ll128 *@pipeline "
       "allreduce_enqueue: 0-1k@ll128 1k-8k@pipeline 8k-32k@twoshot_ll128 *@ll128 "
       "reduce_enqueue: 0-1k@chain 1k-8k@ll 8k-32k@chain_ll128 *@pipeline *@chain")
