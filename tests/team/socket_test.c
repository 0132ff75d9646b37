/* A peer that sends its last message and closes at once: the message comes before the end does. The other side asks
 * without pause meanwhile, so that it looks in between often. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "team/socket.h"

enum { ROUNDS = 30000 };

static int ends[ROUNDS][2], turn; /* turn: rounds that have begun */

static void *send_and_close(void *unused)
{
    const uint64_t word = 7;
    for (int i = 0; i < ROUNDS; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) <= i)
            ;
        tutti_socket_send(ends[i][0], &word, sizeof word, -1);
        close(ends[i][0]);
    }
    return unused;
}

static void last_word(void **state)
{
    pthread_t peer;
    int lost = 0;
    (void)state;
    assert_int_equal(pthread_create(&peer, NULL, send_and_close, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t word = 0;
        int passed, got;
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends[i]), 0);
        __atomic_store_n(&turn, i + 1, __ATOMIC_RELEASE);
        while ((got = tutti_socket_receive(ends[i][1], &word, sizeof word, &passed)) == 0)
            ;
        lost += got != 1 || word != 7;
        assert_int_equal(tutti_socket_receive(ends[i][1], &word, sizeof word, &passed) == 1, 0);
        close(ends[i][1]);
    }
    pthread_join(peer, NULL);
    assert_int_equal(lost, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(last_word)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
