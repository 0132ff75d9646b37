/* A peer that sends its last message and closes at once: the message comes before the end does. Linux looks for a
 * message first and then whether the peer has closed, so that it may report the end before a message that was sent in
 * between. recvmsg() of this program reports exactly that; threads then try it with the system's own. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "team/socket.h"

enum { ROUNDS = 500 };

static const uint64_t sent = 7;
static int closes_between = -1; /* end of a peer that sends and closes between recvmsg()'s two looks */

/* In place of the C library's. */
ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    if (closes_between < 0)
        return (ssize_t)syscall(SYS_recvmsg, fd, message, flags);
    assert_int_equal(tutti_socket_send(closes_between, &sent, sizeof sent, -1), 1);
    close(closes_between);
    closes_between = -1;
    message->msg_controllen = 0;
    return 0;
}

/* The message, once. */
static void check_last_word(int fd, int got, uint64_t word)
{
    int passed;
    assert_int_equal(got, 1);
    assert_int_equal(word, sent);
    assert_int_not_equal(tutti_socket_receive(fd, &word, sizeof word, &passed), 1);
}

static void message_between_looks(void **state)
{
    int ends[2], passed;
    uint64_t word = 0;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(tutti_socket_receive(ends[1], &word, sizeof word, &passed), 0);
    closes_between = ends[0];
    const int got = tutti_socket_receive(ends[1], &word, sizeof word, &passed);
    assert_int_equal(closes_between, -1); /* the library has called recvmsg() above */
    check_last_word(ends[1], got, word);
    assert_int_equal(tutti_socket_receive(ends[1], &word, sizeof word, &passed), -1); /* the end, by now */
    close(ends[1]);
}

static int ends[ROUNDS][2], turn; /* turn: rounds that have begun */

static void *send_and_close(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) <= i)
            sched_yield();
        tutti_socket_send(ends[i][0], &sent, sizeof sent, -1);
        close(ends[i][0]);
    }
    return unused;
}

/* The receiver asks again and again meanwhile, so that it looks in between often. */
static void last_word(void **state)
{
    pthread_t peer;
    (void)state;
    assert_int_equal(pthread_create(&peer, NULL, send_and_close, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t word = 0;
        int passed, got, asked = 0;
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends[i]), 0);
        __atomic_store_n(&turn, i + 1, __ATOMIC_RELEASE);
        while ((got = tutti_socket_receive(ends[i][1], &word, sizeof word, &passed)) == 0)
            if (++asked % 64 == 0)
                sched_yield();
        check_last_word(ends[i][1], got, word);
        close(ends[i][1]);
    }
    pthread_join(peer, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(message_between_looks), cmocka_unit_test(last_word)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
