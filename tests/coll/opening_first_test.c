/* What the first team of a process takes: of calls that move data little, in advance. The image of its kernels is
 * loaded once, on another thread, while calls go on: from a quarter of the price on, of reductions from the price on of
 * a team whose kernels are loaded, since all copies wait meanwhile. What it has loaded is known for
 * all kernels of that image and GPU alone. Calls wait while it loads, also beyond the price. The end waits for the
 * thread. A child that is forked meanwhile loads the image itself. The packing kernels are loaded besides for calls
 * that need them alone (an argument), here those of the host device. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "coll/call/opening.h"
#include "core/status.h"
#include "dtype/pack.h"
#include "support/check.h"

static sem_t begun, may_end;
static atomic_int loads, elsewhere, ended;
static uint32_t loaded_kernels;
static pthread_t caller;
static int packs;

static int fake_prepare(int gpu, uint32_t kernels, int type, int op)
{
    CHECK(gpu == 3 && type == TUTTI_MOVES_TYPE && op == TUTTI_MOVES_OP, "GPU %d, type %d, op %d", gpu, type, op);
    loaded_kernels = kernels;
    atomic_fetch_add(&loads, 1);
    atomic_store(&elsewhere, !pthread_equal(pthread_self(), caller));
    sem_post(&begun);
    sem_wait(&may_end);
    atomic_store(&ended, 1);
    return TUTTI_OK;
}

enum { BEGIN = TUTTI_OPENING_ADVANCE_NS / 4, PRICE = TUTTI_OPENING_ADVANCE_NS, REDUCTIONS = 5000000, LOADED = 3000000 };

static const struct tutti_device quick = {.name = "quick"},
                                 fake = {.name = "fake", .launch = {.prepare = fake_prepare}};

static void *let_it_end(void *nothing)
{
    (void)nothing;
    sem_post(&may_end);
    return NULL;
}

static int begins(int type, int op, uint64_t lost)
{
    return tutti_opening_first_begins(type, op, lost);
}

static int moves_on(int gpu)
{
    return (int)tutti_opening_load(&fake, gpu, TUTTI_MOVES_TYPE, TUTTI_MOVES_OP, packs);
}

static int waits_on(const struct tutti_device *device, int gpu, uint64_t lost)
{
    return tutti_opening_first_waits(device, gpu, TUTTI_MOVES_TYPE, TUTTI_MOVES_OP, packs, lost);
}

/* The parent's thread loads. Bits of what is wrong. */
static int child(void)
{
    alarm(20);
    tutti_opening_load_end();
    int wrong = moves_on(3) != TUTTI_BESIDE_RUNS;
    sem_post(&may_end);
    tutti_opening_load_end();
    return wrong | (moves_on(3) != TUTTI_BESIDE_DONE) << 1;
}

int main(int argc, char **argv)
{
    (void)argv;
    packs = argc > 1;
    pthread_t other;
    uint32_t moves = 0;
    caller = pthread_self();
    sem_init(&begun, 0, 0);
    sem_init(&may_end, 0, 0);
    for (int kernel = 0; kernel < TUTTI_KERNELS; kernel++)
        moves |= (uint32_t)tutti_kernel_moves(kernel) << kernel;
    CHECK(tutti_kernel_moves(tutti_opening_kernel(TUTTI_MOVES_TYPE, TUTTI_MOVES_OP)) &&
              !tutti_kernel_moves(tutti_opening_kernel(TUTTI_TYPE_F32, TUTTI_OP_SUM)),
          "a kernel of the other image");

    tutti_opening_load_end(); /* nothing is loaded */
    CHECK(tutti_opening_load(&quick, 3, TUTTI_MOVES_TYPE, TUTTI_MOVES_OP, packs) == TUTTI_BESIDE_NONE,
          "a device without images");
    CHECK(moves_on(-1) == TUTTI_BESIDE_NONE && atomic_load(&loads) == 0, "a GPU that is not known");

    CHECK(waits_on(&quick, 3, PRICE - 1) && !waits_on(&quick, 3, PRICE), "a device without images: the whole price");
    CHECK(!begins(TUTTI_MOVES_TYPE, TUTTI_MOVES_OP, BEGIN - 1) && begins(TUTTI_MOVES_TYPE, TUTTI_MOVES_OP, BEGIN),
          "not at a quarter");
    CHECK(!begins(TUTTI_TYPE_F32, TUTTI_OP_SUM, LOADED - 1) && begins(TUTTI_TYPE_F32, TUTTI_OP_SUM, LOADED),
          "reductions: not where a team with kernels opens");
    CHECK(tutti_opening_first_waits(&quick, 3, TUTTI_TYPE_F32, TUTTI_OP_SUM, packs, REDUCTIONS - 1) &&
              !tutti_opening_first_waits(&quick, 3, TUTTI_TYPE_F32, TUTTI_OP_SUM, packs, REDUCTIONS),
          "reductions on a device without images: the whole price");
    CHECK(atomic_load(&loads) == 0, "it is begun before a call asks");
    CHECK(waits_on(&fake, 3, BEGIN) && moves_on(3) == TUTTI_BESIDE_RUNS, "it is not begun at a quarter");
    sem_wait(&begun);
    CHECK(atomic_load(&elsewhere) && loaded_kernels == moves, "kernels %#x, not %#x", loaded_kernels, moves);
    for (int call = 0; call < 100; call++)
        CHECK(moves_on(3) == TUTTI_BESIDE_RUNS, "call %d", call);
    CHECK(waits_on(&fake, 3, 2 * PRICE), "a call opens the team while kernels are loaded");
    CHECK(moves_on(2) == TUTTI_BESIDE_NONE && waits_on(&fake, 2, PRICE - 1) && !waits_on(&fake, 2, PRICE),
          "another GPU");
    CHECK(tutti_opening_load(&fake, 3, TUTTI_TYPE_F32, TUTTI_OP_SUM, packs) == TUTTI_BESIDE_NONE, "another image");

    check_in_child(child);
    CHECK(pthread_create(&other, NULL, let_it_end, NULL) == 0, "no thread");
    tutti_opening_load_end();
    CHECK(atomic_load(&ended), "the end does not wait for the thread");
    pthread_join(other, NULL);
    CHECK(moves_on(3) == TUTTI_BESIDE_DONE && moves_on(2) == TUTTI_BESIDE_NONE && atomic_load(&loads) == 1,
          "%d loads, state %d", atomic_load(&loads), moves_on(3));
    CHECK(!waits_on(&fake, 3, PRICE) && waits_on(&fake, 3, PRICE - 1), "the team opens before the price, or later");
    CHECK((tutti_pack_state(3) == TUTTI_PACK_UNLOADED) == !packs, "packing kernels: %d", tutti_pack_state(3));
    return check_failed() ? 1 : 0;
}
