/* The mesh: every rank of the node is connected with every other one, and has its page. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/affinity.h"
#include "core/log.h"
#include "progress/engine.h"
#include "team/socket.h"

static const uint64_t hello_magic = 0x5455545448454c4f;
enum { GUESTS = 64 }; /* connections that have not sent their rank yet */

/* First message of both sides, with the descriptor of the sender's page. */
struct hello {
    uint64_t magic, nonce[2];
    uint32_t rank, pid;
    cpu_set_t cpus;
};

int tutti_socket_listen(const struct tutti_node *node, int *listener, struct tutti_socket_name *name)
{
    const int fd = tutti_socket_named(SOCK_SEQPACKET, name);
    if (fd < 0 || listen(fd, node->size + GUESTS) != 0) {
        tutti_warn("no Unix socket for the ranks of this machine: %s", strerror(errno));
        name->length = 0;
        if (fd >= 0)
            close(fd);
        return TUTTI_ERR_SYSTEM;
    }
    *listener = fd;
    return TUTTI_OK;
}

struct mesh {
    struct tutti_node *node;
    const struct tutti_socket_name *names; /* of each rank of the world */
    int listener, page_fd;
    int met; /* peers whose page is mapped */
    int guests;
    int guest[GUESTS]; /* accepted, have not sent their rank yet */
    int *said;         /* [size] 1: our hello has been sent */
    int *calls;        /* [size] connections under way to lower ranks */
    cpu_set_t cpus;
};

static struct hello my_hello(const struct mesh *mesh)
{
    struct tutti_node *node = mesh->node;
    struct hello hello = {.magic = hello_magic,
                          .nonce = {node->nonce[0], node->nonce[1]},
                          .rank = (uint32_t)node->rank,
                          .pid = (uint32_t)getpid()};
    CPU_ZERO(&hello.cpus);
    sched_getaffinity(0, sizeof hello.cpus, &hello.cpus);
    return hello;
}

/* Takes the socket where the message at hand proves the other side to be peer `rank` (-1: any that may connect here).
 */
static int mesh_meet(struct mesh *mesh, int fd, const struct hello *hello, int page_fd, int rank)
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
    peer->socket = fd;
    peer->pid = pid > 0 ? pid : hello->pid > 0 && hello->pid <= INT32_MAX ? (int)hello->pid : -1;
    CPU_OR(&mesh->cpus, &mesh->cpus, &hello->cpus);
    mesh->met++;
    return TUTTI_OK;
}

/* The connection was closed before it was answered. The peer may still connect. */
static void mesh_drop(struct mesh *mesh, int rank)
{
    struct tutti_peer *peer = &mesh->node->peer[rank];
    close(peer->socket);
    peer->socket = -1;
    tutti_page_release(peer->page);
    peer->page = NULL;
    mesh->met--;
}

static void mesh_answer(struct mesh *mesh, int rank)
{
    struct hello mine = my_hello(mesh);
    int sent = tutti_socket_send(mesh->node->peer[rank].socket, &mine, sizeof mine, mesh->page_fd);
    if (sent < 0)
        mesh_drop(mesh, rank);
    else
        mesh->said[rank] = sent;
}

static void mesh_read_guests(struct mesh *mesh)
{
    struct tutti_node *node = mesh->node;
    for (int i = 0; i < mesh->guests; i++) {
        struct hello hello = {0};
        int page_fd, fd = mesh->guest[i];
        int got = tutti_socket_receive(fd, &hello, sizeof hello, &page_fd);
        if (got == 0)
            continue;
        if (got > 0 && mesh_meet(mesh, fd, &hello, page_fd, -1) == TUTTI_OK) {
            mesh_answer(mesh, (int)hello.rank);
        } else {
            tutti_debug("a stranger at the socket was refused");
            close(fd);
        }
        if (page_fd >= 0)
            close(page_fd);
        mesh->guest[i--] = mesh->guest[--mesh->guests];
    }
    for (int r = node->rank + 1; r < node->size; r++) { /* rank to which an answer could not be sent at once */
        if (node->peer[r].socket >= 0 && !mesh->said[r])
            mesh_answer(mesh, r);
    }
}

static int accept_guests(struct mesh *mesh)
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
    /* Without free descriptors no connection can be accepted: reported now, not after the time limit. */
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? TUTTI_ERR_SYSTEM : TUTTI_OK;
}

/* One step towards peer `rank`, which listens: connect, send hello, receive hello. *fd is the connection under way. */
static int call_peer(struct mesh *mesh, int rank, int *fd)
{
    struct tutti_node *node = mesh->node;
    if (*fd < 0) {
        struct sockaddr_un name;
        const struct tutti_socket_name *its = &mesh->names[node->world_rank[rank]];
        if (its->length == 0 || its->length > sizeof its->bytes)
            return TUTTI_ERR_SYSTEM;
        const socklen_t length = tutti_socket_address(its, &name);
        int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (made < 0)
            return TUTTI_ERR_SYSTEM;
        if (connect(made, (struct sockaddr *)&name, length) != 0) {
            int again = errno == EAGAIN || errno == EINTR;
            close(made);
            return again ? TUTTI_OK : TUTTI_ERR_PEER;
        }
        *fd = made;
    }
    if (!mesh->said[rank]) {
        struct hello mine = my_hello(mesh);
        int pid;
        if (tutti_socket_trusts(*fd, geteuid(), &pid) != TUTTI_OK)
            return TUTTI_ERR_SYSTEM;
        int sent = tutti_socket_send(*fd, &mine, sizeof mine, mesh->page_fd);
        if (sent < 0)
            return TUTTI_ERR_PEER;
        mesh->said[rank] = sent;
    }
    struct hello hello = {0};
    int page_fd, got = tutti_socket_receive(*fd, &hello, sizeof hello, &page_fd);
    if (got == 0)
        return TUTTI_OK;
    int status = got < 0 ? TUTTI_ERR_PEER : mesh_meet(mesh, *fd, &hello, page_fd, rank);
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

/* As far as it goes now. 1: all have met; or a status. */
static int mesh_continue(void *with)
{
    struct mesh *mesh = with;
    int status = TUTTI_OK;
    if (mesh_done(mesh))
        return 1;
    for (int r = 0; r < mesh->node->rank && status == TUTTI_OK; r++) {
        if (mesh->node->peer[r].socket < 0)
            status = call_peer(mesh, r, &mesh->calls[r]);
    }
    if (status == TUTTI_OK)
        status = accept_guests(mesh);
    mesh_read_guests(mesh);
    return status == TUTTI_OK ? mesh_done(mesh) : status;
}

int tutti_socket_mesh(struct tutti_node *node, int listener, const struct tutti_socket_name *names, int page_fd)
{
    struct mesh mesh = {.node = node, .names = names, .listener = listener, .page_fd = page_fd};
    node->peer[node->rank].pid = (int)getpid();
    CPU_ZERO(&mesh.cpus);
    sched_getaffinity(0, sizeof mesh.cpus, &mesh.cpus);
    mesh.said = calloc((size_t)node->size, sizeof *mesh.said);
    int *calls = malloc((size_t)node->size * sizeof *calls); /* connections under way to lower ranks */
    int status = mesh.said && calls ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (int r = 0; calls && r < node->size; r++)
        calls[r] = -1;
    mesh.calls = calls;
    if (status == TUTTI_OK)
        status = tutti_progress_wait(&(const struct tutti_wait){
            .done = mesh_continue, .with = &mesh, .quiet = 1, .seconds = TUTTI_MESH_SECONDS, .every_us = 100});
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
    tutti_thread_ranks(&mesh.cpus);
    return status;
}
