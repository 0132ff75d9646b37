/* Waits in stream order for words of this PE that peers change, and tests of them: a kernel polls the words. */
#include <string.h>

#include "shmem/here.h"
#include "shmem/stream/stream.h"

static size_t wait_size_of(int type)
{
    return (size_t)1 << type / 2; /* INT8, UINT8, INT16 ... */
}

static int stream_look(struct tutti_shmem *space, const char *name, enum tutti_shmem_what what,
                       struct tutti_shmem_streamed *call, void *stream)
{
    struct tutti_shmem_args *const args = &call->args;
    const size_t size = wait_size_of(args->type);
    size_t bytes;
    if (__builtin_mul_overflow(args->n, size, &bytes))
        bytes = SIZE_MAX;
    if (args->comparison < 0 || args->comparison >= TSHMEM_COMPARISON_COUNT)
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "%d is no comparison: TSHMEM_CMP_EQ ...",
                                args->comparison);
    if (args->n > 0 && !tutti_shmem_at(space, args->source, bytes, space->state.me, name))
        return TUTTI_ERR_ARGUMENT;
    if (args->n > 0 && (uintptr_t)args->source % size != 0)
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "%p is not aligned to %zu bytes", args->source, size);
    if (args->n == 0)
        args->source = NULL; /* any address is fine */
    return tutti_shmem_stream_one(space, call, what, 0, name, stream);
}

int tshmem_signal_wait_until_on_stream(uint64_t *signal, int comparison, uint64_t value, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    struct tutti_shmem_streamed call = {.args = {.op = TSHMEM_WAIT_ALL,
                                                 .type = TSHMEM_UINT64,
                                                 .source = signal,
                                                 .n = 1,
                                                 .comparison = comparison,
                                                 .value = value}};
    return stream_look(space, "tshmem_signal_wait_until_on_stream", TUTTI_SHMEM_DO_SIGNAL_WAIT, &call, stream);
}

/* Memory that the kernel reads and writes besides the words. 0, after an error message, if kernels do not reach it. */
static int stream_take(struct tutti_shmem *space, const struct tutti_shmem_args *args, const char *name)
{
    const struct {
        const char *what;
        size_t align;
    } rows[TUTTI_SHMEM_OWNS] = {[TUTTI_SHMEM_OWN_STATUS] = {"the status array", sizeof(int)},
                                [TUTTI_SHMEM_OWN_VALUES] = {"the array of values", wait_size_of(args->type)},
                                [TUTTI_SHMEM_OWN_INDICES] = {"the array of indices", sizeof(size_t)},
                                [TUTTI_SHMEM_OWN_ANSWER] = {"the answer", args->own[TUTTI_SHMEM_OWN_ANSWER].bytes}};
    for (int i = 0; i < TUTTI_SHMEM_OWNS; i++) {
        const void *const at = args->own[i].at;
        if (!at || args->own[i].bytes == 0)
            continue;
        if ((uintptr_t)at % rows[i].align != 0) {
            tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "%s, at %p, is not aligned to %zu bytes", rows[i].what,
                             at, rows[i].align);
            return 0;
        }
        if (!tutti_shmem_stream_takes(space, at, rows[i].what, name))
            return 0;
    }
    return 1;
}

int tutti_shmem_wait_on_stream(int which, int type, const void *words, size_t n, void *answer, size_t *indices,
                               const int *status, int comparison, const void *values, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const int how = which & 3, test = which & TSHMEM_WAIT_TEST, vector = which & TSHMEM_WAIT_VECTOR;
    const char *const name = test ? "tshmem_test_on_stream" : "tshmem_wait_until_on_stream";
    struct tutti_shmem_streamed call = {
        .args = {.op = which, .type = type, .source = words, .n = n, .comparison = comparison}};
    if (type < TSHMEM_INT8 || type > TSHMEM_UINT64)
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "type %d is no integer", type);
    if (n > SIZE_MAX / sizeof(uint64_t))
        n = SIZE_MAX / sizeof(uint64_t); /* more than any heap has */
    if ((how != TSHMEM_WAIT_ALL || test) && !answer)
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name,
                                "NULL, where the answer goes to memory that the call is given");
    if ((n > 0 && how == TSHMEM_WAIT_SOME && !indices) || ((n > 0 || !vector) && !values))
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "NULL in place of %zu indices or values", n);
    if (!vector)
        memcpy(&call.args.value, values, wait_size_of(type));
    else
        call.args.own[TUTTI_SHMEM_OWN_VALUES].at = (void *)(uintptr_t)values;
    call.args.own[TUTTI_SHMEM_OWN_VALUES].bytes = vector ? n * wait_size_of(type) : 0;
    call.args.own[TUTTI_SHMEM_OWN_STATUS].at = (void *)(uintptr_t)status;
    call.args.own[TUTTI_SHMEM_OWN_STATUS].bytes = n * sizeof *status;
    call.args.own[TUTTI_SHMEM_OWN_INDICES].at = indices;
    call.args.own[TUTTI_SHMEM_OWN_INDICES].bytes = n * sizeof *indices;
    call.args.own[TUTTI_SHMEM_OWN_ANSWER].at = answer;
    call.args.own[TUTTI_SHMEM_OWN_ANSWER].bytes = how == TSHMEM_WAIT_ALL ? sizeof(int) : sizeof(size_t);
    for (int i = 0; n == 0 && i < TUTTI_SHMEM_OWN_ANSWER; i++)
        call.args.own[i].at = NULL;
    if (n == 0 && !answer)
        return TUTTI_OK;
    return stream_take(space, &call.args, name) ? stream_look(space, name, TUTTI_SHMEM_DO_WAIT, &call, stream)
                                                : TUTTI_ERR_ARGUMENT;
}
