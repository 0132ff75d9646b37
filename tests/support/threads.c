#include "support/threads.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/status.h"
#include "device/host/program.h"
#include "support/threads_messages.h"

enum { STAGE = 64 << 10, BARRIER_SECONDS = 120 };
static const size_t arena_bytes = (size_t)1 << 30; /* reserved, not used */
static const uint64_t second = 1000000000;

struct arena {
    _Atomic uint64_t used;
    int threads;                    /* 1: ranks are threads, and have messages */
    _Atomic(struct group *) groups; /* those that have */
};

/* A group in the arena; behind it STAGE bytes for each rank. */
struct group {
    _Atomic uint32_t arrived, round;
    int size;
    struct post *post; /* NULL: ranks are processes */
    struct group *next;
};

struct member {
    struct tutti_transport transport;
    struct arena *arena;
    struct group *group;
    int world_rank;
};

static int machine_ranks;

void tutti_threads_machines(int ranks_each)
{
    machine_ranks = ranks_each;
}

static struct group *group_new(struct arena *arena, int size)
{
    uint64_t bytes = 256 + (uint64_t)size * STAGE, at = atomic_fetch_add(&arena->used, bytes);
    if (at + bytes > arena_bytes)
        return NULL;
    struct group *group = (struct group *)(void *)((char *)arena + at);
    group->size = size;
    if (arena->threads) {
        group->post = post_new(size);
        group->next = atomic_load(&arena->groups);
        while (!atomic_compare_exchange_weak(&arena->groups, &group->next, group))
            ;
    }
    return group;
}

static char *stage(struct member *m, int rank)
{
    return (char *)m->group + 256 + (size_t)rank * STAGE;
}

static int barrier(struct tutti_transport *transport)
{
    struct group *group = ((struct member *)transport)->group;
    uint32_t round = atomic_load(&group->round);
    if (atomic_fetch_add(&group->arrived, 1) == (uint32_t)group->size - 1) {
        atomic_store(&group->arrived, 0);
        atomic_fetch_add(&group->round, 1);
        syscall(SYS_futex, &group->round, FUTEX_WAKE, group->size, NULL, NULL, 0);
        return TUTTI_OK;
    }
    uint64_t until = tutti_now_ns() + BARRIER_SECONDS * second;
    while (atomic_load(&group->round) == round) {
        const struct timespec most = {0, 100000000};
        syscall(SYS_futex, &group->round, FUTEX_WAIT, round, &most, NULL, 0);
        if (tutti_now_ns() > until)
            return TUTTI_ERR_TIMEOUT;
    }
    return TUTTI_OK;
}

static int allgather(struct tutti_transport *transport, const void *in, void *out, size_t bytes)
{
    struct member *m = (struct member *)transport;
    int status = TUTTI_OK;
    for (size_t at = 0; at < bytes && status == TUTTI_OK; at += STAGE) {
        size_t some = bytes - at < STAGE ? bytes - at : STAGE;
        memcpy(stage(m, transport->rank), (const char *)in + at, some);
        status = barrier(transport);
        for (int r = 0; r < transport->size && status == TUTTI_OK; r++)
            memcpy((char *)out + (size_t)r * bytes + at, stage(m, r), some);
        if (status == TUTTI_OK)
            status = barrier(transport);
    }
    return status;
}

static int alltoall(struct tutti_transport *transport, const void *in, void *out, size_t bytes)
{
    struct member *m = (struct member *)transport;
    size_t most = STAGE / (size_t)transport->size;
    int status = TUTTI_OK;
    for (size_t at = 0; at < bytes && status == TUTTI_OK; at += most) {
        size_t some = bytes - at < most ? bytes - at : most;
        for (int r = 0; r < transport->size; r++)
            memcpy(stage(m, transport->rank) + (size_t)r * most, (const char *)in + (size_t)r * bytes + at, some);
        status = barrier(transport);
        for (int r = 0; r < transport->size && status == TUTTI_OK; r++)
            memcpy((char *)out + (size_t)r * bytes + at, stage(m, r) + (size_t)transport->rank * most, some);
        if (status == TUTTI_OK)
            status = barrier(transport);
    }
    return status;
}

static int allreduce(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how)
{
    struct member *m = (struct member *)transport;
    const size_t most = STAGE / sizeof *words;
    int status = TUTTI_OK;
    for (size_t at = 0; at < count && status == TUTTI_OK; at += most) {
        size_t some = count - at < most ? count - at : most;
        memcpy(stage(m, transport->rank), words + at, some * sizeof *words);
        status = barrier(transport);
        for (int r = 0; r < transport->size && status == TUTTI_OK; r++) {
            const int64_t *theirs = (const int64_t *)(void *)stage(m, r);
            for (size_t i = 0; i < some; i++)
                words[at + i] = r == 0 ? theirs[i] : post_combine(words[at + i], theirs[i], how);
        }
        if (status == TUTTI_OK)
            status = barrier(transport);
    }
    return status;
}

