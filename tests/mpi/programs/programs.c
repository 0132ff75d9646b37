/* Random valid MPI programs, to find calls that hang, overtake each other or give wrong data or statuses.
 *
 *   programs [PROGRAMS [LENGTH [MOST_BYTES [SECONDS]]]]
 *   programs text NUMBER RANKS [LENGTH [MOST_BYTES]]     prints a program, without an MPI's help
 *
 * PROGRAMS: how many (200). LENGTH: actions of the longest (40). MOST_BYTES: of a buffer, with k or m (100k). SECONDS:
 * no further one is begun after so many, which is no failure. In the environment:
 *
 *   TUTTI_TEST_SEED      another seed, or clock
 *   TUTTI_TEST_FIRST=n   begins with program n
 *   TUTTI_TEST_ONLY=n    program n alone, PROGRAMS times
 *   TUTTI_TEST_KINDS     what may be drawn, names of PROG_KINDS: "send,irecv,host" those alone, "-bsend,+truncate" the
 *                        usual ones without bsend and with truncate. Usual are all but those in `unusual` below.
 *   TUTTI_TEST_TEXT=1    the program that fails is printed
 *   TUTTI_TEST_THREADS=n n threads of each rank run programs at once, each on communicators of its own; those of the
 *                        t-th thread, from 0, are the programs of seed + t
 *   TUTTI_TEST_TIMEOUT  seconds after which a program counts as hanging (30) */
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "programs.h"

enum { AGREE_EVERY = 8, THREADS = 16, WATCH_US = 100000 };

/* One thread of a rank, with communicators and programs of its own. */
struct worker {
    struct prog program;
    struct prog_run run;
    MPI_Comm agree;
    pthread_t thread;
    long done, steps;
    int failed;
    _Atomic uint64_t began; /* its program, ns; 0: all are done */
};
static struct worker *workers;
static int threads = 1;
static atomic_int seen;
static unsigned timeout;
static struct {
    struct prog_kinds kinds;
    uint64_t start;
    size_t most, arena;
    double seconds;
    long wanted, only, first;
    int length;
} plan;

static void to_error(const char *line)
{
    fprintf(stderr, "%s\n", line);
}

static void to_output(const char *line)
{
    printf("%s\n", line);
}

/* What stands still, or ends by a signal, is said as far as that can be done here. */
static void stuck(int signal_number)
{
    signal(signal_number, SIG_DFL);
    for (int t = 0; workers && t < threads; t++) {
        char text[2000] = "the end, or between programs";
        const struct worker *w = &workers[t];
        if (w->run.p && w->run.at >= 0 && w->run.at < w->run.p->steps)
            prog_text_step(w->run.p, w->run.at, text, sizeof text);
        fprintf(stderr, "FAILED rank %d: seed %llu thread %d program %llu %s at: %s\n", kit_rank,
                (unsigned long long)kit_seed, t, (unsigned long long)w->program.number,
                signal_number == SIGALRM ? "stands" : strsignal(signal_number), text);
    }
    if (signal_number != SIGALRM) { /* where it was: of the thread that got the signal */
        void *calls[64];
        backtrace_symbols_fd(calls, backtrace(calls, 64), STDERR_FILENO);
    }
    usleep(500000);
    for (int t = 0; workers && kit_rank == 0 && getenv("TUTTI_TEST_TEXT") && t < threads; t++)
        prog_text(&workers[t].program, to_error);
    fflush(stderr);
    sleep(1);
    if (signal_number == SIGALRM)
        _exit(1);
    raise(signal_number);
}

static size_t bytes_of(const char *text)
{
    char *end;
    size_t bytes = strtoull(text, &end, 0);
    return bytes << (*end == 'k' ? 10 : *end == 'm' ? 20 : 0);
}

