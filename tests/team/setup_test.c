/* Nodes and teams: which ranks belong together, all or none, strangers at the socket, many teams, nothing left behind.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit.h"
#include "support/random.h"
#include "team/socket.h"

static int plain(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    int rounds = *(const int *)arg;
    if (kit_open(transport, &kit)) {
        CHECK(tutti_node_rank(kit.node) == transport->rank, "node rank");
        CHECK(tutti_node_size(kit.node) == transport->size, "node size");
        for (int i = 0; i < rounds; i++)
            CHECK(kit_meet(kit.team, (uint64_t)i + 1) == TUTTI_OK, "round %d", i);
    }
    kit_close(&kit);
    return 0;
}

static void every_size(void **state)
{
    (void)state;
    int before = kit_count_descriptors(), rounds = 600; /* past the wrap of the sequence */
    for (int ranks = 1; ranks <= 8; ranks++)
        assert_int_equal(tutti_threads_run(ranks, plain, &rounds), 0);
    assert_int_equal(kit_count_descriptors(), before);
    assert_int_equal(check_failed(), 0);
}

static int on_machines(struct tutti_transport *transport, void *arg)
{
    int each = *(const int *)arg;
    struct tutti_node *node = NULL;
    struct tutti_team *all = NULL, *here = NULL;
    CHECK(tutti_node_open(transport, &node) == TUTTI_OK, "node");
    int machine = transport->rank / each;
    int size = transport->size - machine * each < each ? transport->size - machine * each : each;
    CHECK(tutti_node_size(node) == size, "%d ranks on machine %d", tutti_node_size(node), machine);
    CHECK(tutti_node_rank(node) == transport->rank % each, "rank on the machine");
    struct tutti_transport *local = tutti_threads_split(transport, machine);
    CHECK(tutti_team_create(node, transport, &all) == TUTTI_OK, "team over machines");
    CHECK(tutti_team_create(node, local, &here) == TUTTI_OK, "team of a machine");
    CHECK(!all->whole && strcmp(all->why, "ranks on several nodes") == 0, "why: %s", all->why);
    CHECK(here->whole && here->size == size, "a machine's ranks are together");
    for (int i = 0; i < 10; i++)
        CHECK(kit_meet(here, 5) == TUTTI_OK, "round %d", i);
    tutti_team_free(all);
    tutti_team_free(here);
    tutti_node_close(node);
    tutti_threads_free(local);
    return 0;
}

static void machines(void **state)
{
    (void)state;
    const int sizes[][2] = {{4, 2}, {5, 2}, {7, 3}, {6, 4}};
    for (int i = 0; i < 4; i++) {
        int each = sizes[i][1];
        tutti_threads_machines(each);
        assert_int_equal(tutti_threads_run(sizes[i][0], on_machines, &each), 0);
    }
    tutti_threads_machines(0);
    assert_int_equal(check_failed(), 0);
}

/* The setting is read once a process: forked ranks read it afresh. */
static int on_virtual_nodes(struct tutti_transport *transport, void *arg)
{
    setenv("TUTTI_NODE_RANKS", "2", 1);
    return on_machines(transport, arg) || check_failed() != 0;
}

static void virtual_nodes(void **state)
{
    (void)state;
    int each = 2;
    assert_int_equal(tutti_forks_run(5, on_virtual_nodes, &each, NULL), 0);
}

static int one_fails(struct tutti_transport *transport, void *arg)
{
    int victim = *(const int *)arg;
    struct tutti_node *node = (struct tutti_node *)arg;
    struct tutti_team *team = NULL;
    kit_capture_begin();
    int before = kit_count_descriptors();
    struct rlimit most = {(rlim_t)before + 4, (rlim_t)before + 4}; /* too few for the mesh */
    if (transport->rank == victim)
        setrlimit(RLIMIT_NOFILE, &most);
    CHECK(tutti_node_open(transport, &node) != TUTTI_OK, "rank %d", transport->rank);
    CHECK(node == NULL, "all or none");
    CHECK(kit_count_descriptors() == before, "descriptors: %d, %d before", kit_count_descriptors(), before);
    char *said = kit_capture_end();
    before = kit_count_descriptors();
    CHECK((strstr(said, "device memory is not shared") != NULL) == (transport->rank == victim),
          "rank %d, which is%s the one that failed, said: %s", transport->rank, transport->rank == victim ? "" : " not",
          said);
    free(said);
    CHECK(kit_count_descriptors() == before, "descriptors: %d, %d before", kit_count_descriptors(), before);
    CHECK(tutti_team_create(node, transport, &team) == TUTTI_OK && !team->whole, "a team without a node");
    CHECK(strcmp(team->why, "ranks are not connected") == 0, "why: %s", team->why);
    tutti_team_free(team);
    return check_failed() != 0;
}

