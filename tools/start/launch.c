#include "tools/start/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "tools/common/text.h"

enum { GRACE_SECONDS = 10, REST_SECONDS = 3, SIGNALS = 5 };
static const int signals[SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

static volatile sig_atomic_t launched, ended_by;
static int apart, interrupts;
static void (*on_interrupt)(void);
static struct sigaction before[SIGNALS];

static void supervisor_say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; /* there is no other place to report it */
}

static void signal_handle(int signal_, siginfo_t *info, void *context)
{
    (void)context;
    const int error = errno, by_terminal = info->si_code == SI_KERNEL;
    if (signal_ == SIGINT && on_interrupt && ++interrupts == 1) {
        on_interrupt();
    } else {
        const int ends = signal_ == SIGINT || signal_ == SIGTERM || signal_ == SIGHUP;
        if (signal_ == SIGINT && !ended_by && !on_interrupt)
            supervisor_say("\ntutti: interrupted: the ranks are ended\n");
        if (ends && !ended_by)
            ended_by = signal_;
        if (apart && ends)
            kill((pid_t)launched, SIGTERM);
        else if (!apart && !by_terminal)
            kill((pid_t)launched, signal_);
    }
    errno = error;
}

/* Becomes the launcher. */
static void process_become(char *const argv[], const int ends[2], pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(TOOL_RUN_FAILED);
    if (ends) {
        int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(ends[1], STDOUT_FILENO);
        if (nothing >= 0)
            dup2(nothing, STDIN_FILENO);
    }
    execv(argv[0], argv);
    fprintf(stderr, "tutti: %s: %s\n", argv[0], strerror(errno));
    _exit(ends ? 1 : TOOL_RUN_FAILED);
}

/* Waits until the launcher has ended, at most so many seconds; 1 if it has. The command has no other children. */
static int launcher_ended(pid_t launcher, const sigset_t *child, int seconds, int *status)
{
    const struct timespec while_ = {.tv_nsec = 100000000};
    const uint64_t deadline = tutti_now_ns() + (uint64_t)seconds * 1000000000u;
    for (;;) {
        if (waitpid(launcher, status, WNOHANG) == launcher)
            return 1;
        if (tutti_now_ns() >= deadline)
            return 0;
        sigtimedwait(child, NULL, &while_);
    }
}

/* A process between the command and the launcher. It notices the command's end, also by SIGKILL, and ends the whole
 * process group of the launcher: some launchers are scripts, which would end alone. */
static void process_supervise(char *const argv[], const int ends[2], pid_t parent)
{
    sigset_t heard, child;
    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    child = heard;
    sigaddset(&heard, SIGTERM);
    sigprocmask(SIG_BLOCK, &heard, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    const pid_t self = getpid(), launcher = fork();
    if (launcher < 0)
        _exit(1);
    if (launcher == 0) {
        setpgid(0, 0);
        sigprocmask(SIG_UNBLOCK, &heard, NULL);
        process_become(argv, ends, self);
    }
    setpgid(launcher, launcher);
    close(ends[0]);
    close(ends[1]);
    int status = 0, signal_ = 0;
    while (signal_ != SIGTERM && waitpid(launcher, &status, WNOHANG) != launcher)
        signal_ = sigwaitinfo(&heard, NULL);
    if (signal_ == SIGTERM) {
        kill(-launcher, SIGTERM);
        if (launcher_ended(launcher, &child, GRACE_SECONDS, &status)) {
            for (int i = 0; i < REST_SECONDS * 100 && kill(-launcher, 0) == 0; i++)
                usleep(10000);
        }
        kill(-launcher, SIGKILL);
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

pid_t tool_launch(char *const argv[], const int ends[2], void (*interrupt)(void))
{
    const pid_t self = getpid();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0 && ends)
        process_supervise(argv, ends, self);
    if (child == 0)
        process_become(argv, NULL, self);
    launched = child;
    ended_by = interrupts = 0;
    apart = ends != NULL;
    on_interrupt = interrupt;
    struct sigaction act = {.sa_sigaction = signal_handle, .sa_flags = SA_SIGINFO};
    for (int i = 0; i < SIGNALS && child > 0; i++)
        sigaction(signals[i], &act, &before[i]);
    return child;
}

int tool_launch_wait(pid_t child, int seconds, int *status)
{
    uint64_t deadline = tutti_now_ns() + (uint64_t)(seconds > 0 ? seconds : 0) * 1000000000u;
    do {
        pid_t got = waitpid(child, status, seconds < 0 ? 0 : WNOHANG);
        if (got == child || (got < 0 && errno != EINTR))
            return 1;
        if (seconds >= 0)
            usleep(5000);
    } while (seconds < 0 || tutti_now_ns() < deadline);
    return 0;
}

int tool_launch_end(int status)
{
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
    launched = 0;
    if (ended_by)
        return 128 + ended_by;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
