/* A program that begins, fails or ends in the way that its argument names, for ends.sh, which looks at what it prints
 * and at the status of the job. PE 0 is mostly the one that goes another way than the others. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me, npes;
static long cell[8], source[8];
static const long constant = 3;

static void last(void)
{
    printf("handler of PE %d\n", me);
}

static void stand_still(void)
{
    for (;;)
        pause();
}

/* So that the others are in their call before. */
static void nap(void)
{
    usleep(100000);
}

static void begin(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
}

/* start_pes() and no end: PE 0 returns at once, the others still work and come to their end. */
static int start(int status)
{
    start_pes(0);
    start_pes(7);
    me = _my_pe();
    npes = _num_pes();
    if (me != 0) {
        usleep(300000);
        shmem_long_p(&cell[me], 40 + me, 0);
        printf("PE %d has done its work\n", me);
    }
    return me == 1 ? status : 0;
}

static void leave(int status)
{
    begin();
    atexit(last);
    shmem_barrier_all();
    printf("stdio of PE %d;", me); /* no end of a line, and nothing is written yet */
    if (me == 0) {
        nap();
        shmem_global_exit(status);
    }
    shmem_barrier_all();
    printf("PE %d goes on\n", me);
}

static void leave_stuck(void)
{
    begin();
    atexit(stand_still);
    if (me == 0)
        shmem_global_exit(9);
    shmem_barrier_all();
}

/* Sizes of the heap: the first is there, the second is not. */
static void sizes(const char *there, const char *not_there)
{
    begin();
    void *object = shmem_malloc((size_t)atol(there));
    shmem_free(object);
    if (object && !shmem_malloc((size_t)atol(not_there)))
        printf("sizes are right\n");
    shmem_finalize();
}

/* ---- errors ---- */

static void put_wrongly(void)
{
    long here = 1;
    shmem_long_put(&here, source, 1, me);
}
static void put_constant_wrongly(void)
{
    shmem_long_put((long *)&constant, source, 1, me);
}
static void atomic_wrongly(void)
{
    shmem_uint64_atomic_fetch_xor((uint64_t *)cell, 1, npes);
}
static void wait_wrongly(void)
{
    shmem_long_wait_until_any(cell, 1, NULL, 77, 1);
}
static void context_wrongly(void)
{
    shmem_ctx_long_put(SHMEM_CTX_INVALID, cell, source, 1, me);
}
static void old_wrongly(void)
{
    long here[2] = {0};
    static long sync[SHMEM_BCAST_SYNC_SIZE];
    shmem_broadcast64(cell, here, 1, 0, 0, 0, npes, sync);
}
static void lock_wrongly(void)
{
    shmem_clear_lock(&cell[7]);
}
static void counts_wrongly(void)
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, cell, source, me == 0 ? 5 : 6, 0);
}
static void roots_wrongly(void)
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, cell, source, 1, me == 0);
}
static void types_wrongly(void)
{
    if (me == 0)
        shmem_int_sum_reduce(SHMEM_TEAM_WORLD, (int *)cell, (int *)source, 2);
    else
        shmem_float_sum_reduce(SHMEM_TEAM_WORLD, (float *)cell, (float *)source, 2);
}
static void operations_wrongly(void)
{
    if (me == 0)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, cell, source, 2);
    else
        shmem_long_max_reduce(SHMEM_TEAM_WORLD, cell, source, 2);
}
static void calls_wrongly(void)
{
    if (me == 0)
        shmem_long_broadcast(SHMEM_TEAM_WORLD, cell, source, 2, 0);
    else
        shmem_long_fcollect(SHMEM_TEAM_WORLD, cell, source, 2);
}
static void sync_wrongly(void)
{
    if (me == 0)
        shmem_sync_all();
    else
        shmem_long_broadcast(SHMEM_TEAM_WORLD, cell, source, 2, 0);
}
static void barrier_wrongly(void)
{
    if (me == 0)
        shmem_barrier_all();
    else
        shmem_long_fcollect(SHMEM_TEAM_WORLD, cell, source, 1);
}
/* One is in finalize: of the others one call is of all PEs, the other of another team. */
static void finalize_wrongly(void)
{
    if (me == 0)
        shmem_finalize();
    else
        shmem_barrier_all();
}
static void finalize_team_wrongly(void)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &team);
    if (me == 0)
        shmem_finalize();
    else
        shmem_team_sync(team);
}

static const struct {
    const char *name;
    void (*call)(void);
} errors[] = {{"put", put_wrongly},           {"put-constant", put_constant_wrongly},
              {"atomic", atomic_wrongly},     {"wait", wait_wrongly},
              {"context", context_wrongly},   {"old", old_wrongly},
              {"lock", lock_wrongly},         {"counts", counts_wrongly},
              {"roots", roots_wrongly},       {"types", types_wrongly},
              {"calls", calls_wrongly},       {"operations", operations_wrongly},
              {"sync", sync_wrongly},         {"barrier", barrier_wrongly},
              {"finalize", finalize_wrongly}, {"finalize-team", finalize_team_wrongly}};

static int fail(const char *name)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (strcmp(errors[i].name, name) != 0)
            continue;
        begin();
        shmem_barrier_all();
        errors[i].call();
        printf("PE %d goes on\n", me);
        shmem_finalize();
        return 0;
    }
    return 2;
}

/* Calls without an address space. */
static int down(int failed)
{
    int provided;
    if (failed && shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) == 0)
        return 3;
    printf("shmem_init_thread gives a status\n");
    fflush(stdout);
    shmem_barrier_all();
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "start") == 0)
        return start(atoi(argv[2]));
    if (strcmp(what, "leave") == 0)
        leave(atoi(argv[2]));
    else if (strcmp(what, "stuck") == 0)
        leave_stuck();
    else if (strcmp(what, "all") == 0) {
        begin();
        shmem_global_exit(atoi(argv[2]));
    } else if (strcmp(what, "sizes") == 0)
        sizes(argv[2], argv[3]);
    else if (strcmp(what, "init") == 0) {
        begin();
        printf("PE %d of %d goes on\n", me, npes);
        shmem_finalize();
    } else if (strcmp(what, "down") == 0)
        return down(atoi(argv[2]));
    else
        return fail(what);
    return 0;
}
