/* A switch between hosts of namespaces, with delay and loss: netem is not in every kernel.
 * relay DELAY_US LOSS SEED PID...: makes a TAP eth0 in the network namespace of each PID and carries Ethernet frames
 * among them. Each frame is held for DELAY_US. Of LOSS frames one is lost, at a random distance (0: none), so TCP sends
 * it again. SIGUSR1 cuts the cable of the last host: the interface stays up, and all its frames are lost. SIGTERM ends
 * the relay, which then prints its counts. It prints "ready" when all hosts are connected. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { HOSTS = 16, FRAMES = 8192, FRAME = 2048, ADDRESS = 6 };

struct frame {
    uint64_t due;
    int from;
    size_t bytes;
    unsigned char data[FRAME];
};

static struct relay {
    int tap[HOSTS], hosts;
    unsigned char address[HOSTS][ADDRESS]; /* of the last frame that the host sent */
    int known[HOSTS];
    uint64_t delay, loss, random, until_loss; /* ns; until_loss: frames before the next loss */
    struct frame *queue;
    uint64_t head, tail; /* frames that have left and entered the queue */
    uint64_t carried, lost, full, cut_off;
} relay;
static volatile sig_atomic_t cut, ended;

static void on_cut(int unused)
{
    (void)unused;
    cut = 1;
}

static void on_end(int unused)
{
    (void)unused;
    ended = 1;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* xorshift64 */
static uint64_t draw(void)
{
    relay.random ^= relay.random << 13;
    relay.random ^= relay.random >> 7;
    relay.random ^= relay.random << 17;
    return relay.random;
}

/* The mean distance between two losses is `loss`, the longest is below twice that. */
static void next_loss(void)
{
    relay.until_loss = relay.loss ? draw() % (2 * relay.loss - 1) : 0;
}

static int open_tap(const char *pid)
{
    char path[64];
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    const int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0)
        fail(path);
    close(space);
    const int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tap < 0)
        fail("/dev/net/tun");
    memcpy(request.ifr_name, "eth0", sizeof "eth0");
    if (ioctl(tap, TUNSETIFF, &request) != 0)
        fail("TUNSETIFF");
    return tap;
}

/* ---- frames ---- */

/* Frames arrive whole, without offloads: a TAP has none unless its owner asks for them. */
static void take(int from)
{
    struct frame *frame = &relay.queue[relay.tail % FRAMES];
    ssize_t bytes;
    while (relay.tail - relay.head < FRAMES && (bytes = read(relay.tap[from], frame->data, FRAME)) > 0) {
        if (bytes < 2 * ADDRESS)
            continue;
        memcpy(relay.address[from], frame->data + ADDRESS, ADDRESS);
        relay.known[from] = 1;
        if (relay.loss > 0 && relay.until_loss-- == 0) {
            relay.lost++;
            next_loss();
            continue;
        }
        frame->due = now_ns() + relay.delay;
        frame->from = from;
        frame->bytes = (size_t)bytes;
        frame = &relay.queue[++relay.tail % FRAMES];
    }
}

/* The one host with the frame's address; -1: all others get it. */
static int host_of(const struct frame *frame)
{
    for (int i = 0; i < relay.hosts; i++) {
        if (relay.known[i] && memcmp(relay.address[i], frame->data, ADDRESS) == 0)
            return i;
    }
    return -1;
}

static void give(const struct frame *frame)
{
    const int only = host_of(frame), last = relay.hosts - 1;
    for (int to = 0; to < relay.hosts; to++) {
        if (to == frame->from || (only >= 0 && to != only))
            continue;
        if (cut && (to == last || frame->from == last)) {
            relay.cut_off++;
            continue;
        }
        if (write(relay.tap[to], frame->data, frame->bytes) == (ssize_t)frame->bytes)
            relay.carried++;
        else
            relay.full++; /* as a switch whose port is busy or down */
    }
}

static void carry(void)
{
    struct pollfd wait[HOSTS];
    const uint64_t now = now_ns();
    while (relay.head < relay.tail && relay.queue[relay.head % FRAMES].due <= now)
        give(&relay.queue[relay.head++ % FRAMES]);
    struct timespec until = {.tv_sec = 1};
    if (relay.head < relay.tail) {
        const uint64_t due = relay.queue[relay.head % FRAMES].due, left = due > now ? due - now : 0;
        until = (struct timespec){.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
    }
    /* With a full queue nothing is read: the hosts' own queues fill, and their kernels wait or drop. */
    const short events = relay.tail - relay.head < FRAMES ? POLLIN : 0;
    for (int i = 0; i < relay.hosts; i++)
        wait[i] = (struct pollfd){.fd = relay.tap[i], .events = events};
    if (ppoll(wait, (nfds_t)relay.hosts, &until, NULL) <= 0)
        return;
    for (int i = 0; i < relay.hosts; i++) {
        if (wait[i].revents & POLLIN)
            take(i);
    }
}

int main(int argc, char **argv)
{
    enum { FIRST = 4, KILO = 1000 };
    if (argc < FIRST + 2 || argc > FIRST + HOSTS) {
        fprintf(stderr, "relay DELAY_US LOSS SEED PID...\n");
        return 2;
    }
    relay.delay = strtoull(argv[1], NULL, 0) * KILO;
    relay.loss = strtoull(argv[2], NULL, 0);
    relay.random = strtoull(argv[3], NULL, 0) * 2 + 1;
    relay.queue = malloc(FRAMES * sizeof *relay.queue);
    if (!relay.queue)
        fail("queue");
    next_loss();
    for (int i = FIRST; i < argc; i++)
        relay.tap[relay.hosts++] = open_tap(argv[i]);
    struct sigaction action = {.sa_handler = on_cut};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = on_end;
    sigaction(SIGTERM, &action, NULL);
    puts("ready");
    fflush(stdout);
    while (!ended)
        carry();
    printf("relay: %" PRIu64 " frames carried, %" PRIu64 " lost, %" PRIu64 " refused by a host, %" PRIu64
           " behind the cut cable, seed %s\n",
           relay.carried, relay.lost, relay.full, relay.cut_off, argv[3]);
    return 0;
}
