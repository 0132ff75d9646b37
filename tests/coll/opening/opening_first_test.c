/* The image of the first team's kernels is loaded once, on another thread, while calls go on. What it has loaded is
 * known for all kernels of that image and GPU alone. The end waits for the thread. A child that is forked meanwhile
 * loads the image itself. The packing kernels are loaded besides for calls that need them alone (an argument), here
 * those of the host device. */
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

static const struct tutti_device quick = {.name = "quick"},
                                 fake = {.name = "fake", .launch = {.prepare = fake_prepare}};

static void *let_it_end(void *nothing)
{
    (void)nothing;
    sem_post(&may_end);
    return NULL;
}

static int moves_on(int gpu)
{
    return (int)tutti_opening_load(&fake, gpu, TUTTI_MOVES_TYPE, TUTTI_MOVES_OP, packs);
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

    CHECK(moves_on(3) == TUTTI_BESIDE_RUNS, "it is not begun");
    sem_wait(&begun);
    CHECK(atomic_load(&elsewhere) && loaded_kernels == moves, "kernels %#x, not %#x", loaded_kernels, moves);
    for (int call = 0; call < 100; call++)
        CHECK(moves_on(3) == TUTTI_BESIDE_RUNS, "call %d", call);
    CHECK(moves_on(2) == TUTTI_BESIDE_NONE, "another GPU");
    CHECK(tutti_opening_load(&fake, 3, TUTTI_TYPE_F32, TUTTI_OP_SUM, packs) == TUTTI_BESIDE_NONE, "another image");

    check_in_child(child);
    CHECK(pthread_create(&other, NULL, let_it_end, NULL) == 0, "no thread");
    tutti_opening_load_end();
    CHECK(atomic_load(&ended), "the end does not wait for the thread");
    pthread_join(other, NULL);
    CHECK(moves_on(3) == TUTTI_BESIDE_DONE && moves_on(2) == TUTTI_BESIDE_NONE && atomic_load(&loads) == 1,
          "%d loads, state %d", atomic_load(&loads), moves_on(3));
    CHECK((tutti_pack_state(3) == TUTTI_PACK_UNLOADED) == !packs, "packing kernels: %d", tutti_pack_state(3));
    return check_failed() ? 1 : 0;
}
