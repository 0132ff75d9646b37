/* Sequences of reductions, drawn at random: what sequences_test.c runs. A sequence follows from the seed and its number
 * alone, and all ranks draw the same one. */
#ifndef TUTTI_TESTS_COLL_SEQUENCES_H
#define TUTTI_TESTS_COLL_SEQUENCES_H

#include <stdio.h>

#include "coll/algorithm.h"
#include "support/oracle.h"

enum {
    SEQ_RANKS = 8,
    SEQ_TEAMS = 3,  /* at once */
    SEQ_CALLS = 12, /* of a sequence */
    SEQ_GROUPS = 8,
    SEQ_RULES = 56,  /* sets of rules; the library keeps 63 */
    SEQ_FIXED = 12,  /* of them not drawn */
    SEQ_TEXT = 4096, /* bytes of one */
    SEQ_EPOCHS = 8,
    SEQ_GUARD = 64,
    SEQ_SHIFT = 24 /* bytes around a buffer */
};

/* Ranks that make a team, in its order. */
struct seq_group {
    int size, world[SEQ_RANKS];
};

struct seq_team {
    int group, streams;
};

enum seq_how { SEQ_BLOCKING, SEQ_ENQUEUED, SEQ_ANEW }; /* ANEW: no call: the team is freed and made anew */

struct seq_call {
    enum seq_how how;
    int team;
    struct oracle_case what;
    struct tutti_call call;   /* `counts` is not set */
    size_t counts[SEQ_RANKS]; /* of REDUCE_SCATTER */
    int in_place;             /* 0: nowhere, 1: on all ranks, 2: on some */
    int flags;                /* 1: contributions are full of words that packets in scratch have as flags */
    int host;                 /* 1: the team's rank 0 brings host memory */
    int repeats;              /* call before of the same shape whose buffers are used again, or -1 */
    int repeated;             /* 1: a later one uses these again */
};

struct sequence {
    uint64_t seed, number;
    long run; /* set by who runs it: how many came before */
    int rules, teams, calls;
    struct seq_team team[SEQ_TEAMS];
    struct seq_call call[SEQ_CALLS];
};

int seq_groups(int ranks, struct seq_group out[SEQ_GROUPS]);
/* `most`: bytes of a contribution. */
void seq_draw(struct sequence *s, uint64_t seed, uint64_t number, int ranks, size_t most);
/* Sequences of a row have the same rules. */
enum { SEQ_SAME_RULES = 8 };
void seq_rules(uint64_t seed, int rules, char text[SEQ_TEXT]);
void seq_show(FILE *to, const struct sequence *s, int ranks);

/* ---- ranks ---- */

/* What the ranks share. Two of the buffers, in turn: who is ahead fills the next ones while others still look. */
struct seq_shared {
    int ranks, groups;
    struct seq_group group[SEQ_GROUPS];
    size_t most;
    unsigned char *filled[2][SEQ_RANKS][SEQ_CALLS]; /* contributions */
    unsigned char *reduced[2][SEQ_CALLS];           /* results of all contributions together */
};
extern struct seq_shared seq_shared;

struct seq_live {
    struct tutti_team *team;
    struct tutti_stream *stream; /* NULL: none, or the team cannot have one */
};

/* A buffer and what lies around it, at the end of an allocation of the device. */
struct seq_room {
    size_t at;    /* in the host's copies */
    size_t bytes; /* with what lies around */
    size_t start; /* of the buffer */
    char *device; /* where the room begins */
};
struct seq_place {
    struct seq_room in, out; /* the same one in place */
    int in_place, done;
};

struct seq_rank {
    int world;
    struct tutti_node *node;
    struct tutti_transport *transport, *of[SEQ_GROUPS];
    struct tutti_stream *stream[SEQ_TEAMS], *handle[SEQ_TEAMS];
    struct seq_live live[SEQ_TEAMS];
    struct seq_place place[SEQ_CALLS];
    char *device[2][SEQ_CALLS]; /* for contributions and for results */
    unsigned char *before[2], *got, *expected;
    int turn;
    uint64_t dice;
    uint64_t epoch[SEQ_EPOCHS]; /* where channels of this rank were when they were last seen, in turn */
    unsigned epochs;
};

int seq_rank_in(const struct seq_group *g, int world);
const struct seq_group *seq_group_of(const struct sequence *s, int team);
/* Rank in the team, or -1. */
int seq_member(const struct seq_rank *me, const struct sequence *s, int team);
/* Says what is wrong, and on the first time what the sequence is. call -1: none in particular. */
void seq_fault(const struct seq_rank *me, const struct sequence *s, int call, const char *text);

/* Bytes of one allocation of the device, and of the host's copies of a rank. */
size_t seq_room_most(void);
size_t seq_host_most(void);
/* Chooses where the buffers of all calls lie, and fills them. */
void seq_fill(struct seq_rank *me, const struct sequence *s);
/* Elements that a rank gets. */
struct tutti_result seq_result_of(const struct seq_call *c, int rank, int size);
/* Copies a call's buffers to the device, and back. */
void seq_put(struct seq_rank *me, const struct sequence *s, int i);
void seq_fetch(struct seq_rank *me, const struct sequence *s, int i);
/* When all ranks have filled theirs: this one's part of the work on what all contributions give. */
void seq_reduce_part(const struct seq_rank *me, const struct sequence *s);
/* When all have done theirs: compares what this rank has got. */
void seq_compare(struct seq_rank *me, const struct sequence *s);

#endif
