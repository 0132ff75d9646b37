/* Transfers of a nonblocking call. The call is a job on a fiber, which does not call the transport. The fiber hands a
 * wire over to the threads of the program, which advance it when they poll the call, and waits for its end. Private to
 * carry/. */
#ifndef TUTTI_COLL_CARRY_HANDED_H
#define TUTTI_COLL_CARRY_HANDED_H

#include <stdatomic.h>

enum { TUTTI_CARRY_HANDED = 3 }; /* of a call, at a time */

enum tutti_carry_handed_at {
    TUTTI_CARRY_KEPT,  /* by the fiber */
    TUTTI_CARRY_GIVEN, /* to the polling thread */
    TUTTI_CARRY_ENDED, /* with `status`; the fiber's again */
    TUTTI_CARRY_CANCELLED
};
/* Zeros: kept. The pointers are set by its user. */
struct tutti_carry_handed {
    int (*advance)(void *with); /* 1: it has ended; 0; a status. It never waits */
    void (*cancel)(void *with, int status);
    void *with;
    atomic_int at;   /* enum tutti_carry_handed_at */
    atomic_int stop; /* not TUTTI_OK: the fiber wants it cancelled */
    int status;
};
/* Of a call. A slot is filled by the fiber and emptied by the polling thread, which does not look at it afterwards. */
struct tutti_carry_desk {
    _Atomic(struct tutti_carry_handed *) slot[TUTTI_CARRY_HANDED];
};

/* On the fiber. give: `slot` is empty. wait: a status. stop: nothing advances or uses it any more afterwards; of one
 * that was given. */
void tutti_carry_handed_give(struct tutti_carry_desk *desk, int slot, struct tutti_carry_handed *handed);
int tutti_carry_handed_wait(struct tutti_carry_handed *handed);
void tutti_carry_handed_stop(struct tutti_carry_desk *desk, int slot, struct tutti_carry_handed *handed, int status);

/* On a thread that may call the transport, one at a time. Advances all that is handed over. status: not TUTTI_OK: all
 * of it ends so. Returns how many are left. */
int tutti_carry_desk_poll(struct tutti_carry_desk *desk, int status);
/* One that is left; NULL: none. By the polling thread. */
const void *tutti_carry_desk_first(struct tutti_carry_desk *desk);

#endif
