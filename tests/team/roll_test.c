/* The roll call: ranks are processes, some of which are missing, late or die. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/status.h"
#include "team/roll.h"

enum { RANKS = 4, FAILED = 99 };
static char job[64];
static int gate[2]; /* ranks go on when something is written there */

static void name_the_job(void)
{
    static int jobs;
    snprintf(job, sizeof job, "roll test %d %d", (int)getpid(), jobs++);
    assert_int_equal(pipe(gate), 0);
}

static void await_gate(void)
{
    char byte;
    while (read(gate[0], &byte, 1) < 0 && errno == EINTR)
        ;
}

/* One rank; returns what it comes to, FAILED for a wrong result. */
static int take_part(int rank, int wait, int dies)
{
    struct tutti_roll *roll = NULL;
    int ranks[RANKS], come, seen = 0;
    if (tutti_roll_enter(job, RANKS, &roll) != TUTTI_OK)
        return FAILED;
    if (wait)
        await_gate();
    const int leads = tutti_roll_leads(roll);
    if (dies && leads)
        _exit(0);
    come = tutti_roll_call(roll, rank, ranks);
    for (int i = 0; leads && come == RANKS && i < RANKS; i++)
        seen |= 1 << ranks[i];
    const int decision = tutti_roll_decide(roll, leads && come == RANKS);
    tutti_roll_leave(roll);
    return leads && come == RANKS && seen != (1 << RANKS) - 1 ? FAILED : decision;
}

static pid_t start(int rank, int wait, int dies)
{
    const pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        _exit(take_part(rank, wait, dies));
    }
    return pid;
}

static int result(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void open_gate(void)
{
    close(gate[1]);
    close(gate[0]);
}

static void all_come(void **state)
{
    pid_t pid[RANKS];
    (void)state;
    name_the_job();
    for (int r = 0; r < RANKS; r++)
        pid[r] = start(r, r % 2, 0); /* some go on before the others have come */
    open_gate();
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(result(pid[r]), 1);
}

static void one_is_missing(void **state)
{
    pid_t pid[RANKS];
    (void)state;
    name_the_job();
    for (int r = 1; r < RANKS; r++)
        pid[r] = start(r, 0, 0);
    for (int r = 1; r < RANKS; r++)
        assert_int_equal(result(pid[r]), 0);
    /* It comes when the others have decided: it decides alike, by itself. */
    pid[0] = start(0, 0, 0);
    assert_int_equal(result(pid[0]), 0);
    open_gate();
}

static void the_leader_dies(void **state)
{
    pid_t pid[RANKS];
    (void)state;
    name_the_job();
    for (int r = 0; r < RANKS; r++)
        pid[r] = start(r, 1, 1);
    usleep(20000);
    open_gate();
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(result(pid[r]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_come),
        cmocka_unit_test(one_is_missing),
        cmocka_unit_test(the_leader_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
