/* Sockets of a node may carry anything: hellos and notes with words changed, cut, with other
 * descriptors, several or none. Sound ones among them must arrive, and no descriptor may be left open.
 * usage: fuzz_sockets_test MEETINGS NOTES (TUTTI_TEST_SEED) */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/types.h"
#include "kit.h"
#include "support/changed.h"
#include "team/socket.h"

enum { TEXT = 512 };

static uint64_t state;
static const uint64_t nonce[2] = {77, 78};

static uint64_t draw(uint64_t n)
{
    return random_next(&state) % n;
}

/* A node of two ranks that is not connected. */
static void node_init(struct tutti_node *node, int rank, struct tutti_page *page)
{
    static int world_rank[2] = {0, 1};
    *node = (struct tutti_node){.rank = rank, .size = 2, .nonce = {nonce[0], nonce[1]}, .world_rank = world_rank};
    pthread_mutex_init(&node->post, NULL);
    node->peer = calloc(2, sizeof *node->peer);
    node->peer[0].socket = node->peer[1].socket = -1;
    node->peer[rank].page = page;
}

static void node_end(struct tutti_node *node)
{
    int peer = !node->rank;
    if (node->peer[peer].socket >= 0)
        close(node->peer[peer].socket);
    tutti_page_release(node->peer[peer].page);
    tutti_socket_purge(node, -2);
    free(node->peer);
}

