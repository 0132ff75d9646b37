/* The CUDA device against a pretended driver and a pretended management library: between which GPUs 128-byte stores are
 * believed to arrive whole, and how kernels of one are given access to the other's memory. Its default rules are read
 * without an error. */
#include <dlfcn.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/status.h"
#include "device/device.h"
#include "fake_libcuda.h"
#include "rules/grammar.h"
#include "rules/rules.h"

static const struct tutti_device *const device = &tutti_device_cuda;
static struct fake_control *fake;
static int *joined, *major, *starts, *questions;
static atomic_int *held;
static unsigned char uuid[5][16]; /* two GPUs that are seen, two that are hidden, one that nobody knows */

/* Whether kernels reach each other's memory is the driver's answer, which does not know hidden GPUs. */
static void test_seen(void **state)
{
    (void)state;
    assert_int_equal(device->gpu.reach(0, uuid[0]), 2);
    assert_int_equal(device->gpu.reach(0, uuid[1]), 2);
    fake->no_atomics = 1;
    assert_int_equal(device->gpu.reach(0, uuid[1]), 1);
    fake->no_atomics = 0;
    assert_int_equal(device->gpu.reach(0, uuid[1]), 2);
    assert_int_equal(device->gpu.reach(0, uuid[2]), 2);
}

/* A driver that reports which links carry some atomics only answers for the GPUs that are seen, at once. */
static void test_told(void **state)
{
    const unsigned char(*const gpus)[16] = (const unsigned char(*)[16])uuid;
    (void)state;
    fake->tells_atomics = 1;
    const int before = *questions;
    assert_int_equal(device->gpu.ready(gpus, 2, 1), 1);
    assert_int_equal(device->gpu.lines(uuid[0], uuid[1]), 1);
    fake->no_atomics = 1;
    assert_int_equal(device->gpu.lines(uuid[1], uuid[0]), 0);
    fake->some_atomics = 1; /* PCIe */
    assert_int_equal(device->gpu.ready(gpus, 2, 1), 1);
    assert_int_equal(device->gpu.lines(uuid[0], uuid[1]), 0);
    assert_int_equal(*questions, before);
    fake->no_atomics = 0; /* some only, and all: NVML is asked */
    assert_int_equal(device->gpu.lines(uuid[0], uuid[1]), 1);
    assert_int_equal(*questions, before + 1);
    fake->some_atomics = 0;
    fake->tells_atomics = 0;
}

/* Every pair is asked about once, in either order. */
static void test_lines(void **state)
{
    (void)state;
    assert_int_equal(device->gpu.lines(uuid[0], uuid[1]), 1);
    *joined = 0; /* native atomics go over other links too */
    assert_int_equal(device->gpu.lines(uuid[1], uuid[0]), 1);
    assert_int_equal(device->gpu.lines(uuid[1], uuid[2]), 0);
    *joined = 1;
    const int before = *questions;
    assert_int_equal(device->gpu.lines(uuid[2], uuid[1]), 0);
    assert_int_equal(*questions, before);
    major[3] = 8;
    assert_int_equal(device->gpu.lines(uuid[0], uuid[3]), 0);
    assert_int_equal(device->gpu.lines(uuid[3], uuid[2]), 0);
    assert_int_equal(device->gpu.lines(uuid[0], uuid[4]), 0);
    assert_int_equal(*questions, before + 2);
}

/* The library starts once, and is asked in the background: who wants to know whether it has answered does not wait, who
 * needs the answer does. */
static void test_ready(void **state)
{
    unsigned char some[3][16];
    const unsigned char(*const gpus)[16] = (const unsigned char(*)[16])some;
    (void)state;
    memcpy(some[0], uuid[0], 16);
    memcpy(some[1], uuid[2], 16);
    memcpy(some[2], uuid[4], 16);
    assert_int_equal(device->gpu.ready(gpus, 1, 1), 1);
    assert_int_equal(*starts, 0);
    assert_int_equal(device->gpu.ready(gpus, 2, 0), 0); /* does not ask */
    assert_int_equal(*starts, 0);
    atomic_store(held, 1);
    assert_int_equal(device->gpu.ready(gpus, 2, 1), 0);
    assert_int_equal(device->gpu.ready(gpus, 2, 1), 0);
    atomic_store(held, 0);
    assert_int_equal(device->gpu.lines(uuid[0], uuid[2]), 1);
    assert_int_equal(device->gpu.ready(gpus, 2, 1), 1);
    while (!device->gpu.ready(gpus, 3, 1)) /* also one that the library does not know */
        sched_yield();
    assert_int_equal(device->gpu.lines(uuid[2], uuid[4]), 0);
    assert_int_equal(*starts, 1);
    assert_int_equal(*questions, 1);
}

/* Kernels of the other GPU are given access by what the memory was made by; a failure of the driver is no error of the
 * program: the caller takes another way. */
