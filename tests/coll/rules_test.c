/* The grammar of rules: what is taken, what is refused and with what words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "coll/algorithm.h"
#include "coll/move/moves.h"
#include "core/status.h"
#include "core/types.h"
#include "device/device.h"
#include "dtype/aware.h"
#include "p2p/protocols.h"
#include "shmem/local/way.h"

static char file_name[64];

static void takes(void **state)
{
    (void)state;
    static const char *const right[] = {
        "",
        "allreduce: *@staged",
        "allreduce: 0-8k@oneshot 8k-1M@twoshot 1m-*@direct *@staged",
        "allreduce:0-8k@oneshot,8k-*@twoshot",
        "allreduce: 0-100@leader; allreduce: *@oneshot",
        "reduce: *@direct reduce_scatter: 0-1g@direct *@staged scan: *@leader allreduce: 0-256k@leader_oneshot",
        "allreduce:",
        "bcast: 0-8k@mpi *@fetch gather: *@fetch scatter: *@fetch allgather: *@fetch alltoall: *@mpi neighbor: *@fetch",
        "message: *@packed message_far: *@pipelined shmem_put_1: 0-8k@direct *@copy_engine shmem_get_1024: *@direct",
        "message: *@direct 0-16k@landed *@staged",
    };
    char wrong[160];
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++)
        assert_int_equal(tutti_rules_check(right[i], wrong, sizeof wrong), TUTTI_OK);
}

/* The default rules of the host device are read without an error; those of CUDA: tests/gpu/driver_lines_test.c. */
static void defaults(void **state)
{
    (void)state;
    char wrong[160] = "";
    assert_int_equal(tutti_rules_check(tutti_device_host.rules, wrong, sizeof wrong), TUTTI_OK);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } wrongs[] = {
        {"allreduce: *@onshot", "no algorithm 'onshot'"},
        {"alreduce: *@oneshot", "no collective 'alreduce': known are: allreduce, reduce, reduce_scatter, scan"},
        {"reduce: *@direct exscan: *@direct", "no collective 'exscan'"},
        {"barrier: *@ll", "no collective 'barrier'"},
        {"scan: *@leader_twosho", "known are: staged oneshot twoshot direct leader leader_oneshot leader_twoshot"},
        {"message: *@land", "known are: staged landed packed direct engines"},
        {"message_far: *@landed", "known are: staged pipelined"},
        {"*@oneshot", "cannot read '*@oneshot'"},
        {"allreduce: 8k@oneshot", "no range of bytes '8k'"},
        {"allreduce: 8k-4k@oneshot", "no range of bytes '8k-4k'"},
        {"allreduce: 0-99999999999999999999999@oneshot", "no range of bytes"},
        {"allreduce: oneshot", "cannot read 'oneshot'"},
    };
    char wrong[320];
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        assert_int_equal(tutti_rules_check(wrongs[i].text, wrong, sizeof wrong), TUTTI_ERR_SETTING);
        assert_non_null(strstr(wrong, wrongs[i].says));
    }
}

/* Name of the algorithm that the rules choose for a call, before it is known whether it can run. */
static const char *choice(enum tutti_collective collective, size_t bytes, int ranks, int gpus)
{
    const struct tutti_team team = {.size = ranks, .gpus = gpus, .lines = 1};
    const struct tutti_call call = {.collective = collective, .count = bytes, .type = TUTTI_TYPE_U8};
    int from, defaults, row;
    tutti_rules_hash(&from, &defaults);
    do
        row = tutti_rules_next_of(tutti_rules_section(collective), bytes, ranks, &from);
    while (row >= 0 && !tutti_algorithm_can(tutti_algorithms[row], &team, &call));
    return row >= 0 ? tutti_algorithms[row]->name : tutti_algorithm_last()->name;
}

static void first_that_fits(void **state)
{
    (void)state;
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 8192, 4, 4), "twoshot"); /* leader needs shared GPUs */
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 8192, 4, 2), "leader");
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 8193, 4, 4), "staged");
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 65537, 4, 4), "oneshot"); /* measured */
    assert_string_equal(choice(TUTTI_COLLECTIVE_REDUCE, 1, 4, 4), "staged");         /* the user's */
    assert_string_equal(choice(TUTTI_COLLECTIVE_REDUCE, 101, 4, 4), "direct");       /* the default */
    assert_string_equal(choice(TUTTI_COLLECTIVE_REDUCE, 101, 4, 2), "leader");
    assert_string_equal(choice(TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK, 8, 4, 4), "direct");
    assert_string_equal(choice(TUTTI_COLLECTIVE_SCAN, 8, 4, 4), "direct");
}