/* What Debian's MPIs get wrong without any library in front. */
static const enum prog_kind unusual[] = {
    PROG_truncate,   /* Open MPI writes behind buffers */
    PROG_mixed,      /* ranks of a collective give types of other sizes: Open MPI's algorithms differ then */
    PROG_idupmix,    /* other collectives while MPI_Comm_idup is under way: mixed up by Open MPI */
    PROG_nullstatus, /* MPI_Testany of a receive from MPI_PROC_NULL: no empty status from MPICH */
    PROG_selffree,   /* MPI_Request_free of a send to itself: lost by MPICH */
    PROG_pbsend,     /* second start of MPI_Bsend_init while the first is under way: wrong data from Open MPI */
    PROG_selfall,    /* what a collective sends to itself, where a receive with MPI_ANY_TAG is open: MPICH takes it */
    PROG_freecoll,   /* MPI_Comm_free with nonblocking collectives open: Open MPI crashes */
    PROG_neighborw,  /* MPI_Neighbor_alltoallw, nonblocking too: MPICH receives as much from each as from one */
    PROG_twice,      /* all to all with a rank that is a neighbour twice: MPIs differ in what meets what */
    PROG_above,      /* graph of a communicator that has a topology: Open MPI 5 goes by that one */
    PROG_interdup,   /* intercommunicator duplicated with nonblocking collectives open on it: Open MPI mixes them up */
    PROG_nullroot,   /* count 0 with MPI_PROC_NULL as root of MPI_Ibcast: Open MPI skips a number */
    PROG_oddplace,   /* MPI_IN_PLACE: MPICH crashes in MPI_Reduce, Open MPI skips a number in MPI_Ialltoallv */
    PROG_aside,      /* a second thread waits: MPI_THREAD_MULTIPLE */
    PROG_bottom,     /* MPI_BOTTOM with absolute addresses */
    PROG_wide,       /* calls with large counts */
    PROG_both,       /* MPI_Isendrecv: no status from MPICH, and 4.0 uses types that are freed; Open MPI 4.1 has none */
    PROG_guest,      /* generalised requests among those that are completed */
    PROG_part,       /* partitioned messages and collectives: */
    PROG_ppcoll      /* of the library in front alone */
};

static struct prog_kinds kinds_of(const char *text)
{
    struct prog_kinds kinds;
    memset(&kinds, 1, sizeof kinds);
    kinds.may[PROG_pcoll] = (unsigned char)persistent_there();
    for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++)
        kinds.may[unusual[i]] = 0;
    char copy[2000], *rest = copy;
    if (!text || !*text)
        return kinds;
    if (*text != '-' && *text != '+')
        memset(&kinds, 0, sizeof kinds);
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word; (word = strtok_r(rest, ",", &rest));) {
        int off = *word == '-', known = 0;
        word += off || *word == '+';
        for (int k = 0; k < PROG_KIND_COUNT; k++) {
            if (strcmp(word, prog_kind_names[k]) == 0 || strcmp(word, "all") == 0) {
                kinds.may[k] = !off;
                known = 1;
            }
        }
        if (!known) {
            fprintf(stderr, "programs: no kind %s\n", word);
            exit(2);
        }
    }
    return kinds;
}

static size_t arena_of(size_t most)
{
    return 8 * most + (2 << 20);
}

static int text_mode(int argc, char **argv)
{
    int length = argc > 4 ? atoi(argv[4]) : 40;
    size_t most = argc > 5 ? bytes_of(argv[5]) : 100 << 10;
    if (argc < 4)
        return 2;
    static struct prog program;
    const struct prog_kinds kinds = kinds_of(getenv("TUTTI_TEST_KINDS"));
    prog_draw(&program, check_seed(), strtoull(argv[2], NULL, 0), atoi(argv[3]), length, most, arena_of(most), &kinds);
    prog_text(&program, to_output);
    return 0;
}

/* The same answer on all ranks: the time is over, or something is wrong. */
static int enough(MPI_Comm comm, int failed)
{
    double passed = (double)(tutti_now_ns() - plan.start) / 1e9;
    int mine[2] = {failed, kit_rank == 0 && plan.seconds > 0 && passed > plan.seconds}, all[2];
    MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, comm);
    return all[0] > 0 || all[1] > 0;
}

/* Threads share what is attached for MPI_Bsend. */
static void attach(struct worker *w, void **buffer)
{
    int room = (int)(plan.arena / 2);
    *buffer = threads == 1 && w->program.buffered[kit_rank] ? malloc((size_t)room) : NULL;
    if (*buffer)
        MPI_Buffer_attach(*buffer, room);
}

static void detach(void *buffer)
{
    int bytes;
    if (buffer)
        MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
}

