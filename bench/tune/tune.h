/* The ranks of `tutti tune`: one start measures every algorithm and every way of messages, by the rules in force at
 * the call. */
#ifndef TUTTI_BENCH_TUNE_H
#define TUTTI_BENCH_TUNE_H

#include <mpi.h>

#include "bench/common/bench.h"
#include "bench/shmem/side.h"
#include "bench/tune/choose.h"
#include "bench/words/tune.h"

const char *tune_section_name(int section);

struct tune {
    const struct bench_plan *plan; /* order, rank, size */
    unsigned sections;             /* mask */
    double seconds, win;           /* of all; see tune_choose() */
    int rounds;                    /* of each size, however long they take; 0: as the seconds allow */
    size_t most;                   /* largest size */
    float *in, *out;               /* device memory of `most` bytes */
    char *host;                    /* ordinary memory: TUNE_CHECKED bytes, and the right results behind them */
    MPI_Comm comm;                 /* of all collectives; MPI_COMM_NULL: none is measured */
    char with[TUNE_CHOICES][512];  /* collectives: rules that take that algorithm; empty: it is not measured */
    char how[TUNE_CHOICES][96]; /* data movers: how the library counts calls by that algorithm; empty: not known yet */
    struct tune_message {
        char *memory; /* of the device, for blocks of the largest size */
        unsigned ways[TUNE_FILES - TUNE_MESSAGE];
        MPI_Datatype type; /* of `bytes`; MPI_DATATYPE_NULL: none yet */
        size_t bytes;
        uint64_t seed;
    } message;
    struct tune_shmem {
        int open;
        struct gas_side side;
        char *in, *out; /* symmetric */
        size_t most;    /* bytes of each */
        uint64_t seed;
    } shmem;
    struct tune_file {
        MPI_File handle;
        int open;
        uint64_t seed;
    } file;
    struct tune_curve curve[TUNE_SECTIONS];
    int picked[TUNE_SECTIONS][TUNE_POINTS]; /* the choices before the proof */
    int wrong;                              /* 1: an algorithm gave a wrong result */
    int interrupted;                        /* 1: the user wants it to end; alike on all ranks */
};
enum { TUNE_CHECKED = 64 << 10 };

/* Seconds since the ranks began, on this rank. */
double tune_now(void);
/* 1 if the user wants this rank to end. */
int tune_interrupted(void);
/* 1 if no time is left. With a number of rounds there is no limit, until the user ends the run. */
static inline int tune_is_late(const struct tune *tune, double now, double until)
{
    return (tune->rounds == 0 || tune->interrupted) && now > until;
}

/* Collective. The communicator of all collectives, whose calls take the rules in force: so all algorithms have the same
 * part of a GPU. Fails where calls on it are not accelerated. */
void tune_comm_open(struct tune *tune);
void tune_comm_close(struct tune *tune);
/* Puts these rules (and then the defaults) in force. */
void tune_rules_take(const char *rules);
/* Makes the stream that orders other than HOST need; fails if it cannot. */
void tune_stream_open(const struct tune *tune);
void tune_stream_close(void);

/* One of the things that are compared at a size. */
struct tune_column {
    const char *rules;
    int wanted;    /* algorithm or way that it is about; TUNE_DEFAULT: whichever its rules take */
    int algorithm; /* that it took */
    char how[96];  /* data movers: how the call was counted */
    int timed;     /* 1: takes part in rounds */
    int calls;     /* of a round */
    void *graph;
    double us; /* median over rounds; 0: cannot run */
    double sample[TUNE_ROUNDS];
    int rounds;
};
/* Bytes of one rank's contribution as the call makes it: a reduce-scatter has as many elements for each rank. */
size_t tune_bytes(const struct tune *tune, int section, size_t bytes);
/* A call, blocking or into the stream. */
void tune_call(const struct tune *tune, int section, size_t bytes);
/* Microseconds of one call of this rank, over column->calls. */
double tune_round(struct tune *tune, const struct tune_column *column, int section, size_t bytes);
/* Finds which algorithm the column takes, by one call; the result of small calls is compared with the right one,
 * which the column `keep` stores. 1 if it is right. */
