/* Probes: a message that is found may be an RTS, which is shorter than its message. */
#include "mpi/message/endpoints.h"
#include "mpi/message/matched.h"
#include "mpi/message/unexpected.h"
#include "mpi/request/request.h"
#include "progress/engine.h"

/* 1 if the MPI may wait by itself. */
static inline int waits_alone(int source)
{
    return likely(!tutti_unexpected_may() && !tutti_progress_busy()) || tutti_inside || source == MPI_PROC_NULL;
}

static void probe_matched(MPI_Message message, MPI_Comm comm)
{
    if ((tutti_endpoint || tutti_far_on) && !tutti_inside)
        tutti_matched_put(message, comm);
}

/* A probe polls all open steps too: the program may call nothing else until a peer has made progress. */
static inline void probe_poll(void)
{
    if (tutti_progress_busy() && !tutti_inside)
        tutti_progress_poll();
}

/* A found message may show that a receive which the program has freed is complete. */
static inline int probe_swept(int code)
{
    if (!tutti_inside)
        tutti_requests_sweep();
    return code;
}

struct probing {
    int source, tag, flag, code;
    MPI_Comm comm;
    MPI_Message *message; /* NULL: it stays */
    MPI_Status *status;
};

static int probe_found(void *with)
{
    struct probing *p = with;
    p->code = tutti_unexpected_probe(p->source, p->tag, p->comm, &p->flag, p->message, p->status);
    return p->flag || p->code != MPI_SUCCESS;
}

static int probe_await(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    struct probing p = {.source = source, .tag = tag, .comm = comm, .message = message, .status = status};
    tutti_progress_wait(&(const struct tutti_wait){.done = probe_found, .with = &p});
    return p.code;
}

int tutti_door_MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    if (waits_alone(source))
        return tutti_next.MPI_Probe(source, tag, comm, status);
    return probe_swept(probe_await(source, tag, comm, NULL, status));
}

int tutti_door_MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    probe_poll();
    if (likely(!tutti_unexpected_may()) || source == MPI_PROC_NULL)
        return probe_swept(tutti_next.MPI_Iprobe(source, tag, comm, flag, status));
    return probe_swept(tutti_unexpected_probe(source, tag, comm, flag, NULL, status));
}

int tutti_door_MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    int code = waits_alone(source) ? tutti_next.MPI_Mprobe(source, tag, comm, message, status)
                                   : probe_await(source, tag, comm, message, status);
    if (code == MPI_SUCCESS)
        probe_matched(*message, comm);
    return probe_swept(code);
}

int tutti_door_MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    probe_poll();
    int code = likely(!tutti_unexpected_may()) || source == MPI_PROC_NULL
                   ? tutti_next.MPI_Improbe(source, tag, comm, flag, message, status)
                   : tutti_unexpected_probe(source, tag, comm, flag, message, status);
    if (code == MPI_SUCCESS && *flag)
        probe_matched(*message, comm);
    return probe_swept(code);
}