static void all_or_none(void **state)
{
    (void)state;
    int victim = 2; /* the others find out at the deadline of the set-up */
    assert_int_equal(tutti_forks_run(5, one_fails, &victim, NULL), 0);
}

enum { CHURN_RANKS = 3 };

static int churn(struct tutti_transport *transport, void *arg)
{
    struct kit kit;
    int rounds = *(const int *)arg;
    uint64_t random = 7u + 1000003u * (uint64_t)transport->rank;
    struct tutti_team *kept[8] = {NULL};
    kit_open(transport, &kit);
    struct tutti_transport *pair = tutti_threads_split(transport, transport->rank < 2 ? 0 : 1);
    for (int i = 0; i < rounds && kit.team; i++) {
        struct tutti_transport *group = i % 3 ? transport : pair;
        struct tutti_team **team = &kept[i % 8];
        tutti_team_free(*team); /* some ranks free while others still wait in them, some reuse slots soon */
        *team = NULL;
        CHECK(tutti_team_create(kit.node, group, team) == TUTTI_OK && (*team)->whole, "team %d: %s", i,
              *team ? (*team)->why : "");
        if (i % 50 == 0 && random_next(&random) % 3 == 0)
            kit_sleep_us(200);
        for (int call = 0; call < (i % 4); call++)
            CHECK(kit_meet(*team, (uint64_t)(i + call) + 1) == TUTTI_OK, "round %d", i);
    }
    for (int i = 0; i < 8; i++)
        tutti_team_free(kept[i]);
    tutti_threads_free(pair);
    kit_close(&kit);
    return 0;
}

static void many_teams(void **state)
{
    (void)state;
    int rounds = 10000;
    assert_int_equal(tutti_threads_run(CHURN_RANKS, churn, &rounds), 0);
    assert_int_equal(check_failed(), 0);
}

static int out_of_slots(struct tutti_transport *transport, void *arg)
{
    (void)arg;
    struct kit kit;
    kit_open(transport, &kit);
    enum { MOST = TUTTI_SLOTS / 2 }; /* a team takes one for its nonblocking team */
    struct tutti_team **teams = calloc(MOST + 8, sizeof(struct tutti_team *));
    int whole = 1; /* the kit's */
    for (int i = 0; i < MOST + 8; i++) {
        CHECK(tutti_team_create(kit.node, transport, &teams[i]) == TUTTI_OK, "team %d", i);
        whole += teams[i]->whole;
    }
    CHECK(whole == MOST && MOST > 1000, "%d teams are whole", whole);
    CHECK(strcmp(teams[MOST + 7]->why, "too many communicators") == 0, "why");
    for (int i = 0; i < 1000; i += 99) { /* in use, and apart from each other */
        CHECK(kit_meet(teams[i], (uint64_t)i + 1) == TUTTI_OK, "team %d", i);
        CHECK(kit_meet(teams[i]->nonblocking, (uint64_t)i + 2) == TUTTI_OK, "nonblocking team %d", i);
    }
    for (int i = 0; i < MOST + 8; i++)
        tutti_team_free(teams[i]);
    transport->ops->barrier(transport);
    struct tutti_team *again;
    CHECK(tutti_team_create(kit.node, transport, &again) == TUTTI_OK && again->whole, "slots come back");
    tutti_team_free(again);
    free(teams);
    for (int i = 0; i < 1000; i++) { /* what a program does that makes and frees a communicator in a loop */
        CHECK(tutti_team_create(kit.node, transport, &again) == TUTTI_OK && again->whole, "round %d", i);
        CHECK(kit_meet(again, 3) == TUTTI_OK, "round %d", i);
        tutti_team_free(again);
    }
    kit_close(&kit);
    return 0;
}

