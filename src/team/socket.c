#include "team/socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/log.h"

static const uint64_t hello_magic = 0x5455545448454c4f, note_magic = 0x54555454494e4f54;
enum { GUESTS = 64 }; /* connections that have not said who they are */

/* First message of both sides, with the descriptor of the sender's page. */
struct hello {
    uint64_t magic, nonce[2];
    uint32_t rank, pid;
    struct tutti_page *page; /* of use in the same process alone */
    cpu_set_t cpus;
};

static socklen_t name_of(const struct tutti_node *node, int rank, struct sockaddr_un *name)
{
    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX; /* sun_path[0] = 0: abstract */
    int n = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "tutti-%016llx%016llx-%d",
                     (unsigned long long)node->nonce[0], (unsigned long long)node->nonce[1], rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int tutti_socket_listen(const struct tutti_node *node, int *listener)
{
    struct sockaddr_un name;
    socklen_t length = name_of(node, node->rank, &name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, length) != 0 || listen(fd, node->size + GUESTS) != 0) {
        tutti_info("no Unix socket for the ranks of this machine: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return TUTTI_ERR_SYSTEM;
    }
    *listener = fd;
    return TUTTI_OK;
}

int tutti_socket_trusts(int fd, unsigned uid, int *pid)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || length != sizeof peer || peer.uid != uid)
        return TUTTI_ERR_SYSTEM;
    *pid = peer.pid;
    return TUTTI_OK;
}

/* 1 sent, 0 try again, -1 failed. `passed` of -1: no descriptor. */
static int send_message(int fd, const void *bytes, size_t size, int passed)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec part = {(void *)(uintptr_t)bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (passed >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control.room;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &passed, sizeof passed);
    }
    for (;;) {
        if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size)
            return 1;
        if (errno == EINTR)
            continue;
        /* ETOOMANYREFS: too many descriptors are under way between processes; they will be taken */
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS ? 0 : -1;
    }
}

/* 1 received, 0 nothing there, -1 closed or not a message of ours. *passed is -1 or a descriptor of the caller's. */
static int receive_message(int fd, void *bytes, size_t size, int *passed)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {bytes, size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.room};
    *passed = -1;
    ssize_t n;
    do {
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    int extra = 0;
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        for (size_t at = CMSG_LEN(0); at + sizeof(int) <= head->cmsg_len; at += sizeof(int)) {
            int fd_here;
            memcpy(&fd_here, (char *)head + at, sizeof fd_here);
            if (*passed < 0)
                *passed = fd_here;
            else
                extra |= close(fd_here) == 0;
        }
    }
    if (*passed >= 0 && (extra || message.msg_flags & MSG_CTRUNC)) {
        close(*passed);
        *passed = -1; /* the message counts, as one whose descriptor could not be had: this process may have too many */
    }
    if (n == (ssize_t)size && !(message.msg_flags & MSG_TRUNC))
        return 1;
    if (*passed >= 0)
        close(*passed);
    *passed = -1;
    return -1;
}

struct mesh {
    struct tutti_node *node;
    int listener, page_fd;
    int met; /* peers whose page is mapped */
    int guests;
    int guest[GUESTS]; /* accepted, have not said who they are */
    int *said;         /* [size] 1: our hello has been sent */
    cpu_set_t cpus;
};

static struct hello my_hello(const struct mesh *mesh)
{
    struct tutti_node *node = mesh->node;
    struct hello hello = {.magic = hello_magic,
                          .nonce = {node->nonce[0], node->nonce[1]},
                          .rank = (uint32_t)node->rank,
                          .pid = (uint32_t)getpid(),
                          .page = node->peer[node->rank].page};
    CPU_ZERO(&hello.cpus);
    sched_getaffinity(0, sizeof hello.cpus, &hello.cpus);
    return hello;
}

/* Takes the socket where the message at hand proves the other side to be peer `rank` (-1: any that may connect here).
 */
