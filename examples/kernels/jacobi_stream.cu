/* The Laplace equation by Jacobi's method, with all of its work in stream order: the host puts kernels and messages into
 * a stream, and waits once, at the end. The rows of the plate lie on the ranks in turn. The same iterations in several
 * forms of the halo exchange:
 *
 *   stream     MPIX_Isend_enqueue and Irecv_enqueue of the two edge rows; the inner rows are computed meanwhile
 *   together   the same by one launch (tutti_group_messages), behind all rows
 *   queue      persistent messages that are matched once: MPIX_Enqueue_startall, MPIX_Enqueue_waitall
 *   nccl       ncclSend and ncclRecv in the stream, if NCCL is there
 *   graph      two iterations of `together` as a CUDA graph, launched again and again
 *   queued     the same of `queue`
 *
 *     nvcc -ccbin mpicxx --forward-unknown-to-host-compiler -arch=native jacobi_stream.cu $(pkg-config --cflags --libs tutti)
 *     mpicc -xc jacobi_stream.cu $(pkg-config --cflags --libs tutti)         (without a GPU)
 *     tutti run -n 2 ./a.out [SIDE [ITERATIONS]]                             (96 and 20: side of the plate) */
#include "plate.h"

#include <tutti/mpix_queue.h>

/* Rows first, first + step, ... as far as `rows`. */
KERNEL relax(float *to, const float *from, int side, int first, int step, int rows)
{
    const int width = side + 2, n = (rows - first) / step + 1;
    for (int i = block() * threads() + thread(); i < n * side; i += blocks() * threads())
        point(to, from, width, (first + i / side * step) * width + 1 + i % side);
}

/* ---- the stream ---- */

static MPI_Comm in_stream = MPI_COMM_NULL;

/* Work that was put into the stream before comes before what follows. On the host device a kernel is a call of this
 * thread, so the stream must have done its work. */
#ifdef __CUDACC__
#define STREAM_TYPE "cudaStream_t"
static void behind(void)
{
}
#else
#define STREAM_TYPE "tutti_stream"
static void *stream;

static void behind(void)
{
    if (tutti_stream_sync(stream) != 0)
        stop("tutti_stream_sync", "failed");
}
#endif

static void finish(void)
{
    behind();
    synchronise();
}

/* A communicator whose calls go into the stream. */
static void in_stream_open(const struct plate *p)
{
    MPI_Info info;
    MPIX_Stream mpix = MPIX_STREAM_NULL;
    (void)p;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", STREAM_TYPE);
    MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
    must(MPIX_Stream_create(info, &mpix), "MPIX_Stream_create");
    MPI_Info_free(&info);
    must(MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &in_stream), "MPIX_Stream_comm_create");
    MPIX_Stream_free(&mpix);
}

static void in_stream_close(void)
{
    MPI_Comm_free(&in_stream);
}

/* ---- forms ---- */

static void edges(const struct plate *p, int i)
{
    behind();
    LAUNCH(relax, p->at[(i + 1) % 2], p->at[i % 2], p->side, 1, p->rows - 1, p->rows);
}

static void inner(const struct plate *p, int i)
{
    if (p->rows > 2)
        LAUNCH(relax, p->at[(i + 1) % 2], p->at[i % 2], p->side, 2, 1, p->rows - 1);
}

/* Starts the messages of iteration i: the new edge rows go to the neighbours, whose rows become halos here. */
static void exchange(const struct plate *p, int i, MPI_Request request[4])
{
    const int turn = (i + 1) % 2, up = neighbour(UP), down = neighbour(DOWN);
    must(MPIX_Irecv_enqueue(row_of(p, turn, 0), p->side, MPI_FLOAT, up, down_tag, in_stream, &request[0]), "Irecv");
    must(MPIX_Irecv_enqueue(row_of(p, turn, p->rows + 1), p->side, MPI_FLOAT, down, up_tag, in_stream, &request[1]),
         "Irecv");
    must(MPIX_Isend_enqueue(row_of(p, turn, 1), p->side, MPI_FLOAT, up, up_tag, in_stream, &request[2]), "Isend");
    must(MPIX_Isend_enqueue(row_of(p, turn, p->rows), p->side, MPI_FLOAT, down, down_tag, in_stream, &request[3]),
         "Isend");
}

static void stream_step(const struct plate *p, int i)
{
    MPI_Request request[4];
    edges(p, i);
    exchange(p, i, request);
    inner(p, i); /* the messages move meanwhile */
    must(MPIX_Waitall_enqueue(4, request, MPI_STATUSES_IGNORE), "MPIX_Waitall_enqueue");
}

static void together_open(const struct plate *p)
{
    MPI_Info info;
    in_stream_open(p);
    MPI_Info_create(&info);
    MPI_Info_set(info, "tutti_group_messages", "true");
    must(MPI_Comm_set_info(in_stream, info), "MPI_Comm_set_info");
    MPI_Info_free(&info);
}

