/* The messages of the transport of threads, on which the tests of all rooms below src/mpi/ rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/check.h"
#include "support/messages.h"
#include "support/threads.h"

static int rank_main(struct tutti_transport *transport, void *arg)
{
    (void)arg;
    return messages_run(transport, check_seed() + (uint64_t)transport->size, (int)check_many("TUTTI_TEST_ROUNDS", 100));
}

static void messages(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 5; ranks++)
        assert_int_equal(tutti_threads_run(ranks, rank_main, NULL), 0);
}

static int collect_main(struct tutti_transport *transport, void *arg)
{
    (void)arg;
    return collectives_run(transport, check_seed() + (uint64_t)transport->size,
                           (int)check_many("TUTTI_TEST_ROUNDS", 100));
}

static void collectives(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 5; ranks++)
        assert_int_equal(tutti_threads_run(ranks, collect_main, NULL), 0);
}

/* Ranges of tags do not overlap, and end where there are no more. */
static void ranges_of_tags(void **state)
{
    struct tutti_transport transport = {.tags = 100};
    (void)state;
    assert_int_equal(tutti_transport_tags(&transport, 10), 0);
    assert_int_equal(tutti_transport_tags(&transport, 1), 10);
    assert_int_equal(tutti_transport_tags(&transport, 90), -1);
    assert_int_equal(tutti_transport_tags(&transport, -1), -1);
    assert_int_equal(tutti_transport_tags(&transport, 89), 11);
    assert_int_equal(tutti_transport_tags(&transport, 1), -1);
}

/* A message that is longer than its buffer is an error of the receive, and nothing is written past the end. */
static int short_main(struct tutti_transport *t, void *arg)
{
    struct tutti_transfer transfer;
    char out[100] = {1}, in[64] = {0};
    int done = 0, status = 0;
    (void)arg;
    if (t->rank > 1)
        return 0;
    if (t->rank == 0)
        status = t->ops->send(t, out, sizeof out, 1, 3, 0, &transfer);
    else
        status = t->ops->receive(t, in, 50, 0, 3, &transfer);
    while (status == 0 && !done)
        status = t->ops->test(t, &transfer, NULL, &done);
    return t->rank == 0 ? status : !(status < 0 && done && in[50] == 0);
}

static void too_long(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(2, short_main, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages), cmocka_unit_test(collectives),
                                       cmocka_unit_test(ranges_of_tags), cmocka_unit_test(too_long)};
    printf("seed %llu\n", (unsigned long long)check_seed());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
