/* Sequences of reductions by teams of threads on the host device: collectives, sizes, roots, types, teams, streams and
 * rules drawn at random, blocking and in stream order, one rank now and then late; each result bit by bit against the
 * oracle, with what lies around it. What one call leaves in the scratch that the next one uses shows here.
 * usage: sequences_test RANKS SEQUENCES [SECONDS]
 * TUTTI_TEST_ONLY=N: sequence N alone, again and again. TUTTI_TEST_FIRST=N: from N on.
 * TUTTI_TEST_RULES=TEXT: these in place of those drawn. TUTTI_TEST_FAILURES=N: sequences that may fail before it ends.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/status.h"
#include "sequences.h"
#include "support/check.h"
#include "support/random.h"
#include "support/threads.h"
#include "tutti/tutti.h"

enum { LINES = 4, LATE_ONE_IN = 6, LATE_MOST_NS = 200000 };

struct seq_shared seq_shared = {.most = 128 << 10};
static uint64_t seed, until;
static long only, first, sequences, failures;
static atomic_int failed, expired;
static struct {
    pthread_mutex_t lock;
    uint64_t shown; /* number, plus one */
    long run;       /* plus one */
    int lines;
    uint64_t calls, enqueued, sequences;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

int seq_rank_in(const struct seq_group *g, int world)
{
    for (int r = 0; r < g->size; r++) {
        if (g->world[r] == world)
            return r;
    }
    return -1;
}

const struct seq_group *seq_group_of(const struct sequence *s, int team)
{
    return &seq_shared.group[s->team[team].group];
}

int seq_member(const struct seq_rank *me, const struct sequence *s, int team)
{
    return seq_rank_in(seq_group_of(s, team), me->world);
}

void seq_fault(const struct seq_rank *me, const struct sequence *s, int call, const char *text)
{
    pthread_mutex_lock(&all.lock);
    if (all.run != s->run + 1) {
        atomic_fetch_add(&failed, 1);
        all.lines = 0;
        fflush(stdout);
        if (all.shown != s->number + 1)
            seq_show(stderr, s, seq_shared.ranks);
        all.shown = s->number + 1;
        all.run = s->run + 1;
    }
    if (all.lines++ < LINES * seq_shared.ranks)
        fprintf(stderr, "FAILED sequence %llu rank %d (of the team %d) call %d: %s\n", (unsigned long long)s->number,
                me->world, call >= 0 ? seq_member(me, s, s->call[call].team) : -1, call, text);
    pthread_mutex_unlock(&all.lock);
}

static int fine(const struct seq_rank *me, const struct sequence *s, int call, const char *what, int status)
{
    char text[200];
    if (status == TUTTI_OK)
        return 1;
    if (status == TUTTI_ERR_BROKEN) /* the failure before has been said */
        return 0;
    snprintf(text, sizeof text, "%s: %s", what, tutti_status_text(status));
    seq_fault(me, s, call, text);
    return 0;
}

/* ---- teams ---- */

static int settle(void *with)
{
    const struct seq_live *live = with;
    return live->team->device->stream.sync(live->stream);
}

/* A stream as a program makes it. */
static struct tutti_stream *stream_of(struct seq_rank *me, int t)
{
    const struct tutti_device *device = tutti_device();
    if (!me->stream[t] && device->stream.create(me->live[t].team->gpu, &me->handle[t]) == TUTTI_OK &&
        device->stream.wrap(-1, me->handle[t], &me->stream[t]) != TUTTI_OK)
        me->stream[t] = NULL;
    return me->stream[t];
}

static void open_team(struct seq_rank *me, const struct sequence *s, int t, int call)
{
    struct seq_live *live = &me->live[t];
    *live = (struct seq_live){.team = NULL};
    if (!fine(me, s, call, "a team", tutti_team_create(me->node, me->of[s->team[t].group], &live->team)))
        return;
    if (!s->team[t].streams)
        return;
    int status = tutti_enqueue_open(live->team, -1);
    if (status == TUTTI_ERR_UNAVAILABLE) /* alike on all ranks: no scratch or no multiprocessor is left */
        return;
    if (fine(me, s, call, "a team's opening", status) && (live->stream = stream_of(me, t)) != NULL) {
        tutti_coll_settle_by(live->team, settle, live);
    }
}

static void look_at_epoch(struct seq_rank *me, const struct tutti_team *team)
{
    uint64_t ticks = 0;
    if (team->state == TUTTI_TEAM_OPEN &&
        tutti_copy(&ticks, (char *)team->scratch + offsetof(struct tutti_channel_flags, ticks), sizeof ticks) ==
            TUTTI_OK)
        me->epoch[me->epochs++ % SEQ_EPOCHS] = ticks / TUTTI_TICKS;
}

