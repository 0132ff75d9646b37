#include "shmem/local/failure.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/status.h"
#include "core/types.h"
#include "tutti/shmem.h"

enum { TEXT = TUTTI_SHMEM_FAILURE_TEXT };

/* The record, unpacked. */
struct failure {
    uint32_t operation, reason;
    int pe, team;
    uint32_t block[3], thread[3];
    uint64_t address, bytes;
};

struct operation {
    const char *name, *word;
};

static struct operation failure_operation_of(uint32_t number)
{
    static const struct operation operations[] = {
#define ROW(id, name, word) [TSHMEM_KERNEL_##id] = {name, word},
        TSHMEM_KERNEL_OPERATIONS(ROW)
#undef ROW
    };
    static const struct operation none = {"a call", "for"};
    return number < TSHMEM_KERNEL_OPERATION_COUNT ? operations[number] : none;
}

static int failure_status_of(uint32_t reason)
{
    return reason == TSHMEM_WHY_TOO_LONG    ? TUTTI_ERR_TIMEOUT
           : reason == TSHMEM_WHY_UNDER_WAY ? TUTTI_ERR_BROKEN
           : reason == TSHMEM_WHY_NO_WAY    ? TUTTI_ERR_UNAVAILABLE
                                            : TUTTI_ERR_ARGUMENT;
}

static void say_outside(const struct failure *f, const struct tutti_shmem_failure_of *of, char text[TEXT])
{
    if (of->begin)
        snprintf(text, TEXT,
                 "%" PRIu64 " bytes at 0x%" PRIx64 " are not in the heap, %p to %p: tshmem_malloc gives such", f->bytes,
                 f->address, of->begin, of->end);
    else
        snprintf(text, TEXT, "%" PRIu64 " bytes at 0x%" PRIx64 " are not in its heap: tshmem_malloc gives such",
                 f->bytes, f->address);
}

static void say_no_operation(const struct failure *f, char text[TEXT])
{
    static const char *const names[TSHMEM_OPS] = {
        [TSHMEM_OP_AND] = "and", [TSHMEM_OP_OR] = "or",   [TSHMEM_OP_XOR] = "xor",  [TSHMEM_OP_MAX] = "max",
        [TSHMEM_OP_MIN] = "min", [TSHMEM_OP_SUM] = "sum", [TSHMEM_OP_PROD] = "prod"};
    const char *type = f->address < TUTTI_TYPES ? tutti_type_name((int)f->address) : "such a type";
    snprintf(text, TEXT, "kernels have no \"%s\" for elements of %s", f->bytes < TSHMEM_OPS ? names[f->bytes] : "?",
             type);
}

static void say_too_long(const struct failure *f, const struct tutti_shmem_failure_of *of, char text[TEXT])
{
    static const char limit[] = "longer than TUTTI_TIMEOUT_SECONDS";
    const int pe = f->pe >= 0 && of->pe_of ? of->pe_of(of->with, f->team, f->pe) : -1;
    if (f->pe < 0)
        snprintf(text, TEXT, "it waited for the word at 0x%" PRIx64 " %s", f->address, limit);
    else if (pe >= 0)
        snprintf(text, TEXT, "it waited for PE %d %s", pe, limit);
    else
        snprintf(text, TEXT, "it waited for member %d of the team %s", f->pe, limit);
}

static void say_why(const struct failure *f, const struct tutti_shmem_failure_of *of, char text[TEXT])
{
    switch (f->reason) {
    case TSHMEM_WHY_NOT_SYMMETRIC:
        say_outside(f, of, text);
        break;
    case TSHMEM_WHY_NOT_GLOBAL:
        snprintf(text, TEXT, "%" PRIu64 " bytes at 0x%" PRIx64 " are neither in the heap nor in global memory",
                 f->bytes, f->address);
        break;
    case TSHMEM_WHY_NO_PE:
        snprintf(text, TEXT, "there is no PE %d, but 0 to %d", f->pe, of->pes - 1);
        break;
    case TSHMEM_WHY_NO_WAY:
        snprintf(text, TEXT, "loads and stores do not reach PE %d, and there is no ring (TUTTI_SHMEM_RING)", f->pe);
        break;
    case TSHMEM_WHY_NO_TEAM:
        snprintf(text, TEXT, "%d is no team of this PE", f->team);
        break;
    case TSHMEM_WHY_NO_CONTEXT:
        snprintf(text, TEXT, "0x%" PRIx64 " is no context, or has ended", f->address);
        break;
    case TSHMEM_WHY_NO_CONTEXT_PE:
        snprintf(text, TEXT, "there is no PE %d in the context's team of %" PRIu64, f->pe, f->bytes);
        break;
    case TSHMEM_WHY_NO_ROOT:
        snprintf(text, TEXT, "the root %d is no PE of team %d", f->pe, f->team);
        break;
    case TSHMEM_WHY_NO_OPERATION:
        say_no_operation(f, text);
        break;
    case TSHMEM_WHY_NO_STRIDE:
        snprintf(text, TEXT, "a stride of %" PRId64 " elements: it begins with 1", (int64_t)f->bytes);
        break;
    case TSHMEM_WHY_NO_WORK:
        snprintf(text, TEXT,
                 "%" PRIu64 " bytes of work at 0x%" PRIx64
                 " are fewer than tutti_grid_work_bytes() or not aligned to 16, or there is no such strategy",
                 f->bytes, f->address);
        break;
    case TSHMEM_WHY_UNDER_WAY:
        snprintf(text, TEXT, "another collective of team %d was under way in a kernel of this PE", f->team);
        break;
    case TSHMEM_WHY_TOO_LONG:
        say_too_long(f, of, text);
        break;
    default:
        snprintf(text, TEXT, "it failed");
    }
}

/* Where the kernel was, and what it called. */
static void failure_say_where(const struct failure *f, int pe, char where[TEXT])
{
    snprintf(where, TEXT, "in a kernel, block (%u,%u,%u), thread (%u,%u,%u) of PE %d", f->block[0], f->block[1],
             f->block[2], f->thread[0], f->thread[1], f->thread[2], pe);
}

static void say_call(const struct failure *f, char *call, size_t size)
{
    const struct operation operation = failure_operation_of(f->operation);
    if (f->team >= 0)
        snprintf(call, size, "%s of team %d", operation.name, f->team);
    else if (f->pe >= 0)
        snprintf(call, size, "%s %s PE %d", operation.name, operation.word, f->pe);
    else
        snprintf(call, size, "%s", operation.name);
}

static struct failure failure_unpack(const struct tshmem_failure *record)
{
    const uint32_t thread = (uint32_t)(record->call >> 32);
    return (struct failure){
        .operation = record->call & 0xff,
        .reason = record->call >> 8 & 0xff,
        .pe = (int32_t)(record->who >> 32),
        .team = (int32_t)(uint32_t)record->who,
        .block = {(uint32_t)(record->block >> 32), record->block >> 16 & 0xffff, record->block & 0xffff},
        .thread = {thread & 0x3ff, thread >> 10 & 0x3ff, thread >> 20},
        .address = record->address,
        .bytes = record->bytes};
}

int tutti_shmem_failure_text(const struct tshmem_failure *record, const struct tutti_shmem_failure_of *of,
                             char where[TEXT], char text[2 * TEXT])
{
    char call[TEXT / 2], why[TEXT];
    const struct failure f = failure_unpack(record);
    failure_say_where(&f, of->pe, where);
    say_call(&f, call, sizeof call);
    say_why(&f, of, why);
    snprintf(text, 2 * (size_t)TEXT, "%s: %s", call, why);
    return failure_status_of(f.reason);
}
