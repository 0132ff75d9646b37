/* Every wrapped call that names a buffer, made from the rows of calls.def: what its parts share. A row is called with
 * arguments by the names of its parameters; what is drawn for it follows from those names alone. */
#ifndef TUTTI_TESTS_EVERY_H
#define TUTTI_TESTS_EVERY_H

#include "kit.h"

#if MPI_VERSION < 4
typedef void *every_session;
#define MPI_Session every_session
#endif

enum { EVERY_RANKS = 8 };

/* A list of counts or displacements, for the plain form and the large one. */
struct every_list {
    int narrow[EVERY_RANKS];
    int64_t wide[EVERY_RANKS];
};

/* Arguments, by the names of the standard's parameters. */
struct every_args {
    const void *buf, *sendbuf, *origin_addr, *compare_addr, *inbuf;
    void *recvbuf, *result_addr, *outbuf, *inoutbuf;
    MPI_Count count, sendcount, recvcount, origin_count, target_count, result_count, incount, outcount, insize, outsize;
    MPI_Datatype datatype, sendtype, recvtype, origin_datatype, target_datatype, result_datatype;
    MPI_Datatype sendtypes[EVERY_RANKS], recvtypes[EVERY_RANKS];
    struct every_list sendcounts, sdispls, recvcounts, rdispls, displs;
    int root, dest, source, tag, sendtag, recvtag, target_rank;
    MPI_Aint target_disp;
    MPI_Offset offset;
    int64_t position;
    MPI_Op op;
    MPI_Comm comm;
    MPI_Win win;
    MPI_File fh;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
};

struct every_row {
    const char *name, *kind, *buffers, *parameters;
    /* The call; an MPI code. NULL: a kind that is not drawn. ask: 1 if the process has it. */
    int (*run)(struct every_args *args, int ask);
};
extern const struct every_row every_rows[];
extern const int every_row_count;

/* 1 if the row has a parameter of this name. */
int every_has(const struct every_row *row, const char *name);
/* 1 if its name has the word: "Bsend", "_shared". */
int every_named(const struct every_row *row, const char *word);

/* 1 if this MPI itself shows another tag than the message's in the status of these calls. */
int every_tag_is_wrong(const struct every_row *row);
/* Another row by its name; NULL: none. */
const struct every_row *every_find(const char *name);

/* ---- memory ---- */

enum every_kind { EVERY_HOST, EVERY_DEVICE, EVERY_PINNED, EVERY_MANAGED, EVERY_KINDS };

struct every_buffer {
    enum every_kind kind;
    char *base;
    size_t bytes;
};
void every_buffer_open(struct every_buffer *buffer, enum every_kind kind, size_t bytes);
void every_buffer_write(struct every_buffer *buffer, const char *data);
void every_buffer_read(const struct every_buffer *buffer, char *data);
void every_buffer_close(struct every_buffer *buffer);

/* ---- one call ---- */

enum { EVERY_BUFFERS = 4 };

/* What is drawn for one call, the same in both runs. */
struct every_call {
    const struct every_row *row;
    uint64_t shared, own; /* states of the generators: of all ranks, of this one */
    int large, family, in_place, starts, skipped;
    size_t bytes;                                /* of each buffer */
    size_t offset[EVERY_BUFFERS];                /* where its elements begin */
    enum every_kind kind[EVERY_BUFFERS], window; /* of the run with all kinds of memory */
    char *data[EVERY_BUFFERS], *window_data;
    int used[EVERY_BUFFERS];
    struct every_args args; /* but for addresses and handles of a run */
};
/* What a run left. */
struct every_result {
    int code;
    MPI_Count received; /* bytes in the status; -1: no status */
    int source, tag;
    int64_t position;
    char *data[EVERY_BUFFERS], *window;
};

uint64_t every_draw(uint64_t *state, uint64_t n);
/* Buffers by number: 0 what is read, 1 what is written, 2 compared, 3 the harness's own at the other side. */
void every_call_draw(struct every_call *call);
void every_call_free(struct every_call *call);
/* Collective. mixed: in the drawn kinds of memory; otherwise in host memory. */
void every_run(const struct every_call *call, int mixed, struct every_result *result);
void every_result_free(struct every_result *result);

/* Handles that live as long as the program. */
extern MPI_Comm every_ring;
extern MPI_File every_files[2];
extern int every_neighbours; /* of a rank in the ring */
/* Families of types with equal signatures: member `i`. */
enum { EVERY_FAMILIES = 3, EVERY_MEMBERS = 3 };
extern MPI_Datatype every_types[EVERY_FAMILIES][EVERY_MEMBERS];

#endif
