/* The leaders of the job's machines meet in the launcher's name service. A name has one writer, and its text does not
 * change. Each leader writes which ranks it leads under the lowest of them. The leader of rank 0 asks for the lowest
 * rank that it does not know of, again and again: that rank leads on its machine, if it has Tutti. So it gets to know
 * all ranks by one question a machine, or gets no answer for a while. Then it writes the decision.
 *
 * A leader writes of its ranks only when it has seen that rank 0 has Tutti, and then waits for the decision. A leader
 * that has not seen it continues without Tutti; rank 0 misses it, and then decides against Tutti too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "mpi/front/job.h"
#include "mpi/real/door.h"
#include "mpi/real/handles.h"
#include "progress/engine.h"

enum { NAME = 300, TEXT = 200, PORT = 4096, ASK_US = 2000 };

static int job_nodes_publish(const char *job, const char *what, int rank, const char *text)
{
    char name[NAME];
    snprintf(name, sizeof name, "tutti-%.220s-%s-%d", job, what, rank);
    return tutti_next.MPI_Publish_name && tutti_next.MPI_Lookup_name &&
                   tutti_next.MPI_Publish_name(name, tutti_handles.no_info, text) == MPI_SUCCESS
               ? TUTTI_OK
               : TUTTI_ERR_UNAVAILABLE;
}

struct question {
    char name[NAME], answer[PORT];
};

static int job_nodes_is_answered(void *with)
{
    struct question *question = with;
    memset(question->answer, 0, sizeof question->answer);
    return tutti_next.MPI_Lookup_name(question->name, tutti_handles.no_info, question->answer) == MPI_SUCCESS;
}

/* The text under this name, valid until the next one; NULL: it was not there in time. */
static const char *job_nodes_lookup(const char *job, const char *what, int rank, long seconds)
{
    static struct question question;
    snprintf(question.name, sizeof question.name, "tutti-%.220s-%s-%d", job, what, rank);
    return tutti_progress_wait(&(const struct tutti_wait){
               .done = job_nodes_is_answered, .with = &question, .seconds = seconds, .every_us = ASK_US}) == TUTTI_OK
               ? question.answer
               : NULL;
}

static int job_nodes_compare(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Ranks in order as runs "first+step*count,". 0: they do not fit. Launchers end a text at a blank. */
static int write_ranks(const int ranks[], int n, char text[TEXT])
{
    size_t used = 0;
    for (int i = 0, next; i < n; i = next) {
        const int step = i + 1 < n ? ranks[i + 1] - ranks[i] : 1;
        for (next = i + 1; next < n && ranks[next] - ranks[next - 1] == step;)
            next++;
        const int wrote = snprintf(text + used, TEXT - used, "%d+%d*%d,", ranks[i], step, next - i);
        if (wrote < 0 || used + (size_t)wrote >= TEXT)
            return 0;
        used += (size_t)wrote;
    }
    return 1;
}

/* Marks them; the number that were not known before. */
static int nodes_read_ranks(const char *text, char known[], int size)
{
    int first, step, count, length, fresh = 0;
    for (; sscanf(text, "%d+%d*%d,%n", &first, &step, &count, &length) == 3; text += length) {
        for (int i = 0; i < count; i++) {
            const long long rank = first + (long long)i * step;
            if (rank < 0 || rank >= size || known[rank])
                continue;
            known[rank] = 1;
            fresh++;
        }
    }
    return fresh;
}

/* On the leader of rank 0: 1 if all ranks are found. */
static int job_nodes_find_all(const char *job, const char *own, int size)
{
    char *known = calloc((size_t)size, 1);
    int found = known ? nodes_read_ranks(own, known, size) : 0, lowest = 0, missing = known ? -1 : 0;
    while (missing < 0 && found < size) {
        while (known[lowest])
            lowest++;
        const char *text = job_nodes_lookup(job, "ranks", lowest, tutti_settings()->stall_seconds);
        const int fresh = text ? nodes_read_ranks(text, known, size) : 0;
        found += fresh;
        if (fresh == 0 || !known[lowest])
            missing = lowest;
    }
    if (missing >= 0)
        tutti_warn(
            "rank %d, or another one of its machine, has no Tutti in front (LD_PRELOAD, TUTTI_DEVICE=none): every "
            "call of all ranks is passed on to the MPI",
            missing);
    free(known);
    return missing < 0;
}

static int job_nodes_decide(const char *job, const int ranks[], int n, int size)
{
    char own[TEXT] = "";
    const char *decision;
    const int fit = write_ranks(ranks, n, own);
    if (job_nodes_publish(job, "here", ranks[0], "1") != TUTTI_OK) {
        tutti_info("the launcher has no name service: all ranks are taken to have Tutti in front");
        return 1;
    }
    if (ranks[0] == 0) {
        const int all = fit && job_nodes_find_all(job, own, size);
        return job_nodes_publish(job, "decision", 0, all ? "1" : "0") == TUTTI_OK && all;
    }
    if (!job_nodes_lookup(job, "here", 0, tutti_settings()->stall_seconds)) {
        tutti_warn(
            "rank 0, or another one of its machine, has no Tutti in front (LD_PRELOAD, TUTTI_DEVICE=none): every "
            "call of all ranks is passed on to the MPI");
        return 0;
    }
    if (!fit || job_nodes_publish(job, "ranks", ranks[0], own) != TUTTI_OK)
        return 0;
    /* A leader that gave up before rank 0 decides could decide otherwise: rank 0 may wait as long for each machine. */
    const long each = tutti_settings()->stall_seconds, timeout = tutti_settings()->timeout_seconds;
    decision = job_nodes_lookup(job, "decision", 0, timeout > each * size ? timeout : each * size);
    return decision && decision[0] == '1';
}

/* 1 if names cannot be asked for. A name that is not there is an error, which some MPIs do not return. A spawned
 * world has its parents' environment, and may find their names. */
static int must_not_ask(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    MPI_Comm parent = tutti_handles.no_comm;
    int length;
    tutti_next.MPI_Get_library_version(version, &length);
    return tutti_quirks_find(TUTTI_INTERFACE, version)->ends_on_errors || !tutti_next.MPI_Comm_get_parent ||
           tutti_next.MPI_Comm_get_parent(&parent) != MPI_SUCCESS || parent != tutti_handles.no_comm;
}

int tutti_job_nodes(const char *job, const int ranks[], int n, int size)
{
    MPI_Errhandler before[2];
    const MPI_Comm comms[2] = {tutti_handles.world, tutti_handles.self};
    int all = 0;
    if (must_not_ask())
        return 1;
    int *sorted = malloc((size_t)n * sizeof *sorted);
    for (int i = 0; i < 2; i++) { /* MPIs differ in the handler that is called */
        tutti_next.MPI_Comm_get_errhandler(comms[i], &before[i]);
        tutti_next.MPI_Comm_set_errhandler(comms[i], tutti_handles.errors_return);
    }
    if (sorted) {
        memcpy(sorted, ranks, (size_t)n * sizeof *sorted);
        qsort(sorted, (size_t)n, sizeof *sorted, job_nodes_compare);
        all = job_nodes_decide(job, sorted, n, size);
    }
    for (int i = 0; i < 2; i++) {
        tutti_next.MPI_Comm_set_errhandler(comms[i], before[i]);
        tutti_next.MPI_Errhandler_free(&before[i]);
    }
    free(sorted);
    return all;
}
