/* Part of <tutti/mpix.h>, which includes it. */
#ifndef TUTTI_MPIX_QUEUE_H
#define TUTTI_MPIX_QUEUE_H

/* Queues: persistent messages that are matched once and started in a stream any number of times, also by graphs. The
 * names and parameters are those of stream-triggering (MPI Advance), of arXiv 2602.15356; its header
 * stream-triggering.h has them with the prefix MPIS_.
 *
 *     MPIX_Queue_init(&queue, MPIX_QUEUE_GPU_MEM_OPS, &stream);
 *     MPIX_Recv_init(halo, n, MPI_FLOAT, left, 0, comm, MPI_INFO_NULL, &request[0]);
 *     MPIX_Send_init(edge, n, MPI_FLOAT, right, 0, comm, MPI_INFO_NULL, &request[1]);
 *     MPIX_Matchall(2, request, MPI_STATUSES_IGNORE);
 *     for (...) {
 *         MPIX_Enqueue_startall(queue, 2, request);          // behind the kernels that are in the stream
 *         MPIX_Enqueue_waitall(queue);                       // later kernels wait for both messages
 *     }
 *
 * MPIX_Queue_init is local. `stream` is the address of the program's stream: a cudaStream_t, or on the simulated GPU a
 * handle of tutti_stream_create(). The stream stays the program's and outlives the queue. Each queue takes some of the
 * GPU's multiprocessors until it is freed. MPIX_Queue_wait waits on the host for what is in the stream. MPIX_Queue_free
 * does that too, and frees the queue; all its requests have been waited for.
 *
 * MPIX_Send_init, MPIX_Rsend_init and MPIX_Recv_init are local, on any communicator. On this machine each rank has a
 * GPU of its own; ranks of other nodes need MPI_THREAD_MULTIPLE, or TUTTI_ASYNC_PROGRESS=1, and a stream made with
 * cudaStreamNonBlocking. The info object is not looked at. Buffers: device memory of the queue's GPU, managed or pinned
 * memory with all committed types; a run of bytes in other memory of the host. MPI_ANY_SOURCE and MPI_ANY_TAG are
 * errors. MPI_PROC_NULL matches at once; starts do nothing.
 *
 * MPIX_Match waits until the other rank matches a request of the other kind with this tag, rank and communicator.
 * Several matches of these take place in the order of the calls. MPIX_Matchall matches several in any order.
 * MPIX_Imatch begins a match, which MPIX_Wait or MPIX_Waitall completes; MPIX_Is_matched asks. Both sides succeed, or
 * both get an error. The status of a receive has the source, the tag and the number of bytes of each of its messages. A
 * match sends short messages with the request's tag on its communicator: no wildcard receive or probe of the program
 * that would find them may be under way. A failed request is freed.
 *
 * MPIX_Enqueue_start and MPIX_Enqueue_startall start matched requests in the stream. Message n of the sender's starts
 * goes to start n of the receiver. A send may wait for the receiver's start. MPIX_Enqueue_waitall makes later work of
 * the stream wait for all requests that were started in the queue, MPIX_Enqueue_wait for one. A request may be started
 * in another queue of the same GPU later, if the streams are ordered. All are local, and may be captured: starts and
 * their waits in the same capture. MPIX_Request_free waits for the stream.
 *
 * Errors are raised on the request's communicator, or on MPI_COMM_SELF: MPI_ERR_REQUEST where a call does not fit the
 * request's state, MPI_ERR_BUFFER, MPI_ERR_TYPE, MPI_ERR_RANK, MPI_ERR_TAG, MPI_ERR_COUNT, MPI_ERR_TRUNCATE where the
 * send is longer than the receive, MPI_ERR_UNSUPPORTED_OPERATION where memory cannot be mapped, more than 511 requests
 * are started, or the GPU has no room. Later failures are as for the calls above: the next call on the queue returns an
 * error. */
struct tutti_mpix_queue;
struct tutti_mpix_request;
typedef struct tutti_mpix_queue *tutti_mpix_queue_t;
typedef struct tutti_mpix_request *tutti_mpix_request_t;
#define MPIX_Queue             tutti_mpix_queue_t
#define MPIX_Request           tutti_mpix_request_t
#define MPIX_QUEUE_NULL        ((tutti_mpix_queue_t)0)
#define MPIX_REQUEST_NULL      ((tutti_mpix_request_t)0)
#define MPIX_QUEUE_GPU_MEM_OPS 3
#include <tutti/mpix_queue.def>
#define MPIX_Queue_init       tutti_MPIX_Queue_init
#define MPIX_Queue_free       tutti_MPIX_Queue_free
#define MPIX_Queue_wait       tutti_MPIX_Queue_wait
#define MPIX_Send_init        tutti_MPIX_Send_init
#define MPIX_Rsend_init       tutti_MPIX_Rsend_init
#define MPIX_Recv_init        tutti_MPIX_Recv_init
#define MPIX_Request_free     tutti_MPIX_Request_free
#define MPIX_Request_freeall  tutti_MPIX_Request_freeall
#define MPIX_Match            tutti_MPIX_Match
#define MPIX_Matchall         tutti_MPIX_Matchall
#define MPIX_Imatch           tutti_MPIX_Imatch
#define MPIX_Is_matched       tutti_MPIX_Is_matched
#define MPIX_Queue_match      tutti_MPIX_Queue_match
#define MPIX_Wait             tutti_MPIX_Wait
#define MPIX_Waitall          tutti_MPIX_Waitall
#define MPIX_Enqueue_start    tutti_MPIX_Enqueue_start
#define MPIX_Enqueue_startall tutti_MPIX_Enqueue_startall
#define MPIX_Enqueue_wait     tutti_MPIX_Enqueue_wait
#define MPIX_Enqueue_waitall  tutti_MPIX_Enqueue_waitall

#endif
