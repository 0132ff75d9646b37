#include "turns.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "kit.h"

enum { LATE_MS = 40000 };
static int other; /* socket to the other rank */

void kit_turns_open(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t length = sizeof name;
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (kit_rank == 0) {
        CHECK(bind(listener, (struct sockaddr *)&name, sizeof name.sun_family) == 0 && listen(listener, 1) == 0 &&
                  getsockname(listener, (struct sockaddr *)&name, &length) == 0,
              "socket");
    }
    MPI_Bcast(&name, (int)sizeof name, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(&length, (int)sizeof length, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (kit_rank == 0) {
        other = accept(listener, NULL, NULL);
        close(listener);
    } else {
        other = listener;
        CHECK(connect(other, (struct sockaddr *)&name, length) == 0, "connect");
    }
}

void kit_turns_close(void)
{
    close(other);
}

void kit_turn_give(char mine)
{
    CHECK(write(other, &mine, 1) == 1, "write");
}

char kit_turn_take(const char *name, long turn)
{
    struct pollfd waited = {.fd = other, .events = POLLIN};
    char theirs = 0;
    if (!CHECK(poll(&waited, 1, LATE_MS) == 1 && read(other, &theirs, 1) == 1,
               "%s, turn %ld: the other rank's call has not returned while this rank was in no call", name, turn)) {
        fflush(NULL);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return theirs;
}