static void write_file(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* What the file must be like. */
static void reads_files(void **state)
{
    (void)state;
    static const char with[] = "# measured\n\n device: \tA, 1 GiB \r\nallreduce: *@oneshot # all\nreduce:\n*@direct\n"
                               "device: B\nallreduce: *@no-such\ndevice: A, 1 GiB\nscan: *@staged";
    static const struct {
        const char *text;
        const char *device, *rules, *says; /* rules NULL: refused with these words */
    } cases[] = {
        {with, "A, 1 GiB", "allreduce: *@oneshot\nreduce:\n*@direct\nscan: *@staged\n", NULL},
        {with, "C", "", NULL},
        {with, "A", "", NULL},
        {with, "B", NULL, "no algorithm 'no-such'"},
        {"", "A", "", NULL},
        {"# nothing yet\n", "A", "", NULL},
        {"allreduce: *@oneshot\n", "A", NULL, "does not begin with a line 'device: ...'"},
        {"device: A\nallreduce *@oneshot\n", "A", NULL, "cannot read 'allreduce'"},
        {"device:\n", "", "", NULL},
    };
    char rules[TUTTI_RULES_BYTES], wrong[320];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(file_name, cases[i].text, strlen(cases[i].text));
        int status = tutti_rules_load(file_name, cases[i].device, rules, sizeof rules, wrong, sizeof wrong);
        assert_int_equal(status, cases[i].rules ? TUTTI_OK : TUTTI_ERR_SETTING);
        if (cases[i].rules)
            assert_string_equal(rules, cases[i].rules);
        else
            assert_non_null(strstr(wrong, cases[i].says));
    }
}

static void reads_no_files(void **state)
{
    (void)state;
    static char large[TUTTI_RULES_BYTES + 1];
    char rules[TUTTI_RULES_BYTES], wrong[320];
    assert_int_equal(tutti_rules_load("no/such/file", "A", rules, sizeof rules, wrong, sizeof wrong), TUTTI_OK);
    assert_string_equal(rules, "");
    assert_int_equal(tutti_rules_load("/dev/null", "A", rules, sizeof rules, wrong, sizeof wrong), TUTTI_OK);
    assert_int_equal(tutti_rules_load("/", "A", rules, sizeof rules, wrong, sizeof wrong), TUTTI_ERR_SETTING);
    memset(large, '\n', sizeof large);
    write_file(file_name, large, sizeof large);
    assert_int_equal(tutti_rules_load(file_name, "A", rules, sizeof rules, wrong, sizeof wrong), TUTTI_ERR_SETTING);
    assert_non_null(strstr(wrong, "larger than 64 KiB"));
    write_file(file_name, "device: A\nallreduce: *@one\0shot", 30);
    assert_int_equal(tutti_rules_load(file_name, "A", rules, sizeof rules, wrong, sizeof wrong), TUTTI_ERR_SETTING);
    assert_non_null(strstr(wrong, "no text"));
    write_file(file_name, "device: A\nscan: *@direct", 24);
    assert_int_equal(tutti_rules_load(file_name, "A", rules, 15, wrong, sizeof wrong), TUTTI_ERR_SETTING);
    assert_int_equal(tutti_rules_load(file_name, "A", rules, 16, wrong, sizeof wrong), TUTTI_OK);
}

/* Whatever the bytes, reading ends, and stays within its room (the sanitizers look). */
static void any_file(void **state)
{
    static const char head[10] = {'d', 'e', 'v', 'i', 'c', 'e', ':', ' ', 'A', '\n'}; /* no text that ends */
    (void)state;
    static const char alphabet[] = "device: A\n\n#allreduce:*@oneshot0-8k\r\t";
    unsigned dice = 7;
    char text[96], rules[128], wrong[320];
    for (int round = 0; round < 3000; round++) {
        size_t length = (size_t)(round % 95);
        for (size_t i = 0; i < length; i++) {
            dice = dice * 1664525u + 1013904223u;
            text[i] = alphabet[(dice >> 16) % (sizeof alphabet - 1)];
        }
        if (round % 3 && length > 10)
            memcpy(text, head, sizeof head);
        write_file(file_name, text, length);
        int status = tutti_rules_load(file_name, "A", rules, sizeof rules, wrong, sizeof wrong);
        assert_true(status == TUTTI_OK || status == TUTTI_ERR_SETTING);
    }
}