static void test_reach(void **state)
{
    (void)state;
    const enum fake_kind kinds[] = {FAKE_MALLOC, FAKE_VMM, FAKE_POOL};
    static const char *const calls[] = {"cuCtxEnablePeerAccess", "cuMemSetAccess", "cuMemPoolSetAccess"};
    for (int i = 0; i < 3; i++) {
        const char *memory = fake->make(0, kinds[i], 5000);
        assert_int_equal(device->share.reach(0, memory), TUTTI_OK);
        fake->fail_at = 0;
        const unsigned long before = fake->calls;
        assert_int_equal(device->share.reach(1, memory + 4999), TUTTI_OK);
        const unsigned long calls_made = fake->calls - before;
        int seen = 0;
        for (unsigned long call = 1; call <= calls_made && !seen; call++) {
            fake->fail_at = fake->calls + call;
            fake->fail_with = 999;
            fake->failed = "";
            device->share.reach(1, memory);
            seen = strcmp(fake->failed, calls[i]) == 0;
            if (seen) {
                fake->fail_at = fake->calls + call;
                assert_int_equal(device->share.reach(1, memory), TUTTI_ERR_UNAVAILABLE);
            }
        }
        fake->fail_at = 0;
        assert_true(seen);
    }
    assert_int_equal(device->share.reach(1, fake->make(0, FAKE_MANAGED, 10)), TUTTI_OK);
    assert_int_equal(device->share.reach(1, &state), TUTTI_ERR_ARGUMENT);
}

static void test_rules(void **state)
{
    (void)state;
    char wrong[160] = "";
    assert_int_equal(tutti_rules_check(device->rules, wrong, sizeof wrong), TUTTI_OK);
}

/* 1 if the first rule for so many bytes and ranks names `name`. */
static int chooses(const char *section, size_t bytes, int ranks, const char *name)
{
    struct tutti_rule rule = {.section = -1}, named = {.section = -1};
    char text[80], wrong[160];
    const char *one = text;
    snprintf(text, sizeof text, "%s: *@%s", section, name);
    if (tutti_rule_read(&one, &named, wrong, sizeof wrong) != 1)
        return 0;
    for (const char *at = device->rules; tutti_rule_read(&at, &rule, wrong, sizeof wrong) == 1;) {
        if (rule.section == named.section && rule.least <= bytes && bytes <= rule.most && rule.ranks_least <= ranks &&
            ranks <= rule.ranks_most)
            return rule.choice == named.choice;
    }
    return 0;
}

/* One exchange costs more with each GPU, so two are made from smaller sizes on. */
static void test_rules_of_ranks(void **state)
{
    (void)state;
    assert_true(chooses("allreduce", 200 << 10, 4, "ll128") && chooses("allreduce", 200 << 10, 5, "twoshot_ll128"));
    assert_true(chooses("allreduce", 100 << 10, 8, "ll128") && chooses("allreduce", 100 << 10, 9, "twoshot_ll128"));
    assert_true(chooses("reduce", 512 << 10, 4, "ll128") && chooses("reduce", 512 << 10, 8, "twoshot_ll128"));
    assert_true(chooses("reduce", 160 << 20, 4, "chain") && chooses("reduce", 160 << 20, 8, "chain_ll128"));
    assert_true(chooses("scan", 512 << 10, 4, "ll128") && chooses("scan", 512 << 10, 16, "direct"));
}

/* Kernels that reach buffers in place wait for all ranks at their begin: two GPUs take them from larger sizes on in
 * blocking calls than in stream order, where the next launch overlaps that. */
static void test_rules_of_two(void **state)
{
    (void)state;
    assert_true(chooses("allreduce", 8 << 20, 2, "twoshot_ll128") &&
                chooses("allreduce", 12 << 20, 2, "pipeline_direct"));
    assert_true(chooses("allreduce_enqueue", 8 << 20, 2, "mapped_deep") &&
                chooses("allreduce_enqueue", 11 << 20, 2, "pipeline_direct"));
    assert_false(chooses("allreduce_enqueue", 8 << 20, 3, "mapped_deep"));
    assert_false(chooses("allreduce_enqueue", 10 << 20, 3, "pipeline_direct"));
    assert_true(chooses("reduce_scatter", 8 << 20, 2, "ll128") &&
                chooses("reduce_scatter", 10 << 20, 2, "mapped_deep"));
    assert_true(chooses("reduce_scatter_enqueue", 5 << 20, 2, "mapped_deep"));
    assert_false(chooses("reduce_scatter_enqueue", 4 << 20, 2, "mapped_deep"));
    assert_true(chooses("reduce", 32 << 20, 2, "chain") && chooses("reduce", 96 << 20, 2, "mapped_deep"));
    assert_true(chooses("reduce", 96 << 20, 3, "chain_ll128") && chooses("reduce_scatter", 32 << 20, 4, "mapped"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ready),          cmocka_unit_test(test_told),
                                       cmocka_unit_test(test_seen),           cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_reach),          cmocka_unit_test(test_rules),
                                       cmocka_unit_test(test_rules_of_ranks), cmocka_unit_test(test_rules_of_two)};
    char why[256] = "";
    void *driver = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL, *nvml = argc == 3 ? dlopen(argv[2], RTLD_NOW) : NULL;
    if (!driver || !nvml)
        return 2;
    fake = fake_of(driver);
    joined = dlsym(nvml, "fake_nvml_joined");
    major = dlsym(nvml, "fake_nvml_major");
    held = dlsym(nvml, "fake_nvml_held");
    starts = dlsym(nvml, "fake_nvml_starts");
    questions = dlsym(nvml, "fake_nvml_questions");
    for (int i = 0; i < 5; i++)
        memset(uuid[i], 0x40 + i, sizeof uuid[i]);
    if (device->open(why, sizeof why) != TUTTI_OK)
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
