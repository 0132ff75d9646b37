#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/bench.h"
#include "tools/start/launch.h"

/* Programs of the bench, in the order in which an MPI's interfaces are tried. */
static int program_of(const struct tool_mpi *mpi, struct tool_program *out)
{
    static const int abis[] = {TOOL_ABI_OPENMPI, TOOL_ABI_MPICH, TOOL_ABI_STANDARD};
    for (int i = 0; i < 3; i++) {
        if (!(mpi->abi & abis[i]))
            continue;
        char *name = tool_print("tutti-bench-%s", tool_abi_name(abis[i]));
        char *path = tool_installed_helper(name);
        free(name);
        if (!path)
            continue;
        tool_program_read(path, out);
        free(path);
        return 1;
    }
    return 0;
}

void bench_place_find(const struct bench_options *options, struct bench_place *out)
{
    static const struct tool_program none;
    int guessed;
    tool_mpis_find(&out->mpis);
    if (options->mpi) {
        out->mpi = tool_mpi_choose(&out->mpis, &none, options->mpi, &guessed);
        if (!program_of(out->mpi, &out->program))
            tool_refuse(
                "%s %s (%s): the program of the bench for its interface is not in this build; it is made where the "
                "MPI's compiler is found",
                tool_family_title(out->mpi->family), out->mpi->version, out->mpi->launcher);
        return;
    }
    for (int family = 0; family < TOOL_FAMILIES; family++) {
        for (int i = 0; i < out->mpis.n; i++) {
            out->mpi = &out->mpis.mpi[i];
            if ((int)out->mpi->family == family && program_of(out->mpi, &out->program))
                return;
        }
    }
    if (out->mpis.n == 0)
        tool_mpi_choose(&out->mpis, &none, NULL, &guessed); /* reports what is missing */
    tool_refuse(
        "the programs of the bench for the MPIs found here are not in this build; they are made where the compiler of "
        "an MPI is found (mpicc)");
}

static void hand_on(char *line, void (*record)(void *with, char *text), void *with)
{
    static const char mark[] = "@tutti ";
    if (strncmp(line, mark, sizeof mark - 1) == 0)
        record(with, line + sizeof mark - 1);
    else
        puts(line);
}

/* Reads lines until the end or until `seconds` have passed without a byte. 1 at the end, 0 late. */
static int read_lines(int from, int seconds, void (*record)(void *with, char *text), void *with)
{
    static char line[8192];
    size_t n = 0;
    for (;;) {
        struct pollfd wait = {.fd = from, .events = POLLIN};
        int ready = poll(&wait, 1, seconds * 1000);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return 0;
        ssize_t got = read(from, line + n, sizeof line - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        line[n] = '\0';
        char *start = line, *end;
        while ((end = strchr(start, '\n')) != NULL) {
            *end = '\0';
            hand_on(start, record, with);
            start = end + 1;
        }
        n -= (size_t)(start - line);
        memmove(line, start, n);
        if (n == sizeof line - 1)
            n = 0; /* no record is so long */
    }
    line[n] = '\0';
    if (n)
        hand_on(line, record, with);
    return 1;
}

int bench_start(const struct bench_options *options, const struct bench_place *place, char **arguments, int preload,
                void (*record)(void *with, char *text), void *with)
{
    struct tool_words command = {.word = NULL}, line = {.word = NULL};
    tool_words_add(&command, place->program.path);
    for (; *arguments; arguments++)
        tool_words_add(&command, *arguments);
    struct tool_start start = {place->mpi, &place->program, options->ranks, preload, options->arguments, command.word};
    tool_start_line(&start, &line);

    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        tool_refuse("no pipe could be made: %s", strerror(errno));
    pid_t launcher = tool_launch(line.word, ends, options->interrupt);
    close(ends[1]);
    int status = 1 << 8;
    int in_time = launcher > 0 && read_lines(ends[0], options->timeout, record, with);
    if (launcher > 0 && (!in_time || !tool_launch_wait(launcher, 60, &status))) {
        fprintf(stderr, "tutti: the ranks have not said a word for %d seconds: ended\n", options->timeout);
        kill(launcher, SIGTERM);
        if (!tool_launch_wait(launcher, 20, &status)) {
            kill(launcher, SIGKILL);
            tool_launch_wait(launcher, -1, &status);
        }
        status = 1 << 8;
    }
    close(ends[0]);
    tool_words_free(&command);
    tool_words_free(&line);
    return launcher > 0 ? tool_launch_end(status) : 1;
}
