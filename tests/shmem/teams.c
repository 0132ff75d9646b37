/* Teams: strided and two-dimensional splits, nested to depth 3, against plain arithmetic over members; numbers that
 * are used again; threads that make teams at the same time; errors. */
#include <pthread.h>

#include "shmem/kit.h"

enum { MOST = 64 };

/* A team and who should be in it. */
struct expected {
    int size, world[MOST];
};

static int place_of(const struct expected *e, int world)
{
    for (int i = 0; i < e->size; i++) {
        if (e->world[i] == world)
            return i;
    }
    return -1;
}

static void check_team(tshmem_team_t team, const struct expected *e)
{
    const int me = place_of(e, tshmem_my_pe());
    if (me < 0) {
        CHECK(team == TSHMEM_TEAM_INVALID, "team of others");
        return;
    }
    CHECK(tshmem_team_n_pes(team) == e->size && tshmem_team_my_pe(team) == me, "PE %d of %d, not %d of %d",
          tshmem_team_my_pe(team), tshmem_team_n_pes(team), me, e->size);
    for (int i = 0; i < e->size; i++) {
        CHECK(tshmem_team_translate_pe(team, i, TSHMEM_TEAM_WORLD) == e->world[i], "member %d", i);
        CHECK(tshmem_team_translate_pe(TSHMEM_TEAM_WORLD, e->world[i], team) == i, "member %d back", i);
    }
    CHECK(tshmem_team_translate_pe(team, e->size, TSHMEM_TEAM_WORLD) == -1, "beyond the last");
    for (int pe = 0; pe < tshmem_n_pes(); pe++)
        CHECK((tshmem_team_translate_pe(TSHMEM_TEAM_WORLD, pe, team) >= 0) == (place_of(e, pe) >= 0), "who is in it");
}

static int *box; /* symmetric */

/* The team's PEs alone add up their numbers: others are elsewhere meanwhile. */
static void use_team(tshmem_team_t team, const struct expected *e)
{
    int sum = 0;
    if (place_of(e, tshmem_my_pe()) < 0)
        return;
    for (int i = 0; i < e->size; i++)
        sum += e->world[i] + 1;
    for (int times = 0; times < 3; times++) {
        SET(box, tshmem_my_pe() + 1);
        CHECK(tshmem_int_sum_reduce(team, box + 1, box, 1) == 0 && SEE(box + 1) == sum, "sum over the team: %d, not %d",
              SEE(box + 1), sum);
        CHECK(tshmem_team_sync(team) == 0, "sync");
    }
}

/* Splits the parent by numbers that follow from the round, checks, uses, goes deeper, and destroys. */
static void split(tshmem_team_t parent, const struct expected *in, int depth, uint64_t round)
{
    if (depth == 0 || place_of(in, tshmem_my_pe()) < 0)
        return;
    const uint64_t draw = shmem_draw(round, (uint64_t)depth, (uint64_t)in->world[0]);
    const int start = (int)(draw % (uint64_t)in->size);
    int stride = (int)(draw / 64 % 3) + 1, size = 1;
    stride = draw / 256 % 4 == 0 ? -stride : stride;
    while (start + size * stride >= 0 && start + size * stride < in->size && draw / 1024 % 5 != (uint64_t)size)
        size++;
    struct expected one = {.size = size};
    for (int i = 0; i < size; i++)
        one.world[i] = in->world[start + i * stride];
    tshmem_team_t made = 99;
    CHECK(tshmem_team_split_strided(parent, start, stride, size, NULL, 0, &made) == 0, "split_strided");
    check_team(made, &one);

    const int width = (int)(draw / 8192 % 4) + 1, mine = place_of(in, tshmem_my_pe());
    const int real = width < in->size ? width : in->size;
    struct expected row = {.size = 0}, column = {.size = 0};
    for (int i = 0; i < in->size; i++) {
        if (i / real == mine / real)
            row.world[row.size++] = in->world[i];
        if (i % real == mine % real)
            column.world[column.size++] = in->world[i];
    }
    tshmem_team_t x = 99, y = 99;
    CHECK(tshmem_team_split_2d(parent, width, NULL, 0, &x, NULL, 0, &y) == 0, "split_2d");
    check_team(x, &row);
    check_team(y, &column);
    use_team(made, &one);
    use_team(y, &column);
    use_team(x, &row);
    split(made, &one, depth - 1, round);
    split(x, &row, depth - 1, round);
    split(y, &column, depth - 1, round);
    if (made != TSHMEM_TEAM_INVALID)
        tshmem_team_destroy(made);
    tshmem_team_destroy(y);
    tshmem_team_destroy(x);
    CHECK(tshmem_team_n_pes(x) == -1, "a team that is no more");
    use_team(parent, in);
}

/* Makes, uses and ends teams of a parent, in words of its own. */
struct maker {
    tshmem_team_t parent;
    int *box;    /* symmetric */
    long failed; /* of this thread; CHECK is the main thread's */
};