int tune_try(struct tune *tune, struct tune_column *column, int section, size_t bytes, int keep);
/* Names the algorithms of columns of a data mover by how their calls were counted, once all have been tried. */
void tune_name_moves(struct tune *tune, struct tune_column *columns, int n, int section);
void tune_graph_make(const struct tune *tune, struct tune_column *column, int section, size_t bytes);

/* Messages: half a round trip of blocks of 64 bytes, 128 apart, into the same layout; between ranks 0 and 1, 2 and 3
 * ..., or (MESSAGE_FAR) between the ranks of the first half and those of the second. open: collective; leaves a section
 * out, with a note, where no message goes past the MPI, or in chunks. */
void tune_message_open(struct tune *tune);
void tune_message_close(struct tune *tune);
/* Bytes of device memory that messages of up to `most` bytes need. */
size_t tune_message_room(size_t most);
/* Those from which on messages of a section may go otherwise than staged, as they are made. */
size_t tune_message_least(int section);
/* Bytes of the message as it is made. */
size_t tune_message_bytes(size_t bytes);
/* Rules under which all messages go that way, where they can; static. */
const char *tune_message_rules(int section, int way);
/* tune_try() and tune_round() for messages; try is collective. */
int tune_message_try(struct tune *tune, struct tune_column *column, int section, size_t bytes);
double tune_message_round(struct tune *tune, const struct tune_column *column, int section, size_t bytes);

/* Puts and gets of kernels. open: collective; leaves their sections out, with a note, if there are no kernels or no
 * ring; on the host device those of more than one thread. */
void tune_shmem_open(struct tune *tune);
void tune_shmem_close(struct tune *tune);
/* Rules under which all go that way; static. */
const char *tune_shmem_rules(int way);
/* tune_try() and tune_round() for them; try is collective. */
int tune_shmem_try(struct tune *tune, struct tune_column *column, int section, size_t bytes);
double tune_shmem_round(struct tune *tune, const struct tune_column *column, int section, size_t bytes);

/* Partitions that kernels mark. open: collective; leaves their sections out, with a note, if there are no kernels. */
void tune_part_open(struct tune *tune);
void tune_part_close(void);
/* The size as it is measured, of a partition; 0: not at all. */
size_t tune_part_size(int section, size_t bytes);
/* Rules under which all of the section go that way; static. */
const char *tune_part_rules(int section, int way);
/* tune_try() and tune_round() for them; collective. */
int tune_part_try(struct tune *tune, struct tune_column *column, int section, size_t bytes);
double tune_part_round(struct tune *tune, const struct tune_column *column, int section, size_t bytes);

/* Accesses of a file in `folder`. open: collective; leaves their sections out, with a note, if it cannot be made. */
void tune_file_open(struct tune *tune, const char *folder);
void tune_file_close(struct tune *tune);
/* The size as it is accessed; 0: not at all. */
size_t tune_file_size(size_t bytes);
/* Rules under which all go that way; static. */
const char *tune_file_rules(int way);
/* tune_try() and tune_round() for them; round is collective. */
int tune_file_try(struct tune *tune, struct tune_column *column, int section, size_t bytes);
double tune_file_round(struct tune *tune, const struct tune_column *column, int section, size_t bytes);

/* Collective. Measures the columns at a size, column 0 first, for about `seconds`, from `least` rounds on; or for
 * tune->rounds. together: columns that are far behind stay. */
void tune_measure(struct tune *tune, struct tune_column *columns, int n, int section, size_t bytes, double seconds,
                  int least, int together);

/* Collective, after all points have choices: measures the tuned rules beside the defaults and takes choices back that
 * lose or for which there was no time. `until`: of tune_now(). */
void tune_prove(struct tune *tune, double until);

/* The ranks of `tutti tune`: collectives (a mask, by the sections of rules) up to contributions of `most` bytes;
 * folder: of the file. */
void bench_tune(const struct bench_plan *plan, unsigned sections, size_t most, const char *folder);

#endif