static void progress(struct tutti_transport *transport)
{
    (void)transport;
}

static int node_color(struct tutti_transport *transport, int64_t *color)
{
    *color = machine_ranks > 0 ? ((struct member *)transport)->world_rank / machine_ranks : 0;
    return TUTTI_OK;
}

/* ---- nonblocking collectives and messages, of threads alone ---- */

static int iallgather(struct tutti_transport *transport, const void *in, void *to, size_t bytes,
                      struct tutti_pending *out)
{
    struct post *post = ((struct member *)transport)->group->post;
    return post_collect(post, transport->rank, POST_GATHER, in, to, bytes, TUTTI_COMBINE_MIN, out);
}

static int iallreduce(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how,
                      struct tutti_pending *out)
{
    struct post *post = ((struct member *)transport)->group->post;
    return post_collect(post, transport->rank, POST_WORDS, words, words, count * sizeof *words, how, out);
}

static int pending_test(struct tutti_transport *transport, struct tutti_pending *pending, int *done)
{
    return post_collected(((struct member *)transport)->group->post, pending, done);
}

static int send(struct tutti_transport *transport, const void *memory, size_t bytes, int to, int tag, int synchronous,
                struct tutti_transfer *out)
{
    struct member *m = (struct member *)transport;
    return post_send(m->group->post, transport->rank, memory, bytes, to, tag, synchronous, out);
}

static int receive(struct tutti_transport *transport, void *memory, size_t room, int from, int tag,
                   struct tutti_transfer *out)
{
    struct member *m = (struct member *)transport;
    return post_receive(m->group->post, transport->rank, memory, room, from, tag, out);
}

static int probe(struct tutti_transport *transport, int from, int tag, struct tutti_caught *out, int *flag)
{
    struct member *m = (struct member *)transport;
    return post_probe(m->group->post, transport->rank, from, tag, out, flag);
}

static int receive_caught(struct tutti_transport *transport, struct tutti_caught *caught, void *memory, size_t room,
                          struct tutti_transfer *out)
{
    return post_receive_caught(((struct member *)transport)->group->post, caught, memory, room, out);
}

static int test(struct tutti_transport *transport, struct tutti_transfer *transfer, struct tutti_transfer_status *came,
                int *done)
{
    return post_test(((struct member *)transport)->group->post, transfer, came, done);
}

static int cancel(struct tutti_transport *transport, struct tutti_transfer *transfer, int *cancelled)
{
    return post_cancel(((struct member *)transport)->group->post, transfer, cancelled);
}

static const struct tutti_transport_ops ops = {
    .barrier = barrier,
    .allgather = allgather,
    .alltoall = alltoall,
    .allreduce = allreduce,
    .progress = progress,
    .node_color = node_color,
    .iallgather = iallgather,
    .iallreduce = iallreduce,
    .pending_test = pending_test,
    .send = send,
    .receive = receive,
    .probe = probe,
    .receive_caught = receive_caught,
    .test = test,
    .cancel = cancel,
};

static void member_init(struct member *m, struct arena *arena, struct group *group, int rank, int world_rank)
{
    *m = (struct member){
        .transport = {.ops = &ops, .rank = rank, .size = group->size, .tags = TUTTI_TAGS_LEAST, .any_thread = 1},
        .arena = arena,
        .group = group,
        .world_rank = world_rank};
    snprintf(m->transport.label, sizeof m->transport.label, "group %zu", (size_t)((char *)group - (char *)arena));
}

struct tutti_transport *tutti_threads_split_by(struct tutti_transport *transport, int color, int key)
{
    struct member *m = (struct member *)transport;
    struct choice {
        int color, key;
    } mine_is = {color, key}, *of = malloc((size_t)transport->size * sizeof *of);
    int rank = 0, size = 0, first = -1;
    uint64_t *groups = malloc((size_t)transport->size * sizeof *groups), mine = 0;
    struct member *made = malloc(sizeof *made);
    if (!of || !groups || !made || allgather(transport, &mine_is, of, sizeof mine_is) != TUTTI_OK)
        abort();
    for (int r = 0; r < transport->size; r++) {
        if (of[r].color != color)
            continue;
        first = first < 0 ? r : first;
        rank += of[r].key < key || (of[r].key == key && r < transport->rank);
        size++;
    }
    if (color >= 0 && first == transport->rank) {
        struct group *group = group_new(m->arena, size);
        mine = group ? (uint64_t)((char *)group - (char *)m->arena) : 0;
    }
    if (allgather(transport, &mine, groups, sizeof mine) != TUTTI_OK)
        abort();
    if (color >= 0 && groups[first] != 0) {
        struct group *group = (struct group *)(void *)((char *)m->arena + groups[first]);
        member_init(made, m->arena, group, rank, m->world_rank);
    } else {
        free(made);
        made = NULL;
    }
    free(of);
    free(groups);
    return made ? &made->transport : NULL;
}

