/* What protocols ask of their receiver before a rendezvous is taken, for each state of the receiver, each length and
 * each order of rules: the answer, and the reason that a message is staged for. The receiver's state is this test's. */
#include <stdio.h>

#include "core/reasons.h"
#include "p2p/p2p.h"
#include "support/check.h"

static int is_open, takes_short, maps;
static long questions,
    opens_at; /* whether it is open; opens_at: the number of the first one that is answered with yes; 0: none */
static struct tutti_endpoint *const endpoint = (struct tutti_endpoint *)&is_open; /* that nothing looks into */

/* In place of the core's. */
int tutti_endpoint_is_open(const struct tutti_endpoint *of, int peer)
{
    CHECK(of == endpoint && peer == 3, "another endpoint, or rank %d", peer);
    questions++;
    return is_open || (opens_at > 0 && questions >= opens_at);
}

int tutti_endpoint_takes_short(const struct tutti_endpoint *of, int peer)
{
    CHECK(of == endpoint && peer == 3, "another endpoint, or rank %d", peer);
    return takes_short;
}

int tutti_endpoint_mapped(const struct tutti_endpoint *of, int peer, int gpu)
{
    CHECK(of == endpoint && peer == 3 && gpu == 5, "another endpoint, rank %d or GPU %d", peer, gpu);
    return maps;
}

static const char *names[3]; /* of rows, up to NULL */

static int rules_next(int far, size_t bytes, int *from)
{
    (void)far, (void)bytes;
    return *from < 3 && names[*from] ? tutti_protocol_names.find(names[(*from)++]) : -1;
}

static enum tutti_reason rules_why(int from)
{
    (void)from;
    return TUTTI_REASON_RULES;
}

static enum tutti_reason expected(uint64_t bytes)
{
    if (!is_open)
        return TUTTI_REASON_GPU_LATE;
    if (maps == TUTTI_MAPS_CANNOT)
        return TUTTI_REASON_SCRATCH_UNREACHED;
    return bytes < 512 && !takes_short ? TUTTI_REASON_BLIND : TUTTI_REASON_NONE;
}

/* A receiver that passes its first memory of a GPU while a long message is sent. Lengths so large that the wait has no
 * end, and one that takes 1 us. */
static void test_await(const struct tutti_protocol_rules *rules)
{
    enum { OPENS_AT = 1000 };
    const struct tutti_protocol_row *row = &tutti_protocols[tutti_protocol_names.find("packed")];
    const uint64_t endless = UINT64_C(1) << 60, shortest = UINT64_C(16) << 20;
    struct tutti_p2p_worker worker = {.endpoint = endpoint};
    is_open = 0;
    maps = TUTTI_MAPS;
    names[0] = NULL;
    opens_at = OPENS_AT;
    questions = 0;
    CHECK(!tutti_p2p_row_reaches(&worker, row, 3, 5, shortest - 1, rules), "a message below 16 MiB has waited");
    CHECK(questions < OPENS_AT, "%ld questions for a message below 16 MiB", questions);
    CHECK(tutti_p2p_row_reaches(&worker, row, 3, 5, endless, rules), "a long message has not waited");
    CHECK(questions >= OPENS_AT, "%ld questions for a long message", questions);
    questions = 0;
    CHECK(!tutti_p2p_row_reaches(&worker, row, 3, 5, endless, rules), "a second one has waited");
    CHECK(questions < OPENS_AT, "%ld questions for the second one", questions);
    opens_at = 0;
    worker.awaited = 0;
    CHECK(!tutti_p2p_row_reaches(&worker, row, 3, 5, shortest, rules), "a rank that never opens is reached");
}

int main(void)
{
    static const char *const rows[] = {"direct", "packed", "engines"};
    static const uint64_t lengths[] = {8, 511, 512, 1 << 20};
    static const struct tutti_protocol_rules rules = {rules_next, rules_why};
    struct tutti_p2p_worker worker = {.endpoint = endpoint};
    for (int state = 0; state < 12; state++) {
        is_open = state % 2;
        takes_short = state / 2 % 2;
        maps = (int[]){TUTTI_MAPS_NOT_YET, TUTTI_MAPS, TUTTI_MAPS_CANNOT}[state / 4];
        for (int i = 0; i < 4 * 3 * 3; i++) {
            const uint64_t bytes = lengths[i % 4];
            const enum tutti_reason reason = expected(bytes);
            names[0] = rows[i / 4 % 3];
            names[1] = i / 12 == 0 ? NULL : i / 12 == 1 ? "staged" : rows[(i / 4 + 1) % 3];
            tutti_why_take(TUTTI_REASON_NONE);
            const int reaches =
                tutti_p2p_reaches(&worker, 3, 5, bytes, &rules) && tutti_p2p_is_looked_for(&worker, 3, bytes);
            const enum tutti_reason why = tutti_why_take(TUTTI_REASON_NONE);
            CHECK(reaches == (reason == TUTTI_REASON_NONE), "%s, %llu bytes, state %d: reached %d", names[0],
                  (unsigned long long)bytes, state, reaches);
            CHECK(why == reason, "%s, %llu bytes, state %d: %s instead of %s", names[0], (unsigned long long)bytes,
                  state, tutti_reasons[why].text ? tutti_reasons[why].text : "no reason",
                  tutti_reasons[reason].text ? tutti_reasons[reason].text : "no reason");
        }
    }
    names[0] = "staged";
    CHECK(!tutti_p2p_reaches(&worker, 3, 5, 4096, &rules), "the MPI's row needs no rendezvous");
    test_await(&rules);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