static void slots(void **state)
{
    (void)state;
    assert_int_equal(tutti_threads_run(2, out_of_slots, NULL), 0);
    assert_int_equal(check_failed(), 0);
}

/* Strangers: they know the names (any process of the machine can read them), not who to be. */
static atomic_int strangers_stop, strangers_in;

enum { DESCRIPTORS = 200 };

/* Calls `see` with every abstract name that a socket of this process has. The descriptors are looked at once: other
 * processes of the machine may have thousands of names. */
static void each_name(void (*see)(const char *name))
{
    unsigned long own[DESCRIPTORS], inode;
    int owns = 0;
    for (int fd = 3; fd < DESCRIPTORS; fd++) {
        char path[64], to[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, to, sizeof to - 1);
        to[n > 0 ? n : 0] = '\0';
        owns += sscanf(to, "socket:[%lu]", &own[owns]) == 1;
    }
    FILE *names = fopen("/proc/net/unix", "r");
    char line[512];
    while (names && fgets(line, sizeof line, names)) {
        char *at = strchr(line, '@');
        if (!at || sscanf(line, "%*s %*s %*s %*s %*s %*s %lu", &inode) != 1)
            continue;
        at[strcspn(at, "\n")] = '\0';
        for (int i = 0; i < owns; i++) {
            if (own[i] == inode) {
                see(at + 1);
                break;
            }
        }
    }
    if (names)
        fclose(names);
}

static void knock(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path + 1, name, sizeof address.sun_path - 2);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    static atomic_uint kind;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(fd, (struct sockaddr *)&address, length) == 0) {
        char noise[512];
        memset(noise, 0x5a, sizeof noise);
        atomic_fetch_add(&strangers_in, 1);
        if (atomic_fetch_add(&kind, 1) % 2)
            send(fd, noise, sizeof noise, MSG_NOSIGNAL);
        kit_sleep_us(100);
    }
    close(fd);
}

static void *stranger(void *unused)
{
    while (!atomic_load(&strangers_stop)) {
        each_name(knock);
        kit_sleep_us(2000);
    }
    return unused;
}

static void strangers(void **state)
{
    (void)state;
    pthread_t id;
    int rounds = 2;
    pthread_create(&id, NULL, stranger, NULL);
    for (int i = 0; i < 10 || atomic_load(&strangers_in) < 20; i++) /* of a loaded machine they get little */
        assert_int_equal(tutti_threads_run(4, plain, &rounds), 0);
    atomic_store(&strangers_stop, 1);
    pthread_join(id, NULL);
    assert_true(atomic_load(&strangers_in) >= 20);
    assert_int_equal(check_failed(), 0);
}

/* A squatter takes every name that can be guessed from those that it has seen, as another user might: ranks that come
 * to the socket late must still find names of their own. */
static atomic_int squatter_stop, squatted;

