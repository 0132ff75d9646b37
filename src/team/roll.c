#include "team/roll.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/fnv.h"
#include "core/settings.h"
#include "core/status.h"
#include "progress/engine.h"
#include "team/socket.h"

enum { ENTER_SECONDS = 10, GRACE_SECONDS = 1 };
static const uint64_t magic = 0x54555454524f4c4c;

struct word {
    uint64_t magic;
    int64_t value; /* a rank, or the decision */
};

struct tutti_roll {
    struct sockaddr_un name;
    socklen_t length;
    int size, leads;
    int connection; /* of the leader: listens; of others: the connection to it */
    int registered; /* the leader's: ranks that have registered, itself too */
    int *other;     /* their connections, [size - 1] */
    int *rank;      /* their ranks in the world, or -1 */
    int answers;    /* the leader's: ranks that it has read; of others: its decision */
};

/* A name that the ranks know without having met. Another user could take it first: then no leader is trusted, and the
 * job runs without Tutti. */
static void roll_set_name(struct tutti_roll *roll, const char *job)
{
    const uint64_t key = tutti_fnv(tutti_fnv(TUTTI_FNV_BEGIN, "tutti", 6), job, strlen(job));
    roll->name.sun_family = AF_UNIX;
    const int n = snprintf(roll->name.sun_path + 1, sizeof roll->name.sun_path - 1, "tutti-%u-%016llx",
                           (unsigned)geteuid(), (unsigned long long)key);
    roll->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* One attempt to become the leader, or to register with the leader. 1: done; 0: try again; or a status. */
static int roll_register(void *with)
{
    struct tutti_roll *roll = with;
    int pid, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return TUTTI_ERR_SYSTEM;
    if (bind(fd, (struct sockaddr *)&roll->name, roll->length) == 0) {
        roll->leads = listen(fd, roll->size) == 0;
        roll->connection = fd;
        return roll->leads ? 1 : TUTTI_ERR_SYSTEM;
    }
    if (connect(fd, (struct sockaddr *)&roll->name, roll->length) == 0) {
        roll->connection = fd;
        return tutti_socket_trusts(fd, geteuid(), &pid) == TUTTI_OK ? 1 : TUTTI_ERR_SYSTEM;
    }
    close(fd);
    return 0; /* the leader has not begun to listen, its queue is full, or it has ended */
}

int tutti_roll_enter(const char *job, int size, struct tutti_roll **out)
{
    struct tutti_roll *roll = calloc(1, sizeof *roll);
    *out = NULL;
    if (!roll)
        return TUTTI_ERR_MEMORY;
    roll->size = size;
    roll->connection = -1;
    roll->other = malloc((size_t)size * sizeof *roll->other);
    roll->rank = malloc((size_t)size * sizeof *roll->rank);
    roll_set_name(roll, job);
    int status = roll->other && roll->rank
                     ? tutti_progress_wait(&(const struct tutti_wait){
                           .done = roll_register, .with = roll, .quiet = 1, .seconds = ENTER_SECONDS, .every_us = 200})
                     : TUTTI_ERR_MEMORY;
    roll->registered = 1;
    if (status == TUTTI_OK)
        *out = roll;
    else
        tutti_roll_leave(roll);
    return status;
}

int tutti_roll_leads(const struct tutti_roll *roll)
{
    return roll->leads;
}

/* 1 if all ranks have registered. */
static int roll_is_complete(void *with)
{
    struct tutti_roll *roll = with;
    int fd, pid;
    while (roll->registered < roll->size &&
           (fd = accept4(roll->connection, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (tutti_socket_trusts(fd, geteuid(), &pid) != TUTTI_OK) {
            close(fd);
            continue;
        }
        roll->rank[roll->registered - 1] = -1;
        roll->other[roll->registered++ - 1] = fd;
    }
    return roll->registered == roll->size;
}

/* 1 if all registered processes have sent their rank; a status if one has ended. */
static int roll_has_ranks(void *with)
{
    struct tutti_roll *roll = with;
    for (int i = 0; i < roll->registered - 1; i++) {
        struct word word = {0};
        int passed, got = roll->rank[i] >= 0 ? 0 : tutti_socket_receive(roll->other[i], &word, sizeof word, &passed);
        if (got < 0 || (got > 0 && (word.magic != magic || word.value < 0 || word.value > INT32_MAX)))
            return TUTTI_ERR_PEER;
        if (got == 0)
            continue;
        roll->rank[i] = (int)word.value;
        roll->answers++;
    }
    return roll->answers == roll->registered - 1;
}

int tutti_roll_call(struct tutti_roll *roll, int rank, int ranks[])
{
    if (!roll->leads) {
        const struct word word = {magic, rank};
        tutti_socket_send(roll->connection, &word, sizeof word, -1); /* one that has gone is noticed later */
        return 0;
    }
    int status = tutti_progress_wait(
        &(const struct tutti_wait){.done = roll_is_complete, .with = roll, .seconds = GRACE_SECONDS, .every_us = 200});
    if (status != TUTTI_OK)
        return roll->registered;
    status = tutti_progress_wait(&(const struct tutti_wait){.done = roll_has_ranks,
                                                            .with = roll,
                                                            .what = "in MPI_Init, for ranks of this machine",
                                                            .seconds = tutti_settings()->timeout_seconds});
    ranks[0] = rank;
    for (int i = 0; status == TUTTI_OK && i < roll->registered - 1; i++)
        ranks[i + 1] = roll->rank[i];
    return status == TUTTI_OK ? roll->registered : 0;
}

/* 1 if the leader has decided, a status where it has gone. */
static int roll_is_decided(void *with)
{
    struct tutti_roll *roll = with;
    struct word word = {0};
    int passed, got = tutti_socket_receive(roll->connection, &word, sizeof word, &passed);
    if (got < 0 || (got > 0 && word.magic != magic))
        return TUTTI_ERR_PEER;
    roll->answers = got > 0 && word.value == 1;
    return got;
}

int tutti_roll_decide(struct tutti_roll *roll, int decision)
{
    const struct word word = {magic, decision};
    if (!roll->leads)
        return tutti_progress_wait(&(const struct tutti_wait){.done = roll_is_decided,
                                                              .with = roll,
                                                              .what = "in MPI_Init, for the first rank of this machine",
                                                              .seconds = tutti_settings()->timeout_seconds}) ==
                   TUTTI_OK &&
               roll->answers;
    for (int i = 0; i < roll->registered - 1; i++)
        tutti_socket_send(roll->other[i], &word, sizeof word, -1);
    return decision;
}

void tutti_roll_leave(struct tutti_roll *roll)
{
    if (!roll)
        return;
    for (int i = 0; i < roll->registered - 1; i++)
        close(roll->other[i]);
    if (roll->connection >= 0)
        close(roll->connection);
    free(roll->other);
    free(roll->rank);
    free(roll);
}
