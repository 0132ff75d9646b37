/* When this process meets its GPUs, and what it does with them between calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpus.h"

struct gpus_life gpus_life;

static int cards, seen[GPUS_CARDS], counted, later_done;
static int now = -1; /* the current GPU, as far as this process has chosen one */

/* Launchers say it before MPI_Init. */
static int rank_by_launcher(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);
        if (text && *text)
            return atoi(text);
    }
    return 0;
}

static void draw_cards(struct gpus_draw *draw)
{
    int n = cards, card[GPUS_CARDS];
    for (int i = 0; i < cards; i++)
        card[i] = i;
    if (gpus_may(GPUS_order)) {
        for (int i = cards - 1; i > 0; i--) {
            const int other = (int)gpus_below(draw, (uint64_t)i + 1), mine = card[i];
            card[i] = card[other];
            card[other] = mine;
        }
        n = gpus_below(draw, 3) ? cards : 1 + (int)gpus_below(draw, (uint64_t)cards);
    }
    memcpy(seen, card, sizeof seen);
    gpus_life.gpus = n;
    if (gpus_may(GPUS_order))
        gpu_see(card, n);
}

static void draw_meeting(struct gpus_draw *draw)
{
    static const struct {
        enum gpus_kind kind;
        enum gpus_meeting meeting;
    } ways[] = {{GPUS_early, GPUS_EARLY}, {GPUS_before, GPUS_BEFORE}, {GPUS_late, GPUS_LATE}, {GPUS_never, GPUS_NEVER}};
    const uint64_t way = gpus_below(draw, 5);
    gpus_life.meeting = GPUS_AFTER;
    if (way < 4 && gpus_may(ways[way].kind) && (ways[way].meeting != GPUS_NEVER || gpus_below(draw, 2)))
        gpus_life.meeting = ways[way].meeting;
    counted = gpus_in(draw, GPUS_counted, 2);
}

static void meet(void)
{
    int with = GPUS_HOST - 1;
    struct gpus_side side;
    gpus_life.met = 1;
    if (gpus_below(&gpus_life.own, 2)) { /* memory that no call gets */
        gpus_side_open(&side, GPUS_PLAIN, 1000, NULL, &with);
        gpus_side_close(&side, "memory before the first call");
    }
}

/* Before main(), as a library of the program's may do. */
__attribute__((constructor)) static void begin(void)
{
    const uint64_t rank = (uint64_t)rank_by_launcher();
    struct gpus_draw draw = {random_mix(check_seed() ^ 0x6c69fe) + 1000003 * (rank + 1)};
    cards = (int)check_setting("TUTTI_TEST_CARDS", 2);
    cards = cards < 1 ? 1 : cards > GPUS_CARDS ? GPUS_CARDS : cards;
    draw_cards(&draw);
    draw_meeting(&draw);
    gpus_life.own = (struct gpus_draw){random_mix(draw.state)};
    if (counted && gpus_life.meeting != GPUS_NEVER && gpus_below(&draw, 2))
        gpu_count();
    if (gpus_life.meeting == GPUS_EARLY)
        meet();
}

void gpus_life_before_init(void)
{
    if (counted)
        gpu_count();
    if (gpus_life.meeting == GPUS_BEFORE)
        meet();
}

void gpus_life_after_init(void)
{
    if (gpus_life.meeting == GPUS_AFTER)
        meet();
}

void gpus_life_later(void)
{
    if (gpus_life.meeting == GPUS_LATE && !later_done)
        meet();
    later_done = 1;
}

int gpus_place(int with)
{
    struct gpus_draw *own = &gpus_life.own;
    if (!gpus_life.met || (gpus_may(GPUS_host) && gpus_below(own, 6) == 0))
        return GPUS_HOST;
    if (with >= 0 && !gpus_may(GPUS_cross))
        return with;
    int gpu = gpus_may(GPUS_several) ? (int)gpus_below(own, (uint64_t)gpus_life.gpus)
                                     : (gpus_may(GPUS_order) ? 0 : kit_rank % gpus_life.gpus);
    if (with >= 0 && gpus_below(own, 2))
        gpu = with;
    return gpu;
}

static void reset(int gpu)
{
    gpus_memory_reset(gpu);
    gpu_reset(gpu);
    gpus_life.used[gpu] = 0;
    now = -1;
}

/* A message may lie in memory of its sender's GPU until it is received: before a reset all ranks come together. */
void gpus_life_between(struct gpus_draw *draw)
{
    struct gpus_draw *own = &gpus_life.own;
    const int gpu = (int)gpus_below(own, (uint64_t)gpus_life.gpus);
    const int changes = gpus_in(own, GPUS_current, 3);
    const int together = gpus_in(draw, GPUS_reset, 6), resets = together && gpus_below(own, 2) == 0;
    if (together)
        MPI_Barrier(MPI_COMM_WORLD);
    if (!gpus_life.met)
        return;
    if (changes && (gpus_life.used[gpu] || gpus_may(GPUS_idle)))
        gpu_set(now = gpu);
    if (resets && gpus_life.used[gpu])
        reset(gpu);
}

void gpus_life_text(char *text, size_t size)
{
    static const char *const names[] = {"in a constructor", "before MPI_Init", "after MPI_Init", "late", "never"};
    int at = snprintf(text, size, "met %s%s, cards", names[gpus_life.meeting], counted ? ", counted before" : "");
    for (int i = 0; i < gpus_life.gpus && (size_t)at < size; i++)
        at += snprintf(text + at, size - (size_t)at, " %d", seen[i]);
    if (now >= 0 && (size_t)at < size)
        snprintf(text + at, size - (size_t)at, ", current %d", now);
}

void gpus_life_check(void)
{
    static unsigned long before;
    const unsigned long violations = gpu_violations();
    CHECK(violations == before, "%lu times a rule of GPUs was broken (%s)", violations - before, gpus_now);
    before = violations;
    for (int gpu = 0; gpu < gpus_life.gpus; gpu++) {
        const int made = gpus_life.ever[gpu] || gpus_may(GPUS_idle) ? 0 : gpu_has_context(gpu);
        CHECK(made <= 0, "GPU %d has a context, though the program has had no memory there", gpu);
    }
}