/* A rank permits the moves that its rules name before `mpi`, and fetch where no rule fits. */
static void permits_moves(void **state)
{
    (void)state;
    assert_int_equal(tutti_moves_permitted(TUTTI_COLLECTIVE_BCAST, 8192, 2, 0, 0, 0), 0);
    assert_int_equal(tutti_moves_permitted(TUTTI_COLLECTIVE_BCAST, 8193, 2, 0, 0, 0), 1 << TUTTI_MOVE_fetch);
    assert_int_equal(tutti_moves_permitted(TUTTI_COLLECTIVE_ALLTOALLW, 1, 2, 0, 0, 0), 0);
    assert_int_equal(tutti_moves_permitted(TUTTI_COLLECTIVE_GATHERV, 1, 2, 0, 0, 0), 1 << TUTTI_MOVE_fetch);
    const uint32_t sparing = 1 << TUTTI_MOVE_copies | 1 << TUTTI_MOVE_engines | 1 << TUTTI_MOVE_fetch;
    assert_int_equal(tutti_moves_permitted(TUTTI_COLLECTIVE_GATHERV, 1, 2, 0, 1, 0), sparing);
    assert_int_equal(tutti_moves_permitted(TUTTI_COLLECTIVE_BCAST, 8192, 2, 1, 1, 0), 0);
    const uint32_t any_length = UINT32_C(1) << TUTTI_MOVE_direct;
    assert_int_equal(tutti_moves_permitted(TUTTI_COLLECTIVE_GATHERV, 1, 2, 0, 0, 1),
                     any_length | 1 << TUTTI_MOVE_fetch);
    assert_int_equal(tutti_moves_permitted(TUTTI_COLLECTIVE_ALLTOALLW, 1, 2, 0, 0, 1), 0);
    assert_int_equal(tutti_moves_permitted(TUTTI_COLLECTIVE_NEIGHBOR_ALLTOALL, 1, 2, 0, 0, 0), 1 << TUTTI_MOVE_fetch);
    for (int ranks = 2; ranks < 6; ranks++) { /* a rule for 3 and 4 ranks */
        const int holds = ranks == 3 || ranks == 4;
        assert_int_equal(tutti_moves_permitted(TUTTI_COLLECTIVE_GATHER, 99, ranks, 0, 0, 0),
                         holds ? 0 : 1 << TUTTI_MOVE_fetch);
        assert_int_equal(tutti_moves_permitted(TUTTI_COLLECTIVE_GATHER, 100, ranks, 0, 0, 0), 1 << TUTTI_MOVE_fetch);
    }
}

/* What is chosen for some size, and the hash of one section. */
static void chooses(void **state)
{
    (void)state;
    char wrong[320] = "";
    const int stream = tutti_section_find("shmem_stream");
    const uint32_t hash = tutti_rules_section_hash(stream);
    assert_true(tutti_rules_choose(stream, TUTTI_STREAM_CHANNEL)); /* the defaults */
    assert_true(tutti_rules_choose(stream, TUTTI_STREAM_BLOCKS));
    assert_false(tutti_aware_on_device(65535));
    assert_true(tutti_aware_on_device(65536));
    assert_int_equal(
        tutti_rules_set("shmem_stream: 9-*@blocks 0-7@block 8-8@block aware: 0-99@device *@host", wrong, sizeof wrong),
        TUTTI_OK);
    assert_false(tutti_rules_choose(stream, TUTTI_STREAM_CHANNEL));
    assert_true(tutti_rules_choose(stream, TUTTI_STREAM_BLOCK));
    assert_int_not_equal(tutti_rules_section_hash(stream), hash);
    assert_true(tutti_aware_on_device(99));
    assert_false(tutti_aware_on_device(100));
    assert_int_equal(tutti_rules_set("shmem_stream: 9-*@blocks 0-7@block", wrong, sizeof wrong), TUTTI_OK);
    assert_true(tutti_rules_choose(stream, TUTTI_STREAM_CHANNEL)); /* 8 bytes are left to it */
    assert_int_equal(tutti_rules_set(NULL, wrong, sizeof wrong), TUTTI_OK);
    assert_int_equal(tutti_rules_section_hash(stream), hash);
}

