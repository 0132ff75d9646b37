/* Plans read from bytes of another process: what was written is read as the same plan; what was changed on its way
 * is refused, or is a plan that touches what it says and no more. usage: wire_test CASES */
#include "core/status.h"
#include "dtype/check_type.h"
#include "dtype/wire.h"
#include "support/changed.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 640, RIM = 64, MOST = 1 << 20, MARK = 0x6b };

/* Packs and unpacks `count` elements in memory that holds what the plan touches, each byte of it. */
static void use(const struct tutti_plan *plan, uint64_t count)
{
    int64_t reach, low = plan->true_lower, high = plan->true_end;
    if (__builtin_mul_overflow((int64_t)count - 1, plan->extent, &reach) || reach > MOST || reach < -MOST)
        return;
    low += reach < 0 ? reach : 0;
    high += reach > 0 ? reach : 0;
    if (high - low > MOST || plan->size > MOST || plan->size == 0)
        return;
    uint64_t bytes = plan->size * count, span = (uint64_t)(high - low);
    unsigned char *memory = malloc(span + 2 * RIM), *packed = malloc(bytes + 2 * RIM);
    if (!memory || !packed)
        exit(3);
    memset(memory, MARK, span + 2 * RIM);
    memset(packed, MARK, bytes + 2 * RIM);
    char *start = (char *)(uintptr_t)((uintptr_t)memory + RIM - (uintptr_t)low);
    tutti_plan_pack_host(plan, count, start, 0, bytes, packed + RIM);
    memset(packed + RIM, 1, bytes);
    tutti_plan_unpack_host(plan, count, start, 0, bytes, packed + RIM);
    int whole = 1;
    for (int i = 0; i < RIM; i++)
        whole &= memory[i] == MARK && memory[RIM + span + (uint64_t)i] == MARK && packed[i] == MARK &&
                 packed[RIM + bytes + (uint64_t)i] == MARK;
    CHECK(whole, "a plan of %ju bytes touches what is not its own", (uintmax_t)plan->size);
    free(memory);
    free(packed);
}

/* 1 if the type can be written at all. */
static int one_case(uint64_t *state, long *refused, long *taken)
{
    static struct any_room room;
    const struct tutti_plan *plan, *again = NULL;
    uint64_t bytes[ROOM / 8 + 1] = {0}, copy[ROOM / 8 + 1];
    any_type what = any_random(&room, state, (unsigned)(random_next(state) % 4), 60);
    int status = tutti_plan_build(what, &plan);
    any_free(&room);
    if (status != TUTTI_OK)
        return 0;
    size_t length = tutti_plan_write(plan, bytes, ROOM);
    if (length > 0) {
        CHECK(tutti_plan_read(bytes, length, &again) == TUTTI_OK && again == plan, "what was written is not read");
        if (again)
            tutti_plan_drop(again);
    }
    for (int turn = 0; length > 0 && turn < 20; turn++) {
        memcpy(copy, bytes, sizeof copy);
        changed_bytes(copy, length, state);
        size_t told = random_next(state) % 8 ? length : (size_t)(random_next(state) % (ROOM + 1));
        status = tutti_plan_read(copy, told, &again);
        *refused += status != TUTTI_OK;
        *taken += status == TUTTI_OK;
        if (status == TUTTI_OK) {
            use(again, 1 + random_next(state) % 3);
            tutti_plan_drop(again);
        }
    }
    tutti_plan_drop(plan);
    return length > 0;
}

int main(int argc, char **argv)
{
    long cases = argc > 1 ? strtol(argv[1], NULL, 10) : 1000, refused = 0, taken = 0, written = 0;
    uint64_t state = check_seed();
    printf("seed %ju\n", (uintmax_t)state);
    for (long i = 0; i < cases && check_failed() < 5; i++)
        written += one_case(&state, &refused, &taken);
    printf("%ld of %ld types written; changed ones: %ld refused, %ld taken\n", written, cases, refused, taken);
    CHECK(written > cases / 4 && refused > taken && taken > 0, "the cases are too few to tell");
    return check_failed() > 0;
}
