/* A rank of a program of lane kernels: its host, its stream and the launches beside it are threads, and so are the
 * blocks of a launch. */
#ifndef TUTTI_TESTS_KERNELS_LANE_STREAMS_H
#define TUTTI_TESTS_KERNELS_LANE_STREAMS_H

#include <pthread.h>

#include "kernels/lane.h"

enum { LANE_LAUNCHES = 120 };

struct lane_rank {
    struct tutti_lane_args launch[LANE_LAUNCHES];
    unsigned launches;
    int announced[LANE_LAUNCHES];                  /* 1: of TUTTI_LANE_POST: started without a launch */
    int of[LANE_LAUNCHES];                         /* not negative: of TUTTI_LANE_DO: its report is kept, in */
    struct tutti_lane_report reported[LANE_LAUNCHES];
    unsigned char *area;
    unsigned ranks;
    uint32_t abort, where, failed;
    struct tutti_lane_report reports[TUTTI_LANE_OPS];
    struct tutti_lane_part part[TUTTI_LANE_PARTS]; /* started, but not launched yet */
    unsigned parts;
    struct tutti_lane_starts starts;
    unsigned draws; /* how the host's pauses are drawn */
    /* Of a run, under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned enqueued, passed;      /* launches that the host has put into the stream; that the stream has done */
    unsigned behind[LANE_LAUNCHES]; /* of each launch beside the stream: the launch that it begins behind */
    unsigned beside;
    int closed;
};

/* Runs all launches of the rank; pthread_create() takes it. */
void *lane_rank_run(void *rank);
/* 1 once a run has taken a minute: kernels leave then. */
int lane_rank_look(void *with);

#endif
