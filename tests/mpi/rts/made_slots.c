/* Persistent receives that were made before any RTS can arrive (mpi/message/made.c by itself) against a plain list:
 * random receives that are made and freed, communicators that go, and the end. Two receives of any handles are always
 * recorded, each with its arguments, and each type that is held is given back once. One rank.
 * made_slots [steps [seed]] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/message/made.h"
#include "mpi/real/lent.h"
#include "support/check.h"
#include "support/random.h"

#include "alone.h"

enum { HANDLES = 1500, KINDS = 4, STEPS = 100000 };

static struct tutti_made_receive list[HANDLES]; /* what is to be recorded: used */
static int recorded, held;                      /* held: types */

/* The library's. */
void tutti_type_release(MPI_Datatype type)
{
    (void)type;
    held--;
}

static int put(unsigned i)
{
    list[i] = (struct tutti_made_receive){.used = 1,
                                          .request = alone_handle(i),
                                          .buffer = &list[alone_draw(HANDLES)],
                                          .count = (MPI_Count)alone_draw(1000),
                                          .type = alone_type(alone_draw(KINDS)),
                                          .source = (int)alone_draw(9),
                                          .tag = (int)alone_draw(100),
                                          .comm = alone_comm(alone_draw(KINDS))};
    list[i].used = tutti_made_put(&list[i]);
    held += list[i].used;
    recorded += list[i].used;
    return list[i].used;
}

static void freed(unsigned i)
{
    const int before = held;
    tutti_made_freed(alone_handle(i));
    CHECK(before - held == list[i].used, "receive %u is freed, and %d types are given back, not %d", i, before - held,
          list[i].used);
    recorded -= list[i].used;
    list[i].used = 0;
}

static void leave(MPI_Comm comm)
{
    tutti_made_leave(comm);
    for (int i = 0; i < HANDLES; i++) {
        if (list[i].used && list[i].comm == comm)
            list[i].comm = tutti_handles.no_comm;
    }
}

static void take(const struct tutti_made_receive *made)
{
    int i = 0;
    while (i < HANDLES && !(list[i].used && list[i].request == made->request))
        i++;
    if (!CHECK(i < HANDLES, "a receive is recorded that was not made"))
        return;
    const struct tutti_made_receive *const wanted = &list[i];
    CHECK(made->buffer == wanted->buffer && made->count == wanted->count && made->type == wanted->type &&
              made->source == wanted->source && made->tag == wanted->tag && made->comm == wanted->comm,
          "receive %d is recorded with other arguments", i);
    list[i].used = 0;
    recorded--;
    held--;
}

static void end(int dropped)
{
    tutti_made_end(dropped ? NULL : take);
    for (int i = 0; i < HANDLES && dropped; i++) {
        recorded -= list[i].used;
        list[i].used = 0;
    }
    CHECK(recorded == 0 && held == 0 && tutti_made_open == 0, "%d receives stay, %d types are held, %d slots in use",
          recorded, held, tutti_made_open);
}

/* Any two are recorded, whatever their handles are. */
static void pairs(void)
{
    for (unsigned i = 1; i < HANDLES; i++) {
        CHECK(put(0) && put(i) && tutti_made_open == 2, "receives 0 and %u: %d recorded", i, tutti_made_open);
        freed(i);
        CHECK(put(i), "receive %u is not recorded again", i);
        end(i % 2);
    }
}

int main(int argc, char **argv)
{
    const long steps = argc > 1 ? strtol(argv[1], NULL, 0) : STEPS;
    int most = 0, refused = 0;
    alone_state = argc > 2 ? random_mix(strtoull(argv[2], NULL, 0)) : 13;
    alone_handles();
    pairs();
    for (long step = 0; step < steps && !check_failed(); step++) {
        const unsigned what = alone_draw(1000), i = alone_draw(HANDLES), fills = step / 5000 % 2 == 0;
        if (what < (fills ? 600u : 300u)) {
            if (list[i].used) /* its handle is in use */
                continue;
            refused += !put(i);
        } else if (what < 990) {
            freed(i);
        } else if (what < 998) {
            leave(alone_comm(alone_draw(KINDS)));
        } else {
            end(what == 998);
        }
        most = recorded > most ? recorded : most;
        CHECK(tutti_made_open == recorded, "step %ld: %d slots are in use, not %d", step, tutti_made_open, recorded);
    }
    CHECK(refused > 0 && most > 150, "%d receives at most, %d refused", most, refused);
    end(0);
    printf("made_slots: %ld steps, %d recorded at most, %d refused, %ld failed\n", steps, most, refused,
           check_failed());
    return check_failed() != 0;
}
