/* NVSHMEM's calls that begin and end, on the host. Included by nvshmem.h alone.
 *
 * The program is started by an MPI's launcher, which starts all PEs; `tutti run` puts libtutti.so in front of it. Where
 * the program has not begun the MPI, these calls do. NVSHMEM_SYMMETRIC_SIZE: what heaps begin with; they grow. */
#ifndef TUTTI_NVSHMEM_BEGIN_H
#define TUTTI_NVSHMEM_BEGIN_H

#include "tutti/shmem_begin.h"

#define TUTTI_NVSHMEM static inline __attribute__((unused))

TUTTI_NVSHMEM int nvshmem_init_thread(int requested, int *provided)
{
    int status = tutti_shmem_heap_from("NVSHMEM_SYMMETRIC_SIZE");
    if (status == 0)
        status = tshmem_init_thread(requested, provided);
    if (status == 0)
        status = tutti_shmem_ids_open();
    tutti_shmem_must(status, "nvshmem_init");
    return status;
}

TUTTI_NVSHMEM void nvshmem_init(void)
{
    int provided;
    nvshmem_init_thread(NVSHMEM_THREAD_SERIALIZED, &provided);
}

/* Ends the program with a message where the address space is not up: as any call of it would. */
TUTTI_NVSHMEM void nvshmem_finalize(void)
{
    tshmem_finalize();
}

TUTTI_NVSHMEM int nvshmemx_set_attr_mpi_comm_args(void *mpi_comm, nvshmemx_init_attr_t *attr)
{
    attr->mpi_comm = mpi_comm;
    return NVSHMEMX_SUCCESS;
}

/* Local, by one process: an id that no other job has. */
TUTTI_NVSHMEM int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *id)
{
    struct timespec now;
    const uint64_t process = (uint64_t)getpid();
    uint64_t word;
    clock_gettime(CLOCK_REALTIME, &now);
    word = ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) ^ process << 40;
    memset(id, 0, sizeof *id);
    id->version = 1;
    memcpy(id->internal, &word, sizeof word);
    return NVSHMEMX_SUCCESS;
}

/* Local. `id` stays where it is until nvshmemx_init_attr() has read it. */
TUTTI_NVSHMEM int nvshmemx_set_attr_uniqueid_args(const int myrank, const int nranks, const nvshmemx_uniqueid_t *id,
                                                  nvshmemx_init_attr_t *attr)
{
    if (myrank < 0 || myrank >= nranks || !id || !attr)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    attr->args.uid_args.id = (nvshmemx_uniqueid_t *)(uintptr_t)id;
    attr->args.uid_args.myrank = myrank;
    attr->args.uid_args.nranks = nranks;
    return NVSHMEMX_SUCCESS;
}

TUTTI_NVSHMEM int tutti_nvshmem_start(unsigned flags, const nvshmemx_init_attr_t *attr)
{
    int provided;
    uint64_t word;
    const int status = tutti_shmem_heap_from("NVSHMEM_SYMMETRIC_SIZE");
    if (status != 0)
        return status;
    if (flags & NVSHMEMX_INIT_WITH_MPI_COMM)
        return attr ? tutti_shmem_init_at(attr->mpi_comm) : NVSHMEMX_ERROR_INVALID_VALUE;
    if (!(flags & NVSHMEMX_INIT_WITH_UNIQUEID)) /* OpenSHMEM is Tutti's here: then this is one more user of it */
        return tshmem_init_thread(NVSHMEM_THREAD_SERIALIZED, &provided);
    if (!attr || !attr->args.uid_args.id)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    memcpy(&word, attr->args.uid_args.id->internal, sizeof word);
    return tutti_shmem_init_as(attr->args.uid_args.myrank, attr->args.uid_args.nranks, word);
}

TUTTI_NVSHMEM int tutti_nvshmem_begin(unsigned flags, const nvshmemx_init_attr_t *attr)
{
    const int status = tutti_nvshmem_start(flags, attr);
    return status == 0 ? tutti_shmem_ids_open() : status;
}

/* Collective. With a unique id: over all processes of the job, which is one that an MPI's launcher has started, and
 * `nranks` is their number; anything else gives an error and a message. A failure ends the program. */
TUTTI_NVSHMEM int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t *attr)
{
    const int status = tutti_nvshmem_begin(flags, attr);
    if (status > 0)
        fprintf(stderr, "nvshmemx_init_attr: NVSHMEMX_INIT_WITH_MPI_COMM and NVSHMEMX_INIT_WITH_UNIQUEID need what "
                        "the attributes hold\n");
    tutti_shmem_must(status, "nvshmemx_init_attr");
    return status;
}

/* The same for programs that use the calls of the host alone, which begin no differently here. */
TUTTI_NVSHMEM int nvshmemx_hostlib_init_attr(unsigned int flags, nvshmemx_init_attr_t *attr)
{
    return tutti_nvshmem_begin(flags, attr);
}

TUTTI_NVSHMEM void nvshmemx_hostlib_finalize(void)
{
    tshmem_finalize();
}

/* Local. Memory of a process is the other side of puts and gets as it is, and needs no registration. */
TUTTI_NVSHMEM int nvshmemx_buffer_register(void *address, size_t length)
{
    return address && length ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_INVALID_VALUE;
}

TUTTI_NVSHMEM int nvshmemx_buffer_unregister(void *address)
{
    return address ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_INVALID_VALUE;
}

TUTTI_NVSHMEM void nvshmemx_buffer_unregister_all(void)
{
}

/* Not supported: memory of the program cannot become part of the heaps. Prints that, and returns NULL. */
TUTTI_NVSHMEM void *nvshmemx_buffer_register_symmetric(void *address, size_t size, int flags)
{
    (void)flags;
    fprintf(stderr,
            "nvshmemx_buffer_register_symmetric: %zu bytes at %p cannot become symmetric: take symmetric memory by "
            "nvshmem_malloc()\n",
            size, address);
    return NULL;
}

TUTTI_NVSHMEM int nvshmemx_buffer_unregister_symmetric(void *address, size_t size)
{
    fprintf(stderr, "nvshmemx_buffer_unregister_symmetric: %zu bytes at %p were never registered\n", size, address);
    return NVSHMEMX_ERROR_INVALID_VALUE;
}

#endif
