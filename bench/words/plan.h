/* The names of what is measured and the orders of calls, for the ranks and for the command. */
#ifndef TUTTI_BENCH_WORDS_PLAN_H
#define TUTTI_BENCH_WORDS_PLAN_H

/* The first argument of the ranks: what they measure. */
#define BENCH_DOES_COLLECTIVE  "collective"
#define BENCH_DOES_PACK        "pack"
#define BENCH_DOES_HALO        "halo"
#define BENCH_DOES_PINGPONG    "pingpong"
#define BENCH_DOES_OVERHEAD    "overhead"
#define BENCH_DOES_HOST        "host"
#define BENCH_DOES_TUNE        "tune"
#define BENCH_DOES_SHMEM       "shmem"
#define BENCH_DOES_HAND        "never-slower"
#define BENCH_DOES_TRANSFER    "transfer"
#define BENCH_DOES_ACCESS      "access"
#define BENCH_DOES_PARTITIONED "partitioned"

/* HOST: blocking calls, each timed by itself. STREAM: calls in stream order, back to back. GRAPH: the same, captured
 * once and replayed. */
enum bench_order { BENCH_HOST, BENCH_STREAM, BENCH_GRAPH, BENCH_ORDERS };
#define BENCH_ORDER_NAMES "host", "stream", "graph"

enum { BENCH_SIZES = 64, BENCH_ALL_ROOTS = -1 };

#endif
