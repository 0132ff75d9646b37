/* Binary cross entropy: each rank has the logits of a model and the labels of its own samples. A kernel makes the loss
 * of each sample, and the losses of samples with the same place are added over all ranks. The same iterations in
 * several forms of that allreduce:
 *
 *   plain         a kernel, a synchronise, MPI_Allreduce
 *   partitioned   MPIX_Pallreduce_init: the host marks the partitions when the kernel has ended. With the argument
 *                 "kernels" blocks of the kernel mark them, in a version whose collectives have device requests
 *   stream        MPIX_Allreduce_enqueue behind the kernel, a synchronise
 *   nccl          ncclAllReduce behind the kernel, a synchronise, if NCCL is there
 *
 *     nvcc -ccbin mpicxx --forward-unknown-to-host-compiler -arch=native loss.cu $(pkg-config --cflags --libs tutti)
 *     mpicc -xc loss.cu $(pkg-config --cflags --libs tutti)                  (without a GPU)
 *     tutti run -n 4 ./a.out [SAMPLES [ITERATIONS [kernels]]]                (65536 and 20) */
#include "forms.h"

#include <math.h>

enum { PARTS = 64 };

struct batch {
    int samples; /* a multiple of PARTS */
    const float *logit, *label;
    float *loss, *sum;
};

/* Of a sample in iteration i; the logits are sharper from one to the next. Never the log of 0. */
BOTH float bce(float logit, float label, int i)
{
    const float z = logit * (1.0f + 0.01f * (float)i), positive = z > 0 ? z : 0, magnitude = z > 0 ? z : -z;
    return positive - z * label + log1pf(expf(-magnitude));
}

/* Each block makes parts of neighbouring samples; marks: they are partitions, which it marks. */
KERNEL losses(struct batch b, int i, int marks, MPIX_Prequest request)
{
    const int each = b.samples / PARTS;
    for (int part = block(); part < PARTS; part += blocks()) {
        for (int s = part * each + thread(); s < (part + 1) * each; s += threads())
            b.loss[s] = bce(b.logit[s], b.label[s], i);
        if (marks)
            MPIX_Pready_block(part, request);
    }
}

static int rank, ranks, from_kernels;
static MPI_Comm in_stream = MPI_COMM_NULL;

/* ---- forms ---- */

static void launch(const struct batch *b, int i)
{
    MPIX_Prequest none;
    memset(&none, 0, sizeof none);
    LAUNCH(losses, *b, i, 0, none);
}

static void nothing_of(const struct batch *b)
{
    (void)b;
}

static void nothing(void)
{
}