/* Sends `bytes` bytes with `n` descriptors. */
static int send_any(int to, const void *text, size_t bytes, const int *fds, int n)
{
    char control[CMSG_SPACE(4 * sizeof(int))] = {0};
    struct iovec part = {(void *)(uintptr_t)text, bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (n > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
        memcpy(CMSG_DATA(head), fds, (size_t)n * sizeof(int));
    }
    return sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

/* The text, changed or cut or not, with some descriptors of `own`, /dev/null, and memory of the right size without
 * seals. 1 if it was sent just as it is. */
static int send_changed(int to, const void *text, size_t bytes, int own)
{
    static int wrong[2] = {-1, -1};
    char copy[TEXT + 64] = {0};
    if (wrong[0] < 0) {
        wrong[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
        wrong[1] = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        CHECK(wrong[0] >= 0 && ftruncate(wrong[1], sizeof(struct tutti_control)) == 0, "descriptors");
    }
    memcpy(copy, text, bytes);
    const int change = draw(3) > 0, cut = draw(4) == 0;
    if (change)
        changed_bytes(copy, bytes, &state);
    size_t length = cut ? (size_t)draw(bytes + 64) : bytes;
    int n = (int)draw(6), fds[4];
    n = n > 4 ? 1 : n;
    for (int i = 0; i < n; i++)
        fds[i] = draw(3) ? own : wrong[draw(2)];
    int sent = send_any(to, copy, length, fds, n);
    return sent && !change && length == bytes && n == 1 && fds[0] == own;
}

/* ---- meeting ---- */

struct meeting {
    struct tutti_node *node;
    struct tutti_socket_name names[2];
    int listener, page_fd, status;
};

static void *meet(void *with)
{
    struct meeting *m = with;
    m->status = tutti_socket_mesh(m->node, m->listener, m->names, m->page_fd);
    return NULL;
}

static int call(const struct tutti_socket_name *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(at.sun_path, name->bytes, name->length);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name->length)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Bytes of a hello of rank 1, as it says it to whoever listens under the name of rank 0. The listener's answer: */
static size_t hear(struct tutti_page *page, int page_fd, char *text, const char *answer, size_t bytes, int answer_fd)
{
    struct tutti_node node, other;
    struct meeting m = {.node = &node, .listener = -1, .page_fd = page_fd};
    int listener;
    pthread_t thread;
    node_init(&node, 1, page);
    node_init(&other, 0, NULL);
    CHECK(tutti_socket_listen(&other, &listener, &m.names[0]) == TUTTI_OK, "listen");
    CHECK(tutti_socket_listen(&node, &m.listener, &m.names[1]) == TUTTI_OK, "listen");
    fcntl(listener, F_SETFL, 0);
    pthread_create(&thread, NULL, meet, &m);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    char room[CMSG_SPACE(sizeof(int))];
    struct iovec part = {text, TEXT};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS) {
        int with;
        memcpy(&with, CMSG_DATA(head), sizeof with);
        close(with);
    }
    int sound = answer && send_changed(fd, answer, bytes, answer_fd);
    close(fd);
    pthread_join(thread, NULL);
    CHECK(m.status <= 0 && (!sound || m.status == TUTTI_OK), "rank 1 met with status %d", m.status);
    close(listener);
    close(m.listener);
    node_end(&other);
    node_end(&node);
    return n > 0 ? (size_t)n : 0;
}

/* Rank 0 hears changed hellos before and among the sound one. */
static void let_in(struct tutti_page *page, int page_fd, const char *hello, size_t bytes, int peer_fd)
{
    struct tutti_node node;
    struct meeting m = {.node = &node, .page_fd = page_fd};
    int guests[8], n = 1 + (int)draw(7);
    pthread_t thread;
    node_init(&node, 0, page);
    CHECK(tutti_socket_listen(&node, &m.listener, &m.names[0]) == TUTTI_OK, "listen");
    pthread_create(&thread, NULL, meet, &m);
    for (int i = 0; i < n; i++) {
        guests[i] = call(&m.names[0]);
        if (guests[i] >= 0 && draw(8))
            send_changed(guests[i], hello, bytes, peer_fd);
        if (guests[i] >= 0 && draw(3) == 0) {
            close(guests[i]);
            guests[i] = -1;
        }
    }
    /* A guest may have been taken for the peer, and all may be over, before the call or after it. */
    int last = call(&m.names[0]);
    if (last >= 0)
        (void)send_any(last, hello, bytes, &peer_fd, 1);
    pthread_join(thread, NULL);
    CHECK(m.status == TUTTI_OK && node.peer[1].page, "the sound one was not heard: %s", tutti_status_text(m.status));
    if (node.peer[1].page)
        CHECK(node.peer[1].page->control->nonce[0] == nonce[0] && node.peer[1].pid != 0, "whose page");
    for (int i = 0; i < n; i++) {
        if (guests[i] >= 0)
            close(guests[i]);
    }
    if (last >= 0)
        close(last);
    close(m.listener);
    node_end(&node);
}

static void meetings(long rounds)
{
    struct tutti_page *page[2];
    int fd[2];
    char hello[TEXT], again[TEXT], answer[TEXT];
    for (int r = 0; r < 2; r++)
        CHECK(tutti_page_create(nonce, &fd[r], &page[r]) == TUTTI_OK, "page");
    size_t bytes = hear(page[1], fd[1], hello, NULL, 0, -1);
    CHECK(bytes > 40 && bytes < TEXT, "a hello of %zu bytes", bytes);
    memcpy(answer, hello, bytes);
    for (size_t at = 0; at + 4 <= bytes && at < 64; at += 4) { /* the same of rank 0 */
        uint32_t word;
        memcpy(&word, hello + at, sizeof word);
        if (at >= 24 && word == 1) {
            memset(answer + at, 0, sizeof word);
            break;
        }
    }
    int before = kit_count_descriptors();
    for (long i = 0; i < rounds && check_failed() < 5; i++) {
        let_in(page[0], fd[0], hello, bytes, fd[1]);
        CHECK(hear(page[1], fd[1], again, answer, bytes, fd[0]) == bytes, "a hello of another length");
        if (i == 0)
            before = kit_count_descriptors(); /* with those that send_changed() keeps */
    }
    CHECK(kit_count_descriptors() == before, "%d descriptors, %d before", kit_count_descriptors(), before);
    for (int r = 0; r < 2; r++) {
        close(fd[r]);
        tutti_page_release(page[r]);
    }
}

/* ---- notes ---- */

static void notes(long rounds)
{
    struct tutti_node node;
    struct tutti_page *page;
    int fd, pair[2], before = 0;
    CHECK(tutti_page_create(nonce, &fd, &page) == TUTTI_OK, "page");
    node_init(&node, 0, page);
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "sockets");
    node.peer[1].socket = pair[0];
    for (long i = 0; i < rounds && check_failed() < 5; i++) {
        struct tutti_note note = {.magic = UINT64_C(0x54555454494e4f54),
                                  .id = (uint64_t)i,
                                  .slot = i % 2 ? (uint32_t)TUTTI_NOTE_ENDPOINT : (uint32_t)(i % TUTTI_SLOTS),
                                  .sequence = (uint32_t)(i / 3)};
        for (int wild = (int)draw(4); wild > 0; wild--)
            send_changed(pair[1], &note, sizeof note, fd);
        note.sequence += 1u << 30; /* that no changed one is likely to be */
        CHECK(send_any(pair[1], &note, sizeof note, &fd, 1), "send");
        int got = -1, came = 0;
        for (int tries = 0; tries < 10 && !came; tries++) /* a message of another length ends a look */
            came = tutti_socket_take(&node, 1, (int)note.slot, note.sequence, note.id, &got);
        CHECK(came && got >= 0, "a sound note is not found: %d, descriptor %d", came, got);
        if (got >= 0)
            close(got);
        if (i % 200 == 199 || i == rounds - 1) {
            tutti_socket_purge(&node, -2);
            before = before ? before : kit_count_descriptors();
            CHECK(kit_count_descriptors() == before, "%d descriptors, %d before", kit_count_descriptors(), before);
        }
    }
    close(pair[1]);
    node_end(&node);
    tutti_page_release(page);
    close(fd);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 100, of_notes = argc > 2 ? strtol(argv[2], NULL, 10) : 1000;
    state = check_seed();
    printf("seed %ju\n", (uintmax_t)state);
    notes(of_notes);
    meetings(rounds);
    printf("%ld notes, %ld meetings, %ld failures\n", of_notes, rounds, check_failed());
    return check_failed() > 0;
}
