/* A send by letter while it is under way. Private to letters*.c. */
#ifndef TUTTI_MPI_SENT_H
#define TUTTI_MPI_SENT_H

#include "mpi/message/letters.h"
#include "p2p/rendezvous.h"

enum tutti_sent_state {
    TUTTI_SENT_ON_ITS_WAY,
    TUTTI_SENT_LEFT, /* out of the program's buffer, and the request is complete */
    TUTTI_SENT_OUT   /* and out of the list */
};

struct tutti_sent {
    struct tutti_sent *next;
    struct tutti_message message;
    struct tutti_rendezvous_send core; /* its plan is held; NULL: a staged message, without a letter */
    MPI_Request mail;                  /* of the MPI: the short message */
    MPI_Request request;               /* the program's, where `tag` is not -1 */
    int tag, borrowed;                 /* borrowed: of a persistent request */
    enum tutti_sent_state state;
    int freed, code;
    int given_up; /* the program has freed its request */
    unsigned char text[TUTTI_MAIL_BYTES];
};

static inline struct tutti_elements tutti_sent_elements(const struct tutti_message *message,
                                                        const struct tutti_layout *layout)
{
    return (struct tutti_elements){.plan = tutti_plan_hold(layout->plan),
                                   .count = message->count,
                                   .buffer = (void *)(uintptr_t)message->buffer,
                                   .whole = layout->in_order && (layout->solid || message->count == 1)};
}

/* The allocation that was looked at last, so that the driver is asked once about what lies in one. */
struct tutti_seen {
    struct tutti_memory memory; /* not DEVICE: none yet */
    struct tutti_lane_memo memo;
};
/* letters.c. 1 where all of [first, end) is in one allocation of the lanes' GPU. */
int tutti_seen_holds(struct tutti_seen *seen, const char *first, const char *end);
/* Lowest byte of the elements; 0 where they are not all in one allocation of the lanes' GPU. */
int tutti_sent_place(const struct tutti_sent *sent, struct tutti_seen *seen, const char **lowest);
/* 1 where the receiver's kernels can read the message as it lies: the letter says how. */
int tutti_sent_describe(struct tutti_sent *sent, const struct tutti_layout *layout, const char *lowest);

/* letters_moved.c. A letter of a collective, without a mail, for a rank of the node; NULL: there is no way. layout:
 * NULL where there are no bytes. job->bytes > 0: it is to be run before the letter is shown. To be listed then, or
 * withdrawn. */
struct tutti_sent *tutti_sent_parcel(const struct tutti_message *message, int peer, const struct tutti_layout *layout,
                                     struct tutti_seen *seen, struct tutti_pack_job *job);
void tutti_sent_withdraw(struct tutti_sent *sent);

/* letters.c: sends the mail of a new letter, to be listed; NULL where there is no letter, or it cannot be sent (*code
 * says why then). blocking: this thread does nothing else until the data have left. */
struct tutti_sent *tutti_sent_begin(const struct tutti_message *message, int blocking, int *code);
/* letters_poll.c: from here on polling looks after it, until the program is through with it too. */
void tutti_sent_list(struct tutti_sent *sent);
/* 1 where the data have left the program's buffer, and a synchronous message is received. await: until then. */
int tutti_sent_has_left(struct tutti_sent *sent);
void tutti_sent_await(struct tutti_sent *sent);
void tutti_sent_destroy(struct tutti_sent *sent);

#endif