static void squat(const char *seen)
{
    static int taken[64], n;
    char name[100];
    const char *dash = strrchr(seen, '-');
    for (int r = 0; dash && r < 4 && n < 64; r++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int length = snprintf(name, sizeof name, "%.*s-%d", (int)(dash - seen), seen, r);
        memcpy(address.sun_path + 1, name, (size_t)length);
        taken[n] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (bind(taken[n], (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0) {
            atomic_fetch_add(&squatted, 1);
            n++;
        } else {
            close(taken[n]);
        }
    }
    if (atomic_load(&squatter_stop)) {
        while (n > 0)
            close(taken[--n]);
    }
}

static void *squatter(void *unused)
{
    while (!atomic_load(&squatter_stop)) {
        each_name(squat);
        kit_sleep_us(2000);
    }
    squat("");
    return unused;
}

/* Rank 0 of these comes to its socket first, the others when the squatter has had time. */
static const struct tutti_transport_ops *ops_below;

static int late_allgather(struct tutti_transport *transport, const void *in, void *out, size_t bytes)
{
    int status = ops_below->allgather(transport, in, out, bytes);
    if (bytes == 16 && transport->rank > 0)
        kit_sleep_us(100000);
    return status;
}

static int squatted_main(struct tutti_transport *transport, void *arg)
{
    struct tutti_transport_ops ops = *transport->ops;
    int rounds = *(const int *)arg;
    struct kit kit;
    ops.allgather = late_allgather;
    transport->ops = &ops;
    if (kit_open(transport, &kit)) {
        for (int i = 0; i < rounds; i++)
            CHECK(kit_meet(kit.team, 5) == TUTTI_OK, "round %d", i);
    }
    kit_close(&kit);
    transport->ops->barrier(transport);
    return 0;
}

static int find_ops(struct tutti_transport *transport, void *arg)
{
    (void)arg;
    ops_below = transport->ops;
    return 0;
}

static void squatters(void **state)
{
    (void)state;
    pthread_t id;
    int rounds = 3;
    assert_int_equal(tutti_threads_run(1, find_ops, NULL), 0);
    pthread_create(&id, NULL, squatter, NULL);
    for (int i = 0; i < 5; i++)
        assert_int_equal(tutti_threads_run(3, squatted_main, &rounds), 0);
    atomic_store(&squatter_stop, 1);
    pthread_join(id, NULL);
    assert_int_equal(check_failed(), 0);
}

static void trust(void **state)
{
    (void)state;
    int pair[2], pid = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(tutti_socket_trusts(pair[0], geteuid(), &pid), TUTTI_OK);
    assert_int_equal(pid, getpid());
    assert_int_not_equal(tutti_socket_trusts(pair[0], geteuid() + 1, &pid), TUTTI_OK);
    assert_int_not_equal(tutti_socket_trusts(-1, geteuid(), &pid), TUTTI_OK);
    close(pair[0]);
    close(pair[1]);
}

static void pages(void **state)
{
    (void)state;
    const uint64_t nonce[2] = {1, 2}, other[2] = {1, 3};
    struct tutti_page *page, *mapped = NULL;
    int fd;
    assert_int_equal(tutti_page_create(nonce, &fd, &page), TUTTI_OK);
    assert_int_not_equal(tutti_page_map(fd, other, &mapped), TUTTI_OK);
    assert_int_equal(tutti_page_map(fd, nonce, &mapped), TUTTI_OK);
    assert_int_equal(mapped->control->pid, getpid());
    assert_int_not_equal(ftruncate(fd, 0), 0);
    assert_int_not_equal(ftruncate(fd, 1 << 30), 0);
    tutti_page_release(mapped);
    page->control->version++;
    assert_int_not_equal(tutti_page_map(fd, nonce, &mapped), TUTTI_OK);
    tutti_page_release(page);
    close(fd);
    /* right size, no seals: its sender could shrink it under our loads */
    fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, sizeof(struct tutti_control)), 0);
    assert_int_not_equal(tutti_page_map(fd, nonce, &mapped), TUTTI_OK);
    close(fd);
    assert_int_not_equal(tutti_page_map(-1, nonce, &mapped), TUTTI_OK);
}

static int forget(struct tutti_transport *transport, void *arg)
{
    (void)arg;
    struct kit kit;
    kit_open(transport, &kit);
    CHECK(kit_meet(kit.team, 1) == TUTTI_OK, "before");
    pid_t child = fork();
    if (child == 0) {
        int before = kit_count_descriptors();
        tutti_node_forget(kit.node);
        int closed = before - kit_count_descriptors();
        kit_close(&kit);
        _exit(closed == transport->size - 1 ? 0 : 1);
    }
    int status = -1;
    pid_t ended = waitpid(child, &status, 0);
    CHECK(ended == child && status == 0, "child: %d", status);
    CHECK(kit_meet(kit.team, 1) == TUTTI_OK, "after");
    kit_close(&kit);
    return check_failed() != 0;
}

static void forks(void **state)
{
    (void)state;
    assert_int_equal(tutti_forks_run(3, forget, NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forks),      cmocka_unit_test(virtual_nodes), cmocka_unit_test(all_or_none),
        cmocka_unit_test(every_size), cmocka_unit_test(machines),      cmocka_unit_test(many_teams),
        cmocka_unit_test(slots),      cmocka_unit_test(strangers),     cmocka_unit_test(trust),
        cmocka_unit_test(pages),      cmocka_unit_test(squatters),
    };
    int shm = kit_count_names("/dev/shm", "tutti"), failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || kit_count_names("/dev/shm", "tutti") != shm;
}