static int meet(struct mesh *mesh, int fd, const struct hello *hello, int page_fd, int rank)
{
    struct tutti_node *node = mesh->node;
    int pid, met = (int)hello->rank;
    if (page_fd < 0 || hello->magic != hello_magic || hello->nonce[0] != node->nonce[0] ||
        hello->nonce[1] != node->nonce[1] || tutti_socket_trusts(fd, geteuid(), &pid) != TUTTI_OK)
        return TUTTI_ERR_SYSTEM;
    if (rank >= 0 ? met != rank : met <= node->rank || met >= node->size || node->peer[met].socket >= 0)
        return TUTTI_ERR_SYSTEM;
    struct tutti_peer *peer = &node->peer[met];
    int status = tutti_page_map(page_fd, node->nonce, &peer->page);
    if (status != TUTTI_OK)
        return status;
    if (pid == getpid()) { /* a thread of this process */
        tutti_page_release(peer->page);
        peer->page = hello->page;
        atomic_fetch_add(&peer->page->refs, 1);
    }
    peer->socket = fd;
    peer->pid = pid > 0 ? pid : (int)hello->pid;
    CPU_OR(&mesh->cpus, &mesh->cpus, &hello->cpus);
    mesh->met++;
    return TUTTI_OK;
}

static void hear_guests(struct mesh *mesh)
{
    struct tutti_node *node = mesh->node;
    for (int i = 0; i < mesh->guests; i++) {
        struct hello hello = {0};
        int page_fd, fd = mesh->guest[i];
        int got = receive_message(fd, &hello, sizeof hello, &page_fd);
        if (got == 0)
            continue;
        if (got < 0 || meet(mesh, fd, &hello, page_fd, -1) != TUTTI_OK) {
            tutti_debug("a stranger at the socket was refused");
            close(fd);
        }
        if (page_fd >= 0)
            close(page_fd);
        mesh->guest[i--] = mesh->guest[--mesh->guests];
    }
    /* answer those that have been met */
    struct hello mine = my_hello(mesh);
    for (int r = node->rank + 1; r < node->size; r++) {
        if (node->peer[r].socket >= 0 && !mesh->said[r])
            mesh->said[r] = send_message(node->peer[r].socket, &mine, sizeof mine, mesh->page_fd) > 0;
    }
}

