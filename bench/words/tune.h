/* What `tutti tune` measures, does and finds, as numbers and as names, for the ranks and for the command. */
#ifndef TUTTI_BENCH_WORDS_TUNE_H
#define TUTTI_BENCH_WORDS_TUNE_H

/* Collectives that rules tell apart, and messages, in the order of their sections. */
enum tune_section {
    TUNE_ALLREDUCE,
    TUNE_REDUCE,
    TUNE_REDUCE_SCATTER,
    TUNE_SCAN,
    TUNE_COLLECTIVES,
    TUNE_MESSAGE = TUNE_COLLECTIVES, /* to ranks of the node */
    TUNE_MESSAGE_FAR,
    TUNE_SECTIONS
};
#define TUNE_SECTION_NAMES "allreduce", "reduce", "reduce_scatter", "scan", "message", "message_far"

/* What the ranks are doing. */
#define TUNE_DOES_OPEN    "open"
#define TUNE_DOES_MEASURE "measure"
#define TUNE_DOES_REFINE  "refine"
#define TUNE_DOES_PROVE   "prove"

/* What the proof said of a size. */
enum tune_verdict {
    TUNE_UNPROVEN, /* there was no time: the default stays */
    TUNE_SAME,     /* the default takes the same algorithm */
    TUNE_KEPT,
    TUNE_LOST, /* slower than the default, by more than the noise: the default stays */
    TUNE_VERDICTS
};
#define TUNE_VERDICT_NAMES "unproven", "same", "kept", "lost"

#endif
