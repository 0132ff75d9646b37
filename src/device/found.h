/* What a call has found out about the buffers of the program, so that the device is asked once for each: a question
 * takes the driver some hundred ns, and a call asks in several places.
 *
 * A record belongs to the thread and to one call, which begins it with its buffers and ends it before code of the
 * program may run: an operator, a callback, an error handler. The program keeps the buffers meanwhile, so what a record
 * holds stays true. */
#ifndef TUTTI_DEVICE_FOUND_H
#define TUTTI_DEVICE_FOUND_H

#include "device/device.h"

enum { TUTTI_FOUND = 4 };

struct tutti_found {
    const void *own[2]; /* the buffers that were not asked about yet; NULL: none */
    unsigned n;
    struct {
        const char *first, *end;
        struct tutti_memory memory;
    } range[TUTTI_FOUND];
};

/* Of the calling thread; NULL: it is in no such call. */
extern __thread struct tutti_found *tutti_found_now __attribute__((tls_model("initial-exec")));

/* Local. NULL for a buffer that does not count. A record inside another one is empty, and the outer one stays. */
static inline void tutti_found_begin(struct tutti_found *found, const void *in, const void *out)
{
    found->own[0] = in;
    found->own[1] = out != in ? out : NULL;
    found->n = 0;
    if (!tutti_found_now)
        tutti_found_now = found;
}
static inline void tutti_found_end(void)
{
    tutti_found_now = NULL;
}
static inline void tutti_found_leave(const struct tutti_found *found)
{
    if (tutti_found_now == found)
        tutti_found_now = NULL;
}
/* Until the end of the block at most, also when an exception leaves it. */
#define TUTTI_FOUND_OF(in, out)                                                                                        \
    __attribute__((cleanup(tutti_found_leave))) struct tutti_found tutti_found_mark;                                   \
    tutti_found_begin(&tutti_found_mark, in, out)

void tutti_found_look(const void *pointer, struct tutti_memory *out);
/* Local. What `pointer` is: of the thread's record, else by the device (memory.classify). */
static inline void tutti_memory_at(const struct tutti_device *device, const void *pointer, struct tutti_memory *out)
{
    if (__builtin_expect(tutti_found_now != NULL, 0))
        tutti_found_look(pointer, out);
    else
        device->memory.classify(pointer, out);
}
/* Local. The blocks of a buffer fill [first, end). Where its first byte is in memory of the host, its two ends stand
 * for what lies between, as of one block. */
void tutti_found_span(const void *first, const void *end);

#endif
