/* Persistent messages of queues: what the parts of the test share. */
#ifndef TUTTI_TESTS_STREAM_QUEUES_H
#define TUTTI_TESTS_STREAM_QUEUES_H

#include "kit.h"

#include "tutti/mpix.h"

#define FINE(call)                                                                                                     \
    do {                                                                                                               \
        int error_ = (call);                                                                                           \
        CHECK(error_ == 0, "%s: %d (class %d)", #call, error_, error_ > 0 ? kit_class(error_) : 0);                    \
    } while (0)

/* Collective. So many random programs; replays: the rounds of a program are captured, and launched again and again. */
void queues_programs(long programs, int replays);

#endif
