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
    int seat;   /* of the leader: listens; of others: the connection to it */
    int come;   /* the leader's: ranks that are seated, itself too */
    int *other; /* their connections, [size - 1] */
    int *rank;  /* their ranks in the world, or -1 */
    int told;
};

/* A name that the ranks know without having met. Another user could take it first: then no leader is trusted, and the
 * job goes on without Tutti. */
static void set_name(struct tutti_roll *roll, const char *job)
{
    const uint64_t key = tutti_fnv(tutti_fnv(TUTTI_FNV_BEGIN, "tutti", 6), job, strlen(job));
    roll->name.sun_family = AF_UNIX;
    const int n = snprintf(roll->name.sun_path + 1, sizeof roll->name.sun_path - 1, "tutti-%u-%016llx",
                           (unsigned)geteuid(), (unsigned long long)key);
    roll->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* One attempt to become the leader, or to register with the leader. 1: done; 0: try again; or a status. */
static int take_seat(void *with)
{
    struct tutti_roll *roll = with;
    int pid, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return TUTTI_ERR_SYSTEM;
    if (bind(fd, (struct sockaddr *)&roll->name, roll->length) == 0) {
        roll->leads = listen(fd, roll->size) == 0;
        roll->seat = fd;
        return roll->leads ? 1 : TUTTI_ERR_SYSTEM;
    }
    if (connect(fd, (struct sockaddr *)&roll->name, roll->length) == 0) {
        roll->seat = fd;
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
    roll->seat = -1;
    roll->other = malloc((size_t)size * sizeof *roll->other);
    roll->rank = malloc((size_t)size * sizeof *roll->rank);
    set_name(roll, job);
    int status = roll->other && roll->rank
                     ? tutti_progress_wait(&(const struct tutti_wait){
                           .done = take_seat, .with = roll, .quiet = 1, .seconds = ENTER_SECONDS, .every_us = 200})
                     : TUTTI_ERR_MEMORY;
    roll->come = 1;
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

/* 1 where all are seated. */
static int all_seated(void *with)
{
    struct tutti_roll *roll = with;
    int fd, pid;
    while (roll->come < roll->size && (fd = accept4(roll->seat, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (tutti_socket_trusts(fd, geteuid(), &pid) != TUTTI_OK) {
            close(fd);
            continue;
        }
        roll->rank[roll->come - 1] = -1;
        roll->other[roll->come++ - 1] = fd;
    }
    return roll->come == roll->size;
}

/* 1 if all registered processes have sent their rank; a status if one has ended. */
static int all_told(void *with)
{
    struct tutti_roll *roll = with;
    for (int i = 0; i < roll->come - 1; i++) {
        struct word word = {0};
        int passed, got = roll->rank[i] >= 0 ? 0 : tutti_socket_receive(roll->other[i], &word, sizeof word, &passed);
        if (got < 0 || (got > 0 && (word.magic != magic || word.value < 0 || word.value > INT32_MAX)))
            return TUTTI_ERR_PEER;
        if (got == 0)
            continue;
        roll->rank[i] = (int)word.value;
        roll->told++;
    }
    return roll->told == roll->come - 1;
}

int tutti_roll_call(struct tutti_roll *roll, int rank, int ranks[])
{
    if (!roll->leads) {
        const struct word word = {magic, rank};
        tutti_socket_send(roll->seat, &word, sizeof word, -1); /* one that has gone is noticed later */
        return 0;
    }
    int status = tutti_progress_wait(
        &(const struct tutti_wait){.done = all_seated, .with = roll, .seconds = GRACE_SECONDS, .every_us = 200});
    if (status != TUTTI_OK)
        return roll->come;
    status = tutti_progress_wait(&(const struct tutti_wait){.done = all_told,
                                                            .with = roll,
                                                            .what = "in MPI_Init, for ranks of this machine",
                                                            .seconds = tutti_settings()->timeout_seconds});
    ranks[0] = rank;
    for (int i = 0; status == TUTTI_OK && i < roll->come - 1; i++)
        ranks[i + 1] = roll->rank[i];
    return status == TUTTI_OK ? roll->come : 0;
}

/* 1 where the leader has decided, a status where it has gone. */
static int is_decided(void *with)
{
    struct tutti_roll *roll = with;
    struct word word = {0};
    int passed, got = tutti_socket_receive(roll->seat, &word, sizeof word, &passed);
    if (got < 0 || (got > 0 && word.magic != magic))
        return TUTTI_ERR_PEER;
    roll->told = got > 0 && word.value == 1;
    return got;
}

int tutti_roll_decide(struct tutti_roll *roll, int decision)
{
    const struct word word = {magic, decision};
    if (!roll->leads)
        return tutti_progress_wait(&(const struct tutti_wait){.done = is_decided,
                                                              .with = roll,
                                                              .what = "in MPI_Init, for the first rank of this machine",
                                                              .seconds = tutti_settings()->timeout_seconds}) ==
                   TUTTI_OK &&
               roll->told;
    for (int i = 0; i < roll->come - 1; i++)
        tutti_socket_send(roll->other[i], &word, sizeof word, -1);
    return decision;
}

void tutti_roll_leave(struct tutti_roll *roll)
{
    if (!roll)
        return;
    for (int i = 0; i < roll->come - 1; i++)
        close(roll->other[i]);
    if (roll->seat >= 0)
        close(roll->seat);
    free(roll->other);
    free(roll->rank);
    free(roll);
}
