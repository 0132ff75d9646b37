/* tutti model: predicted times of an allreduce over many nodes (docs/model.md). */
#ifndef TUTTI_TOOLS_MODEL_H
#define TUTTI_TOOLS_MODEL_H

#include <stddef.h>

enum { MODEL_POINTS = 64, MODEL_GPUS = 100000 };

/* A measured time as a function of bytes: straight lines between the points, constant below the first, the last line
 * continued above the last. */
struct model_curve {
    int n;
    double bytes[MODEL_POINTS], us[MODEL_POINTS];
};
double model_at(const struct model_curve *curve, double bytes);

/* What was measured, of one rank. */
struct model_node {
    int gpus;                                   /* of a node */
    struct model_curve fixed, reduce, hand_out; /* of the message */
    struct model_curve copy_out, copy_in;       /* of what a leader exchanges */
    double copies; /* bytes per us of a leader's copies, in place of the two curves; 0: they were measured */
    int links;     /* on which the leaders of a node copy so fast; 0: each has one of its own */
};

struct model_network {
    double latency, overhead; /* us of a message; of each further message of a rank */
    double bandwidth;         /* of a NIC in one direction, bytes per us */
    double combine;           /* of the host of a leader, bytes that it reads per us */
    int nics, rails;          /* of a node; used by a message at once */
    double oversubscription;
};

enum model_row { MODEL_SINGLE_LEADER, MODEL_MULTI_LEADER, MODEL_PIPELINED, MODEL_ROWS };
/* The last one is of MPI libraries, not of Tutti: it is only predicted where it is named. */
enum model_exchange {
    MODEL_ALL_AT_ONCE,
    MODEL_DOUBLING,
    MODEL_SLICES,
    MODEL_RING,
    MODEL_RECURSIVE_DOUBLING,
    MODEL_EXCHANGES,
    MODEL_OWN_EXCHANGES = MODEL_RECURSIVE_DOUBLING
};
extern const char *const model_rows[MODEL_ROWS];
extern const char *const model_exchanges[MODEL_EXCHANGES];

struct model {
    struct model_node node;
    struct model_network network;
    double piece; /* bytes of a part of a piece: TUTTI_NODES_PIECE_KB */
};

/* Microseconds. */
double model_exchange_us(const struct model *m, enum model_exchange exchange, int nodes, int leaders, double part);
double model_call_us(const struct model *m, enum model_row row, enum model_exchange exchange, int nodes, double bytes);

/* Fills `node` from a file of `tutti bench allreduce --phases --json`, or refuses the file. Fixed parts of `copies`
 * (bytes per us, 0: none) replace the copies that a file of one node lacks. */
void model_read(const char *path, double copies, struct model_node *node);

#endif
