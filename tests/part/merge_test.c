/* Partitions that become ready while the transport, or the receiver of device memory, is busy with the request travel
 * together. A transport of one rank that sends to itself counts its messages, and no progress is made while the
 * partitions are marked: upwards, downwards, in a drawn order, and with progress in between, after which all that was
 * marked must have arrived. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "dtype/describe_any.h"
#include "dtype/elements.h"
#include "part/part.h"
#include "progress/engine.h"
#include "support/check.h"
#include "support/random.h"
#include "support/threads.h"
#include "team/endpoint.h"
#include "team/kit.h"
#include "tutti/tutti.h"

enum { PARTITIONS = 2048, EACH = 4096, RECEIVED = 64, POLLS = 4096, SCRATCH = 1 << 20 };
enum { MESSAGES_MOST = PARTITIONS / 16 }; /* in any order but the drawn one */
enum order { UP, DOWN, DRAWN, POLLED, ORDERS };

static const char *const order_text[] = {"upwards", "downwards", "in a drawn order", "with progress in between"};

static struct tutti_transport_ops counting;
static const struct tutti_transport_ops *beneath;
static long sent;

static int count_send(struct tutti_transport *transport, const void *memory, size_t bytes, int to, int tag,
                      int synchronous, struct tutti_transfer *out)
{
    sent++;
    return beneath->send(transport, memory, bytes, to, tag, synchronous, out);
}

static void request_ended(void *with)
{
    ++*(int *)with;
}

static struct tutti_part *request_new(int send, int partitions, char *memory, const struct tutti_plan *plan, int *ended)
{
    const struct tutti_part_args args = {.send = send,
                                         .comm = 7,
                                         .partitions = partitions,
                                         .count = (int64_t)PARTITIONS / partitions * EACH,
                                         .plan = plan,
                                         .buffer = memory,
                                         .in_order = 1,
                                         .solid = 1,
                                         .ended = request_ended,
                                         .with = ended};
    struct tutti_part *part = tutti_part_new(&args);
    CHECK(part != NULL, "no request");
    return part;
}

static char byte_of(uint64_t seed, size_t i)
{
    return (char)(random_mix(seed + i / 8) >> i % 8 * 8);
}

/* Half of the partitions are marked, the others may never be: what was marked must arrive all the same. */
static void arrive_half(struct tutti_part *receive, int marked)
{
    const int each = PARTITIONS / RECEIVED;
    for (int i = 0; i < POLLS; i++)
        tutti_progress_poll();
    for (int p = 0; p < marked / each; p++) {
        int flag = 0;
        CHECK(tutti_part_arrived(receive, p, &flag) == TUTTI_PART_FINE && flag,
              "%d partitions are marked, but number %d of %d has not arrived", marked, p, RECEIVED);
    }
}

static void mark_all(enum order order, struct tutti_part *send, struct tutti_part *receive, uint64_t *state)
{
    int *number = malloc(PARTITIONS * sizeof *number);
    for (int i = 0; i < PARTITIONS; i++)
        number[i] = order == DOWN ? PARTITIONS - 1 - i : i;
    for (int i = PARTITIONS - 1; i > 0 && order == DRAWN; i--) {
        const int other = (int)(random_next(state) % (uint64_t)(i + 1)), kept = number[i];
        number[i] = number[other];
        number[other] = kept;
    }
    for (int i = 0; i < PARTITIONS; i++) {
        CHECK(tutti_part_ready(send, number[i], number[i]) == TUTTI_PART_FINE, "partition %d", number[i]);
        if (order == POLLED && i + 1 == PARTITIONS / 2)
            arrive_half(receive, i + 1);
    }
    free(number);
}

static void one_order(enum order order, char *from, char *to, const struct tutti_plan *plan, uint64_t *state)
{
    const size_t bytes = (size_t)PARTITIONS * EACH;
    const uint64_t seed = random_next(state);
    int ended = 0;
    struct tutti_part *send = request_new(1, PARTITIONS, from, plan, &ended);
    struct tutti_part *receive = request_new(0, RECEIVED, to, plan, &ended);
    for (size_t i = 0; i < bytes; i++)
        from[i] = byte_of(seed, i);
    memset(to, 0, bytes);
    CHECK(tutti_part_start(receive) == TUTTI_OK && tutti_part_start(send) == TUTTI_OK, "start");
    sent = 0;
    mark_all(order, send, receive, state);
    while (ended < 2)
        tutti_progress_poll();
    CHECK(order == DRAWN || sent <= MESSAGES_MOST, "%d partitions %s were sent in %ld messages", PARTITIONS,
          order_text[order], sent);
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += to[i] != byte_of(seed, i);
    CHECK(wrong == 0, "%s: %zu of %zu bytes are wrong", order_text[order], wrong, bytes);
    tutti_part_free(send);
    tutti_part_free(receive);
}

/* Device memory goes by rendezvous. */
static void all_orders(int device, const struct tutti_plan *plan)
{
    uint64_t state = check_seed();
    char *memory[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        if (!device)
            memory[i] = malloc((size_t)PARTITIONS * EACH);
        else if (!CHECK(tutti_alloc((size_t)PARTITIONS * EACH, (void **)&memory[i]) == 0, "device memory"))
            return;
    for (int order = 0; order < ORDERS; order++)
        one_order((enum order)order, memory[0], memory[1], plan, &state);
    for (int i = 0; i < 2; i++)
        if (device)
            tutti_free(memory[i]);
        else
            free(memory[i]);
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    struct kit kit;
    struct any_room types = {0};
    const struct tutti_plan *plan;
    (void)unused;
    if (!kit_open(transport, &kit))
        return 1;
    (void)tutti_transport_tags(transport, TUTTI_RNDVS); /* the first ones are those of the protocols */
    struct tutti_endpoint *endpoint = tutti_endpoint_new(kit.node, tutti_device(), SCRATCH);
    beneath = transport->ops;
    counting = *beneath;
    counting.send = count_send;
    transport->ops = &counting;
    if (!CHECK(tutti_plan_build(any_bytes(&types, 1), &plan) == TUTTI_OK, "no plan") ||
        !CHECK(endpoint && tutti_part_open(transport, endpoint, kit.node, 0) == TUTTI_OK, "open"))
        return 1;
    all_orders(0, plan);
    all_orders(1, plan);
    tutti_part_close();
    tutti_plan_drop(plan);
    transport->ops = beneath;
    tutti_endpoint_free(endpoint, 1);
    kit_close(&kit);
    any_free(&types);
    return check_failed() != 0;
}

int main(void)
{
    printf("seed %llu\n", (unsigned long long)check_seed());
    fflush(stdout);
    const int failed = tutti_threads_run(1, rank_main, NULL);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return failed || check_failed();
}
