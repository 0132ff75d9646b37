/* Random programs about GPUs.
 * usage: gpus PROGRAMS [CALLS [FIRST]]
 * Each program is CALLS calls; FIRST is the number of the first one. TUTTI_TEST_SEED: a number (drawn before MPI_Init,
 * so `clock` would differ over the ranks). TUTTI_TEST_KINDS: kinds of gpus.h, separated by commas, or all but those
 * named after a minus ("-reset,-late"). TUTTI_TEST_CARDS: GPUs of the machine. TUTTI_TEST_TEXT=1: each call is printed.
 * What concerns the life of a process (when it meets its GPUs, which it sees) is drawn once: many.sh runs many seeds.
 */
#include "gpus.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BSEND_BUFFER = 40 << 20 };

char gpus_now[256];
uint64_t gpus_name;

static unsigned char may[GPUS_KIND_COUNT];

static int kind_named(const char *name, size_t length)
{
    static const char *const names[] = {
#define GPUS_KIND(name) #name,
        GPUS_KINDS(GPUS_KIND)
#undef GPUS_KIND
    };
    for (int kind = 0; kind < GPUS_KIND_COUNT; kind++) {
        if (strlen(names[kind]) == length && strncmp(names[kind], name, length) == 0)
            return kind;
    }
    fprintf(stderr, "TUTTI_TEST_KINDS: there is no kind %.*s\n", (int)length, name);
    exit(2);
}

static void read_kinds(void)
{
    const char *text = getenv("TUTTI_TEST_KINDS");
    const int all = !text || !*text || *text == '-';
    memset(may, all, sizeof may);
    while (text && *text) {
        const size_t length = strcspn(text, ",");
        const int less = *text == '-';
        may[kind_named(text + less, length - (size_t)less)] = !less;
        text += length;
        text += *text == ',';
    }
}

int gpus_may(enum gpus_kind kind)
{
    static int done;
    if (!done)
        read_kinds();
    done = 1;
    return may[kind];
}

uint64_t gpus_below(struct gpus_draw *draw, uint64_t below)
{
    return below ? random_next(&draw->state) % below : 0;
}

int gpus_in(struct gpus_draw *draw, enum gpus_kind kind, unsigned one_in)
{
    const uint64_t number = gpus_below(draw, one_in);
    return gpus_may(kind) && number == 0;
}

size_t gpus_bytes(struct gpus_draw *draw)
{
    const uint64_t kind = gpus_below(draw, 16);
    if (kind < 3 && gpus_may(GPUS_small))
        return 1 + gpus_below(draw, 511);
    if (kind == 3 && gpus_may(GPUS_large))
        return (1 << 20) + gpus_below(draw, 3 << 19);
    if (kind < 8)
        return 512 + gpus_below(draw, 4096);
    return 512 + gpus_below(draw, kind < 13 ? 60000 : 400000);
}

void gpus_say(const char *format, ...)
{
    static int shows = -1;
    va_list list;
    va_start(list, format);
    vsnprintf(gpus_now, sizeof gpus_now, format, list);
    va_end(list);
    shows = shows < 0 ? check_setting("TUTTI_TEST_TEXT", 0) != 0 : shows;
    if (shows)
        fprintf(stderr, "rank %d: program %u, call %u: %s\n", kit_rank, (unsigned)(gpus_name >> 32),
                (unsigned)gpus_name, gpus_now);
}

static void on_host_memory(void)
{
    int mine = kit_rank, sum = 0, all[GPUS_RANKS] = {0};
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    char *large = calloc(100000, 1);
    MPI_Bcast(large, 100000, MPI_BYTE, 0, MPI_COMM_WORLD);
    free(large);
    CHECK(sum == kit_size * (kit_size - 1) / 2 && all[kit_size - 1] == kit_size - 1, "calls on host memory");
}

static void call(struct gpus_draw *draw)
{
    static const struct {
        enum gpus_kind kind;
        void (*run)(struct gpus_draw *draw);
    } calls[] = {
        {GPUS_messages, gpus_messages}, {GPUS_messages, gpus_messages}, {GPUS_sendrecv, gpus_sendrecv},
        {GPUS_moved, gpus_collectives}, {GPUS_moved, gpus_collectives}, {GPUS_reduced, gpus_reductions},
        {GPUS_packed, gpus_packs},
    };
    const size_t which = gpus_below(draw, sizeof calls / sizeof calls[0]);
    gpus_name++;
    if (gpus_may(calls[which].kind))
        calls[which].run(draw);
}

static int program(long number, int length)
{
    struct gpus_draw draw = {random_mix(kit_seed) + random_mix((uint64_t)number) * 7919};
    const long failed = check_failed();
    gpus_life.own.state = random_mix(draw.state ^ (uint64_t)(kit_rank + 1));
    gpus_name = (uint64_t)number << 32;
    for (int i = 0; i < length; i++) {
        if (number == 0 && i == length / 2)
            gpus_life_later();
        gpus_life_between(&draw);
        struct gpus_draw own = {gpus_below(&draw, UINT64_MAX)};
        call(&own);
        gpus_life_check();
    }
    int mine = check_failed() != failed, any = 0;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return any;
}

int main(int argc, char **argv)
{
    const long programs = argc > 1 ? atol(argv[1]) : 20, first = argc > 3 ? atol(argv[3]) : 0;
    const int length = argc > 2 ? atoi(argv[2]) : 20;
    char life[256];
    kit_leaves_gpus = 1;
    gpus_life_before_init();
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size > GPUS_RANKS)
        kit_skip("gpus", "too many ranks");
    gpus_life_text(life, sizeof life);
    if (check_setting("TUTTI_TEST_TEXT", 0))
        fprintf(stderr, "rank %d: seed %llu, %s\n", kit_rank, (unsigned long long)kit_seed, life);
    gpus_life_after_init();
    if (gpus_life.meeting == GPUS_LATE || gpus_may(GPUS_late))
        on_host_memory();
    void *room = malloc(BSEND_BUFFER);
    MPI_Buffer_attach(room, BSEND_BUFFER);
    int failed = 0;
    for (long number = first; number < first + programs && !failed; number++) {
        failed = program(number, length);
        if (failed && kit_rank == 0)
            fprintf(stderr, "gpus: seed %llu, program %ld of %d calls\n", (unsigned long long)kit_seed, number, length);
        if (failed)
            fprintf(stderr, "gpus: rank %d: %s\n", kit_rank, life);
    }
    MPI_Buffer_detach(&room, &(int){0});
    free(room);
    gpus_memory_end();
    return kit_end("gpus");
}