/* What TUTTI_RULES choose for every size, whatever rules are in force besides. */
static void chooses_alone(void **state)
{
    (void)state;
    char wrong[320] = "";
    const int near = tutti_section_find("message"), far = tutti_section_find("message_far"),
              aware = tutti_section_find("aware");
    assert_true(tutti_rules_users_only(near, TUTTI_PROTOCOL_staged)); /* the third rule has no size left */
    assert_false(tutti_rules_users_only(near, TUTTI_PROTOCOL_direct));
    assert_false(tutti_rules_users_only(far, TUTTI_PROTOCOL_staged)); /* 100 bytes */
    assert_false(tutti_rules_users_only(aware, 0));                   /* the defaults have the other sizes */
    assert_int_equal(tutti_rules_set("shmem_stream: 9-*@blocks 0-7@block", wrong, sizeof wrong), TUTTI_OK);
    assert_true(tutti_rules_users_only(near, TUTTI_PROTOCOL_staged));
    assert_int_equal(tutti_rules_set(NULL, wrong, sizeof wrong), TUTTI_OK);
}

/* Rules for some numbers of ranks alone, and those that say what is wrong with them. */
static void by_ranks(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrong;
    } wrongs[] = {{"allreduce: */0@ll", "no number of ranks '*/0'"},
                  {"allreduce: */4-2@ll", "no number of ranks '*/4-2'"},
                  {"allreduce: 0-8k/@ll", "no number of ranks '0-8k/'"},
                  {"allreduce: 0-8k/2x@ll", "no number of ranks '0-8k/2x'"},
                  {"allreduce: x/2@ll", "no range of bytes 'x'"},
                  {"message: */2@packed", "rules of this section hold for any"}};
    char wrong[320] = "";
    const int section = tutti_rules_section(TUTTI_COLLECTIVE_ALLREDUCE);
    int from, defaults;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        assert_int_equal(tutti_rules_check(wrongs[i].text, wrong, sizeof wrong), TUTTI_ERR_SETTING);
        assert_non_null(strstr(wrong, wrongs[i].wrong));
    }
    assert_int_equal(tutti_rules_set("allreduce: 0-8k/2@ll128 */3-4@oneshot 9k-*/8-*@ll *@direct", wrong, sizeof wrong),
                     TUTTI_OK);
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 8192, 2, 2), "ll128");
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 8193, 2, 2), "direct");
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 8192, 3, 3), "oneshot");
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 1 << 20, 4, 4), "oneshot");
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 1 << 20, 5, 5), "direct");
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 9216, 8, 8), "ll");
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 9215, 16, 16), "direct");
    tutti_rules_hash(&from, &defaults);
    assert_string_equal(tutti_algorithms[tutti_rules_next(section, 8192, &from)]->name, "direct"); /* of no number */
    assert_int_equal(tutti_rules_set(NULL, wrong, sizeof wrong), TUTTI_OK);
}

/* Other rules while the process runs, as measurements put them in force. */
static void sets(void **state)
{
    (void)state;
    char wrong[320] = "", text[64];
    int first, defaults, again;
    uint32_t hash = tutti_rules_hash(&first, &defaults);
    assert_int_equal(tutti_rules_set("allreduce: *@oneshot allreduce_enqueue: *@ll", wrong, sizeof wrong), TUTTI_OK);
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 8192, 4, 4), "oneshot");
    assert_string_equal(choice(TUTTI_COLLECTIVE_REDUCE, 1, 4, 4), "direct"); /* the default */
    assert_int_not_equal(tutti_rules_hash(&again, &defaults), hash);
    assert_int_not_equal(again, first); /* communicators that are open stay where they are */
    int row = tutti_rules_next(tutti_rules_section(TUTTI_COLLECTIVE_ALLREDUCE), 8192, &first);
    assert_string_equal(tutti_algorithms[row]->name, "leader");
    row = tutti_rules_next(tutti_rules_section_enqueue(TUTTI_COLLECTIVE_ALLREDUCE), 8192, &again);
    assert_string_equal(tutti_algorithms[row]->name, "ll");
    assert_int_equal(tutti_rules_set("", wrong, sizeof wrong), TUTTI_OK);
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 8192, 4, 4), "direct");
    assert_int_equal(tutti_rules_set("allreduce: *@x", wrong, sizeof wrong), TUTTI_ERR_SETTING);
    assert_non_null(strstr(wrong, "no algorithm 'x'"));
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 8192, 4, 4), "direct");
    for (int i = 0; i < 55 * 3; i++) { /* the same texts again take no room */
        snprintf(text, sizeof text, "scan: 0-%d@staged", i % 55);
        assert_int_equal(tutti_rules_set(text, wrong, sizeof wrong), TUTTI_OK);
    }
    assert_int_equal(tutti_rules_set("scan: *@staged", wrong, sizeof wrong), TUTTI_ERR_UNAVAILABLE);
    assert_int_equal(tutti_rules_set(NULL, wrong, sizeof wrong), TUTTI_OK);
    assert_int_equal(tutti_rules_hash(&again, &defaults), hash);
    assert_string_equal(choice(TUTTI_COLLECTIVE_ALLREDUCE, 8192, 4, 4), "twoshot");
}