struct tutti_transport *tutti_threads_split(struct tutti_transport *transport, int color)
{
    return tutti_threads_split_by(transport, color, 0);
}

void tutti_threads_free(struct tutti_transport *transport)
{
    free(transport);
}

static struct arena *arena_new(int threads)
{
    void *at = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(3);
    }
    struct arena *arena = at;
    atomic_store(&arena->used, 4096);
    arena->threads = threads;
    return arena;
}

static void arena_free(struct arena *arena)
{
    for (struct group *group = atomic_load(&arena->groups); group; group = group->next)
        post_free(group->post);
    munmap(arena, arena_bytes);
}

static uint64_t deadline(void)
{
    const char *given = getenv("TUTTI_TEST_DEADLINE");
    return tutti_now_ns() + (given ? strtoull(given, NULL, 10) : 300) * second;
}

struct thread {
    pthread_t id;
    struct member member;
    tutti_rank_main *rank_main;
    void *arg;
    int result;
    atomic_int ended;
};

static void *thread_main(void *at)
{
    struct thread *thread = at;
    thread->result = thread->rank_main(&thread->member.transport, thread->arg);
    atomic_store(&thread->ended, 1);
    return NULL;
}

static void say_late(const struct thread *threads, int ranks)
{
    fprintf(stderr, "over the deadline, still at work:");
    for (int r = 0; r < ranks; r++) {
        if (!atomic_load(&threads[r].ended))
            fprintf(stderr, " rank %d", r);
    }
    fprintf(stderr, "\n");
}

int tutti_threads_run(int ranks, tutti_rank_main *rank_main, void *arg)
{
    struct arena *arena = arena_new(1);
    struct group *group = group_new(arena, ranks);
    struct thread *threads = calloc((size_t)ranks, sizeof *threads);
    tutti_host_ranks_are_threads = 1;
    if (!group || !threads)
        exit(3);
    uint64_t until = deadline();
    for (int r = 0; r < ranks; r++) {
        threads[r].rank_main = rank_main;
        threads[r].arg = arg;
        member_init(&threads[r].member, arena, group, r, r);
        if (pthread_create(&threads[r].id, NULL, thread_main, &threads[r]) != 0) {
            perror("pthread_create");
            exit(3);
        }
    }
    int result = 0;
    for (int r = 0; r < ranks; r++) {
        while (!atomic_load(&threads[r].ended)) {
            const struct timespec pause = {0, 1000000};
            nanosleep(&pause, NULL);
            if (tutti_now_ns() > until) {
                say_late(threads, ranks);
                _exit(3); /* threads cannot be ended one by one */
            }
        }
        pthread_join(threads[r].id, NULL);
        result = result ? result : threads[r].result;
    }
    free(threads);
    arena_free(arena);
    return result;
}

int tutti_forks_run(int ranks, tutti_rank_main *rank_main, void *arg, int ended[])
{
    struct arena *arena = arena_new(0);
    struct group *group = group_new(arena, ranks);
    pid_t *pids = calloc((size_t)ranks, sizeof *pids);
    if (!group || !pids)
        exit(3);
    fflush(NULL);
    for (int r = 0; r < ranks; r++) {
        pids[r] = fork();
        if (pids[r] < 0) {
            perror("fork");
            exit(3);
        }
        if (pids[r] == 0) {
            struct member member;
            free(pids);
            member_init(&member, arena, group, r, r);
            int result = rank_main(&member.transport, arg);
            fflush(NULL);
            _exit(result & 0xff);
        }
    }
    uint64_t until = deadline();
    int all = 0;
    for (int r = 0; r < ranks; r++) {
        int status = 0;
        pid_t got;
        while ((got = waitpid(pids[r], &status, WNOHANG)) == 0) {
            const struct timespec pause = {0, 1000000};
            nanosleep(&pause, NULL);
            if (tutti_now_ns() > until) {
                fprintf(stderr, "rank %d (process %d) is over the deadline: killed\n", r, (int)pids[r]);
                kill(pids[r], SIGKILL);
                until = UINT64_MAX;
                for (int p = r + 1; p < ranks; p++)
                    kill(pids[p], SIGKILL);
            }
        }
        int how = got < 0 ? -1 : WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
        if (ended)
            ended[r] = how;
        else if (how < 0)
            fprintf(stderr, "rank %d ended by signal %d\n", r, -how);
        all = all ? all : how;
    }
    free(pids);
    arena_free(arena);
    return all;
}
