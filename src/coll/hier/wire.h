/* The part of a call over several nodes that crosses the transport: each of n participants holds `count` elements in
 * host memory, and gets their reduction in the order of the participants. One schedule of the tasks that schedules
 * share; a row of exchanges adds the tasks. Private to hier/. */
#ifndef TUTTI_COLL_HIER_WIRE_H
#define TUTTI_COLL_HIER_WIRE_H

#include "sched/tasks.h"

/* One side of the exchange's ends: memory of the program or of the library, of any kind. */
struct tutti_wire_end {
    void *memory;                /* NULL: this side is empty */
    struct tutti_stream *stream; /* that copies it; NULL: the host reaches the memory */
    struct tutti_event *event;   /* of the stream's GPU, the wire's own */
    int gpu;                     /* of the stream */
};

struct tutti_wire {
    /* Set by the caller: */
    struct tutti_transport *transport;
    const int *peer;  /* [n]: rank in the transport of each participant */
    const int *names; /* [n]: its rank in the communicator, for reports */
    int n, me, tag;   /* tag: the first of TUTTI_WIRE_TAGS */
    int pinned;       /* 1: kernels of all GPUs reach in, out and room */
    int type, op;
    size_t size, count;             /* bytes of an element; elements */
    struct tutti_wire_end from, to; /* the contribution; where the result goes. They may be the same memory */
    struct tutti_stream *kernels;   /* kernels of the stream's GPU combine, and reach `from`; NULL: the host does */
    struct tutti_event *combined;   /* of the stream's GPU, the wire's own */
    size_t to_first, to_count;      /* elements of the result that go there */
    char *in, *out;                 /* host memory of count elements each; `in` is only used for another `from` */
    char *room;                     /* as many bytes as the row asks for */
    /* Set by tutti_wire_build(): */
    struct tutti_sched *sched;
    const char *mine; /* the contribution in host memory, once the task `have` has ended; -1: already */
    int have;
    const char *held; /* the contribution where the combination reads it: as `mine`, or `from` where kernels combine */
    int stored;       /* 1: kernels combine into `to` itself */
    int holds;        /* the task after which it is there; -1: already */
    int status;       /* the first failure of the functions below, after which they do nothing */
    int *end, ends;   /* tasks after which the result is whole, and `from` is not read any more */
    struct tutti_transfer_task *transfer;
    struct tutti_combine_task *combine;
    struct tutti_copy_task copy[3]; /* from, to, and one of the row */
    const void **inputs;
    int transfers, combines, input_count;
    /* For the row, while it adds tasks: of each participant, where its contribution lies, and the task that brings
     * it; -1: none. */
    const void **theirs;
    int *brought;
};

enum { TUTTI_WIRE_TAGS = 2 };

/* A row of exchanges; the same is chosen by all participants. */
struct tutti_exchange_row {
    const char *name;                                 /* its name in nodes.def */
    size_t (*room)(int n, size_t count, size_t size); /* bytes of `room` */
    void (*add)(struct tutti_wire *wire);             /* adds the tasks of the exchange */
    int prefixes;                                     /* 1: it combines a prefix for each participant */
    int stores;                                       /* 1: it combines into `to` where wire->stored is set */
    int most;                                         /* participants at most; 0: any number */
};

/* Local. Makes the schedule, which the caller starts. A status. end: frees it, also after a failure; it does not run.
 */
int tutti_wire_build(struct tutti_wire *wire, const struct tutti_exchange_row *row);
void tutti_wire_end(struct tutti_wire *wire);

/* For rows. Each returns the number of a new task, which starts after the end of task `after` (-1: none). A failure is
 * kept in wire->status. */
int tutti_wire_send(struct tutti_wire *wire, int to, int tag, const void *memory, size_t count, int after);
int tutti_wire_receive(struct tutti_wire *wire, int from, int tag, void *memory, size_t count);
/* out = theirs[0] op theirs[1] ..., each after its task in `brought`. */
int tutti_wire_combine(struct tutti_wire *wire, void *out, size_t count);
/* The same of contributions [begin, end). so_far: the result of those before, after the end of task `after`; NULL:
 * none.
 */
int tutti_wire_combine_some(struct tutti_wire *wire, const void *so_far, int begin, int end, void *out, size_t count,
                            int after);
int tutti_wire_copy(struct tutti_wire *wire, void *to, const void *from, size_t count, int after);
void tutti_wire_after(struct tutti_wire *wire, int task, int before, enum tutti_task_after what);
/* The result is not whole before this task has ended. */
void tutti_wire_ends(struct tutti_wire *wire, int task);

/* Elements of a part of `count` elements that participant i of n has. */
struct tutti_part_of {
    size_t begin, count;
};
static inline struct tutti_part_of tutti_part_of(size_t count, int n, int i)
{
    const size_t each = (count + (size_t)n - 1) / (size_t)n, begin = each * (size_t)i;
    const size_t left = begin < count ? count - begin : 0;
    return (struct tutti_part_of){begin < count ? begin : count, left < each ? left : each};
}

/* Not for rules: of MPI_Scan and of MPI_Exscan. */
extern const struct tutti_exchange_row tutti_exchange_through, tutti_exchange_before;
#define TUTTI_EXCHANGE(name, text) extern const struct tutti_exchange_row tutti_exchange_##name;
#include "tutti/nodes.def"

#endif