static int setup(void **state)
{
    (void)state;
    char device[256], text[512], why[160];
    snprintf(file_name, sizeof file_name, "rules_test.%d", (int)getpid());
    setenv("TUTTI_DEVICE", "host", 1);
    setenv(
        "TUTTI_RULES",
        "allreduce: 0-8k@leader 0-8k@twoshot 8k-64k@staged reduce: 0-100@staged "
        "bcast: 0-8k@mpi *@fetch alltoall: *@mpi gather: 0-99/3-4@mpi "
        "message: 100-*@staged 0-99@staged *@direct message_far: 0-99@staged 101-*@staged *@pipelined aware: 0-8@host",
        1);
    setenv("TUTTI_RULES_FILE", file_name, 1);
    if (tutti_device()->open(why, sizeof why) != TUTTI_OK || tutti_rules_device(device, sizeof device) != TUTTI_OK ||
        strncmp(device, "host, ", 6) != 0)
        return 1;
    int length = snprintf(text, sizeof text, "device: %s\nallreduce: 0-8k@direct 64k-1m@oneshot\n", device);
    write_file(file_name, text, (size_t)length);
    const char *first = choice(TUTTI_COLLECTIVE_ALLREDUCE, 8192, 4, 4); /* the table is read once, now */
    return first == NULL;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(file_name);
}

/* Whatever the bytes, the reader ends and says yes or no. */
static void any_text(void **state)
{
    (void)state;
    static const char alphabet[] = "allreduce: 0123456789kmg-*@;,oneshot\n\t";
    unsigned dice = 1;
    char text[64], wrong[160];
    for (int round = 0; round < 200000; round++) {
        size_t length = (size_t)(round % 63);
        for (size_t i = 0; i < length; i++) {
            dice = dice * 1664525u + 1013904223u;
            text[i] = alphabet[(dice >> 16) % (sizeof alphabet - 1)];
        }
        text[length] = '\0';
        wrong[0] = '\0';
        int status = tutti_rules_check(text, wrong, sizeof wrong);
        assert_true(status == TUTTI_OK || (status == TUTTI_ERR_SETTING && wrong[0] != '\0'));
    }
}

/* A call like the one before: other rules, other numbers of ranks and other lengths have answers of their own. */
static void moves_again(void **state)
{
    static const struct {
        const char *rules;
        size_t bytes;
        int ranks;
        uint32_t rows;
    } calls[] = {
        {"bcast: 0-9/2@ll 0-9@ll128 *@fetch", 9, 2, 1 << TUTTI_MOVE_ll | 1 << TUTTI_MOVE_ll128 | 1 << TUTTI_MOVE_fetch},
        {NULL, 9, 3, 1 << TUTTI_MOVE_ll128 | 1 << TUTTI_MOVE_fetch},
        {NULL, 10, 3, 1 << TUTTI_MOVE_fetch},
        {"bcast: *@mpi", 10, 3, 0},
        {"bcast: *@ll *@fetch", 10, 3, 1 << TUTTI_MOVE_ll | 1 << TUTTI_MOVE_fetch}};
    char wrong[200];
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].rules)
            assert_int_equal(tutti_rules_set(calls[i].rules, wrong, sizeof wrong), TUTTI_OK);
        for (int again = 0; again < 2; again++)
            assert_int_equal(tutti_moves_permitted(TUTTI_COLLECTIVE_BCAST, calls[i].bytes, calls[i].ranks, 0, 0, 0),
                             calls[i].rows);
    }
    assert_int_equal(tutti_rules_set(NULL, wrong, sizeof wrong), TUTTI_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes),           cmocka_unit_test(defaults),      cmocka_unit_test(refuses),
        cmocka_unit_test(first_that_fits), cmocka_unit_test(any_text),      cmocka_unit_test(reads_files),
        cmocka_unit_test(reads_no_files),  cmocka_unit_test(any_file),      cmocka_unit_test(permits_moves),
        cmocka_unit_test(chooses),         cmocka_unit_test(chooses_alone), cmocka_unit_test(by_ranks),
        cmocka_unit_test(moves_again),     cmocka_unit_test(sets),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