static void close_team(struct seq_rank *me, const struct sequence *s, int t, int call)
{
    struct seq_live *live = &me->live[t];
    if (live->stream)
        fine(me, s, call, "a stream", live->team->device->stream.sync(live->stream));
    look_at_epoch(me, live->team);
    tutti_team_free(live->team);
    *live = (struct seq_live){.team = NULL};
}

/* ---- calls ---- */

static void be_late(struct seq_rank *me)
{
    uint64_t dice = random_next(&me->dice);
    const struct timespec pause = {0, (long)(dice / LATE_ONE_IN % LATE_MOST_NS)};
    if (dice % LATE_ONE_IN == 0)
        nanosleep(&pause, NULL);
    else if (dice % LATE_ONE_IN == 1)
        sched_yield();
}

static void make_call(struct seq_rank *me, const struct sequence *s, int i, int rank)
{
    const struct seq_call *c = &s->call[i];
    struct seq_place *p = &me->place[i];
    const struct seq_live *live = &me->live[c->team];
    struct tutti_call call = c->call;
    enum tutti_reduce_outcome taken = TUTTI_REDUCE_DONE;
    const char *why = "?";
    if (!live->team)
        return;
    call.counts = call.collective == TUTTI_COLLECTIVE_REDUCE_SCATTER ? c->counts : NULL;
    call.in = p->in.device + p->in.start;
    call.out = p->out.device + p->out.start;
    if (!p->in_place && seq_result_of(c, rank, live->team->size).count == 0 && random_next(&me->dice) % 2)
        call.out = NULL; /* not looked at */
    call.kind = c->host && rank == 0 ? TUTTI_ARRIVAL_HOST : TUTTI_ARRIVAL_DEVICE;
    if (c->repeats >= 0)
        seq_put(me, s, i);
    const int enqueued = c->how == SEQ_ENQUEUED && live->stream;
    int status = enqueued ? tutti_enqueue(live->team, &call, live->stream, &why)
                          : tutti_reduce_run(live->team, &call, &taken, &why);
    p->done = fine(me, s, i, enqueued ? "enqueued" : "blocking", status);
    if (p->done && taken != TUTTI_REDUCE_DONE) {
        p->done = 0;
        seq_fault(me, s, i, "passed");
    }
    if (c->repeated)
        seq_fetch(me, s, i);
}

static void make_calls(struct seq_rank *me, const struct sequence *s)
{
    for (int t = 0; t < s->teams; t++) {
        if (seq_member(me, s, t) >= 0)
            open_team(me, s, t, -1);
    }
    for (int i = 0; i < s->calls; i++) {
        const int team = s->call[i].team, rank = seq_member(me, s, team);
        if (rank < 0)
            continue;
        be_late(me);
        if (s->call[i].how == SEQ_ANEW) {
            close_team(me, s, team, i);
            open_team(me, s, team, i);
        } else {
            make_call(me, s, i, rank);
        }
    }
    for (int t = 0; t < s->teams; t++) {
        if (me->live[t].team)
            close_team(me, s, t, -1);
    }
}

/* ---- a rank ---- */

/* 1 if there are more to come. */
static int run_one(struct seq_rank *me, long run, uint64_t number, int new_rules)
{
    struct sequence s;
    struct tutti_transport *const world = me->transport;
    seq_draw(&s, seed, number, seq_shared.ranks, seq_shared.most);
    s.run = run;
    if (new_rules) {
        char text[SEQ_TEXT], wrong[200] = "";
        seq_rules(seed, s.rules, text);
        if (me->world == 0 && tutti_rules_set(text, wrong, sizeof wrong) != TUTTI_OK)
            seq_fault(me, &s, -1, wrong);
        world->ops->barrier(world);
    }
    me->turn ^= 1;
    me->dice = random_mix(seed ^ random_mix(number << 8 | (uint64_t)me->world));
    seq_fill(me, &s);
    make_calls(me, &s);
    for (int i = 0; i < s.calls; i++) {
        if (s.call[i].how != SEQ_ANEW && !s.call[i].repeated && seq_member(me, &s, s.call[i].team) >= 0)
            seq_fetch(me, &s, i);
    }
    if (me->world == 0) {
        atomic_store(&expired, until && tutti_now_ns() > until);
        all.sequences++;
        for (int i = 0; i < s.calls; i++) {
            all.calls += s.call[i].how != SEQ_ANEW;
            all.enqueued += s.call[i].how == SEQ_ENQUEUED;
        }
    }
    world->ops->barrier(world);
    const int stop = atomic_load(&expired) || atomic_load(&failed) >= failures; /* nobody changes it here */
    seq_reduce_part(me, &s);
    world->ops->barrier(world);
    seq_compare(me, &s);
    return !stop;
}