static void accept_guests(struct mesh *mesh)
{
    int fd, pid;
    while ((fd = accept4(mesh->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (tutti_socket_trusts(fd, geteuid(), &pid) != TUTTI_OK) {
            close(fd);
            continue;
        }
        if (mesh->guests == GUESTS) { /* the one that has been silent longest makes room */
            close(mesh->guest[0]);
            memmove(mesh->guest, mesh->guest + 1, (GUESTS - 1) * sizeof mesh->guest[0]);
            mesh->guests--;
        }
        mesh->guest[mesh->guests++] = fd;
    }
}

/* One step towards peer `rank`, which listens: connect, say hello, hear hello. *fd is the connection under way. */
static int call_peer(struct mesh *mesh, int rank, int *fd)
{
    struct tutti_node *node = mesh->node;
    if (*fd < 0) {
        struct sockaddr_un name;
        socklen_t length = name_of(node, rank, &name);
        int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (made < 0)
            return TUTTI_ERR_SYSTEM;
        if (connect(made, (struct sockaddr *)&name, length) != 0) {
            int again = errno == EAGAIN || errno == EINTR;
            close(made);
            return again ? TUTTI_OK : TUTTI_ERR_SYSTEM;
        }
        *fd = made;
    }
    if (!mesh->said[rank]) {
        struct hello mine = my_hello(mesh);
        int pid;
        if (tutti_socket_trusts(*fd, geteuid(), &pid) != TUTTI_OK)
            return TUTTI_ERR_SYSTEM;
        int sent = send_message(*fd, &mine, sizeof mine, mesh->page_fd);
        if (sent < 0)
            return TUTTI_ERR_SYSTEM;
        mesh->said[rank] = sent;
    }
    struct hello hello = {0};
    int page_fd, got = receive_message(*fd, &hello, sizeof hello, &page_fd);
    if (got == 0)
        return TUTTI_OK;
    int status = got < 0 ? TUTTI_ERR_SYSTEM : meet(mesh, *fd, &hello, page_fd, rank);
    if (page_fd >= 0)
        close(page_fd);
    if (status == TUTTI_OK)
        *fd = -1; /* the peer's now */
    return status;
}

static int mesh_done(const struct mesh *mesh)
{
    if (mesh->met < mesh->node->size - 1)
        return 0;
    for (int r = 0; r < mesh->node->size; r++) {
        if (r != mesh->node->rank && !mesh->said[r])
            return 0;
    }
    return 1;
}

int tutti_socket_mesh(struct tutti_node *node, int listener, int page_fd)
{
    struct mesh mesh = {.node = node, .listener = listener, .page_fd = page_fd};
    node->peer[node->rank].pid = (int)getpid();
    CPU_ZERO(&mesh.cpus);
    sched_getaffinity(0, sizeof mesh.cpus, &mesh.cpus);
    mesh.said = calloc((size_t)node->size, sizeof *mesh.said);
    int *calls = malloc((size_t)node->size * sizeof *calls); /* connections under way to lower ranks */
    int status = mesh.said && calls ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (int r = 0; calls && r < node->size; r++)
        calls[r] = -1;
    uint64_t until = tutti_now_ns() + TUTTI_MESH_SECONDS * UINT64_C(1000000000);
    while (status == TUTTI_OK && !mesh_done(&mesh)) {
        for (int r = 0; r < node->rank && status == TUTTI_OK; r++) {
            if (node->peer[r].socket < 0)
                status = call_peer(&mesh, r, &calls[r]);
        }
        accept_guests(&mesh);
        hear_guests(&mesh);
        if (status == TUTTI_OK && !mesh_done(&mesh)) {
            if (tutti_now_ns() > until)
                status = TUTTI_ERR_TIMEOUT;
            const struct timespec pause = {0, 100000};
            nanosleep(&pause, NULL);
        }
    }
    if (status != TUTTI_OK)
        tutti_info("the ranks of this machine did not meet: %s", tutti_status_text(status));
    for (int i = 0; i < mesh.guests; i++)
        close(mesh.guest[i]);
    for (int r = 0; calls && r < node->size; r++) {
        if (calls[r] >= 0)
            close(calls[r]);
    }
    free(calls);
    free(mesh.said);
    node->cores = CPU_COUNT(&mesh.cpus);
    return status;
}

/* What has come and was not asked for yet. */
struct tutti_parcel {
    struct tutti_parcel *next;
    struct tutti_note note;
    int peer, fd;
};

int tutti_socket_give(struct tutti_node *node, int peer, const struct tutti_note *note, int fd)
{
    struct tutti_note marked = *note;
    marked.magic = note_magic;
    pthread_mutex_lock(&node->post);
    int sent = send_message(node->peer[peer].socket, &marked, sizeof marked, fd);
    pthread_mutex_unlock(&node->post);
    return sent != 0; /* a peer that has gone is noticed by whoever waits for it */
}

/* Puts everything that `peer` has sent among the parcels; the post is held. */
static void collect(struct tutti_node *node, int peer)
{
    const struct tutti_control *control = tutti_node_control(node);
    for (;;) {
        struct tutti_note note = {0};
        int fd;
        if (receive_message(node->peer[peer].socket, &note, sizeof note, &fd) <= 0)
            return;
        struct tutti_parcel *parcel = NULL;
        if (note.magic == note_magic &&
            (note.slot == (uint32_t)TUTTI_NOTE_LANE ||
             (note.slot < TUTTI_SLOTS && atomic_load(&control->slot[note.slot].generation) == note.generation)))
            parcel = malloc(sizeof *parcel);
        if (!parcel) { /* for a communicator that this rank has left, or no memory: the wait for it is bounded */
            if (fd >= 0)
                close(fd);
            continue;
        }
        *parcel = (struct tutti_parcel){node->parcels, note, peer, fd};
        node->parcels = parcel;
    }
}

int tutti_socket_take(struct tutti_node *node, int peer, int slot, uint32_t sequence, uint64_t id, int *fd)
{
    int found = 0;
    pthread_mutex_lock(&node->post);
    collect(node, peer);
    for (struct tutti_parcel **at = &node->parcels; *at && !found; at = &(*at)->next) {
        struct tutti_parcel *parcel = *at;
        if (parcel->peer != peer || parcel->note.slot != (uint32_t)slot || parcel->note.sequence != sequence ||
            parcel->note.id != id)
            continue;
        *at = parcel->next;
        *fd = parcel->fd;
        found = 1;
        free(parcel);
        break;
    }
    pthread_mutex_unlock(&node->post);
    return found;
}

void tutti_socket_purge(struct tutti_node *node, int slot)
{
    pthread_mutex_lock(&node->post);
    struct tutti_parcel **at = &node->parcels;
    while (*at) {
        struct tutti_parcel *parcel = *at;
        if (slot != -2 && parcel->note.slot != (uint32_t)slot) {
            at = &parcel->next;
            continue;
        }
        *at = parcel->next;
        if (parcel->fd >= 0)
            close(parcel->fd);
        free(parcel);
    }
    pthread_mutex_unlock(&node->post);
}
