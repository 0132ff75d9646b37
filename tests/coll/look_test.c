/* What a reduction's buffers are together: every pair of memories, in place, and with one buffer alone. The device is
 * asked once for each buffer. */
#include <stdio.h>

#include "coll/coll.h"
#include "support/check.h"

enum { HOST, PINNED, DEVICE_0, DEVICE_1, MANAGED_0, MANAGED_ANY, KINDS };

static const struct {
    enum tutti_memory_kind kind;
    int gpu;
} kinds[KINDS] = {{TUTTI_MEMORY_HOST, -1},  {TUTTI_MEMORY_PINNED, -1}, {TUTTI_MEMORY_DEVICE, 0},
                  {TUTTI_MEMORY_DEVICE, 1}, {TUTTI_MEMORY_MANAGED, 0}, {TUTTI_MEMORY_MANAGED, -1}};
static char memory[2][KINDS]; /* an input and a result of each kind */
static int asked;

static uint64_t id_of(const char *at)
{
    return (uint64_t)(at - memory[0]) + 1;
}

static void classify(const void *pointer, struct tutti_memory *out)
{
    const int k = (int)(((const char *)pointer - memory[0]) % KINDS);
    asked++;
    *out = (struct tutti_memory){.kind = kinds[k].kind, .gpu = kinds[k].gpu, .id = id_of(pointer)};
}

static const struct tutti_device device = {.memory.classify = classify};

static int is_reached(int k)
{
    return kinds[k].kind == TUTTI_MEMORY_DEVICE || kinds[k].kind == TUTTI_MEMORY_MANAGED;
}

/* out NULL: the call has no result on this rank. */
static void look(int i, int o, char *in, char *out)
{
    struct tutti_call call = {.in = in, .out = out, .kind = 7, .gpu = 7};
    struct tutti_memory of_in, of_out;
    const int differ = kinds[i].gpu >= 0 && kinds[o].gpu >= 0 && kinds[i].gpu != kinds[o].gpu,
              fits = is_reached(i) && is_reached(o) && !differ, gpu = kinds[i].gpu >= 0 ? kinds[i].gpu : kinds[o].gpu;
    asked = 0;
    tutti_reduce_look(&device, &call, &of_in, &of_out);
    CHECK(asked == (out && out != in ? 2 : 1), "memories %d and %d: %d questions", i, o, asked);
    CHECK(of_in.id == id_of(in) && of_out.id == id_of(out ? out : in), "memories %d and %d: other records", i, o);
    CHECK(call.kind == (fits ? TUTTI_ARRIVAL_DEVICE : TUTTI_ARRIVAL_HOST) && call.gpu == (fits ? gpu : -1),
          "memories %d and %d: kind %d, GPU %d", i, o, call.kind, call.gpu);
    if (!fits)
        return;
    CHECK(call.in_id == id_of(in) && call.out_id == id_of(out ? out : in), "memories %d and %d: identities", i, o);
    CHECK(call.near == (kinds[o].kind == TUTTI_MEMORY_DEVICE && kinds[o].gpu == gpu), "memories %d and %d: near %d", i,
          o, call.near);
}

int main(void)
{
    for (int i = 0; i < KINDS; i++) {
        for (int o = 0; o < KINDS; o++)
            look(i, o, &memory[0][i], &memory[1][o]);
        look(i, i, &memory[0][i], &memory[0][i]);
        look(i, i, &memory[0][i], NULL);
    }
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}
