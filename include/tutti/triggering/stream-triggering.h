/* The interface of stream-triggering (MPI Advance, v0.6), for C and C++: programs that are written for it compile
 * against this folder and run with Tutti in front. The calls are those of queues in <tutti/mpix.h>, which describes
 * them. Nothing needs to be linked.
 *
 * What differs: calls return MPIS_SUCCESS or an MPI error code, and raise MPI errors instead of C++ exceptions; a
 * process may have several queues; queues are of type GPU_MEM_OPS alone; requests of MPIS_Barrier_init and
 * MPIS_Allreduce_init are not supported. MPIS_Alloc_mem returns memory of the calling thread's GPU where the key
 * mpi_memory_alloc_kinds names device memory of any kind, and an error for other memory. */
#ifndef TUTTI_STREAM_TRIGGERING_H
#define TUTTI_STREAM_TRIGGERING_H

#include <mpi.h>

#include <stdint.h>
#include <string.h>

#include <tutti/mpix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uintptr_t MPIS_Queue;
typedef MPIX_Request MPIS_Request;
enum { MPIS_SUCCESS = 0, MPIS_NOT_READY = -1, MPIS_INVALID_REQUEST_STATE = -2, MPIS_UNSUPPORTED_BEHAVIOR = -3 };
#define MPIS_QUEUE_NULL   ((MPIS_Queue)0)
#define MPIS_REQUEST_NULL MPIX_REQUEST_NULL

enum MPIS_Queue_type { THREAD = 0, GPU_MEM_OPS = MPIX_QUEUE_GPU_MEM_OPS, CXI = 4 };
typedef enum MPIS_Queue_type MPS_Queue_type;

static inline void MPIS_Hello_world(void)
{
}

static inline int MPIS_Queue_init(MPIS_Queue *queue, enum MPIS_Queue_type type, void *stream)
{
    MPIX_Queue made = MPIX_QUEUE_NULL;
    const int code = MPIX_Queue_init(&made, (int)type, stream);
    *queue = (MPIS_Queue)made;
    return code;
}
static inline int MPIS_Queue_free(MPIS_Queue *queue)
{
    MPIX_Queue freed = (MPIX_Queue)*queue;
    const int code = MPIX_Queue_free(&freed);
    *queue = (MPIS_Queue)freed;
    return code;
}
#define MPIS_Queue_wait(queue)                        MPIX_Queue_wait((MPIX_Queue)(queue))
#define MPIS_Queue_match(queue, request, status)      MPIX_Queue_match((MPIX_Queue)(queue), request, status)
#define MPIS_Enqueue_start(queue, request)            MPIX_Enqueue_start((MPIX_Queue)(queue), request)
#define MPIS_Enqueue_startall(queue, count, requests) MPIX_Enqueue_startall((MPIX_Queue)(queue), count, requests)
#define MPIS_Enqueue_waitall(queue)                   MPIX_Enqueue_waitall((MPIX_Queue)(queue))

#define MPIS_Send_init       MPIX_Send_init
#define MPIS_Rsend_init      MPIX_Rsend_init
#define MPIS_Recv_init       MPIX_Recv_init
#define MPIS_Request_free    MPIX_Request_free
#define MPIS_Request_freeall MPIX_Request_freeall
#define MPIS_Match           MPIX_Match
#define MPIS_Matchall        MPIX_Matchall
#define MPIS_Imatch          MPIX_Imatch
#define MPIS_Is_matched      MPIX_Is_matched
#define MPIS_Wait            MPIX_Wait
#define MPIS_Waitall         MPIX_Waitall

static inline int MPIS_Barrier_init(MPI_Comm comm, MPI_Info info, MPIS_Request *request)
{
    (void)comm;
    (void)info;
    *request = MPIS_REQUEST_NULL;
    return MPIS_UNSUPPORTED_BEHAVIOR;
}
static inline int MPIS_Allreduce_init(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                      MPI_Info info, MPIS_Request *request)
{
    (void)in, (void)out, (void)count, (void)type, (void)op;
    return MPIS_Barrier_init(comm, info, request);
}

/* Local. Memory that MPIS_Free_mem frees. MPI_ERR_INFO_VALUE where the info object has no such key, or of other memory.
 */
static inline int MPIS_Alloc_mem(MPI_Aint bytes, MPI_Info info, void **out)
{
    static void *kept;
    char kind[MPI_MAX_INFO_VAL + 1] = "";
    int given = 0;
    union {
        void *symbol;
        int (*alloc)(size_t, void **);
    } found;
    if (info != MPI_INFO_NULL)
        MPI_Info_get(info, "mpi_memory_alloc_kinds", MPI_MAX_INFO_VAL, kind, &given);
    if (!given || !strstr(kind, ":device"))
        return MPI_ERR_INFO_VALUE;
    found.symbol = tutti_mpix_find("tutti_alloc", &kept);
    return found.symbol && found.alloc((size_t)bytes, out) == 0 ? MPIS_SUCCESS : MPI_ERR_NO_MEM;
}
static inline int MPIS_Free_mem(void *memory)
{
    static void *kept;
    union {
        void *symbol;
        int (*release)(void *);
    } found;
    found.symbol = tutti_mpix_find("tutti_free", &kept);
    return found.symbol && found.release(memory) == 0 ? MPIS_SUCCESS : MPI_ERR_ARG;
}

#ifdef __cplusplus
}
#endif
#endif
