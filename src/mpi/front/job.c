/* Do all ranks of the job have Tutti in front? A rank may have been started without it (another program of the job, a
 * wrapper that clears LD_PRELOAD, TUTTI_DEVICE=none). Such a rank makes none of Tutti's own collectives: the messages
 * of these would meet its next collective. Nor may another rank send it a question, which its next receive could take.
 * So nothing is sent through the MPI before all ranks are known to have Tutti:
 *
 * - The ranks of a machine meet at a Unix socket (team/roll.h) whose name follows from what the launcher has put into
 *   their environment: the job, and how many of its ranks are here.
 * - The machines of a job meet in the launcher's name service (MPI_Publish_name and MPI_Lookup_name), which the leaders
 *   of the machines alone ask, and other ranks do not see.
 *
 * In both cases all ranks with Tutti reach one decision, independent of their timing: one rank decides, and each rank
 * that has registered with it waits for its decision. If the launcher sets no such environment, or has no name service,
 * all ranks count as having Tutti. */
#include "mpi/front/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/launched.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "mpi/real/door.h"
#include "mpi/real/handles.h"
#include "progress/engine.h"
#include "team/roll.h"

enum { TEXT = 512 };

static struct tutti_roll *roll;
static int entered;
static int known; /* 1: the launcher has said what is needed */
static int here;  /* ranks of the job on this machine, or of this virtual node */

/* A number of the environment; -1: none. */
static int job_number(const char *const names[])
{
    for (; *names; names++) {
        const char *text = getenv(*names);
        char *end;
        const long value = text ? strtol(text, &end, 10) : -1;
        if (text && *text && *end == '\0' && value >= 0 && value < 1 << 24)
            return (int)value;
    }
    return -1;
}

/* The process that made the socket between a rank and the launcher's process of this machine; 0: unknown. */
static int launcher_process(void)
{
    struct ucred peer = {.pid = 0};
    socklen_t length = sizeof peer;
    const int fd = job_number((const char *const[]){"PMI_FD", NULL});
    return fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? (int)peer.pid : 0;
}

/* The job's name, alike on all its machines. Empty where its launcher needs none: names in the name service are then
 * the job's alone, and the process that the ranks of a machine talk to is, too. */
static void name_job(char text[TEXT])
{
    const char *space = getenv("PMIX_NAMESPACE"), *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    text[0] = '\0';
    if (space)
        snprintf(text, TEXT, "%.200s", space);
    else if (launcher_process() == 0 && job && step)
        snprintf(text, TEXT, "%.100s.%.100s", job, step);
}

/* A name for the job's ranks on this machine. 0: it is not known. */
static int name_here(char text[TEXT])
{
    static const char *const servers[] = {"PMIX_SERVER_URI2", "PMIX_SERVER_URI3", "PMIX_SERVER_URI4"};
    const char *server = "";
    char job[TEXT];
    const int process = launcher_process();
    name_job(job);
    for (size_t i = 0; i < sizeof servers / sizeof servers[0] && !*server; i++)
        server = getenv(servers[i]) ? getenv(servers[i]) : "";
    if (job[0])
        snprintf(text, TEXT, "job %.220s %.200s", job, server);
    else
        snprintf(text, TEXT, "process %d", process);
    return job[0] || process > 0;
}

/* How many ranks of the job are on this machine; -1: it is not known. */
static int count_here(void)
{
    const int ranks = job_number((const char *const[]){"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", NULL});
    if (ranks > 0)
        return ranks;
    return job_number((const char *const[]){"SLURM_STEP_NUM_NODES", NULL}) == 1
               ? job_number((const char *const[]){"SLURM_STEP_NUM_TASKS", NULL})
               : -1;
}

/* Virtual nodes of TUTTI_NODE_RANKS are machines here too. 0: it is not known which this rank belongs to. */
static int job_divide(char name[TEXT])
{
    const int each = (int)tutti_settings()->node_ranks;
    const int rank = tutti_launched_local_rank();
    if (each <= 0)
        return 1;
    if (rank < 0)
        return 0;
    const int node = rank / each, left = here - node * each;
    const size_t used = strlen(name);
    snprintf(name + used, TEXT - used, " node %d", node);
    here = left < each ? left : each;
    return here > 0;
}

void tutti_job_enter(void)
{
    char name[TEXT];
    if (entered++)
        return;
    here = count_here();
    known = here > 0 && name_here(name) && job_divide(name);
    if (known && tutti_roll_enter(name, here, &roll) != TUTTI_OK)
        tutti_info("this rank could not meet the other ranks of the job on this machine");
}

/* The MPI may have to do something for ranks that are still in MPI_Init. */
static void job_poll_mpi(void)
{
    int flag;
    TUTTI_INSIDE();
    tutti_next.MPI_Iprobe(MPI_ANY_SOURCE, 0, tutti_handles.self, &flag, MPI_STATUS_IGNORE);
}

/* On the leader. */
static int job_decide(const int ranks[], int come, int size)
{
    char job[TEXT];
    if (come < here) {
        tutti_warn("%d of the job's %d ranks on this machine have no Tutti in front (LD_PRELOAD, TUTTI_DEVICE=none): "
                   "every call of all ranks is passed on to the MPI",
                   here - come, here);
        return 0;
    }
    if (here >= size)
        return 1;
    name_job(job);
    return tutti_job_nodes(job, ranks, here, size);
}

int tutti_job_whole(void)
{
    int rank = 0, size = 1, whole = 1;
    TUTTI_INSIDE();
    tutti_next.MPI_Comm_rank(tutti_handles.world, &rank);
    tutti_next.MPI_Comm_size(tutti_handles.world, &size);
    int *ranks = known && size > 1 ? malloc((size_t)here * sizeof *ranks) : NULL;
    if (known && size > 1) {
        tutti_progress_mpi(job_poll_mpi);
        whole = roll && ranks;
        const int come = whole ? tutti_roll_call(roll, rank, ranks) : 0;
        if (whole)
            whole = tutti_roll_decide(roll, tutti_roll_leads(roll) ? job_decide(ranks, come, size) : 0);
        tutti_progress_mpi(NULL);
    }
    free(ranks);
    tutti_roll_leave(roll);
    roll = NULL;
    return whole;
}