static void all_rows(const struct plate *p, int i)
{
    behind();
    LAUNCH(relax, p->at[(i + 1) % 2], p->at[i % 2], p->side, 1, 1, p->rows);
}

static void together_step(const struct plate *p, int i)
{
    MPI_Request request[4];
    all_rows(p, i);
    exchange(p, i, request);
    must(MPIX_Waitall_enqueue(4, request, MPI_STATUSES_IGNORE), "MPIX_Waitall_enqueue");
}

static MPIX_Queue queue;
static MPIX_Request halo[2][4]; /* of each turn; receives first */

static void queue_open(const struct plate *p)
{
    const int up = neighbour(UP), down = neighbour(DOWN);
    must(MPIX_Queue_init(&queue, MPIX_QUEUE_GPU_MEM_OPS, &stream), "MPIX_Queue_init");
    for (int turn = 0; turn < 2; turn++) {
        must(MPIX_Recv_init(row_of(p, turn, 0), p->side, MPI_FLOAT, up, down_tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &halo[turn][0]),
             "MPIX_Recv_init");
        must(MPIX_Recv_init(row_of(p, turn, p->rows + 1), p->side, MPI_FLOAT, down, up_tag, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &halo[turn][1]),
             "MPIX_Recv_init");
        must(MPIX_Send_init(row_of(p, turn, 1), p->side, MPI_FLOAT, up, up_tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &halo[turn][2]),
             "MPIX_Send_init");
        must(MPIX_Send_init(row_of(p, turn, p->rows), p->side, MPI_FLOAT, down, down_tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &halo[turn][3]),
             "MPIX_Send_init");
        must(MPIX_Matchall(4, halo[turn], MPI_STATUSES_IGNORE), "MPIX_Matchall");
    }
}

static void queue_step(const struct plate *p, int i)
{
    edges(p, i);
    must(MPIX_Enqueue_startall(queue, 4, halo[(i + 1) % 2]), "MPIX_Enqueue_startall");
    inner(p, i);
    must(MPIX_Enqueue_waitall(queue), "MPIX_Enqueue_waitall");
}

static void queue_close(void)
{
    for (int turn = 0; turn < 2; turn++) {
        for (int k = 0; k < 4; k++)
            must(MPIX_Request_free(&halo[turn][k]), "MPIX_Request_free");
    }
    must(MPIX_Queue_free(&queue), "MPIX_Queue_free");
}

static void nccl_step(const struct plate *p, int i)
{
    all_rows(p, i);
    nccl_exchange(p, i);
}

#ifdef __CUDACC__
static cudaGraphExec_t both; /* iterations 0 and 1 */

static void cuda_must(cudaError_t status, const char *call)
{
    if (status != cudaSuccess)
        stop(call, cudaGetErrorString(status));
}

static void capture(const struct plate *p, void (*step)(const struct plate *p, int i))
{
    cudaGraph_t graph;
    cuda_must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    step(p, 0);
    step(p, 1);
    cuda_must(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    cuda_must(cudaGraphInstantiateWithFlags(&both, graph, 0), "cudaGraphInstantiateWithFlags");
    cuda_must(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

static void graph_open(const struct plate *p)
{
    together_open(p);
    capture(p, together_step);
}

static void queued_open(const struct plate *p)
{
    queue_open(p);
    capture(p, queue_step);
}

/* The number of iterations is even. */
static void graph_step(const struct plate *p, int i)
{
    (void)p;
    if (i % 2 == 0)
        cuda_must(cudaGraphLaunch(both, stream), "cudaGraphLaunch");
}

static void graph_close(void)
{
    cuda_must(cudaGraphExecDestroy(both), "cudaGraphExecDestroy");
    in_stream_close();
}

static void queued_close(void)
{
    cuda_must(cudaGraphExecDestroy(both), "cudaGraphExecDestroy");
    queue_close();
}
#endif

static const struct form forms[] = {
    {"stream", in_stream_open, stream_step, finish, in_stream_close},
    {"together", together_open, together_step, finish, in_stream_close},
    {"queue", queue_open, queue_step, finish, queue_close},
    {"nccl", nothing_of, nccl_step, finish, nothing},
#ifdef __CUDACC__
    {"graph", graph_open, graph_step, finish, graph_close},
    {"queued", queued_open, graph_step, finish, queued_close},
#endif
};
enum { FORMS = sizeof forms / sizeof forms[0] };

int main(int argc, char **argv)
{
    begin();
    const struct plate p = plate_open(number(argc, argv, 1, 96));
    const int iterations = (number(argc, argv, 2, 20) + 1) / 2 * 2;
    stream_open();
#ifndef __CUDACC__
    if (tutti_stream_create(&stream) != 0)
        stop("tutti_stream_create", "no stream");
#endif
    const long wrong = run_all("jacobi in stream order", forms, FORMS, &p, iterations);
#ifndef __CUDACC__
    tutti_stream_destroy(stream);
#endif
    plate_close(&p);
    return end("Jacobi's method in stream order", wrong);
}
