/* Private to far*.c. */
#ifndef TUTTI_MPI_FAR_OWN_H
#define TUTTI_MPI_FAR_OWN_H

#include "mpi/far.h"
#include "mpi/packed.h"

/* Tags on tutti_lane_box; the least ones are of letters. */
enum { TUTTI_FAR_TAGS_FROM = 512, TUTTI_FAR_TAGS = 32000, TUTTI_FAR_WORD_TAG = 32700 };

/* Word of a mail, sent before it, for probes. */
struct tutti_far_word {
    uint64_t sequence, bytes; /* bytes 0: the mail was not sent after all */
    int32_t tag, pad;         /* of the message */
};

/* Pinned memory for one chunk, with an event. */
struct tutti_far_piece {
    struct tutti_far_piece *next;
    void *memory;
    size_t room;
    struct tutti_event *event;
    int gpu;
};
/* far.c: what mails are known by. */
void tutti_far_key(uint64_t out[2]);
/* NULL without memory. */
struct tutti_far_piece *tutti_far_piece_take(size_t bytes, int gpu);
void tutti_far_piece_give(struct tutti_far_piece *piece);
/* The stream that chunks of one direction are moved in. */
int tutti_far_stream(int gpu, enum tutti_direction direction, struct tutti_stream **out);
/* GPU of which kernels reach the message. */
int tutti_far_gpu(const struct tutti_places *places);
/* Begins to move bytes [first, first + bytes) of the packed message; done when the piece's event is. whole: the
 * elements are one run of bytes, from `buffer` + plan->true_lower on. */
int tutti_far_move(enum tutti_direction direction, int gpu, const struct tutti_plan *plan, MPI_Count count,
                   const void *buffer, int whole, uint64_t first, uint64_t bytes, struct tutti_far_piece *piece);

/* ---- far_out.c ---- */

/* What a request stands for. */
struct tutti_far_mail {
    struct tutti_message message;
    const struct tutti_plan *plan; /* held */
    uint64_t bytes, chunk;
    int world, gpu, whole; /* world: the receiver */
    unsigned char text[TUTTI_FAR_MAIL_BYTES];
};

struct tutti_far_chunk {
    struct tutti_far_piece *piece;
    MPI_Request request;
};

/* The chunks of one message, until the MPI has all of them there. */
struct tutti_far_out {
    struct tutti_far_out *next;
    int working; /* a call is still at it */
    int world, tag, of_message;
    uint64_t scope, sequence, bytes, size; /* size: of a chunk */
    uint64_t n, begun, sent, gone;         /* of chunks: being packed from begun on ... */
    struct tutti_far_word word;
    MPI_Request spoken; /* the word */
    struct tutti_far_chunk chunk[];
};

/* In the list, with memory for its first chunk, so that there is a way to the end. NULL: none. */
struct tutti_far_out *tutti_far_out_new(const struct tutti_far_mail *mail);
void tutti_far_out_give_up(struct tutti_far_out *out);
/* Packs all chunks and gives them to the MPI. With `matched` (the mail's request, of a blocking call) waits for chunks
 * to go as long as the receiver brings them on. An MPI code. */
int tutti_far_out_carry(struct tutti_far_out *out, const struct tutti_far_mail *mail, MPI_Request *matched);
/* The call is through with it: polling looks after the rest. */
void tutti_far_out_leave(struct tutti_far_out *out);
/* 1 where a message on its way has the tag in another scope, and another length: a probe could not tell them apart. */
int tutti_far_clashes(const struct tutti_far_mail *mail);
int tutti_far_failed(const struct tutti_far_mail *mail, int status); /* said; an MPI code */
int tutti_far_complete(MPI_Request *request);
/* One turn of a wait. */
void tutti_far_wait(unsigned *rounds);

/* The lock is held. far_out.c: chunks that have been sent; far_receive.c: those that come. */
void tutti_far_reap(void);
void tutti_far_advance(void);
extern pthread_mutex_t tutti_far_lock; /* of both lists */

#endif
