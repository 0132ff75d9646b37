/* The global address space, below the door: the calls of tutti/shmem.h over a transport. One per process. */
#ifndef TUTTI_SHMEM_SHMEM_H
#define TUTTI_SHMEM_SHMEM_H

#include <stdint.h>

#include "tutti/shmem.h"

struct tutti_node;
struct tutti_transport;

/* Functions of the door for the address space. */
struct tutti_shmem_host {
    int (*start)(void);                    /* tshmem_init(): opens the address space over all processes */
    int (*threads)(void);                  /* the provided level, TSHMEM_THREAD_... */
    int (*finish)(void);                   /* after the last tshmem_finalize() has freed everything. A status */
    void (*leave)(int status);             /* ends all processes; returns where the MPI is not up */
    int (*start_over)(int comm);           /* tshmem_init_comm() of Fortran: its communicator */
    int (*team_from)(int comm, int *team); /* the same for tshmem_team_from_comm() */
    /* See tutti/shmem_begin.h. comm: points to an MPI_Comm, NULL: MPI_COMM_WORLD. */
    int (*start_at)(const void *comm);
    int (*start_as)(int pe, int pes, uint64_t id);
    /* Makes a team of these PEs in this order, which all make the call. mask: as in tshmem_team_split_strided(). */
    int (*team_of)(const int *pe, int size, const tshmem_team_config_t *config, long mask, int *team);
};

/* Local, once: registers the door for tshmem_init(). NULL removes it. */
void tutti_shmem_serve(const struct tutti_shmem_host *host);
/* Collective over `transport`, whose ranks become the PEs; all succeed or none. Transport and node must outlive the
 * address space. If it is up already, it gets one more user. */
int tutti_shmem_open(struct tutti_transport *transport, struct tutti_node *node, const struct tutti_shmem_host *host);
/* Reports why a call that begins the address space failed; later calls repeat the reason. TUTTI_ERR_UNAVAILABLE. */
int tutti_shmem_unavailable(const char *call, const char *why);
/* Local: frees everything, once no peer uses this PE's memory any more. Does nothing if it is not up. */
void tutti_shmem_close(void);
/* Local, in a child after fork: calls give errors. */
void tutti_shmem_forget(void);

#endif