static void *makes(void *with)
{
    struct maker *m = with;
    const int size = tshmem_team_n_pes(m->parent);
    for (int round = 0; round < 100; round++) {
        tshmem_team_t made = TSHMEM_TEAM_INVALID, x = TSHMEM_TEAM_INVALID, y = TSHMEM_TEAM_INVALID;
        int sum = 0, status = tshmem_team_split_strided(m->parent, 0, 1, size, NULL, 0, &made);
        status |= tshmem_team_split_2d(made, size, NULL, 0, &x, NULL, 0, &y);
        SET(m->box, tshmem_my_pe() + 1);
        status |= tshmem_int_sum_reduce(made, m->box + 1, m->box, 1);
        for (int i = 0; i < size; i++)
            sum += tshmem_team_translate_pe(made, i, TSHMEM_TEAM_WORLD) + 1;
        m->failed += status != 0 || SEE(m->box + 1) != sum || tshmem_team_n_pes(x) != size || tshmem_team_n_pes(y) != 1;
        tshmem_team_destroy(y);
        tshmem_team_destroy(x);
        tshmem_team_destroy(made);
    }
    return NULL;
}

/* Two threads have teams of all PEs, and make others out of them at once. */
static void at_once(void)
{
    struct maker makers[2];
    tshmem_team_t reverse = TSHMEM_TEAM_INVALID;
    const int pes = tshmem_n_pes();
    pthread_t thread;
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, pes - 1, -1, pes, NULL, 0, &reverse) == 0, "in reverse");
    for (int i = 0; i < 2; i++)
        makers[i] = (struct maker){.parent = i ? reverse : TSHMEM_TEAM_WORLD, .box = tshmem_calloc(2, sizeof(int))};
    CHECK(pthread_create(&thread, NULL, makes, &makers[1]) == 0, "a thread");
    makes(&makers[0]);
    pthread_join(thread, NULL);
    CHECK(makers[0].failed == 0 && makers[1].failed == 0, "%ld and %ld rounds failed", makers[0].failed,
          makers[1].failed);
    for (int i = 1; i >= 0; i--)
        tshmem_free(makers[i].box);
    tshmem_team_destroy(reverse);
}

static void errors(void)
{
    const int pes = tshmem_n_pes();
    tshmem_team_t team = 5, many[TSHMEM_TEAMS_MAX];
    int made = 0;
    shmem_hush_begin();
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 1, pes + 1, NULL, 0, &team) < 0 && team == -1, "too long");
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, -1, 2, NULL, 0, &team) < 0 && team == -1, "before the first");
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 0, 2, NULL, 0, &team) < 0 && team == -1, "one PE twice");
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 1, 0, NULL, 0, &team) < 0 && team == -1, "nobody");
    CHECK(tshmem_team_split_2d(TSHMEM_TEAM_WORLD, 0, NULL, 0, &team, NULL, 0, &team) < 0, "no row");
    if (pes > 1) /* PEs that do not agree: all are told */
        CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 1, 1 + (tshmem_my_pe() == 0), NULL, 0, &team) < 0,
              "unequal");
    CHECK(tshmem_sync(40) < 0 && tshmem_sync(-1) < 0 && tshmem_sync(1000) < 0, "no team");
    CHECK(tshmem_team_my_pe(40) == -1 && tshmem_team_n_pes(-1) == -1, "no team");
    tshmem_team_destroy(TSHMEM_TEAM_WORLD);
    CHECK(tshmem_error() < 0 && tshmem_sync(TSHMEM_TEAM_WORLD) == 0, "the world stays");
    while (made < TSHMEM_TEAMS_MAX &&
           tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &many[made]) == 0)
        made++;
    CHECK(made == TSHMEM_TEAMS_MAX - 3, "%d teams at a time", made);
    while (made > 0)
        tshmem_team_destroy(many[--made]);
    tshmem_error();
    shmem_hush_end();
    tshmem_team_config_t config = {7};
    CHECK(tshmem_team_get_config(TSHMEM_TEAM_WORLD, TSHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 0,
          "config");
}

void shmem_test(void)
{
    struct expected all = {.size = tshmem_n_pes()};
    for (int pe = 0; pe < all.size; pe++)
        all.world[pe] = pe;
    box = tshmem_calloc(4, sizeof *box);
    if (!CHECK(box != NULL, "memory"))
        return;
    for (tshmem_team_t team = TSHMEM_TEAM_WORLD; team <= TSHMEM_TEAM_NODE; team++) {
        struct expected here = {.size = 0};
        for (int pe = 0; pe < all.size; pe++) {
            if (team == TSHMEM_TEAM_WORLD || shmem_is_near(pe))
                here.world[here.size++] = pe;
        }
        check_team(team, &here);
        use_team(team, &here);
    }
    for (uint64_t round = 0; round < 12; round++)
        split(TSHMEM_TEAM_WORLD, &all, 3, check_seed() + round);
    int threads; /* with PEs of other nodes the MPI must take calls of several threads */
    tshmem_query_thread(&threads);
    if (!getenv("TUTTI_NODE_RANKS") || threads == TSHMEM_THREAD_MULTIPLE)
        at_once();
    errors();
    tshmem_free(box);
}
