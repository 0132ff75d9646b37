/* A rank that waits in one call makes progress with its other work. Each round draws the rank, the work (messages of
 * device memory in all forms, collectives, windows) and the wait. A round that takes too long is named. Two ranks.
 * waits [rounds] [name of a wait] [name of a traffic]; TUTTI_TEST_THREADS=1: another thread completes the work. */
#include "waits.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS = 20, FEW = 10 };

struct waits_round waits_now;
static uint64_t draws;
static char name[400];

int waits_drawn(int n)
{
    return (int)(random_next(&draws) % (uint64_t)n);
}

const char *waits_contents(int i, size_t bytes)
{
    static char data[WAITS_ROOM];
    for (size_t b = 0; b < bytes; b++)
        data[b] = (char)((char)random_mix(waits_now.seed + (uint64_t)i * 7919 + b / 8) ^ (char)b);
    return data;
}

static void report(int signal)
{
    static const char word[] = "this round takes too long: ";
    (void)signal;
    if (write(2, word, sizeof word - 1) < 0 || write(2, name, strlen(name)) < 0)
        _exit(3);
    _exit(2);
}

/* ---- rounds ---- */

struct round {
    const struct waits_row *row;
    const struct waits_traffic *traffic;
    unsigned delay_us;
};

static const struct waits_row *row_at(int i)
{
    return i < waits_message_count ? &waits_messages[i] : &waits_collectives[i - waits_message_count];
}

static struct round draw_round(int number, const char *wait, const char *traffic)
{
    static const int sizes[] = {24, 400, 4000, 22000, 200000, WAITS_ROOM};
    static const unsigned delays[] = {0, 300, 20000, 200000};
    struct round round;
    do
        round.row = row_at(waits_drawn(waits_message_count + waits_collective_count));
    while (wait && wait[0] && strcmp(wait, round.row->name) != 0);
    do
        round.traffic = &waits_traffics[waits_drawn(waits_traffic_count)];
    while ((traffic && strcmp(traffic, round.traffic->name) != 0) ||
           (round.traffic->is_collective && round.row->in_window));
    struct waits_round *const r = &waits_now;
    r->owner = waits_drawn(2);
    r->n = waits_drawn(2) ? 1 : 1 + waits_drawn(WAITS_MOST);
    r->on_device = waits_drawn(2);
    r->gaps = waits_drawn(4) == 0;
    r->polls = waits_drawn(2);
    r->way = round.traffic->ways ? waits_drawn(round.traffic->ways) : 0;
    r->how = round.traffic->hows ? waits_drawn(round.traffic->hows) : 0;
    for (int i = 0; i < WAITS_MOST; i++)
        r->bytes[i] = (waits_drawn(2) ? sizes[waits_drawn(6)] : 2 + waits_drawn(waits_drawn(2) ? 600 : 100000)) /
                      (r->gaps ? 2 : 1);
    r->seed = random_next(&draws);
    round.delay_us = delays[waits_drawn(number > 4 ? 3 : 4)];
    snprintf(name, sizeof name,
             "round %d, seed %llu: %s (way %d, how %d) of %s memory%s, %d of %d, %d, %d bytes, polls %d; rank %d waits "
             "in %s; %u us\n",
             number, (unsigned long long)kit_seed, round.traffic->name, r->way, r->how,
             r->on_device ? "device" : "host", r->gaps ? " with gaps" : "", r->n, r->bytes[0], r->bytes[1], r->bytes[2],
             r->polls, r->owner, round.row->name, round.delay_us);
    return round;
}

static void *end_beside(void *with)
{
    const struct waits_traffic *traffic = with;
    traffic->ends(1 - kit_rank);
    return NULL;
}

static void one_round(const struct round *round, int threads)
{
    const struct waits_traffic *traffic = round->traffic;
    const int other = 1 - kit_rank;
    pthread_t thread;
    alarm(SECONDS);
    if (kit_rank != waits_now.owner) {
        if (traffic->before)
            traffic->before(other);
        MPI_Recv(NULL, 0, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (round->row->first)
            round->row->first(other);
        usleep(round->delay_us);
        traffic->sends(other);
        round->row->lets(other);
        if (traffic->after)
            traffic->after(other);
    } else {
        traffic->begins(other);
        MPI_Send(NULL, 0, MPI_BYTE, other, 1, MPI_COMM_WORLD);
        const int beside = threads && pthread_create(&thread, NULL, end_beside, (void *)(uintptr_t)traffic) == 0;
        round->row->waits(other);
        if (beside)
            pthread_join(thread, NULL);
        else
            traffic->ends(other);
    }
    alarm(0);
}

int main(int argc, char **argv)
{
    const int threads = (int)check_setting("TUTTI_TEST_THREADS", 0);
    const int got = kit_start(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    const int rounds = argc > 1 ? atoi(argv[1]) : 40;
    if (kit_size != 2 || (threads && got < MPI_THREAD_MULTIPLE))
        kit_skip("waits", "needs two ranks, and threads");
    signal(SIGALRM, report);
    draws = kit_seed;
    waits_open(rounds > FEW); /* of device memory: few rounds may meet the GPU in any call */
    waits_traffic_open();
    for (int i = 0; i < rounds; i++) {
        const struct round round = draw_round(i, argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
        const int failed = check_failed();
        one_round(&round, threads);
        CHECK(check_failed() == failed, "%s", name);
    }
    waits_traffic_close();
    waits_close();
    return kit_end("waits");
}