static void run_all(struct seq_rank *me)
{
    for (long n = 0; n < sequences; n++) {
        const uint64_t number = (uint64_t)(only >= 0 ? only : first + n);
        const int new_rules = n == 0 || (only < 0 && number % SEQ_SAME_RULES == 0);
        if (!run_one(me, n, number, new_rules))
            break;
    }
}

static int rank_main(struct tutti_transport *transport, void *unused)
{
    (void)unused;
    struct seq_rank me = {.world = transport->rank, .transport = transport};
    int status = tutti_node_open(transport, &me.node);
    if (status != TUTTI_OK || !me.node) {
        fprintf(stderr, "FAILED node: %s\n", tutti_status_text(status));
        return 1;
    }
    for (int g = 0; g < seq_shared.groups; g++) {
        const int rank = seq_rank_in(&seq_shared.group[g], me.world);
        me.of[g] = tutti_threads_split_by(transport, rank < 0 ? -1 : 0, rank);
    }
    for (int i = 0; i < 2; i++)
        me.before[i] = malloc(seq_host_most());
    me.got = malloc(seq_host_most());
    me.expected = malloc(seq_room_most());
    for (int i = 0; i < 2 * SEQ_CALLS; i++) {
        if (tutti_alloc(seq_room_most(), (void **)&me.device[i % 2][i / 2]) != TUTTI_OK)
            return 1;
    }
    run_all(&me);
    transport->ops->barrier(transport);
    for (int t = 0; t < SEQ_TEAMS; t++) {
        if (me.stream[t]) {
            tutti_device()->stream.destroy(me.stream[t]);
            tutti_device()->stream.destroy(me.handle[t]);
        }
    }
    for (int i = 0; i < 2 * SEQ_CALLS; i++)
        tutti_free(me.device[i % 2][i / 2]);
    for (int i = 0; i < 2; i++)
        free(me.before[i]);
    free(me.got);
    free(me.expected);
    tutti_node_close(me.node);
    for (int g = 0; g < seq_shared.groups; g++)
        tutti_threads_free(me.of[g]);
    return 0;
}

int main(int argc, char **argv)
{
    char why[256] = "";
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: sequences_test RANKS SEQUENCES [SECONDS]\n");
        return 2;
    }
    seq_shared.ranks = atoi(argv[1]);
    sequences = atol(argv[2]);
    seed = check_seed();
    only = check_setting("TUTTI_TEST_ONLY", -1);
    first = check_setting("TUTTI_TEST_FIRST", 0);
    failures = check_setting("TUTTI_TEST_FAILURES", 4);
    seq_shared.most = (size_t)check_setting("TUTTI_TEST_BYTES", (long)seq_shared.most);
    const uint64_t start = tutti_now_ns();
    until = argc == 4 ? start + strtoull(argv[3], NULL, 10) * 1000000000u : 0;
    if (seq_shared.ranks < 2 || seq_shared.ranks > SEQ_RANKS || !tutti_device() ||
        tutti_device()->open(why, sizeof why) != TUTTI_OK) {
        fprintf(stderr, "2 to %d ranks on the host device: %s\n", SEQ_RANKS, why);
        return 2;
    }
    seq_shared.groups = seq_groups(seq_shared.ranks, seq_shared.group);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < SEQ_CALLS; i++)
            seq_shared.reduced[turn][i] = malloc(seq_shared.most + 16 * SEQ_RANKS);
    }
    printf("seed %llu, %d ranks\n", (unsigned long long)seed, seq_shared.ranks);
    fflush(stdout);
    int status = tutti_threads_run(seq_shared.ranks, rank_main, NULL);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < SEQ_CALLS; i++)
            free(seq_shared.reduced[turn][i]);
    }
    printf("%llu sequences, %llu calls, %llu of them enqueued, in %.1f s: %d failed\n",
           (unsigned long long)all.sequences, (unsigned long long)all.calls, (unsigned long long)all.enqueued,
           (double)(tutti_now_ns() - start) / 1e9, atomic_load(&failed));
    return status != 0 || atomic_load(&failed) > 0;
}
