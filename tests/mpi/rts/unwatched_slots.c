/* Notes of receives (mpi/request/unwatched.c by itself, no message is sent): two receives of any two handles are always
 * noted, each in a slot of its own, and are found again by their handles. With three, one whose slots are in use is put
 * under watch at once, and stays so. One rank. */
#include <stdint.h>
#include <stdio.h>

#include "mpi/request/unwatched.h"
#include "support/check.h"

#include "alone.h"

enum { HANDLES = 5000 }; /* several times as many as there are slots */

static int watched;
static MPI_Request last_watched;

static void watch(const struct tutti_unwatched *receive)
{
    watched++;
    last_watched = receive->request;
}

/* The MPI's: the request has completed. */
static int complete(MPI_Request *request, MPI_Status *status)
{
    (void)status;
    *request = tutti_handles.no_request;
    return MPI_SUCCESS;
}

static void put(MPI_Request request)
{
    tutti_unwatched_put(&(const struct tutti_unwatched){.request = request, .call = "MPI_Irecv"});
}

static void end(MPI_Request request)
{
    CHECK(tutti_unwatched_wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
}

static void two(void)
{
    for (uintptr_t i = 1; i < HANDLES; i++) {
        put(alone_handle(0));
        put(alone_handle(i));
        CHECK(watched == 0 && tutti_unwatched_open == 2, "%d of two receives are watched, %d noted: handle %d", watched,
              tutti_unwatched_open, (int)i);
        end(alone_handle(i));
        CHECK(tutti_unwatched_open == 1, "a note stays when its receive has ended: handle %d", (int)i);
        put(alone_handle(i));
        tutti_unwatched_watch_request(alone_handle(i));
        CHECK(watched == 1 && last_watched == alone_handle(i), "another receive is watched: handle %d", (int)i);
        watched = 0;
        end(alone_handle(0));
        CHECK(tutti_unwatched_open == 0, "%d notes stay", tutti_unwatched_open);
    }
}

static void many(void)
{
    int noted = 0;
    for (uintptr_t i = 0; i < HANDLES; i++) {
        const int before = watched;
        put(alone_handle(i));
        noted += watched == before;
    }
    CHECK(noted == tutti_unwatched_open && noted + watched == HANDLES && watched > 0,
          "%d noted, %d counted, %d watched of %d", noted, tutti_unwatched_open, watched, HANDLES);
    for (uintptr_t i = 0; i < HANDLES; i++)
        end(alone_handle(i));
    CHECK(tutti_unwatched_open == 0, "%d notes stay", tutti_unwatched_open);
}

int main(void)
{
    alone_handles();
    tutti_next.MPI_Wait = complete;
    tutti_unwatched_begin(1, watch);
    two();
    many();
    printf("unwatched_slots: %ld failed\n", check_failed());
    return check_failed() != 0;
}