static void plain_step(const struct batch *b, int i)
{
    launch(b, i);
    synchronise();
    MPI_Allreduce(b->loss, b->sum, b->samples, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static MPI_Request request;
static MPIX_Prequest device;
static range_fn *ready;

static void partitioned_open(const struct batch *b)
{
    find("MPI_Pready_range", &ready);
    must(MPIX_Pallreduce_init(b->loss, b->sum, PARTS, b->samples / PARTS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                              MPI_INFO_NULL, &request),
         "MPIX_Pallreduce_init");
    if (from_kernels)
        must(MPIX_Prequest_create(request, &device), "MPIX_Prequest_create");
}

static void partitioned_step(const struct batch *b, int i)
{
    must(MPI_Start(&request), "MPI_Start");
    if (from_kernels) {
        must(MPIX_Pbuf_prepare(request), "MPIX_Pbuf_prepare");
        LAUNCH(losses, *b, i, 1, device);
    } else {
        launch(b, i);
        synchronise();
        must(ready(0, PARTS - 1, request), "MPI_Pready_range");
    }
    must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
}

static void partitioned_close(void)
{
    if (from_kernels)
        must(MPIX_Prequest_free(&device), "MPIX_Prequest_free");
    must(MPI_Request_free(&request), "MPI_Request_free");
}

/* A communicator whose calls go into the stream of the kernels. */
static void stream_form_open(const struct batch *b)
{
    (void)b;
#ifdef __CUDACC__
    MPI_Info info;
    MPIX_Stream mpix = MPIX_STREAM_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
    must(MPIX_Stream_create(info, &mpix), "MPIX_Stream_create");
    MPI_Info_free(&info);
    must(MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &in_stream), "MPIX_Stream_comm_create");
    MPIX_Stream_free(&mpix);
#endif
}

static void stream_step(const struct batch *b, int i)
{
    launch(b, i);
    must(MPIX_Allreduce_enqueue(b->loss, b->sum, b->samples, MPI_FLOAT, MPI_SUM, in_stream), "MPIX_Allreduce_enqueue");
    synchronise();
}

static void stream_close(void)
{
    MPI_Comm_free(&in_stream);
}

static void nccl_step(const struct batch *b, int i)
{
#ifdef __CUDACC__
    launch(b, i);
    if (nccl.AllReduce(b->loss, b->sum, (size_t)b->samples, NCCL_FLOAT, NCCL_SUM, nccl.comm, stream) != 0)
        stop("ncclAllReduce", "failed");
    synchronise();
#else
    (void)b, (void)i;
#endif
}

enum { FORM_PLAIN, FORM_PARTITIONED, FORM_STREAM, FORM_NCCL, FORMS };
static const struct form {
    const char *name;
    void (*open)(const struct batch *);
    void (*step)(const struct batch *, int i);
    void (*close)(void);
} forms[FORMS] = {
    {"plain", nothing_of, plain_step, nothing},
    {"partitioned", partitioned_open, partitioned_step, partitioned_close},
    {"stream", stream_form_open, stream_step, stream_close},
    {"nccl", nothing_of, nccl_step, nothing},
};

/* On the host device kernels are calls, and there is no stream of the program's. Calls in stream order need a GPU for
 * each rank. */
static int is_here(int form, int has_nccl)
{
#ifdef __CUDACC__
    int gpus = 0;
    return form == FORM_NCCL ? has_nccl : form != FORM_STREAM || (cudaGetDeviceCount(&gpus) == cudaSuccess && ranks <= gpus);
#else
    (void)has_nccl;
    return form != FORM_STREAM && form != FORM_NCCL;
#endif
}

/* ---- runs ---- */

static float logit_of(int of, int sample)
{
    return (float)((sample * 29 + of * 13) % 201 - 100) * 0.05f;
}

static float label_of(int of, int sample)
{
    return (float)((sample * 7 + of) % 3 == 0);
}

/* The losses of all ranks' samples, one after the other, in double precision. */
static long wrong_sums(const struct batch *b, float *host, int i)
{
    long wrong = 0;
    tutti_copy(host, b->sum, sizeof *host * (size_t)b->samples);
    for (int s = 0; s < b->samples; s++) {
        double sum = 0;
        for (int of = 0; of < ranks; of++) {
            const double z = logit_of(of, s) * (1.0 + 0.01 * i);
            sum += log(1 + exp(-z)) + z * (1 - (double)label_of(of, s));
        }
        wrong += !(fabs(host[s] - sum) <= 1e-4 * (1 + sum));
    }
    return wrong;
}

static double run(const struct form *form, const struct batch *b, float *host, int iterations, long *wrong)
{
    double seconds[REPEATS];
    form->open(b);
    for (int r = -1; r < REPEATS; r++) { /* the first run maps memory */
        memset(host, 0, sizeof *host * (size_t)b->samples);
        tutti_copy(b->sum, host, sizeof *host * (size_t)b->samples);
        MPI_Barrier(MPI_COMM_WORLD);
        const double begun = MPI_Wtime();
        for (int i = 0; i < iterations; i++)
            form->step(b, i);
        if (r >= 0)
            seconds[r] = MPI_Wtime() - begun;
        synchronise();
        *wrong += wrong_sums(b, host, iterations - 1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    form->close();
    return median_us(seconds, REPEATS, iterations);
}

static float *device_copy(const float *host, int n)
{
    float *const out = (float *)memory(sizeof *host * (size_t)n);
    tutti_copy(out, host, sizeof *host * (size_t)n);
    return out;
}

int main(int argc, char **argv)
{
    struct batch b;
    long wrong = 0;
    begin();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    b.samples = (number(argc, argv, 1, 65536) + PARTS - 1) / PARTS * PARTS;
    const int iterations = number(argc, argv, 2, 20);
    from_kernels = argc > 3 && strcmp(argv[3], "kernels") == 0;
    float *const host = (float *)malloc(sizeof *host * (size_t)b.samples);
    for (int s = 0; s < b.samples; s++)
        host[s] = logit_of(rank, s);
    float *const logit = device_copy(host, b.samples);
    for (int s = 0; s < b.samples; s++)
        host[s] = label_of(rank, s);
    float *const label = device_copy(host, b.samples);
    b.logit = logit;
    b.label = label;
    b.loss = (float *)memory(sizeof *host * (size_t)b.samples);
    b.sum = (float *)memory(sizeof *host * (size_t)b.samples);
    stream_open();
    const int has_nccl = nccl_open(rank, ranks);
    if (rank == 0)
        printf("loss of %d samples, us of an iteration:", b.samples);
    for (int f = 0; f < FORMS; f++) {
        if (!is_here(f, has_nccl))
            continue;
        const double us = run(&forms[f], &b, host, iterations, &wrong);
        if (rank == 0)
            printf(" %s %.2f", forms[f].name, us);
    }
    if (rank == 0)
        printf("\n");
    nccl_close();
    tutti_free(logit);
    tutti_free(label);
    tutti_free(b.loss);
    tutti_free(b.sum);
    free(host);
    return end("binary cross entropy in several forms", wrong);
}
