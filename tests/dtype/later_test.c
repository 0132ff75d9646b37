/* Packing kernels that take long to load, on a host device that maps memory slowly. Copies of runs go by copy engines
 * until they have gained what loading takes: then the kernels are loaded beside. Elements with gaps, and a set price,
 * load them at once. later_test [gaps | price] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "dtype/pack.h"
#include "support/check.h"

enum { BYTES = 64 << 10 };

static unsigned char *memory[2], want[BYTES], packed[BYTES], seen[BYTES];

/* Packs `bytes` bytes of elements of the plan. */
static void one(const struct tutti_plan *plan, uint64_t bytes, int round)
{
    const struct tutti_pack_job job = {.direction = TUTTI_PACK,
                                       .plan = plan,
                                       .count = bytes / plan->size,
                                       .memory = memory[0],
                                       .packed = memory[1],
                                       .bytes = bytes};
    for (size_t i = 0; i < BYTES; i++)
        want[i] = (unsigned char)(i * 7 + (size_t)round);
    CHECK(tutti_device()->memory.copy_now(memory[0], want, BYTES) == TUTTI_OK, "a copy fails");
    CHECK(tutti_pack_now(0, &job, 1) == TUTTI_OK, "call %d fails", round);
    CHECK(tutti_device()->memory.copy_now(seen, memory[1], bytes) == TUTTI_OK, "a copy fails");
    tutti_plan_pack_host(plan, bytes / plan->size, want, 0, bytes, packed);
    CHECK(memcmp(seen, packed, bytes) == 0, "call %d: other bytes", round);
}

int main(int argc, char **argv)
{
    static const struct tutti_description byte = {.form = TUTTI_FORM_BYTES, .bytes = 4};
    static const struct tutti_description *const child = &byte;
    static const struct tutti_description gaps = {
        .form = TUTTI_FORM_VECTOR, .children = 1, .child = &child, .count = 2, .length = 1, .stride = 8};
    const struct tutti_plan *vector = NULL;
    const int at_once = argc > 1;
    const uint64_t gains = tutti_pack_gains(BYTES), calls = (TUTTI_PACK_LOADING_NS + gains - 1) / gains;
    for (int i = 0; i < 2; i++)
        CHECK(tutti_device()->memory.alloc(0, BYTES, (void **)&memory[i]) == TUTTI_OK, "no memory");
    CHECK(tutti_pack_state(0) == TUTTI_PACK_UNLOADED, "they are loaded before a call needs them");
    if (at_once && strcmp(argv[1], "gaps") == 0) {
        CHECK(tutti_plan_build(&gaps, &vector) == TUTTI_OK, "no plan");
        one(vector, BYTES / 4, 0);
        tutti_plan_drop(vector);
    } else {
        for (int call = 1; call < (at_once ? 2 : (int)calls); call++) {
            CHECK(at_once || tutti_pack_state(0) == TUTTI_PACK_UNLOADED, "they are loaded before call %d", call);
            one(tutti_plan_of_byte(), BYTES, call);
        }
    }
    tutti_pack_load_end();
    CHECK((tutti_pack_state(0) == TUTTI_PACK_UNLOADED) == !at_once, "loaded is %d", tutti_pack_state(0));
    one(tutti_plan_of_byte(), BYTES, 1000);
    tutti_pack_load_end();
    CHECK(tutti_pack_state(0) != TUTTI_PACK_UNLOADED, "they are not loaded when that pays");
    one(tutti_plan_of_byte(), BYTES, 1001);
    for (int i = 0; i < 2; i++)
        CHECK(tutti_device()->memory.free(memory[i]) == TUTTI_OK, "memory is not freed");
    printf("later_test: %ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
