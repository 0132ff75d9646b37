/* The ranks below this process: their processor seconds, read from /proc while they run. A process is a rank's if a
 * launcher has put the rank into its environment; the processes of a rank are added up. */
#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/affinity.h"
#include "core/clock.h"
#include "tools/energy/energy.h"

enum { PROCESSES = 4096, LOOK_MS = 100 };

struct process {
    int pid, parent, rank; /* rank -1: not a rank */
    double cpu, begin, end;
    uint64_t sources;
    unsigned long long started; /* differs for a later process of the same number */
};

struct energy_ranks {
    pthread_t thread;
    struct tutti_energy *meter;
    atomic_int stop;
    int running;
    uint64_t opened;
    struct process known[PROCESSES]; /* ranks' */
    int n;
};

static int stat_read(int pid, struct process *out)
{
    char path[64], text[1024];
    unsigned long user, system;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    const size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[n] = '\0';
    const char *behind = strrchr(text, ')'); /* the name in front of it may have blanks */
    if (!behind ||
        sscanf(behind + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %llu",
               &out->parent, &user, &system, &out->started) != 4)
        return 0;
    out->pid = pid;
    out->cpu = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    return 1;
}

/* The rank that a launcher has given the process; -1: no rank. */
static int rank_read(int pid)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK=", "SLURM_PROCID="};
    char path[64], *text = NULL;
    size_t room = 0;
    int rank = -1;
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    FILE *file = fopen(path, "r");
    while (file && rank < 0 && getdelim(&text, &room, '\0', file) > 0) {
        for (int i = 0; i < 4; i++) {
            const size_t length = strlen(names[i]);
            if (strncmp(text, names[i], length) == 0 && isdigit((unsigned char)text[length]))
                rank = atoi(text + length);
        }
    }
    if (file)
        fclose(file);
    free(text);
    return rank;
}

static const struct process *process_of(const struct process all[], int n, int pid)
{
    for (int i = 0; i < n; i++) {
        if (all[i].pid == pid)
            return &all[i];
    }
    return NULL;
}

static int is_below(const struct process all[], int n, const struct process *process)
{
    const int self = (int)getpid();
    for (int steps = 0; process && steps < 64; steps++) {
        if (process->parent == self)
            return 1;
        process = process_of(all, n, process->parent);
    }
    return 0;
}

static void rank_note(struct energy_ranks *ranks, const struct process *process)
{
    const double now = (double)(tutti_now_ns() - ranks->opened) * 1e-9;
    struct process *known = NULL;
    for (int i = 0; i < ranks->n && !known; i++) {
        if (ranks->known[i].pid == process->pid && ranks->known[i].started == process->started)
            known = &ranks->known[i];
    }
    if (!known) {
        const int rank = rank_read(process->pid);
        if (rank < 0 || ranks->n == PROCESSES)
            return;
        known = &ranks->known[ranks->n++];
        *known = *process;
        known->rank = rank;
        known->begin = now;
        known->sources = 0;
    }
    known->cpu = process->cpu;
    known->end = now;
}

static void ranks_look(struct energy_ranks *ranks, struct process *all)
{
    int n = 0;
    DIR *folder = opendir("/proc");
    for (const struct dirent *entry; folder && n < PROCESSES && (entry = readdir(folder)) != NULL;) {
        if (isdigit((unsigned char)entry->d_name[0]) && stat_read(atoi(entry->d_name), &all[n]))
            n++;
    }
    if (folder)
        closedir(folder);
    for (int i = 0; i < n; i++) {
        if (is_below(all, n, &all[i]))
            rank_note(ranks, &all[i]);
    }
}

/* Which GPUs the ranks' processes compute on. */
static void ranks_look_on_gpus(struct energy_ranks *ranks)
{
    enum { USERS = 64 };
    const int sources = tutti_energy_sources(ranks->meter);
    for (int s = 0; s < sources && s < ENERGY_SHOWN_SOURCES; s++) {
        int pids[USERS];
        const int n = tutti_energy_processes(ranks->meter, s, pids, USERS);
        for (int i = 0; i < n && i < USERS; i++) {
            for (int k = 0; k < ranks->n; k++) {
                if (ranks->known[k].pid == pids[i])
                    ranks->known[k].sources |= UINT64_C(1) << s;
            }
        }
    }
}

static void *ranks_run(void *with)
{
    struct energy_ranks *ranks = with;
    struct process *all = tool_alloc(PROCESSES * sizeof *all);
    tutti_thread_roam();
    while (!atomic_load(&ranks->stop)) {
        ranks_look(ranks, all);
        ranks_look_on_gpus(ranks);
        nanosleep(&(const struct timespec){0, LOOK_MS * 1000000L}, NULL);
    }
    free(all);
    return NULL;
}

struct energy_ranks *energy_ranks_open(struct tutti_energy *meter)
{
    struct energy_ranks *ranks = tool_alloc(sizeof *ranks);
    ranks->n = 0;
    ranks->meter = meter;
    ranks->opened = tutti_now_ns();
    atomic_init(&ranks->stop, 0);
    ranks->running = pthread_create(&ranks->thread, NULL, ranks_run, ranks) == 0;
    return ranks;
}

static int rank_ascending(const void *a, const void *b)
{
    return ((const struct energy_rank *)a)->rank - ((const struct energy_rank *)b)->rank;
}

int energy_ranks_close(struct energy_ranks *ranks, struct energy_rank out[ENERGY_RANKS])
{
    int n = 0;
    atomic_store(&ranks->stop, 1);
    if (ranks->running)
        pthread_join(ranks->thread, NULL);
    for (int i = 0; i < ranks->n; i++) {
        const struct process *p = &ranks->known[i];
        int at = 0;
        while (at < n && out[at].rank != p->rank)
            at++;
        if (at == ENERGY_RANKS)
            continue;
        if (at == n)
            out[n++] = (struct energy_rank){.rank = p->rank, .pid = p->pid, .begin = p->begin, .end = p->end};
        out[at].cpu += p->cpu;
        out[at].sources |= p->sources;
        out[at].begin = p->begin < out[at].begin ? p->begin : out[at].begin;
        out[at].end = p->end > out[at].end ? p->end : out[at].end;
    }
    qsort(out, (size_t)n, sizeof *out, rank_ascending);
    free(ranks);
    return n;
}