static void *work(void *with)
{
    struct worker *w = with;
    struct prog *p = &w->program;
    /* programs of a thread are those of the next seed */
    uint64_t seed = kit_seed + (uint64_t)(w - workers);
    for (; w->done < plan.wanted; w->done++) {
        uint64_t number = (uint64_t)(plan.only >= 0 ? plan.only : plan.first + w->done);
        void *buffer;
        prog_draw(p, seed, number, kit_size, plan.length, plan.most, plan.arena, &plan.kinds);
        atomic_store(&w->began, tutti_now_ns());
        if (threads == 1)
            alarm(timeout);
        attach(w, &buffer);
        if (plan.kinds.may[PROG_fresh] && random_mix(number + (uint64_t)kit_rank) % 4 == 0)
            prog_run_renew(&w->run);
        prog_run(&w->run, p);
        detach(buffer);
        w->steps += p->steps;
        if (w->run.failed && !atomic_fetch_add(&seen, 1) && getenv("TUTTI_TEST_TEXT"))
            prog_text(p, to_error);
        fflush(stderr);
        w->failed += w->run.failed > 0;
        if (((w->done + 1) % AGREE_EVERY == 0 || w->done + 1 == plan.wanted) && enough(w->agree, w->failed)) {
            w->done++;
            break;
        }
    }
    atomic_store(&w->began, 0);
    return NULL;
}

/* Until all have ended, or one stands still. */
static void watch(void)
{
    for (int left = 1; left;) {
        usleep(WATCH_US);
        left = 0;
        for (int t = 0; t < threads; t++) {
            uint64_t began = atomic_load(&workers[t].began), now = tutti_now_ns();
            left += began != 0;
            if (began && now > began && (now - began) / 1000000000 > timeout)
                stuck(SIGALRM);
        }
    }
}

static void work_all(void)
{
    if (threads == 1) {
        work(&workers[0]);
        return;
    }
    int room = (int)plan.arena * 2 * threads, bytes;
    void *buffer = malloc((size_t)room);
    MPI_Buffer_attach(buffer, room);
    alarm(0);
    for (int t = 0; t < threads; t++) {
        atomic_store(&workers[t].began, tutti_now_ns());
        if (pthread_create(&workers[t].thread, NULL, work, &workers[t]) != 0)
            abort();
    }
    watch();
    for (int t = 0; t < threads; t++)
        pthread_join(workers[t].thread, NULL);
    alarm(timeout);
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "text") == 0)
        return text_mode(argc, argv);
    timeout = (unsigned)check_setting("TUTTI_TEST_TIMEOUT", 30);
    threads = (int)check_setting("TUTTI_TEST_THREADS", 1);
    threads = threads < 1 ? 1 : threads > THREADS ? THREADS : threads;
    signal(SIGALRM, stuck);
    alarm(2 * timeout);
    plan.kinds = kinds_of(getenv("TUTTI_TEST_KINDS"));
    const int several = threads > 1 || plan.kinds.may[PROG_aside];
    int level = kit_start(&argc, &argv, several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    plan.start = tutti_now_ns();
    plan.wanted = argc > 1 ? strtol(argv[1], NULL, 0) : 200;
    plan.length = argc > 2 ? atoi(argv[2]) : 40;
    plan.most = argc > 3 ? bytes_of(argv[3]) : 100 << 10;
    plan.arena = arena_of(plan.most);
    plan.seconds = argc > 4 ? strtod(argv[4], NULL) : 0;
    plan.only = check_setting("TUTTI_TEST_ONLY", -1);
    plan.first = check_setting("TUTTI_TEST_FIRST", 0);
    if ((plan.kinds.may[PROG_part] || plan.kinds.may[PROG_ppcoll]) && !prog_parts_there())
        kit_skip("programs", "there are no partitioned calls");
    if (kit_size > PROG_RANKS)
        kit_skip("programs", "too many ranks");
    if (several && level < MPI_THREAD_MULTIPLE)
        kit_skip("programs", "this MPI has no MPI_THREAD_MULTIPLE");
    workers = calloc((size_t)threads, sizeof *workers);
    if (!workers)
        abort();
    signal(SIGABRT, stuck);
    signal(SIGSEGV, stuck);
    MPI_Comm base[THREADS];
    for (int t = 0; t < threads; t++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &base[t]);
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].agree);
        prog_run_open(&workers[t].run, base[t], kit_rank, plan.arena);
    }
    work_all();
    alarm(timeout);
    long done = 0, steps = 0;
    for (int t = 0; t < threads; t++) {
        prog_run_close(&workers[t].run);
        MPI_Comm_free(&base[t]);
        MPI_Comm_free(&workers[t].agree);
        done += workers[t].done;
        steps += workers[t].steps;
    }
    if (kit_rank == 0)
        printf("%ld programs of %ld steps in %.1f s\n", done, steps, (double)(tutti_now_ns() - plan.start) / 1e9);
    return kit_end("programs");
}
