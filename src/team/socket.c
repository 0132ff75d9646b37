#include "team/socket.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint64_t note_magic = 0x54555454494e4f54;

int tutti_socket_named(int type, struct tutti_socket_name *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t length = sizeof at;
    const size_t before = offsetof(struct sockaddr_un, sun_path);
    const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    name->length = 0;
    if (fd < 0)
        return -1;
    if (bind(fd, (const struct sockaddr *)&at, sizeof at.sun_family) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &length) != 0 || length <= before ||
        length - before > sizeof name->bytes) {
        close(fd);
        return -1;
    }
    name->length = (unsigned char)(length - before);
    memcpy(name->bytes, at.sun_path, name->length);
    return fd;
}

unsigned tutti_socket_address(const struct tutti_socket_name *name, struct sockaddr_un *at)
{
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(at->sun_path, name->bytes, name->length);
    return (unsigned)(offsetof(struct sockaddr_un, sun_path) + name->length);
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

int tutti_socket_send(int fd, const void *bytes, size_t size, int passed)
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

int tutti_socket_receive(int fd, void *bytes, size_t size, int *passed)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};
    *passed = -1;
    ssize_t n;
    int ends = 0;
    /* The end is asked for twice: Linux looks for a message first and then whether the peer has closed, so that it
     * reports the end before a message that was sent in between. */
    do {
        message.msg_controllen = sizeof control.room;
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while ((n < 0 && errno == EINTR) || (n == 0 && message.msg_controllen == 0 && ends++ == 0));
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

enum { RECEIVED = 1024 }; /* of one peer: more are no honest peer's */

/* Notes that have arrived before they were asked for. */
struct tutti_received {
    struct tutti_received *next;
    struct tutti_note note;
    int peer, fd;
};

int tutti_socket_give(struct tutti_node *node, int peer, const struct tutti_note *note, int fd)
{
    struct tutti_note marked = *note;
    marked.magic = note_magic;
    pthread_mutex_lock(&node->post);
    int sent = tutti_socket_send(node->peer[peer].socket, &marked, sizeof marked, fd);
    pthread_mutex_unlock(&node->post);
    return sent != 0; /* the rank that waits for the peer notices its end */
}

/* Puts a note among the received; the descriptor is theirs. 0: there is no room for it. */
static int socket_keep(struct tutti_node *node, int peer, const struct tutti_note *note, int fd)
{
    unsigned n = 0;
    for (struct tutti_received *received = node->received; received; received = received->next) {
        n += received->peer == peer;
        if (received->peer != peer || received->note.slot != note->slot || received->note.sequence != note->sequence ||
            received->note.id != note->id)
            continue;
        if (received->fd >= 0) /* sent once more: one descriptor of an allocation is enough */
            close(received->fd);
        received->note = *note;
        received->fd = fd;
        return 1;
    }
    struct tutti_received *received = n < RECEIVED ? malloc(sizeof *received) : NULL;
    if (!received)
        return 0;
    *received = (struct tutti_received){node->received, *note, peer, fd};
    node->received = received;
    return 1;
}

/* Puts everything that `peer` has sent among the received; the post is held. */
static void socket_collect(struct tutti_node *node, int peer)
{
    const struct tutti_control *control = tutti_node_control(node);
    for (;;) {
        struct tutti_note note = {0};
        int fd;
        if (tutti_socket_receive(node->peer[peer].socket, &note, sizeof note, &fd) <= 0)
            return;
        const int ours =
            note.magic == note_magic &&
            (note.slot == (uint32_t)TUTTI_NOTE_ENDPOINT || note.slot == (uint32_t)TUTTI_NOTE_PAIR ||
             (note.slot < TUTTI_SLOTS && atomic_load(&control->slot[note.slot].generation) == note.generation));
        if (ours && socket_keep(node, peer, &note, fd))
            continue;
        if (fd >= 0)
            close(fd);
        if (ours) /* the waiting rank gets a note without a descriptor */
            node->lost[node->losses++ % TUTTI_LOST] = (struct tutti_lost){peer, note.slot, note.sequence, note.id};
    }
}

/* 1 if a note has arrived and there was no memory to keep it; the mark is cleared. */
static int was_lost(struct tutti_node *node, int peer, int slot, uint32_t sequence, uint64_t id)
{
    for (unsigned i = 0; i < TUTTI_LOST && i < node->losses; i++) {
        struct tutti_lost *lost = &node->lost[i];
        if (lost->peer != peer || lost->slot != (uint32_t)slot || lost->sequence != sequence || lost->id != id)
            continue;
        lost->peer = -1;
        return 1;
    }
    return 0;
}

int tutti_socket_take(struct tutti_node *node, int peer, int slot, uint32_t sequence, uint64_t id, int *fd)
{
    int found = 0;
    pthread_mutex_lock(&node->post);
    socket_collect(node, peer);
    for (struct tutti_received **at = &node->received; *at && !found; at = &(*at)->next) {
        struct tutti_received *received = *at;
        if (received->peer != peer || received->note.slot != (uint32_t)slot || received->note.sequence != sequence ||
            received->note.id != id)
            continue;
        *at = received->next;
        *fd = received->fd;
        found = 1;
        free(received);
        break;
    }
    if (!found && node->losses && was_lost(node, peer, slot, sequence, id)) {
        *fd = -1;
        found = 1;
    }
    pthread_mutex_unlock(&node->post);
    return found;
}

void tutti_socket_purge(struct tutti_node *node, int slot)
{
    pthread_mutex_lock(&node->post);
    struct tutti_received **at = &node->received;
    while (*at) {
        struct tutti_received *received = *at;
        if (slot != -2 && received->note.slot != (uint32_t)slot) {
            at = &received->next;
            continue;
        }
        *at = received->next;
        if (received->fd >= 0)
            close(received->fd);
        free(received);
    }
    pthread_mutex_unlock(&node->post);
}
